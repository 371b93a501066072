"""The layer that is one operation of the table."""

from __future__ import annotations

import ast
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError, StudioError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.options import REQUIRED, AnyOption, Plain, spec
from studio.engine.core.tensor import ABSENT, MAX_RANK, Ref, Shape, TensorType, bind_shape
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
from studio.engine.operations import OPERATIONS, Operation, find

LARGEST_CONSTANT = 4096
"""Most numbers that a constant of an operator may have; projects and listings hold them as text."""

LARGEST_WHOLE = 1 << 24
"""Largest whole number of a constant: the numbers of constants are kept as float32."""

LONGEST_TEXT = 100_000
"""Most characters of an operation with its values as text."""

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


def _read_operation(value: object, who: str) -> str:
    if not isinstance(value, str):
        raise ParameterError(f"expected the name of an operation, got {quoted(value)}", who=who)
    return find(value).name


def _read_mapping(value: object, who: str) -> dict[str, Any]:
    """Values by name, also as text: ``axis=-1, keepdims=True``, or a JSON object."""
    if isinstance(value, str):
        text = value.strip()
        value = _object(text) if text.startswith("{") else _parsed(f"f({text})", who)[1]
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ParameterError(f"expected values by name, got {quoted(value)}", who=who)
    return dict(value)


def _object(text: str) -> object:
    """What a text of JSON says; the text itself where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


_NOTHING: dict[str, Any] = {}


def _plain(value: Any) -> Plain:
    """Tuples as lists, however deep."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    found: Plain = [_plain(each) for each in value] if isinstance(value, tuple) else value
    return found


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
        REQUIRED, _read_operation, str, start="add", editor="text", on_card=True,
    )  # fmt: skip
    settings = spec(
        "Options of the operation that differ from their defaults, by name.",
        _NOTHING, _read_mapping, _plain,
    )  # fmt: skip
    constants = spec(
        "Numbers in place of operands, by the operand's name; other operands are inputs.",
        _NOTHING, _read_mapping, _plain,
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
        stem, written = _parsed(operation, who)
        made = find(_read_operation(stem, who))
        operands = {o.name for o in made.operands}
        options = {o.name for o in made.options}
        set_, held = (
            dict(_read_mapping({} if v is None else v, who)) for v in (settings, constants)
        )
        for key, value in {**written, **given}.items():
            if key in operands:
                held[key] = value
            elif key in options:
                set_[key] = value
            else:
                raise _unknown(made, key, (*options, *operands), who)
        super().__init__(
            made.name, settings=_checked_settings(made, set_),
            constants=_checked_constants(made, held, who), name=name, trainable=trainable,
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
        first = {o.name: _first_value(o) for o in found.options if o.required}
        if any(o.name == "axis" and o.default in (None, 0) for o in found.options):
            # The dimension of the batch, or all of them, are no good beginning for a layer.
            first["axis"] = -1
        return {"operation": found.name, **({"settings": first} if first else {})}

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
        inner = ", ".join(f"{key}={_plain(value)!r}" for key, value in said.items())
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
        stem, _ = _parsed(changes["operation"], self.who)
        made = find(_read_operation(stem, self.who))
        kept: dict[str, Any] = {"settings": dict(self.settings), "constants": dict(self.constants)}
        if made is not self.made:
            kept["settings"] = {
                o.name: self.settings[o.name]
                for o in made.options
                if o.name in self.settings and _takes(o, self.settings[o.name])
            }
            names = {o.name for o in made.operands if not o.many}
            kept["constants"] = {k: v for k, v in self.constants.items() if k in names}
        copy = type(self)(**{**kept, **changes})
        copy.trainable = self.trainable
        return copy

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


def _unknown(made: Operation, key: str, known: Sequence[str], who: str) -> ParameterError:
    hint = f"known for {made.name}: {', '.join(sorted(known)) or 'none'}"
    return ParameterError(
        f"{made.name} has no option or operand {quoted(key)}", who=who,
        hint=did_you_mean(key, known, hint),
    )  # fmt: skip


def _checked_settings(made: Operation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options that differ from their defaults, checked."""
    values = made.checked(given)
    return {o.name: values[o.name] for o in made.options
            if o.required or values[o.name] != o.default}  # fmt: skip


def _checked_constants(made: Operation, given: Mapping[str, Any], who: str) -> dict[str, Any]:
    """Constants as numbers, or as tuples of tuples of numbers, in the order of operands."""
    known = {o.name: o for o in made.operands}
    for name in given:
        if name not in known:
            raise _unknown(made, name, tuple(known), who)
        if known[name].many:
            raise ParameterError(
                f"{made.name} takes any number of inputs, none of them a constant", who=who,
                hint="add or join the constant with an operator of its own",
            )  # fmt: skip
    if given and len(given) == len(known):
        raise ParameterError(
            f"{made.name}: every operand is a constant, so that no input is left", who=who,
            hint="leave at least one operand to an input",
        )  # fmt: skip
    return {name: constant_of(given[name], f"{who}.{name}") for name in known if name in given}


def constant_of(given: object, who: str) -> Any:
    """A number, or tuples of tuples of numbers, from any array of numbers.

    Raises:
        ParameterError: it is none, is empty or too large, or a number cannot be kept exactly.
    """
    try:
        array = np.asarray(given)
    except ValueError:
        raise ParameterError("its rows must be of one length", who=who) from None
    if array.dtype.kind not in "fiub":
        raise ParameterError(f"expected a number or numbers, got {quoted(given)}", who=who)
    if not 1 <= array.size <= LARGEST_CONSTANT or array.ndim > MAX_RANK:
        raise ParameterError(
            f"expected 1 to {LARGEST_CONSTANT} numbers in at most {MAX_RANK} dimensions, got "
            f"{array.size} in {array.ndim}",
            who=who,
            hint="larger ones belong to the data, or to a layer with weights",
        )
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)
        if not np.isfinite(array).all():
            raise ParameterError("expected finite numbers that fit float32", who=who)
        return _tuples([float(str(v)) for v in array.reshape(-1)], array.shape)
    if array.dtype.kind != "b" and (array > LARGEST_WHOLE).any() | (array < -LARGEST_WHOLE).any():
        raise ParameterError(
            f"whole numbers of constants are from -{LARGEST_WHOLE} to {LARGEST_WHOLE}", who=who,
            hint="write it as a fraction, such as 3e9",
        )  # fmt: skip
    return _tuples(array.reshape(-1).tolist(), array.shape)


def _tuples(flat: Sequence[Any], shape: Sequence[int]) -> Any:
    """Numbers in row-major order as nested tuples."""
    if not shape:
        return flat[0]
    step = math.prod(shape[1:])
    return tuple(_tuples(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0]))


def _parsed(given: object, who: str) -> tuple[object, dict[str, Any]]:
    """``mean(axis=-1)`` as name and values; other texts are names."""
    if not isinstance(given, str) or "(" not in given:
        return given, {}
    if len(given) > LONGEST_TEXT:
        raise ParameterError(f"expected at most {LONGEST_TEXT} characters", who=who)
    wrong = ParameterError(
        f"expected an operation with values by name, such as mean(axis=-1), got {quoted(given)}",
        who=who,
    )
    try:
        call = ast.parse(given.strip(), mode="eval").body
        keywords = call.keywords if isinstance(call, ast.Call) else []
        values = {str(key.arg): ast.literal_eval(key.value) for key in keywords}
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise wrong from None
    if not isinstance(call, ast.Call) or call.args or len(values) < len(keywords):
        raise wrong
    return ast.unparse(call.func), values


def _takes(option: AnyOption, value: object) -> bool:
    """Whether a value of another operation's option is one of this."""
    try:
        option.check(value, "")
    except ParameterError:
        return False
    return True


def _first_value(option: AnyOption) -> Plain:
    """A first value; of one in a form of its own, an empty list."""
    return [] if option.read is not None and option.start is None else option.first_value
