"""Sums over all but the last dimensions: bias gradients, in two dispatches of a fixed order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from studio.engine.core.tensor import Ref
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec
from studio.engine.gl.shader.dispatch import groups_for

LOCAL = 64
THREADS = {True: 64, False: 32768}
"""Invocations worth having on a software renderer and on a GPU."""
FEWEST = 8
"""Rows an invocation sums at least, where there are that many."""
SHARED_LOCAL = 256
"""Invocations of a work group that joins its sums in shared memory."""
_WIDEST = 32
"""Columns side by side in such a work group at most; the rest take more rows at once."""
_ALONE = 40
"""Rows an invocation sums at most where one work group makes a whole sum."""
_PARTS_EACH = 9
"""Parts of four sums at once that an invocation adds up at most, where lanes are left."""
_MOST_QUAD_LANES = 64
MOST_GROUPS = 528
"""Work groups worth having on a GPU."""


def fold_lanes(parts: int) -> tuple[int, int]:
    """Invocations of a GPU that share one sum of so many parts, and those of a work group."""
    lanes = 1 if parts <= 4 else 8 if parts <= 64 else 32
    return lanes, 64 if lanes == 1 else 256


def parts_of(op: BoundInstruction, rows: int, cols: int) -> int:
    """Parts the rows are cut into so that the device has enough to do."""
    wanted = groups_for(THREADS[op.caps.is_software], max(cols, 1))
    return max(1, min(wanted, groups_for(rows, FEWEST)))


def column_sums(op: BoundInstruction, source: str, target: str) -> tuple[DispatchSpec, ...]:
    """``target[c]`` = sum over rows of ``source[row, c]`` for a target of that many columns.

    Args:
        op: the instruction.
        source: accessor name of what is summed.
        target: accessor name of the result.
    """
    cols = op.numel(target)
    rows = prod(op.shape(source)) // max(cols, 1)
    if not op.caps.is_software:
        return _shared_column_sums(op, source, target, rows, cols)
    parts = parts_of(op, rows, cols)
    first = DispatchSpec(
        "column_sums",
        groups=(groups_for(parts * cols, LOCAL), 1, 1),
        bind={"source": op.ref(source)},
        defines={"COLS": cols},
        launch=(parts, rows),
        scratch=parts * cols,
    )
    return (first, fold(op, target, cols, parts, parts * cols))


@dataclass(frozen=True)
class ColumnGrid:
    """How work groups lie over a matrix of rows and columns on a GPU.

    Attributes:
        width: neighbouring columns of an invocation.
        span: invocations side by side in a work group, a power of two.
        blocks: work groups side by side.
        parts: work groups below each other, each with every so many rows.
    """

    width: int
    span: int
    blocks: int
    parts: int

    @property
    def groups(self) -> int:
        """Work groups in all."""
        return self.blocks * self.parts


def column_grid(
    rows: int, cols: int, *, vector: bool, fewest: int = FEWEST, most: int = MOST_GROUPS
) -> ColumnGrid:
    """The grid for sums over so many rows of so many columns.

    Args:
        rows: length of the sums.
        cols: their number.
        vector: whether four columns are one access.
        fewest: rows an invocation sums at least, where there are that many.
        most: work groups at most.
    """
    width = 4 if vector else 1
    units = groups_for(cols, width)
    span = 1
    while span < min(units, _WIDEST // width):
        span *= 2
    blocks = groups_for(units, span)
    at_once = SHARED_LOCAL // span
    parts = min(groups_for(rows, at_once * fewest), groups_for(most, blocks))
    return ColumnGrid(width, span, blocks, max(parts, 1))


def _shared_column_sums(
    op: BoundInstruction, source: str, target: str, rows: int, cols: int
) -> tuple[DispatchSpec, ...]:
    """Sums joined in shared memory; short ones take one dispatch."""
    vector = op.layout(source).vector_rows and op.shape(source)[-1] == cols
    grid = column_grid(rows, cols, vector=vector)
    if rows <= _ALONE * SHARED_LOCAL // grid.span:
        grid = replace(grid, parts=1)
    room = grid.parts * cols if grid.parts > 1 else 0
    bind = {"source": op.ref(source)}
    if grid.parts == 1:
        bind["y"] = op.ref(target)
    first = DispatchSpec(
        "column_parts",
        groups=(grid.groups, 1, 1),
        local=(SHARED_LOCAL, 1, 1),
        bind=bind,
        adds=frozenset({"y"} if op.adds(target) else ()),
        vector=("source",) if vector else (),
        defines={"COLS": cols, "WIDTH": grid.width, "SPAN": grid.span},
        launch=(grid.parts, rows),
        scratch=room,
        partial=grid.parts > 1,
    )
    return (first, fold(op, target, cols, grid.parts, room)) if room else (first,)


SUM: Mapping[str, str] = {"JOINS_SUM": "1", "FINISH(v)": "(v)"}
"""The macros of a sum."""


def fold(
    op: BoundInstruction,
    target: str,
    cols: int,
    parts: int,
    room: int,
    count: int = 0,
    rule: Mapping[str, str] = SUM,
) -> DispatchSpec:
    """The dispatch that joins the parts of every column, in a fixed order.

    Args:
        op: the instruction.
        target: accessor name of the result.
        cols: columns.
        parts: parts of each in scratch storage.
        room: floats of scratch storage.
        count: elements of a column, ``LAUNCH_1`` in the rule.
        rule: macros of ``lib/joining.glsl`` and ``FINISH(v)``.
    """
    lanes, local = (1, LOCAL) if op.caps.is_software else fold_lanes(parts)
    return DispatchSpec(
        "fold_columns",
        groups=(groups_for(cols, local // lanes), 1, 1),
        local=(local, 1, 1),
        bind={"y": op.ref(target)},
        adds=frozenset({"y"} if op.adds(target) else ()),
        defines={"LANES": lanes, "COLS": "Y_NUMEL", **rule},
        launch=(parts, count),
        scratch=room,
        slack=1,
    )


def product_fold(
    op: BoundInstruction,
    product: DispatchSpec,
    parts: int,
    cols: int,
    count: int,
    bias: Ref | None = None,
) -> DispatchSpec:
    """The dispatch that joins the parts of a product, in a fixed order.

    Args:
        op: the instruction.
        product: the dispatch that left them, bound to the result as ``y``.
        parts: how many.
        cols: columns of the result.
        count: its elements.
        bias: added to every row, where present.
    """
    result = product.bind["y"]
    quads = cols % 4 == 0 and op.layout_of(result).vector_rows
    if op.caps.is_software:
        lanes, local, quads = 1, LOCAL, False
    elif quads:
        lanes, local = _quad_lanes(parts), SHARED_LOCAL
    else:
        lanes, local = fold_lanes(parts)
    width = 4 if quads else 1
    return DispatchSpec(
        "fold_product_quads" if quads else "fold_products",
        groups=(groups_for(count // width, local // lanes), 1, 1),
        local=(local, 1, 1),
        bind={"y": result, **({} if bias is None else {"bias": bias})},
        adds=frozenset({"y"} & product.adds),
        vector=("y", "bias") if quads else (),
        defines={"HAS_BIAS": int(bias is not None), "COLS": cols, "LANES": lanes},
        launch=(parts, 0),
        scratch=product.scratch,
        scratch_vec4=quads,
        slack=1,
    )


def _quad_lanes(parts: int) -> int:
    """Invocations that share four sums: few parts each, read side by side."""
    lanes = 1
    while lanes < _MOST_QUAD_LANES and lanes * _PARTS_EACH < parts:
        lanes *= 2
    return lanes
