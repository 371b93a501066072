"""Tensors as a program sees them: an id, a name, a type and their part in the tensor map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from studio.engine.core.descriptor import ShapeDescriptor
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError, quoted

BATCH = -1
"""Stands in dimension 0 for the number of rows in a batch; printed ``N``."""

ROWS = -2
"""Stands in dimension 0 for the number of rows of a resident data set; printed ``D``."""

UNKNOWN = -3
"""Stands in the shape a layer reports for a length that is bound when lowering; printed ``None``.

No tensor of a program has it: programs are lowered for numbers.
"""

Shape = tuple[int, ...]
OpenShape = tuple[int | None, ...]
"""A shape as users state and read it: ``None`` for a length that is bound when lowering."""
Pads = tuple[tuple[int, int], ...]

MAX_RANK = 6


class Ref(NamedTuple):
    """An operand: a tensor id, and whether its gradient storage is meant instead of its data."""

    id: int
    grad: bool = False

    @property
    def gradient(self) -> Ref:
        """The gradient storage of the same tensor."""
        return Ref(self.id, True)

    @property
    def present(self) -> bool:
        """False for the absent operand ``0x-``."""
        return self.id >= 0

    def __str__(self) -> str:
        if self.id < 0:
            return "0x-"
        return f"{self.id:#x}.grad" if self.grad else f"{self.id:#x}"


ABSENT = Ref(-1)


class Role(Enum):
    """What a tensor is for; decides whether it persists, is saved, and is optimised."""

    INPUT = "input"
    TARGET = "target"
    PARAM = "param"
    STATE = "state"
    SLOT = "slot"
    ACTIVATION = "activation"
    CONST = "const"
    DATA = "data"
    STEP = "step"
    METRIC = "metric"

    @property
    def persistent(self) -> bool:
        """True when a backend session keeps the storage between runs, under the tensor's name."""
        return self in _PERSISTENT


_PERSISTENT = frozenset(
    {Role.PARAM, Role.STATE, Role.SLOT, Role.CONST, Role.DATA, Role.STEP, Role.METRIC}
)


class TensorType(NamedTuple):
    """Shape (dimension 0 may be ``BATCH`` or ``ROWS``) and dtype."""

    shape: Shape
    dtype: DType = DType.float32

    @classmethod
    def of_batch(cls, sample: Shape, dtype: DType = DType.float32) -> TensorType:
        """The type of a batch of samples of a shape."""
        return cls((BATCH, *sample), dtype)

    @property
    def is_batch(self) -> bool:
        """Whether dimension 0 is the batch."""
        return self.shape[:1] == (BATCH,)

    @property
    def sample(self) -> Shape:
        """The shape without the batch."""
        return self.shape[1:] if self.is_batch else self.shape

    def with_sample(self, sample: Shape) -> TensorType:
        """A type with another shape behind the batch; batch and dtype stay."""
        return TensorType((BATCH, *sample) if self.is_batch else sample, self.dtype)

    def bind(self, batch: int, rows: int = 0) -> TensorType:
        """The same type with symbols replaced by numbers."""
        return TensorType(bind_shape(self.shape, batch, rows), self.dtype)

    @property
    def numel(self) -> int:
        """Number of elements; only for a type without symbols."""
        return prod(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype.name}{shape_text(self.shape)}"


def shape_text(shape: Iterable[int]) -> str:
    """A shape as ``[N,8,8,1]``."""
    symbols = {BATCH: "N", ROWS: "D", UNKNOWN: "None"}
    return "[" + ",".join(symbols.get(d, str(d)) for d in shape) + "]"


def bind_shape(shape: Shape, batch: int, rows: int = 0) -> Shape:
    """Replace the symbols of dimension 0 by ``batch`` and ``rows``."""
    if shape and shape[0] == BATCH:
        return (batch, *shape[1:])
    if shape and shape[0] == ROWS:
        return (rows, *shape[1:])
    return shape


@dataclass(frozen=True, slots=True)
class Tensor:
    """One entry of the tensor map.

    Attributes:
        id: place in the tensor map, printed in hex.
        name: where it came from, such as ``conv1/kernel``; unique in a program.
        shape: rank 0 to 6; dimension 0 may be ``BATCH`` or ``ROWS``.
        dtype: storage type.
        role: what it is for.
        trainable: a parameter the optimiser may change.
        weight: a parameter that weight decay applies to.
        init: initialiser in its text form, such as ``glorot_uniform`` or ``constant(0.5)``.
        stream: stream of the counter-based generator the initialiser draws from.
        pad: halo cells ``(before, after)`` per dimension, empty when not padded.
        view_of: id of the tensor whose storages this one shares (a reshape), or ``None``.
        register: lives only inside a fused group and has no data storage.
        partial: a result cut into parts that its readers put together; how many parts there are is
            the choice of the kernel that writes it.
        value: contents of a constant in row-major order, as float32-representable numbers; else
            ``None``.
        layer: stable id of the layer whose port this tensor is, empty for housekeeping.
        port: name of that port (``output``, ``kernel``, ...).
    """

    id: int
    name: str
    shape: Shape
    dtype: DType = DType.float32
    role: Role = Role.ACTIVATION
    trainable: bool = False
    weight: bool = False
    init: str = ""
    stream: int = 0
    pad: Pads = ()
    view_of: int | None = None
    register: bool = False
    partial: bool = False
    value: tuple[float, ...] | None = None
    layer: str = ""
    port: str = ""

    def __post_init__(self) -> None:
        if len(self.shape) > MAX_RANK:
            raise ShapeError(
                f"instructions take rank 0 to {MAX_RANK}: got {shape_text(self.shape)}",
                who=self.name,
            )
        if any(d < 0 for d in self.shape[1:]):
            raise ShapeError(
                f"only dimension 0 may be symbolic: got {shape_text(self.shape)}", who=self.name
            )
        if self.value is not None:
            # The text form prints float32, so nothing else may be kept.
            rounded = np.asarray(self.value, np.float32).astype(np.float64)
            object.__setattr__(self, "value", tuple(rounded.tolist()))

    @property
    def type(self) -> TensorType:
        """Shape and dtype."""
        return TensorType(self.shape, self.dtype)

    @property
    def ref(self) -> Ref:
        """The operand that names this tensor's data."""
        return Ref(self.id)

    def numel(self, batch: int, rows: int = 0) -> int:
        """Number of elements with symbols bound (halo not counted)."""
        return prod(bind_shape(self.shape, batch, rows))

    def descriptor(self, batch: int, rows: int = 0) -> ShapeDescriptor:
        """Storage layout with symbols bound: dense row-major, or with a halo where padded."""
        return _descriptor(self.dtype, bind_shape(self.shape, batch, rows), self.pad)

    def replace(self, **changes: object) -> Tensor:
        """A copy with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


@lru_cache(maxsize=1 << 12)
def _descriptor(dtype: DType, shape: Shape, pad: Pads) -> ShapeDescriptor:
    """Kept, since those who plan a program ask for the same few again and again."""
    if not pad:
        return ShapeDescriptor.plain(dtype, shape)
    paddings = [before + after for before, after in pad]
    return ShapeDescriptor.create("c", shape, dtype, paddings, [before for before, _ in pad])


class TensorMap(Mapping[int, Tensor]):
    """An immutable, ordered map from id to tensor, with look-up by name."""

    __slots__ = ("_by_id", "_by_name")

    def __init__(self, tensors: Iterable[Tensor] = ()) -> None:
        self._by_id = {t.id: t for t in tensors}
        self._by_name = {t.name: t for t in self._by_id.values()}
        if len(self._by_name) != len(self._by_id):
            counts = Counter(t.name for t in self._by_id.values())
            twice = counts.most_common(1)[0][0]
            raise ShapeError(
                f"tensor names must be unique: {quoted(twice)} occurs twice", who="tensor map"
            )

    def __getitem__(self, key: int) -> Tensor:
        return self._by_id[key]

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorMap) and self._by_id == other._by_id

    def __hash__(self) -> int:
        return hash(tuple(self._by_id.values()))

    def named(self, name: str) -> Tensor:
        """The tensor of that name; ``KeyError`` when there is none."""
        return self._by_name[name]

    def has_name(self, name: str) -> bool:
        """Whether a tensor of that name exists."""
        return name in self._by_name

    def update(self, tensors: Iterable[Tensor]) -> TensorMap:
        """A map with the given tensors added, or put in place of those with their id."""
        merged = dict(self._by_id)
        merged.update((t.id, t) for t in tensors)
        return TensorMap(merged.values())

    def without(self, ids: Iterable[int]) -> TensorMap:
        """A map without the given ids."""
        gone = set(ids)
        return TensorMap(t for t in self._by_id.values() if t.id not in gone)

    def root(self, tensor_id: int) -> int:
        """Id of the tensor that owns the storages of ``tensor_id`` (itself unless it is a view)."""
        seen = tensor_id
        while (parent := self._by_id[seen].view_of) is not None:
            seen = parent
        return seen
