"""The layer that is one operation of the table."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError, StudioError
from studio.engine.core.options import REQUIRED, AnyOption, Plain, spec
from studio.engine.core.tensor import ABSENT, Ref, Shape, TensorType, bind_shape
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.families import broadcast_shapes
from studio.engine.isa.fields import Access
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import conv, move, random
from studio.engine.isa.ops.data import STEP_WORDS
from studio.engine.isa.program import Program
from studio.engine.layers.context import LayerContext
from studio.engine.layers.graph import output_port
from studio.engine.layers.layer import Layer
from studio.engine.layers.merging import any_of
from studio.engine.layers.operator_values import (
    CONSTANTS,
    NOTHING,
    SETTINGS,
    checked_constants,
    checked_settings,
    constant_option,
    first_value,
    parsed_call,
    plain_value,
    read_mapping,
    read_operation,
    read_text,
    takes,
    unknown_value,
)
from studio.engine.operations import OPERATIONS, Operation, find

_RULE = "dimension 0 is the batch, which stays where it is"

_ROWS = 4099
"""A number of samples to try; nothing else is likely to be as long."""


_MOVED = (move.Cast, move.Copy, move.Broadcast)


class LayerLines:
    """Lets an operation write lines into the layer that is being lowered.

    Args:
        context: of the layer.
    """

    def __init__(self, context: LayerContext) -> None:
        self._context = context
        self._kept: dict[str, Ref] = {}
        self._draws = 0
        self.elementwise = True
        """Whether each line so far treats every element by itself."""

    @property
    def step(self) -> Ref:
        """The step block; where a program has none, one that stays at step 0."""
        if self._context.step.present:
            return self._context.step
        return self._constant("step", np.zeros(STEP_WORDS, np.int32))

    def type_of(self, ref: Ref) -> TensorType:
        """Shape and dtype of an operand."""
        return self._context.type_of(ref)

    def emit(self, cls: type[Instruction], /, **fields: Any) -> tuple[Ref, ...]:
        """Append a line; DROPOUT does nothing outside training, as the layer of that name."""
        if issubclass(cls, random.Dropout):
            if not self._context.training:
                return (fields["x"],)
        elif issubclass(cls, conv.Conv2D | conv.DepthwiseConv2D) and self._is_batch(fields["w"]):
            raise ShapeError("weights have no batch", hint="give them as a constant")
        elif not cls.elementwise and not issubclass(cls, _MOVED):
            self.elementwise = False
        return self._context.emit_all(cls, cls.mnemonic.lower(), **fields)

    def constant(self, values: npt.ArrayLike) -> Ref:
        """Numbers: float32 for fractions, int32 or bool for others; the same ones are kept once."""
        array = np.asarray(values)
        dtype = DType.float32 if array.dtype.kind == "f" else DType.int32
        array = array.astype((DType.bool if array.dtype.kind == "b" else dtype).np)
        # What a constant holds may follow from a length that is bound when lowering, and the
        # programs of one session find persistent tensors by name: the name tells the numbers.
        digest = hashlib.sha1(array.tobytes(), usedforsecurity=False).hexdigest()[:8]
        places = "x".join(map(str, array.shape))
        return self._constant("_".join(("constant", array.dtype.name, places, digest)), array)

    def stream(self, role: str) -> int:
        """A stream of this layer for each draw."""
        self._draws += 1
        return self._context.stream(role if self._draws == 1 else f"{role}/{self._draws}")

    def _is_batch(self, ref: Ref) -> bool:
        return self.type_of(ref).is_batch

    def _constant(self, port: str, array: npt.NDArray[Any]) -> Ref:
        if port not in self._kept:
            self._kept[port] = self._context.array(port, array)
        return self._kept[port]


class Operator(Layer):
    """One operation of the table, with its operands as inputs.

    Options of the operation, and numbers in place of operands, are given by name:
    ``Operator("mean", axis=-1)``, ``Operator("multiply", b=2.0)``, also as one text,
    ``Operator("mean(axis=-1)")``. Called on numbers and outputs of layers, as in
    ``Operator("subtract")(1.0, x)``, numbers become constants. Dimension 0 is the batch and stays
    where it is: an operation whose result has none is refused. Outside training DROPOUT does
    nothing, and other draws of a prediction are the same each time.
    """

    category = "operation"
    arity: ClassVar[tuple[int, int | None]] = (1, None)
    dtypes: ClassVar[tuple[DType, ...]] = tuple(DType)
    supports_masking = True
    words = ("op", "ops", "operation")
    positional = ("operation",)

    operation = spec(
        "The operation; a name that NumPy, Keras, ONNX or TensorFlow.js has for it will do.",
        REQUIRED, read_operation, str, start="add", editor="text", on_card=True,
    )  # fmt: skip
    settings = spec(
        "Options of the operation that differ from their defaults, by name.",
        NOTHING, read_mapping, plain_value,
    )  # fmt: skip
    constants = spec(
        "Numbers in place of operands, by the operand's name; other operands are inputs.",
        NOTHING, read_mapping, plain_value,
    )  # fmt: skip

    def __init__(
        self,
        operation: object,
        *,
        settings: object = None,
        constants: object = None,
        name: str = "",
        trainable: bool = True,
        **given: object,
    ) -> None:
        who = name or type(self).__name__
        stem, written = parsed_call(operation, who)
        made = find(read_operation(stem, who))
        operands = {o.name for o in made.operands}
        options = {o.name for o in made.options}
        set_, held = (
            dict(read_mapping({} if v is None else v, who)) for v in (settings, constants)
        )
        for key, value in {**written, **given}.items():
            if key in operands:
                held[key] = value
            elif key in options:
                set_[key] = value
            else:
                raise unknown_value(made, key, (*options, *operands), who)
        super().__init__(
            made.name, settings=checked_settings(made, set_),
            constants=checked_constants(made, held, who), name=name, trainable=trainable,
        )  # fmt: skip
        self._types: dict[tuple[TensorType, ...], tuple[tuple[TensorType, ...], bool]] = {}

    @property
    def made(self) -> Operation:
        """The operation."""
        return OPERATIONS[self.operation]

    @property
    def values(self) -> dict[str, Any]:
        """All options of the operation with their values."""
        return self.made.checked(self.settings)

    @classmethod
    def options_of(cls, operation: str) -> tuple[AnyOption, ...]:
        """The options of an operation, for forms: kind, choices, default and a sentence each."""
        return find(operation).options

    @classmethod
    def starting(cls, operation: str) -> dict[str, Plain]:
        """The configuration of a new operator: a first value for each option that needs one."""
        found = find(operation)
        first = {o.name: first_value(o) for o in found.options if o.required}
        if any(o.name == "axis" and o.default in (None, 0) for o in found.options):
            # The dimension of the batch, or all of them, are no good beginning for a layer.
            first["axis"] = -1
        return {"operation": found.name, **({"settings": first} if first else {})}

    @classmethod
    def first_config(cls, given: Mapping[str, object]) -> dict[str, object]:
        """What `starting` says of the operation, addition by default; ``given`` outranks it."""
        return {**cls.starting(str(given.get("operation", "add"))), **given}

    def about(self) -> str:
        """The first sentence of the operation."""
        return self.made.tip

    def long_about(self) -> str:
        """The documentation of the operation."""
        return inspect.cleandoc(self.made.doc)

    @property
    def kind_text(self) -> str:
        """The operation, with its symbol where that is another."""
        name = str(self.operation)
        return name if self.symbol.casefold() in (name, "") else f"{name}  {self.symbol}"

    def form_values(self) -> tuple[tuple[AnyOption, Plain], ...]:
        """The operation, its options, and for each operand a number that may stand for it.

        Options are called ``settings.axis``, operands ``constants.b``, as their parts of `config`.
        """
        values: dict[str, Any] = {"operation": self.operation}
        values |= {f"{SETTINGS}{key}": value for key, value in self.values.items()}
        values |= {f"{CONSTANTS}{key}": value for key, value in self.constants.items()}
        return tuple(
            (option, option.plain(values.get(option.name))) for option in _form_of(self.operation)
        )

    def form_option(self, name: str) -> AnyOption:
        """The option of the form of that name, such as ``settings.axis``, or a declared one."""
        found = (option for option in _form_of(self.operation) if option.name == name)
        return next(found, None) or self.option(name)

    def config_with(self, name: str, value: object) -> dict[str, Any]:
        """The configuration with one option of its form changed, not yet checked.

        Another operation keeps the settings and constants that it knows. A typed text is read
        as Python would read it: ``-1``, ``[0, 1]`` or a word.
        """
        if name == "operation":
            made = find(read_operation(value, self.who))
            first: dict[str, Any] = dict(type(self).starting(made.name))
            kept = self._kept_for(made)
            kept["settings"] = {**first.pop("settings", {}), **kept["settings"]}
            own = {key: v for key, v in self.config().items() if key in ("name", "trainable")}
            return {**own, **first, **{part: held for part, held in kept.items() if held}}
        part, dot, key = name.partition(".")
        if not dot:
            return super().config_with(name, value)
        option = self.form_option(name)
        config: dict[str, Any] = dict(self.config())
        if isinstance(value, str) and option.form_editor == "text":
            value = read_text(value)
        held = {k: v for k, v in config.pop(part, {}).items() if k != key}
        if value is None and not option.optional and option.required:
            value = first_value(option)
        if value is not None or (option.optional and part == "settings"):
            held[key] = value
        return {**config, part: held} if held else config

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of its inputs in order: operands without a constant; ``*xs`` for any number."""
        left = (o for o in self.made.operands if o.name not in self.constants)
        return tuple(f"*{o.name}" if o.many else o.name for o in left)

    @property
    def inputs_taken(self) -> tuple[int, int | None]:
        """Fewest and most inputs of this operation."""
        if not self.made.operands:
            return 0, None
        left = [o for o in self.made.operands if o.name not in self.constants]
        low = sum(not o.optional for o in left)
        return max(low, 1), None if any(o.many for o in left) else len(left)

    @property
    def text(self) -> str:
        """The operation as text, such as ``mean(axis=-1)``, which reads back as the same."""
        said = {**self.constants, **self.settings}
        inner = ", ".join(f"{key}={plain_value(value)!r}" for key, value in said.items())
        return f"{self.operation}({inner})" if inner else str(self.operation)

    @property
    def symbol(self) -> str:
        """A sign or short word for a small card."""
        return self.made.symbol or self.operation

    def first_name(self) -> str:
        """The operation's name."""
        return str(self.operation)

    def replace(self, **changes: object) -> Operator:
        """An unnamed operator with some options changed.

        Another operation keeps the settings and constants that it knows and that fit it.
        """
        if "operation" not in changes:
            return super().replace(**changes)
        stem, _ = parsed_call(changes["operation"], self.who)
        made = find(read_operation(stem, self.who))
        given: dict[str, Any] = {**self._kept_for(made), **changes}
        copy = type(self)(**given)
        copy.trainable = self.trainable
        return copy

    def _kept_for(self, made: Operation) -> dict[str, dict[str, Any]]:
        """The settings and constants that an operation knows and that fit it."""
        if made is self.made:
            return {"settings": dict(self.settings), "constants": dict(self.constants)}
        settings = {
            o.name: self.settings[o.name]
            for o in made.options
            if o.name in self.settings and takes(o, self.settings[o.name])
        }
        names = {o.name for o in made.operands if not o.many}
        held = {k: v for k, v in self.constants.items() if k in names}
        # Where all that is left would be constants there is no input: then none is kept.
        return {"settings": settings, "constants": held if len(held) < len(made.operands) else {}}

    def __call__(self, *inputs: Any) -> Any:
        """The operation's result for outputs of layers and numbers, in the order of its operands.

        One list of them may be given, too. Numbers and arrays become constants of a copy of this
        layer, so that the copy, not this layer, is part of the network.
        """
        given = list(inputs[0]) if len(inputs) == 1 and isinstance(inputs[0], list) else [*inputs]
        free = self.input_names
        held = {
            (free[place] if place < len(free) else "").lstrip("*"): value
            for place, value in enumerate(given)
            if not hasattr(value, "through")
        }
        if not held:
            return super().__call__(given)
        if held.keys() - {o.name for o in self.made.operands if not o.many}:
            raise ParameterError(
                f"{self.operation}: a number may stand for one of "
                f"{', '.join(name for name in free if name[0] != '*') or 'no operand'} only",
                who=self.who,
            )
        chosen = self.replace(constants={**self.constants, **held})
        chosen.name = self.name
        return Layer.__call__(chosen, [x for x in given if hasattr(x, "through")])

    def output_types(self, *types: TensorType) -> tuple[TensorType, ...]:
        """What the operation makes of the inputs.

        Raises:
            ShapeError: operands do not fit, or a result does not begin with the batch.
        """
        return self._tried(types)[0]

    def keeps_masks(self, *types: TensorType) -> bool:
        """Whether each element of a result comes from the elements in its place."""
        return self._tried(types)[1]

    def mask_types(
        self, types: Sequence[TensorType], masks: Sequence[TensorType | None]
    ) -> tuple[TensorType | None, ...]:
        """Element by element, what counts in any input counts; otherwise masks end here."""
        given = [mask for mask in masks if mask is not None]
        if not given or len(given) < len(masks) or not self.keeps_masks(*types):
            return ()
        sample: Shape = ()
        for mask in given:
            sample = broadcast_shapes(self.who, sample, mask.sample)
        made = given[0].with_sample(sample)
        results = self.output_types(*types)
        fits = all(each.sample[: len(sample)] == sample for each in results)
        return (made,) * len(results) if fits else ()

    def lower_masks(self, context: LayerContext, *inputs: Ref) -> tuple[Ref, ...]:
        """The mask of the input, or MAXIMUM of several."""
        types = [context.type_of(x) for x in inputs]
        masks = [context.type_of(mask) if mask.present else None for mask in context.masks]
        found = self.mask_types(types, masks)
        return (any_of(context, context.masks),) * len(found) if found else ()

    def lower(self, context: LayerContext, *inputs: Ref) -> Ref | tuple[Ref, ...]:
        """The lines of the operation."""
        results = self._written(LayerLines(context), inputs)
        for place, ref in enumerate(results):
            context.call_output(ref, output_port(place))
        return results[0] if len(results) == 1 else results

    def _written(self, lines: LayerLines, inputs: Sequence[Ref]) -> tuple[Ref, ...]:
        left = list(inputs)
        refs: list[Ref] = []
        for operand in self.made.operands:
            if operand.name in self.constants:
                refs.append(lines.constant(np.asarray(self.constants[operand.name])))
            elif operand.many:
                refs += left
                left = []
            else:
                refs.append(left.pop(0) if left else ABSENT)
        return self.made.write(lines, *refs, **self.settings)

    def _tried(self, types: Sequence[TensorType]) -> tuple[tuple[TensorType, ...], bool]:
        """Types of the results, and whether it works element by element; kept for these types."""
        key = tuple(types)
        found = self._types.get(key)
        if found is None:
            found = self._try(key)
            if len(self._types) >= 8:
                self._types.clear()
            self._types[key] = found
        return found

    def _try(self, types: tuple[TensorType, ...]) -> tuple[tuple[TensorType, ...], bool]:
        if not self.made.operands:
            raise ShapeError(
                f"{self.operation} makes one tensor for the whole batch, a layer one for each "
                "sample",
                who=self.who,
                hint="use an operation with an operand, such as full_like",
            )
        builder = ProgramBuilder(self.who, "infer")
        inputs = [builder.tensor(f"input{i}", *found) for i, found in enumerate(types)]
        context = LayerContext(builder, training=False)
        lines = LayerLines(context)
        try:
            with context.inside(self.who, self):
                results = self._written(lines, inputs)
        except StudioError as error:
            if isinstance(error, ShapeError | ParameterError):
                message = f"{self.operation}: {error.message}"
                raise type(error)(message, who=self.who, hint=error.hint or _RULE) from error
            raise
        self._require_no_number(builder.finish((), ()))
        made = tuple(builder.type_of(ref) for ref in results)
        for found in made:
            if not found.is_batch:
                raise ShapeError(
                    f"{self.operation}: expected a result that begins with the batch N, as each "
                    f"sample has a result of its own; got {found}",
                    who=self.who,
                    hint="name other axes than 0, such as -1 for the last",
                )
        return made, lines.elementwise

    def _require_no_number(self, program: Program) -> None:
        """ShapeError where a line takes the symbol of the batch for a length to count with."""
        types = {i: tensor.type.bind(_ROWS) for i, tensor in program.tensors.items()}
        for line in program.sections.get("forward", ()):
            shape = getattr(line, "shape", None)
            # The shape of a result may be an option, with the batch in front.
            ins = line if shape is None else line.replace(shape=bind_shape(shape, _ROWS))
            try:
                found = ins.types(lambda ref: types[ref.id])
            except StudioError as error:
                wrong = error.message
            else:
                written = [r for s, r in ins.named_operands() if s.access is Access.WRITE]
                pairs = zip(found, (r for r in written if r.present), strict=False)
                if all(made.bind(_ROWS) == types[ref.id] for made, ref in pairs):
                    continue
                wrong = "a result would depend on how many samples there are"
            raise ShapeError(
                f"{self.operation}: {ins.mnemonic} cannot take the batch N there: {wrong}",
                who=self.who,
                hint="give an operand that has no batch as a constant",
            )


@cache
def _form_of(operation: str) -> tuple[AnyOption, ...]:
    """The options of a form: the operation, its settings, its constants."""
    made = find(operation)
    others = tuple(sorted(name for name in OPERATIONS if OPERATIONS[name].operands))
    first = replace(
        Operator.option("operation"), choices=others, verbatim=True, editor="choice", on_card=False
    )
    settings = (
        replace(option, name=f"{SETTINGS}{option.name}", on_card=option.required or None)
        for option in made.options
    )
    single = [operand for operand in made.operands if not operand.many]
    constants = (constant_option(operand) for operand in single if len(made.operands) > 1)
    return (first, *settings, *constants)
