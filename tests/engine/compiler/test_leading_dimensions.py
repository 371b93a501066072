"""Networks on [N,T,H,W,C] compute what they compute on N·T pictures [H,W,C]."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.compiler.passes.choose_layout import choose_layout
from studio.engine.compiler.passes.fuse_epilogues import fuse_epilogues
from studio.engine.compiler.passes.fuse_gradients import fuse_gradients
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import CPU, GL, GL_SOFTWARE, Target
from studio.engine.compiler.verify import verify
from studio.engine.core.errors import ShapeError, VerifyError
from studio.engine.core.tensor import BATCH, Ref, Role, Shape
from studio.engine.cpu.backend import CpuBackend
from studio.engine.gl.backend import GlBackend
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.activation import Relu
from studio.engine.isa.ops.arithmetic import Add
from studio.engine.isa.ops.conv import Conv2D, DepthwiseConv2D
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.ops.linear import Linear
from studio.engine.isa.ops.loss import LossMSE
from studio.engine.isa.ops.norm import BatchNorm2D
from studio.engine.isa.ops.pool import AvgPool2D, GlobalAvgPool2D, MaxPool2D
from studio.engine.isa.program import Program
from studio.engine.isa.versions import program_version
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import SGD
from studio.engine.runtime.backend import Backend

STEPS = 3
WEIGHTS = {"k1": (3, 3, 4, 8), "b1": (8,), "k2": (3, 3, 8, 8), "k3": (3, 3, 8, 1), "w": (2, 8)}
SAME = {"pad_h": 1, "pad_w": 1}


def network(*lead: int) -> Program:
    """Two convolutions with a normalisation, a sum and activations, a depthwise one, all pools."""
    build = ProgramBuilder("pictures", "train")
    x = build.tensor("x", (BATCH, *lead, 8, 10, 4), role=Role.INPUT)
    t = build.tensor("t", (BATCH, *lead, 2), role=Role.TARGET)
    own = {
        name: build.tensor(name, shape, role=Role.PARAM, trainable=True)
        for name, shape in WEIGHTS.items()
    }
    stats = {name: build.tensor(name, (8,), role=Role.STATE) for name in ("mean", "var")}

    def emit(cls: type[Instruction], **fields: object) -> Ref:
        with build.owned_by(cls.__name__):
            return build.emit("forward", cls, **fields)[0]

    first = emit(Conv2D, w=own["k1"], b=own["b1"], x=x, **SAME)
    active = emit(Relu, x=emit(BatchNorm2D, x=first, **stats))
    second = emit(Relu, x=emit(Conv2D, w=own["k2"], x=active, **SAME))
    pooled = emit(MaxPool2D, x=emit(Add, x1=second, x2=active, alpha=1.0, beta=1.0))
    each = emit(Relu, x=emit(DepthwiseConv2D, w=own["k3"], x=pooled, **SAME))
    mean = emit(GlobalAvgPool2D, x=emit(AvgPool2D, x=each))
    guess = emit(Linear, w=own["w"], x=mean)
    with build.owned_by("loss"):
        loss = build.emit("loss", LossMSE, p=guess, t=t)[0]
    return build.finish((x, t), (loss,))


def opened(name: str) -> tuple[Backend, Target]:
    if name == "cpu":
        return CpuBackend(), CPU
    target = GL if name == "gl-hardware" else GL_SOFTWARE
    return GlBackend(target=target), target


@pytest.fixture(params=["cpu", pytest.param("gl-software", marks=pytest.mark.gl),
                        pytest.param("gl-hardware", marks=pytest.mark.gl)])  # fmt: skip
def device(request: pytest.FixtureRequest) -> Iterator[tuple[Backend, Target]]:
    backend, target = opened(str(request.param))
    yield backend, target
    backend.close()


def values(pictures: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    found = {name: rng.normal(size=shape) / 3 for name, shape in WEIGHTS.items()}
    found |= {"mean": np.zeros(8), "var": np.ones(8)}
    found |= {"x": rng.normal(size=(pictures, 8, 10, 4)), "t": rng.normal(size=(pictures, 2))}
    return {name: each.astype(np.float32) for name, each in found.items()}


def outcome(
    device: tuple[Backend, Target], program: Program, batch: int, given: dict[str, np.ndarray]
) -> list[np.ndarray]:
    """The loss, and what a step of descent at rate 1 takes from the weights."""
    backend, target = device
    compiled = compile_program(
        program, target, verify=True, emit_updates=lambda p: emit_updates(p, SGD(1.0))
    )
    session = backend.open_session()
    executable = backend.compile(compiled, session, batch)
    try:
        for name, array in given.items():
            tensor = compiled.tensors.named(name)
            if tensor.id in compiled.inputs:
                shape: Shape = (batch, *tensor.shape[1:])
                executable.feed(tensor.id, array.reshape(shape))
            else:
                session.write(name, array)
        session.write("train/rates", np.ones(256, np.float32))
        executable.run()
        loss = executable.fetch(Ref(compiled.outputs[0])).result(60)
        return [loss, *(given[name] - session.read(name).result(60) for name in WEIGHTS)]
    finally:
        executable.close()
        session.close()


@pytest.mark.slow
def test_loss_and_gradients_are_those_of_single_pictures(device: tuple[Backend, Target]) -> None:
    """On the CPU for two batch lengths and for several leading dimensions."""
    plain, (_, target) = network(), device
    assert (program_version(network(STEPS)), program_version(plain)) == (2, 1)
    cases = [(4, (STEPS,)), *([(1, (STEPS,)), (2, (2, STEPS))] if target is CPU else [])]
    for batch, lead in cases:
        count = batch * int(np.prod(lead))
        given = values(count)
        found = outcome(device, network(*lead), batch, given)
        wanted = outcome(device, plain, count, given)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-6)


def test_nothing_is_fused_into_them_and_they_get_no_halo() -> None:
    wide = differentiate(network(STEPS))
    assert choose_layout(wide, GL) is wide
    for fused in (fuse_epilogues(wide, (), GL), fuse_gradients(wide, GL)):
        verify(fused)
        groups = [ins for before, ins in zip(fused, list(fused)[1:], strict=False)
                  if isinstance(before, Fuse)]  # fmt: skip
        assert not [ins for ins in groups if ins.merged(fused.type_of)]


def test_a_group_that_begins_with_one_is_a_breach() -> None:
    build = ProgramBuilder("group", "infer")
    x = build.tensor("x", (BATCH, 3, 4, 4, 2), role=Role.INPUT)
    w = build.tensor("w", (1, 1, 2, 2), role=Role.PARAM)
    build.append("forward", Fuse(kind="epilogue"))
    y = build.emit("forward", Conv2D, w=w, x=x)[0]
    z = build.emit("forward", Relu, x=y)[0]
    build.append("forward", End())
    with pytest.raises(VerifyError, match="one dimension in front of the pictures"):
        verify(build.finish((x,), (z,)))


@pytest.mark.parametrize("cls", [MaxPool2D, AvgPool2D, GlobalAvgPool2D])
def test_pictures_of_lower_rank_are_refused(cls: type) -> None:
    build = ProgramBuilder("low", "infer")
    x = build.tensor("x", (BATCH, 4, 2), role=Role.INPUT)
    with pytest.raises(ShapeError, match="rank 4 or more"):
        build.emit("forward", cls, x=x)
