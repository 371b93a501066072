"""What a layer sees while it is lowered: a place for tensors and instructions that are its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import CompileError, ParameterError, ShapeError, quoted
from studio.engine.core.philox import stream_of
from studio.engine.core.tensor import ABSENT, BATCH, Ref, Role, Shape, TensorType
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.move import Fill
from studio.engine.isa.ops.softmax import Softmax, SoftmaxCE, SoftmaxLog
from studio.engine.layers.activation_catalog import FUNCTIONS, absent_activation
from studio.engine.layers.initializers import Initializer
from studio.engine.layers.layer import Layer
from studio.engine.layers.regularizers import Regularizer


class Penalty(NamedTuple):
    """A weight penalty met while lowering, for the loss section."""

    weight: Ref
    penalty: Regularizer
    owner: str
    name: str


class LayerContext:
    """Creates the tensors and instructions of one layer after another.

    Args:
        builder: receives them.
        training: whether dropout drops and batch normalisation uses the batch.
        step: the step block that keys random draws; absent where nothing is drawn.

    Attributes:
        masks: the masks of the inputs of the layer being lowered; absent for an input without.
        output_masks: the masks of its outputs, as `Layer.lower_masks` gave them.
    """

    def __init__(self, builder: ProgramBuilder, training: bool, step: Ref = ABSENT) -> None:
        self.training = training
        self.step = step
        self.masks: tuple[Ref, ...] = ()
        self.output_masks: tuple[Ref, ...] = ()
        self.penalties: list[Penalty] = []
        self._builder = builder
        self._owned: dict[Layer, dict[str, Ref]] = {}
        self._node = ""
        self._layer: Layer | None = None
        self._crossed = False

    @contextmanager
    def inside(
        self, node: str, layer: Layer, *, crossed: bool = False, masks: tuple[Ref, ...] = ()
    ) -> Iterator[None]:
        """Emit for ``node`` inside.

        Args:
            node: id of the node.
            layer: its layer.
            crossed: whether its softmax is a SOFTMAX_CE.
            masks: of its inputs, absent for an input without.
        """
        self._node, self._layer, self._crossed = node, layer, crossed
        self.masks, self.output_masks = masks, ()
        with self._builder.owned_by(node, layer=node):
            yield
        self._layer = None

    @property
    def layer(self) -> Layer:
        """The layer being lowered."""
        if self._layer is None:
            raise CompileError("a layer context is used outside of any layer")
        return self._layer

    def shape_of(self, ref: Ref) -> Shape:
        """Shape without the batch dimension."""
        return self.type_of(ref).shape[1:]

    def type_of(self, ref: Ref) -> TensorType:
        """Shape with the batch, and dtype."""
        return self._builder.type_of(ref)

    def stream(self, role: str) -> int:
        """Stream of random numbers for a role of this layer, whatever its place in the program."""
        return stream_of(f"{self._node}/{role}")

    def own(self, *inputs: Ref) -> dict[str, Ref]:
        """The layer's parameters by role, made on first use; roles it lacks read as absent.

        A layer used at several nodes has one set of parameters.
        """
        layer = self.layer
        if layer not in self._owned:
            made: dict[str, Ref] = {}
            for p in layer.parameters(*(self.shape_of(x) for x in inputs)):
                made[p.role] = self.param(
                    p.role, p.shape, p.init, state=p.state, weight=p.weight, penalty=p.penalty
                )
            self._owned[layer] = made
        return self._owned[layer]

    def parameter_of(self, name: str, role: str) -> Ref:
        """A parameter of another layer that was lowered before; CompileError where there is none.

        Args:
            name: the other layer.
            role: which of its parameters.
        """
        for layer, made in self._owned.items():
            if layer.name == name and role in made:
                return made[role]
        raise CompileError(
            f"no layer {quoted(name)} with a {role} comes before it", who=self.layer.name,
            hint="name a layer that this one depends on",
        )  # fmt: skip

    def param(
        self,
        role: str,
        shape: Shape,
        init: Initializer,
        *,
        state: bool = False,
        weight: bool = False,
        penalty: Regularizer | None = None,
    ) -> Ref:
        """A tensor named ``<layer>/<role>`` that persists; ``state`` ones are never optimised."""
        trained = self.layer.trainable and not state
        ref = self._builder.tensor(
            f"{self.layer.name}/{role}",
            shape,
            role=Role.STATE if state else Role.PARAM,
            port=role,
            trainable=trained,
            weight=weight,
            init=init.text,
            stream=self.stream(role),
        )
        if penalty is not None and trained:
            self.penalties.append(
                Penalty(ref, penalty, self._node, f"{self.layer.name}/{role}/penalty")
            )
        return ref

    def emit(self, cls: type[Instruction], port: str = "output", /, **fields: Any) -> Ref:
        """Append an instruction whose result is the layer's ``port``; returns the result."""
        name = f"{self.layer.name}/{port}"
        return self._builder.emit("forward", cls, name=name, port=port, **fields)[0]

    def emit_all(self, cls: type[Instruction], port: str, /, **fields: Any) -> tuple[Ref, ...]:
        """Append an instruction; returns all it writes, the first result as ``port``."""
        name = f"{self.layer.name}/{port}"
        return self._builder.emit("forward", cls, name=name, port=port, **fields)

    def call_output(self, ref: Ref, port: str) -> None:
        """Name a result of this layer after the output it is; tensors of other layers stay."""
        self._builder.rename(ref, self._node, f"{self.layer.name}/{port}", port)

    def update(self, cls: type[Instruction], /, **fields: Any) -> None:
        """Append an instruction that only changes tensors in place, such as running statistics."""
        self._builder.emit("forward", cls, **fields)

    def constant(self, port: str, number: float) -> Ref:
        """A float32 tensor [1] that holds a number."""
        name = f"{self.layer.name}/{port}"
        return self._builder.tensor(name, (1,), role=Role.CONST, port=port, value=(number,))

    def array(self, port: str, values: npt.NDArray[Any]) -> Ref:
        """A tensor of the layer that holds numbers, of the dtype of an array."""
        return self._builder.tensor(
            f"{self.layer.name}/{port}", values.shape, DType.of(values.dtype), Role.CONST,
            port=port, value=tuple(float(v) for v in values.reshape(-1)),
        )  # fmt: skip

    def fill(self, port: str, sample: Shape, number: float) -> Ref:
        """A bool tensor [N,…] that holds one number everywhere."""
        ref = self._builder.tensor(
            f"{self.layer.name}/{port}", (BATCH, *sample), DType.bool, port=port
        )
        self._builder.emit("forward", Fill, y=ref, number=number)
        return ref

    def softmax(self, x: Ref, port: str = "output", *, log: bool = False) -> Ref:
        """Softmax over the last dimension: SOFTMAX_CE where a cross-entropy follows at once."""
        shape = self.shape_of(x)
        if not shape:
            raise ShapeError("softmax needs a dimension after the batch", who=self.layer.name)
        step = shape[-1]
        if log:
            return self.emit(SoftmaxLog, port, x=x, step=step)
        return self.emit(SoftmaxCE if self._crossed else Softmax, port, x=x, step=step)

    def activate(self, name: str, x: Ref) -> Ref:
        """Append the activation of that name; its result is the layer's output."""
        home = absent_activation(name)
        if home is not None:
            raise ParameterError(
                f"the activation {name} comes from {home}, which is not loaded",
                who=self.layer.name,
                hint="install it and turn it on",
            )
        return FUNCTIONS[name].emit(self, x, "output")

    @staticmethod
    def port_before(activation: str) -> str:
        """Port of the result an activation is applied to: the output itself for linear."""
        return "output" if activation == "linear" else "linear"
