"""How batch normalisation runs: statistics in parts, their sum in a fixed order, the elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from studio.engine.compiler.target import GL
from studio.engine.core.tensor import Ref
from studio.engine.gl.kernels.column_sums import LOCAL, SHARED_LOCAL, column_grid, parts_of
from studio.engine.gl.kernels.partial_sums import RowSplit
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.shader.accessors import Use
from studio.engine.gl.shader.dispatch import groups_for
from studio.engine.gl.shader.planned import StorageBinding
from studio.engine.isa.ops.norm import ColumnSums

_FEWEST = 4
"""Rows an invocation sums at least on a GPU, where there are that many."""
_MOST = 264
"""Parts on a GPU at most."""
_MOST_JOINED = 4096
"""Sums of parts, of all columns, that every work group of a GPU may join for itself."""
_MOST_COLUMNS = GL.joined_columns
"""Columns whose sums it may keep."""
_JOINING_LOCAL = 512
_JOINING_GROUPS = 132
"""Work groups at most that do so, in one line, and their invocations."""
_AHEAD = 4
"""Fours an invocation reads before it stores the first."""
_FOLD_LANES = 32
"""Invocations of a GPU that share a column's parts."""


def _shape(op: BoundInstruction) -> tuple[int, int]:
    """Rows that share statistics, and channels that have their own."""
    cols = op.shape("x")[-1] if isinstance(op.ins, ColumnSums) else op.numel("mean")
    return op.numel("x") // max(cols, 1), cols


def _statistics(op: BoundInstruction) -> Mapping[str, Ref]:
    """What ``center`` and ``spread`` stand for."""
    frozen = op.ins.value("frozen")
    names = ("mean", "var") if frozen else ("dmean", "dvar")
    return {"center": op.ref(names[0]), "spread": op.ref(names[1])}


def _width(op: BoundInstruction, *names: str) -> int:
    """Neighbours an invocation computes at once."""
    return 4 if all(op.layout(name).vector_rows for name in names) else 1


@dataclass(frozen=True)
class _Parts:
    """How the rows are split.

    Attributes:
        count: how many.
        at_once: rows a part takes in turn.
        kernel: ends the name of the kernel that sums parts.
        first: grid and macros of that kernel; None where the parts are there already.
    """

    count: int
    at_once: int
    kernel: str = ""
    first: DispatchSpec | None = None


def _parts(op: BoundInstruction, *names: str, whole: bool = False) -> _Parts:
    """How an instruction that makes its sums itself cuts them; ``whole`` asks for one part."""
    rows, cols = _shape(op)
    if op.caps.is_software:
        parts = 1 if whole else parts_of(op, rows, cols)
        groups = groups_for(parts * cols, LOCAL)
        return _Parts(
            parts, 1, "parts", DispatchSpec("", groups=(groups, 1, 1), defines={"COLS": cols})
        )
    width = _width(op, *names)
    # So few parts, where that still is enough for the device, that every group may join them.
    blocks = max(column_grid(rows, cols, vector=width == 4).blocks, 1)
    most = blocks if whole else min(_MOST, max(_MOST_JOINED // max(cols, 1), 1) * blocks)
    grid = column_grid(rows, cols, vector=width == 4, fewest=_FEWEST, most=most)
    first = DispatchSpec(
        "",
        groups=(grid.groups, 1, 1),
        local=(SHARED_LOCAL, 1, 1),
        vector=names if width == 4 else (),
        defines={"COLS": cols, "WIDTH": width, "SPAN": grid.span},
    )
    return _Parts(grid.parts, SHARED_LOCAL // grid.span, "columns", first)


def _given(op: BoundInstruction) -> _Parts:
    """The parts another instruction has made."""
    split = op.row_split("stats")
    return _Parts(split.parts, split.rows)


def _column_dispatches(
    parts: _Parts, kernel: str, room: int, bind: Mapping[str, Ref]
) -> list[DispatchSpec]:
    """What makes the parts, where that is still to be done."""
    if parts.first is None:
        return []
    name = f"{kernel}_{parts.kernel}"
    return [replace(parts.first, kernel=name, launch=(parts.count, 0), scratch=room, bind=bind)]


def _sums(op: BoundInstruction) -> StorageBinding | None:
    """The storage that has the parts in the place of scratch storage."""
    return StorageBinding(op.ref("stats"), Use.READ) if op.has("stats") else None


def _fold(
    op: BoundInstruction,
    kernel: str,
    parts: _Parts,
    room: int,
    bind: Mapping[str, Ref] | None = None,
) -> DispatchSpec:
    rows, cols = _shape(op)
    lanes, local = (1, LOCAL) if op.caps.is_software else (_FOLD_LANES, SHARED_LOCAL)
    return DispatchSpec(
        kernel,
        groups=(groups_for(cols, local // lanes), 1, 1),
        local=(local, 1, 1),
        bind=bind or {},
        defines={"COLS": cols, "LANES": lanes, "AT_ONCE": parts.at_once},
        launch=(parts.count, rows),
        scratch=room,
        sums=_sums(op),
    )


def _element_dispatch(
    op: BoundInstruction, kernel: str, parts: int, room: int, *names: str
) -> DispatchSpec:
    _, cols = _shape(op)
    columns = [name for name in ("gamma", "beta") if op.has(name)]
    bind = _statistics(op)
    layouts = [op.layout_of(ref) for ref in bind.values()]
    fours = all(layout.vector_rows for layout in layouts)
    width = _width(op, *names, *columns) if fours else 1
    return DispatchSpec(
        kernel,
        groups=(groups_for(op.numel("x"), LOCAL * width), 1, 1),
        bind=bind,
        vector=(*names, *columns, *bind) if width == 4 else (),
        defines={"COLS": cols, "WIDTH": width},
        launch=(parts, 0),
        scratch=room,
    )


def _joins_itself(op: BoundInstruction, parts: _Parts, *names: str) -> bool:
    """Whether every work group of the last dispatch should join the parts of all columns itself."""
    most = _MOST_JOINED if parts.first is not None else GL.partial_sums
    few = parts.count * _shape(op)[1] <= most
    return not op.caps.is_software and few and _joins_quads(op, *names)


def _joining_dispatch(
    op: BoundInstruction,
    kernel: str,
    parts: _Parts,
    room: int,
    bind: Mapping[str, Ref],
    *names: str,
) -> DispatchSpec:
    _, cols = _shape(op)
    columns = [name for name in ("gamma", "beta") if op.has(name)]
    groups = min(groups_for(op.numel("x"), 4 * _JOINING_LOCAL), _JOINING_GROUPS)
    lanes = 1
    while lanes * 2 * (cols // 4) <= _JOINING_LOCAL:
        lanes *= 2
    return DispatchSpec(
        kernel,
        groups=(groups, 1, 1),
        local=(_JOINING_LOCAL, 1, 1),
        bind=bind,
        vector=(*names, *columns, *bind),
        defines={
            "COLS": cols,
            "JOIN_LANES": lanes,
            "AHEAD": _AHEAD,
        },
        launch=(parts.count, parts.at_once),
        scratch=room,
        sums=_sums(op),
        scratch_vec4=True,
        saves_dispatch=True,
        # The gradient's text stores as it goes.
        held_stores=_AHEAD if "y" in names else 0,
    )


def _joins_quads(op: BoundInstruction, *names: str) -> bool:
    """Whether there is a place for the sums of all columns, four at once."""
    columns = [name for name in ("gamma", "beta", "mean", "var") if op.has(name)]
    return op.numel("mean") <= _MOST_COLUMNS and _width(op, *names, *columns) == 4


def _all(op: BoundInstruction) -> bool:
    return _does_all(op, "x", "y", "gamma", "beta", "mean", "var", "dmean", "dvar")


def _affine(op: BoundInstruction) -> list[str]:
    return [f"d{name}" for name in ("gamma", "beta") if op.wants(name)]


def _grads_all(op: BoundInstruction) -> bool:
    return _does_all(op, "x", "dy", "dx", "gamma", "dmean", "dvar", *_affine(op))


def _does_all(op: BoundInstruction, *names: str) -> bool:
    """Whether the elements' dispatch may touch what the statistics' would, too."""
    needed = [name for name in names if op.has(name)]
    return len(needed) + 1 + op.tail_storages <= op.caps.offered_blocks


def _batchnorm(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    elements = _element_dispatch(op, "batchnorm", 0, 0, "x", "y")
    if op.ins.value("frozen"):
        return (elements,)
    parts = _given(op) if op.has("stats") else _parts(op, "x")
    room = 2 * parts.count * _shape(op)[1]
    columns = _column_dispatches(parts, "batchnorm", room, {})
    if _joins_itself(op, parts, "x", "y"):
        if _all(op):
            whole = _joining_dispatch(op, "batchnorm_whole", parts, room, {}, "x", "y")
            return (*columns, whole)
        elements = _joining_dispatch(op, "batchnorm_elements", parts, room, {}, "x", "y")
    return (*columns, _fold(op, "batchnorm_statistics", parts, room), elements)


def _grads_batchnorm(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    given, frozen = op.has("stats"), op.ins.value("frozen")
    parts = _given(op) if given else _parts(op, "x", "dy")
    sums = not frozen or op.wants("gamma") or op.wants("beta")
    # Behind the parts are the totals for dx, unless the parts lie elsewhere.
    ahead = 0 if given else parts.count
    room = 2 * (ahead + 1) * _shape(op)[1] if sums else 0
    dispatches: list[DispatchSpec] = []
    if sums:
        dispatches += _column_dispatches(parts, "grads_batchnorm", room, _statistics(op))
    bind = _statistics(op) if given else {}
    joins = not frozen and op.wants("x")
    if joins and _joins_itself(op, parts, "x", "dy", "dx"):
        kernel = "grads_batchnorm_elements"
        if _grads_all(op):
            kernel = "grads_batchnorm_whole"
        elif _affine(op):
            dispatches.append(_fold(op, "grads_batchnorm_affine", parts, room, bind))
        names = ("x", "dy", "dx")
        return (*dispatches, _joining_dispatch(op, kernel, parts, room, _statistics(op), *names))
    if sums:
        totals = _fold(op, "grads_batchnorm_totals", parts, room, bind)
        # The parts are read as an operand, since scratch storage is written here.
        dispatches.append(replace(totals, sums=None, fills_scratch=given))
    if op.wants("x"):
        dispatches.append(_element_dispatch(op, "grads_batchnorm_dx", ahead, room, "x", "dy", "dx"))
    return tuple(dispatches)


def _column_sums(
    op: BoundInstruction, kernel: str, bind: Mapping[str, Ref], *names: str
) -> tuple[DispatchSpec, ...]:
    parts = _parts(op, *names, whole=not op.tensor("y").partial)
    room = 2 * parts.count * _shape(op)[1]
    result = StorageBinding(op.ref("y"), Use.WRITE)
    split = RowSplit(parts.count, parts.at_once)
    (found,) = _column_dispatches(parts, kernel, room, bind)
    return (replace(found, sums=result, row_split=split),)


def _column_stats(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return _column_sums(op, "batchnorm", {}, "x")


def _column_products(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    bind = {"dy": op.ref("dy"), "center": op.ref("mean")}
    return _column_sums(op, "grads_batchnorm", bind, "x", "dy")


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "BATCHNORM": (Variant("simple", _batchnorm),),
    "GRADS_BATCHNORM": (Variant("simple", _grads_batchnorm),),
    "BATCHNORM2D": (Variant("simple", _batchnorm),),
    "GRADS_BATCHNORM2D": (Variant("simple", _grads_batchnorm),),
    "COLUMN_STATS": (Variant("simple", _column_stats),),
    "COLUMN_PRODUCTS": (Variant("simple", _column_products),),
}
