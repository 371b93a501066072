"""What a dense product consists of: two factors, the sums between them, and where they go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from studio.engine.core.tensor import Ref


@dataclass(frozen=True)
class Factor:
    """One side of a product.

    Attributes:
        name: accessor the kernel reads it by.
        along_depth: whether neighbours in storage follow the depth, not the rows or columns.
        vector: whether four neighbours are one aligned access of four steps of that index.
    """

    name: str
    along_depth: bool
    vector: bool


@dataclass(frozen=True)
class Product:
    """What the engines of ``lib/product.glsl`` need to know of one product, symbols bound.

    Attributes:
        kernel: stem of the file that says where the factors lie.
        rows: rows of the result.
        cols: columns of the result.
        depth: length of the sums.
        left: factor with a row per row of the result.
        right: factor with a column per column of the result.
        result: the storage written.
        adds: whether it is added to.
        batches: independent products.
        depths: where not empty, the products of the batch make one result together: these are the
            depths they have, ``depth`` being the longest, and the kernel says where rows lie, some
            of which may be of no use.
        fixed_depth: whether the depth is the same for every batch length.
        gaps: whether the left factor has elements that lie nowhere and are 0.
        busy: whether finding a depth index's place takes divisions; registers are short then.
        late: whether its result is wanted late, so that it had better run beside what comes next.
        bias: added to every row, where present.
        bind: further names of the kernel.
        defines: further macros of the kernel.
    """

    kernel: str
    rows: int
    cols: int
    depth: int
    left: Factor
    right: Factor
    result: Ref
    adds: bool = False
    batches: int = 1
    depths: tuple[int, ...] = ()
    fixed_depth: bool = True
    gaps: bool = False
    busy: bool = False
    late: bool = False
    bias: Ref | None = None
    bind: Mapping[str, Ref] = field(default_factory=dict)
    defines: Mapping[str, int | str] = field(default_factory=dict)
