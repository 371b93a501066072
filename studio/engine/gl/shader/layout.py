"""How an operand lies in device storage, as the accessor generator sees it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import BATCH, ROWS, Shape, Tensor
from studio.engine.gl.shader.glsl_text import PER_WORD, VALUE_TYPES, ElementType

SYMBOLS = {BATCH: "BATCH", ROWS: "ROWS"}
"""Names the symbols of dimension 0 have in a kernel; their values come from the launch block."""


@dataclass(frozen=True)
class Layout:
    """Element type, sizes and strides of one operand; sizes keep the symbols of dimension 0.

    Row-major strides never depend on the first size, so a kernel's text is the same for every
    batch length.

    Attributes:
        dtype: element type of the storage.
        sizes: one per dimension; the first may be ``BATCH`` or ``ROWS``.
        strides: cells from one index to the next.
        offset: cell of the first element.
        lead: what a symbolic first size is multiplied by.
    """

    dtype: DType
    sizes: Shape
    strides: tuple[int, ...]
    offset: int = 0
    lead: int = 1

    @classmethod
    def of(cls, tensor: Tensor, batch: int, rows: int) -> Layout:
        """The layout of a tensor's storages (data and gradient lie alike)."""
        descriptor = tensor.descriptor(max(batch, 1), max(rows, 1))
        return cls(tensor.dtype, tensor.shape, descriptor.strides, descriptor.offset)

    def merged(self, behind: int) -> Layout:
        """The layout with one dimension in front of the last ``behind`` ones.

        Raises:
            BackendError: the leading dimensions do not lie one behind another.
        """
        count = self.rank - behind
        if count < 2:
            return self
        steps = zip(self.strides, self.sizes[1:count], self.strides[1:count], strict=False)
        if any(outer != size * inner for outer, size, inner in steps):
            raise BackendError(f"the leading dimensions of {self} have gaps between them", who="gl")
        lead = prod(self.sizes[1:count])
        first = self.sizes[0] if self.symbolic else self.sizes[0] * lead
        return replace(
            self,
            sizes=(first, *self.sizes[count:]),
            strides=self.strides[count - 1 :],
            lead=lead if self.symbolic else 1,
        )

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.sizes)

    @cached_property
    def dense(self) -> bool:
        """Whether the row-major sequence visits consecutive cells from cell 0 on."""
        step = 1
        for size, stride in zip(reversed(self.sizes), reversed(self.strides), strict=True):
            if size != 1 and stride != step:
                return False
            step *= size
        return self.offset == 0

    @property
    def value_type(self) -> ElementType:
        """The GLSL type its elements have in a kernel."""
        return VALUE_TYPES[self.dtype]

    @property
    def per_word(self) -> int:
        """Elements packed into one 32-bit word."""
        return PER_WORD[self.dtype]

    @cached_property
    def vector_rows(self) -> bool:
        """Whether four elements along the last dimension are one aligned load."""
        if self.rank == 0 or self.dtype is not DType.float32:
            return False
        aligned = all(stride % 4 == 0 for stride in (*self.strides[:-1], self.offset))
        size = self.sizes[-1]
        return aligned and self.strides[-1] == 1 and size > 0 and size % 4 == 0

    @property
    def inner(self) -> int:
        """Elements behind a symbolic first dimension (all of them when there is none)."""
        return self.lead * prod(self.sizes[1:] if self.symbolic else self.sizes)

    @property
    def symbolic(self) -> bool:
        """Whether dimension 0 is a symbol."""
        return bool(self.sizes) and self.sizes[0] < 0

    def size_text(self, dimension: int) -> str:
        """The size of a dimension as a GLSL expression."""
        size = self.sizes[dimension]
        if size < 0 and self.lead != 1:
            return f"({SYMBOLS[size]} * {self.lead})"
        return SYMBOLS.get(size, str(size))

    def numel_text(self) -> str:
        """The number of elements as a GLSL expression."""
        if not self.symbolic:
            return str(self.inner)
        return f"({SYMBOLS[self.sizes[0]]} * {self.inner})"

    def __str__(self) -> str:
        sizes = ",".join({BATCH: "N", ROWS: "D"}.get(size, str(size)) for size in self.sizes)
        if self.lead != 1:
            sizes = f"{self.lead}·{sizes}"
        text = f"{self.dtype}[{sizes}]"
        if self.dense:
            return text
        return f"{text} strides {','.join(map(str, self.strides))} at {self.offset}"
