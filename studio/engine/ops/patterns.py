"""What a call of an operation becomes: lines over places, found once for operands of some types."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import ABSENT, Ref, Role, TensorType
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.data import STEP_WORDS
from studio.engine.isa.ops.move import Copy
from studio.engine.isa.program import Program

Types = tuple[TensorType, ...]

_CONSTANTS = {"b": DType.bool, "i": DType.int32, "u": DType.int32}
_EXACT = 1 << 24
"""Constants are kept as float32."""


class Writes(Protocol):
    """An operation: a name, and a function that writes its lines."""

    @property
    def name(self) -> str:
        """What users call it by."""
        ...

    def write(self, lines: Any, *refs: Ref, **options: Any) -> tuple[Ref, ...]:
        """Write the lines for operands and options; returns the results."""
        ...


class Pattern:
    """A call as far as its values do not matter; equal calls share one.

    Args:
        name: of the operation.
        program: its lines; inputs stand for the operands, outputs for the results.

    Attributes:
        name: of the operation.
        program: its lines.
        draws: whether the last operand is the step block that keys random numbers.
        reads: how many operands it has.
        types: of the results.
        kinds: numbers of these types, see `kind_of`.
    """

    __slots__ = ("draws", "kinds", "name", "program", "reads", "types")

    special: ClassVar[bool] = False

    def __init__(self, name: str, program: Program, *, draws: bool = False) -> None:
        self.name = name
        self.program = program
        self.draws = draws
        self.reads = len(program.inputs)
        self.types: Types = tuple(program.tensors[i].type for i in program.outputs)
        self.kinds = tuple(kind_of(t) for t in self.types)


class SpecialPattern(Pattern):
    """A call that no operation writes: gradients, or the gradient that comes to a user's rule.

    Args:
        name: what it is.
        types: of its results.
        reads: how many operands it has.
    """

    __slots__ = ("reads",)

    special = True

    def __init__(self, name: str, types: Types, reads: int) -> None:
        super().__init__(name, ProgramBuilder(name, "train").finish((), ()))
        self.types = types
        self.kinds = tuple(kind_of(t) for t in types)
        self.reads = reads


_KINDS: dict[TensorType, int] = {}
TYPES: list[TensorType] = []
"""Types by their number."""


def kind_of(found: TensorType) -> int:
    """The number of a type; numbers are quicker to compare than shapes."""
    number = _KINDS.get(found)
    if number is None:
        number = _KINDS.setdefault(found, len(_KINDS))
        TYPES[len(TYPES) :] = list(_KINDS)[len(TYPES) :]
    return number


class PatternLines:
    """Collects the lines of one call; what operations write on.

    Args:
        name: of the operation, which owns the lines.
        types: of the operands.
    """

    def __init__(self, name: str, types: Sequence[TensorType]) -> None:
        self._builder = ProgramBuilder(name, "infer")
        self.operands = tuple(
            self._builder.tensor(f"operand{i}", t.shape, t.dtype, Role.INPUT)
            for i, t in enumerate(types)
        )
        self._name = name
        self._streams = 0
        self._step: Ref | None = None

    @property
    def step(self) -> Ref:
        """The step block that keys random draws: one operand more, made when it is asked for."""
        if self._step is None:
            self._step = self._builder.tensor(
                "step", (STEP_WORDS,), DType.int32, Role.INPUT, late=True
            )
        return self._step

    @property
    def draws(self) -> bool:
        """Whether the step block was asked for."""
        return self._step is not None

    def type_of(self, ref: Ref) -> TensorType:
        """The type of an operand or of what a line made."""
        return self._builder.type_of(ref)

    def emit(self, cls: type[Instruction], /, **fields: Any) -> tuple[Ref, ...]:
        """Append a line; returns what it writes."""
        return self._builder.emit("forward", cls, **fields)

    def constant(self, values: npt.ArrayLike) -> Ref:
        """Numbers that belong to the operation; the same ones are kept once."""
        array = np.asarray(values)
        dtype = _CONSTANTS.get(array.dtype.kind, DType.float32)
        if dtype is DType.int32 and array.size and np.abs(array.astype(np.int64)).max() > _EXACT:
            raise ShapeError(
                f"whole numbers of constants are at most {_EXACT}: got {array.max()}",
                who=self._name,
            )
        array = array.astype(dtype.np)
        digest = hashlib.sha1(array.tobytes(), usedforsecurity=False).hexdigest()[:16]
        shape = "x".join(map(str, array.shape))
        return self._builder.tensor(
            f"constant/{dtype.name}/{shape}/{digest}",
            array.shape,
            dtype,
            Role.CONST,
            value=tuple(array.reshape(-1).tolist()),
        )

    def stream(self, role: str) -> int:
        """A stream of the generator for each draw inside the call."""
        self._streams += 1
        return self._streams - 1

    def finish(self, results: Sequence[Ref]) -> Program:
        """The lines as a program; a result that no line made, or that stands twice, is copied."""
        outputs: list[Ref] = []
        for ref in results:
            if ref in outputs or self._builder.peek(ref).role is not Role.ACTIVATION:
                (ref,) = self.emit(Copy, x=ref)
            outputs.append(ref)
        inputs = self.operands if self._step is None else (*self.operands, self._step)
        return self._builder.finish(inputs, tuple(outputs))


_PATTERNS: dict[tuple[Any, ...], Pattern] = {}
_MOST = 1 << 14


def pattern_of(
    operation: Writes, kinds: tuple[int, ...], options: dict[str, Any], key: tuple[Any, ...]
) -> Pattern:
    """The pattern of a call that is not known under ``key`` yet.

    Raises:
        ShapeError, ParameterError: the operands or options do not fit.
    """
    lines = PatternLines(operation.name, [TYPES[k] for k in kinds if k >= 0])
    present = iter(lines.operands)
    refs = [ABSENT if k < 0 else next(present) for k in kinds]
    results = operation.write(lines, *refs, **options)
    made = Pattern(operation.name, lines.finish(results), draws=lines.draws)
    if len(_PATTERNS) >= _MOST:
        _PATTERNS.clear()
    return _PATTERNS.setdefault(key, made)


known: Callable[[tuple[Any, ...]], Pattern | None] = _PATTERNS.get
"""The pattern of a call made before, by its key."""


def special_pattern(name: str, kinds: tuple[int, ...], reads: int) -> SpecialPattern:
    """The pattern of a call that no operation writes, with results of these types."""
    key = (name, kinds, reads)
    found = _PATTERNS.get(key)
    if not isinstance(found, SpecialPattern):
        found = SpecialPattern(name, tuple(TYPES[k] for k in kinds), reads)
        _PATTERNS[key] = found
    return found


def require_float(name: str, found: TensorType) -> None:
    """ShapeError unless a tensor may have a gradient."""
    if found.dtype is not DType.float32:
        raise ShapeError(f"only float32 tensors have gradients: got {found}", who=name)
