"""Eight small networks as the lowering would emit them, built line by line."""

from __future__ import annotations

from studio.engine.compiler.fusion import in_groups
from studio.engine.compiler.lifetimes import group_spans
from studio.engine.compiler.verify import verify
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH, Ref, Role
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.activation import Relu, Sigmoid, Tanh
from studio.engine.isa.ops.arithmetic import Add, Mul, Scale
from studio.engine.isa.ops.conv import Conv2D, DepthwiseConv2D
from studio.engine.isa.ops.data import Record
from studio.engine.isa.ops.linear import Linear, MatMul
from studio.engine.isa.ops.loss import Accuracy, LossCE, LossL1L2, LossMSE
from studio.engine.isa.ops.move import ConcatChannel, Flatten
from studio.engine.isa.ops.norm import BatchNorm2D
from studio.engine.isa.ops.pool import AvgPool2D, GlobalAvgPool2D, MaxPool2D
from studio.engine.isa.ops.random import Dropout
from studio.engine.isa.ops.softmax import Softmax, SoftmaxCE
from studio.engine.isa.program import Program


class Net:
    """Emits layers one by one; every layer owns what it emits."""

    def __init__(self, name: str, mode: str = "train") -> None:
        self.build = ProgramBuilder(name, mode)
        self.section = "forward"
        self.losses: list[Ref] = []
        self.inputs: list[Ref] = []
        self.step: Ref | None = None

    def input(self, *shape: int, name: str = "input") -> Ref:
        ref = self.build.tensor(name, (BATCH, *shape), role=Role.INPUT)
        self.inputs.append(ref)
        return ref

    def param(self, name: str, *shape: int, trainable: bool = True) -> Ref:
        return self.build.tensor(
            name, shape, role=Role.PARAM, trainable=trainable, weight=len(shape) > 1
        )

    def emit(self, owner: str, cls: type, section: str = "", **fields: object) -> Ref:
        with self.build.owned_by(owner, layer=owner):
            return self.build.emit(section or self.section, cls, **fields)[0]

    def dense(self, owner: str, x: Ref, units: int, *, trainable: bool = True) -> Ref:
        inputs = self.build.type_of(x).shape[-1]
        w = self.param(f"{owner}/kernel", units, inputs, trainable=trainable)
        b = self.param(f"{owner}/bias", units, trainable=trainable)
        return self.emit(owner, Linear, w=w, b=b, x=x)

    def conv(
        self, owner: str, x: Ref, filters: int, size: int = 3, stride: int = 1, *, bias: bool = True
    ) -> Ref:
        channels = self.build.type_of(x).shape[-1]
        fields: dict[str, object] = {
            "w": self.param(f"{owner}/kernel", size, size, channels, filters)
        }
        if bias:
            fields["b"] = self.param(f"{owner}/bias", filters)
        pad = size // 2
        return self.emit(
            owner, Conv2D, x=x, stride_h=stride, stride_w=stride, pad_h=pad, pad_w=pad, **fields
        )

    def depthwise(self, owner: str, x: Ref, multiplier: int = 1) -> Ref:
        channels = self.build.type_of(x).shape[-1]
        w = self.param(f"{owner}/kernel", 3, 3, channels, multiplier)
        b = self.param(f"{owner}/bias", channels * multiplier)
        return self.emit(owner, DepthwiseConv2D, w=w, b=b, x=x, pad_h=1, pad_w=1)

    def norm(self, owner: str, x: Ref) -> Ref:
        channels = self.build.type_of(x).shape[-1]
        mean = self.build.tensor(f"{owner}/mean", (channels,), role=Role.STATE)
        var = self.build.tensor(f"{owner}/var", (channels,), role=Role.STATE)
        gamma = self.param(f"{owner}/gamma", channels)
        beta = self.param(f"{owner}/beta", channels)
        return self.emit(
            owner, BatchNorm2D, x=x, gamma=gamma, beta=beta, mean=mean, var=var,
            eps=1e-3, factor=0.1, frozen=self.build.mode != "train",
        )  # fmt: skip

    def step_block(self) -> Ref:
        if self.step is None:
            self.step = self.build.tensor("train/step", (8,), DType.int32, Role.STEP, late=True)
        return self.step

    def dropout(self, owner: str, x: Ref, rate: float, stream: int) -> Ref:
        step = self.step_block()
        return self.emit(owner, Dropout, x=x, rate=rate, stream=stream, step=step)

    def target(self, *shape: int) -> Ref:
        ref = self.build.tensor("target", (BATCH, *shape), role=Role.TARGET, late=True)
        self.inputs.append(ref)
        return ref

    def finish(self, *outputs: Ref) -> Program:
        return self.build.finish(tuple(self.inputs), outputs)


def mlp(mode: str = "train") -> Program:
    """Two dense layers, the second behind a softmax whose loss is taken on the logits."""
    net = Net("mlp", mode)
    x = net.input(6)
    hidden = net.emit("relu1", Relu, x=net.dense("dense1", x, 5))
    y = net.emit("softmax", SoftmaxCE, x=net.dense("dense2", hidden, 3), step=3)
    return _classified(net, y, 3, source="softmax")


def cnn(mode: str = "train") -> Program:
    """Convolution, pooling, flatten, dense, probabilities."""
    net = Net("cnn", mode)
    x = net.input(6, 6, 2)
    a = net.emit("relu1", Relu, x=net.conv("conv1", x, 4))
    a = net.emit("pool1", MaxPool2D, x=a)
    a = net.emit("act2", Tanh, x=net.conv("conv2", a, 3, bias=False))
    a = net.emit("flatten", Flatten, x=a)
    if mode == "train":
        a = net.dropout("drop", a, 0.25, stream=7)
    y = net.emit("softmax", Softmax, x=net.dense("dense", a, 3), step=3)
    return _classified(net, y, 3, source="probs")


def resnet(mode: str = "train") -> Program:
    """A stem and an identity block whose first ids are those of the published listing."""
    net = Net("resnet", mode)
    x = net.input(5, 5, 2)
    a = net.emit("relu", Relu, x=net.norm("bn", net.conv("conv", x, 3)))
    b = net.emit("relu1", Relu, x=net.norm("bn1", net.conv("conv1", a, 3)))
    b = net.norm("bn2", net.conv("conv2", b, 3))
    c = net.emit("relu2", Relu, x=net.emit("add", Add, x1=b, x2=a))
    c = net.emit("gap", GlobalAvgPool2D, x=c)
    y = net.emit("softmax", SoftmaxCE, x=net.dense("dense", c, 3), step=3)
    return _classified(net, y, 3, source="softmax")


def normalised(mode: str = "train") -> Program:
    """Products with normalisations behind them, of as many columns as kernels have at once."""
    net = Net("normalised", mode)
    x = net.input(4, 3, 2)
    a = net.emit("relu", Relu, x=net.norm("bn", net.conv("conv", x, 4, bias=False)))
    b = net.norm("bn1", net.emit("relu1", Relu, x=net.conv("conv1", a, 4)))
    a = net.emit("add", Add, x1=b, x2=net.norm("bn2", net.conv("conv2", a, 4, bias=False)))
    a = net.emit("gap", GlobalAvgPool2D, x=net.emit("relu2", Relu, x=a))
    # No bias in front of a normalisation: its gradient is nothing but rounding.
    a = net.emit("product", MatMul, a=a, b=net.param("product/kernel", 4, 8))
    a = net.emit("relu3", Relu, x=net.norm("bn3", a))
    y = net.emit("softmax", SoftmaxCE, x=net.dense("dense1", a, 3), step=3)
    return _classified(net, y, 3, source="softmax")


def branches(mode: str = "train") -> Program:
    """Concatenation, a frozen branch, a shared tensor, a product, a weight penalty."""
    net = Net("branches", mode)
    x = net.input(4, 4, 2)
    left = net.emit("left", Sigmoid, x=net.depthwise("dw", x, 2))
    right = net.emit("pool", AvgPool2D, x=net.conv("conv", left, 2), window_h=1, window_w=1,
                     stride_h=1, stride_w=1)  # fmt: skip
    joined = net.emit("concat", ConcatChannel, xs=(left, right, left), count=3)
    flat = net.emit("flatten", Flatten, x=joined)
    gate = net.emit("gate", Sigmoid, x=net.dense("frozen", flat, 4, trainable=False))
    value = net.emit("tanh", Tanh, x=net.dense("value", flat, 4))
    y = net.emit("mul", Mul, a=gate, b=value)
    if mode != "train":
        return net.finish(y)
    t = net.target(4)
    mse = net.emit("loss", LossMSE, "loss", p=y, t=t)
    kernel = Ref(_id_of(net, "value/kernel"))
    penalty = net.emit("value", LossL1L2, "loss", w=kernel, l1=0.01, l2=0.02)
    net.emit("loss", Add, "loss", x1=mse, x2=penalty)
    return net.finish(y)


def expression(mode: str = "train") -> Program:
    """Y = X1 + softmax(relu(X2 + 3*X3)), the example of Dylann's documentation."""
    net = Net("expression", mode)
    x1, x2, x3 = (net.param(f"x{i}", 2, 3) for i in (1, 2, 3))
    scaled = net.emit("scale", Scale, x=x3, alpha=3.0)
    inner = net.emit("relu", Relu, x=net.emit("add", Add, x1=x2, x2=scaled))
    y = net.emit("add2", Add, x1=x1, x2=net.emit("softmax", Softmax, x=inner, step=3))
    if mode != "train":
        return net.finish(y)
    t = net.build.tensor("target", (2, 3), role=Role.TARGET, late=True)
    net.inputs.append(t)
    net.emit("loss", LossMSE, "loss", p=y, t=t)
    return net.finish(y)


def logits(mode: str = "train") -> Program:
    """Two dense layers whose loss is taken on logits."""
    net = Net("logits", mode)
    hidden = net.emit("tanh1", Tanh, x=net.dense("dense1", net.input(6), 5))
    return _classified(net, net.dense("dense2", hidden, 3), 3, source="logits")


def typed(mode: str = "train") -> Program:
    """Products and biases as operations typed one by one make them."""
    net = Net("typed", mode)
    a = net.emit("matmul1", MatMul, a=net.input(6), b=net.param("w1", 6, 5))
    a = net.emit("relu", Relu, x=net.emit("add1", Add, x1=a, x2=net.param("b1", 5)))
    a = net.emit("matmul2", MatMul, a=a, b=net.param("w2", 5, 4))
    a = net.emit("tanh", Tanh, x=net.emit("add2", Add, x1=net.param("b2", 1, 4), x2=a))
    a = net.emit("matmul3", MatMul, a=a, b=net.param("w3", 4, 3))
    return _classified(net, net.emit("add3", Add, x1=a, x2=net.param("b3", 3)), 3, source="logits")


NETWORKS = {
    "mlp": mlp,
    "cnn": cnn,
    "resnet": resnet,
    "normalised": normalised,
    "branches": branches,
    "expression": expression,
    "logits": logits,
    "typed": typed,
}


def _classified(net: Net, y: Ref, classes: int, source: str) -> Program:
    if net.build.mode == "train":
        t = net.target(classes)
        loss = net.emit("loss", LossCE, "loss", p=y, t=t, source=source)
        accuracy = net.emit("accuracy", Accuracy, "metrics", p=y, t=t)
        ring = net.build.tensor("train/ring", (4, 2), role=Role.METRIC, late=True)
        record = Record(values=(loss, accuracy), ring=ring, step=net.step_block())
        net.build.append("metrics", record.replace(owners=("metrics",)))
    return net.finish(y)


def _id_of(net: Net, name: str) -> int:
    return net.build.finish((), ()).tensors.named(name).id


def mixed_program(program: Program) -> Program:
    """A training program whose sections alternate, as the compiler may make it.

    The seed of the gradients stands before the first group, whose last part is of the loss.
    """
    lines = [(section, ins) for section, _, ins in program.located()]
    seed = next(place for place, (section, _) in enumerate(lines) if section == "backward")
    begin, end = group_spans(program)[min(in_groups(program))]
    group = [*lines[begin : end - 1], *(("loss", ins) for _, ins in lines[end - 1 : end + 1])]
    rest = [*lines[end + 1 : seed], *lines[seed + 1 :]]
    made = program.with_lines([*lines[:begin], lines[seed], *group, *rest])
    verify(made)
    return made
