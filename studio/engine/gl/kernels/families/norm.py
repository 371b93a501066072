"""How batch normalisation runs: statistics in parts, their sum in a fixed order, the elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from studio.engine.compiler.target import GL
from studio.engine.core.tensor import Ref
from studio.engine.gl.kernels.column_sums import LOCAL, SHARED_LOCAL, column_grid, parts_of
from studio.engine.gl.kernels.partial_sums import Cut
from studio.engine.gl.kernels.specs import Case, Pass, Variant
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


def _shape(case: Case) -> tuple[int, int]:
    """Rows that share statistics, and channels that have their own."""
    cols = case.shape("x")[-1] if isinstance(case.ins, ColumnSums) else case.numel("mean")
    return case.numel("x") // max(cols, 1), cols


def _statistics(case: Case) -> Mapping[str, Ref]:
    """What ``center`` and ``spread`` stand for."""
    frozen = case.ins.value("frozen")
    names = ("mean", "var") if frozen else ("dmean", "dvar")
    return {"center": case.ref(names[0]), "spread": case.ref(names[1])}


def _width(case: Case, *names: str) -> int:
    """Neighbours an invocation computes at once."""
    return 4 if all(case.layout(name).vector_rows for name in names) else 1


@dataclass(frozen=True)
class _Parts:
    """How the rows are cut up.

    Attributes:
        count: how many.
        at_once: rows a part takes in turn.
        kernel: ends the name of the kernel that sums parts.
        first: grid and macros of that kernel; None where the parts are there already.
    """

    count: int
    at_once: int
    kernel: str = ""
    first: Pass | None = None


def _parts(case: Case, *names: str, whole: bool = False) -> _Parts:
    """How an instruction that makes its sums itself cuts them; ``whole`` asks for one part."""
    rows, cols = _shape(case)
    if case.caps.is_software:
        parts = 1 if whole else parts_of(case, rows, cols)
        groups = groups_for(parts * cols, LOCAL)
        return _Parts(parts, 1, "parts", Pass("", groups=(groups, 1, 1), defines={"COLS": cols}))
    width = _width(case, *names)
    # So few parts, where that still is enough for the device, that every group may join them.
    blocks = max(column_grid(rows, cols, vector=width == 4).blocks, 1)
    most = blocks if whole else min(_MOST, max(_MOST_JOINED // max(cols, 1), 1) * blocks)
    grid = column_grid(rows, cols, vector=width == 4, fewest=_FEWEST, most=most)
    first = Pass(
        "",
        groups=(grid.groups, 1, 1),
        local=(SHARED_LOCAL, 1, 1),
        vector=names if width == 4 else (),
        defines={"COLS": cols, "WIDTH": width, "SPAN": grid.span},
    )
    return _Parts(grid.parts, SHARED_LOCAL // grid.span, "columns", first)


def _given(case: Case) -> _Parts:
    """The parts another instruction has made."""
    cut = case.cut("stats")
    return _Parts(cut.parts, cut.rows)


def _column_passes(parts: _Parts, kernel: str, room: int, bind: Mapping[str, Ref]) -> list[Pass]:
    """What makes the parts, where that is still to be done."""
    if parts.first is None:
        return []
    name = f"{kernel}_{parts.kernel}"
    return [replace(parts.first, kernel=name, launch=(parts.count, 0), scratch=room, bind=bind)]


def _sums(case: Case) -> StorageBinding | None:
    """The storage that has the parts in the place of scratch storage."""
    return StorageBinding(case.ref("stats"), Use.READ) if case.has("stats") else None


def _fold_pass(
    case: Case, kernel: str, parts: _Parts, room: int, bind: Mapping[str, Ref] | None = None
) -> Pass:
    rows, cols = _shape(case)
    lanes, local = (1, LOCAL) if case.caps.is_software else (_FOLD_LANES, SHARED_LOCAL)
    return Pass(
        kernel,
        groups=(groups_for(cols, local // lanes), 1, 1),
        local=(local, 1, 1),
        bind=bind or {},
        defines={"COLS": cols, "LANES": lanes, "AT_ONCE": parts.at_once},
        launch=(parts.count, rows),
        scratch=room,
        sums=_sums(case),
    )


def _element_pass(case: Case, kernel: str, parts: int, room: int, *names: str) -> Pass:
    _, cols = _shape(case)
    columns = [name for name in ("gamma", "beta") if case.has(name)]
    bind = _statistics(case)
    layouts = [case.layout_of(ref) for ref in bind.values()]
    fours = all(layout.vector_rows for layout in layouts)
    width = _width(case, *names, *columns) if fours else 1
    return Pass(
        kernel,
        groups=(groups_for(case.numel("x"), LOCAL * width), 1, 1),
        bind=bind,
        vector=(*names, *columns, *bind) if width == 4 else (),
        defines={"COLS": cols, "WIDTH": width},
        launch=(parts, 0),
        scratch=room,
    )


def _joins_itself(case: Case, parts: _Parts, *names: str) -> bool:
    """Whether every work group of the elements' pass had better join the parts of all columns."""
    most = _MOST_JOINED if parts.first is not None else GL.partial_sums
    few = parts.count * _shape(case)[1] <= most
    return not case.caps.is_software and few and _joins_quads(case, *names)


def _joining_pass(
    case: Case, kernel: str, parts: _Parts, room: int, bind: Mapping[str, Ref], *names: str
) -> Pass:
    _, cols = _shape(case)
    columns = [name for name in ("gamma", "beta") if case.has(name)]
    groups = min(groups_for(case.numel("x"), 4 * _JOINING_LOCAL), _JOINING_GROUPS)
    lanes = 1
    while lanes * 2 * (cols // 4) <= _JOINING_LOCAL:
        lanes *= 2
    return Pass(
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
        sums=_sums(case),
        in_fours=True,
        spares=True,
        # The gradient's text stores as it goes.
        holds=_AHEAD if "y" in names else 0,
    )


def _joins_quads(case: Case, *names: str) -> bool:
    """Whether there is a place for the sums of all columns, four at once."""
    columns = [name for name in ("gamma", "beta", "mean", "var") if case.has(name)]
    return case.numel("mean") <= _MOST_COLUMNS and _width(case, *names, *columns) == 4


def _all(case: Case) -> bool:
    return _does_all(case, "x", "y", "gamma", "beta", "mean", "var", "dmean", "dvar")


def _affine(case: Case) -> list[str]:
    return [f"d{name}" for name in ("gamma", "beta") if case.wants(name)]


def _grads_all(case: Case) -> bool:
    return _does_all(case, "x", "dy", "dx", "gamma", "dmean", "dvar", *_affine(case))


def _does_all(case: Case, *names: str) -> bool:
    """Whether the elements' pass may touch what the statistics' would, too."""
    needed = [name for name in names if case.has(name)]
    return len(needed) + 1 + case.tail_storages <= case.caps.offered_blocks


def _batchnorm(case: Case) -> tuple[Pass, ...]:
    elements = _element_pass(case, "batchnorm", 0, 0, "x", "y")
    if case.ins.value("frozen"):
        return (elements,)
    parts = _given(case) if case.has("stats") else _parts(case, "x")
    room = 2 * parts.count * _shape(case)[1]
    columns = _column_passes(parts, "batchnorm", room, {})
    if _joins_itself(case, parts, "x", "y"):
        if _all(case):
            whole = _joining_pass(case, "batchnorm_whole", parts, room, {}, "x", "y")
            return (*columns, whole)
        elements = _joining_pass(case, "batchnorm_elements", parts, room, {}, "x", "y")
    return (*columns, _fold_pass(case, "batchnorm_statistics", parts, room), elements)


def _grads_batchnorm(case: Case) -> tuple[Pass, ...]:
    given, frozen = case.has("stats"), case.ins.value("frozen")
    parts = _given(case) if given else _parts(case, "x", "dy")
    sums = not frozen or case.wants("gamma") or case.wants("beta")
    # Behind the parts are the totals for dx, unless the parts lie elsewhere.
    ahead = 0 if given else parts.count
    room = 2 * (ahead + 1) * _shape(case)[1] if sums else 0
    passes: list[Pass] = []
    if sums:
        passes += _column_passes(parts, "grads_batchnorm", room, _statistics(case))
    bind = _statistics(case) if given else {}
    joins = not frozen and case.wants("x")
    if joins and _joins_itself(case, parts, "x", "dy", "dx"):
        kernel = "grads_batchnorm_elements"
        if _grads_all(case):
            kernel = "grads_batchnorm_whole"
        elif _affine(case):
            passes.append(_fold_pass(case, "grads_batchnorm_affine", parts, room, bind))
        names = ("x", "dy", "dx")
        return (*passes, _joining_pass(case, kernel, parts, room, _statistics(case), *names))
    if sums:
        totals = _fold_pass(case, "grads_batchnorm_totals", parts, room, bind)
        # The parts are read as an operand, since scratch storage is written here.
        passes.append(replace(totals, sums=None, fills=given))
    if case.wants("x"):
        passes.append(_element_pass(case, "grads_batchnorm_dx", ahead, room, "x", "dy", "dx"))
    return tuple(passes)


def _column_sums(case: Case, kernel: str, bind: Mapping[str, Ref], *names: str) -> tuple[Pass, ...]:
    parts = _parts(case, *names, whole=not case.tensor("y").partial)
    room = 2 * parts.count * _shape(case)[1]
    result = StorageBinding(case.ref("y"), Use.WRITE)
    cut = Cut(parts.count, parts.at_once)
    (found,) = _column_passes(parts, kernel, room, bind)
    return (replace(found, sums=result, cut=cut),)


def _column_stats(case: Case) -> tuple[Pass, ...]:
    return _column_sums(case, "batchnorm", {}, "x")


def _column_products(case: Case) -> tuple[Pass, ...]:
    bind = {"dy": case.ref("dy"), "center": case.ref("mean")}
    return _column_sums(case, "grads_batchnorm", bind, "x", "dy")


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "BATCHNORM": (Variant("simple", _batchnorm),),
    "GRADS_BATCHNORM": (Variant("simple", _grads_batchnorm),),
    "BATCHNORM2D": (Variant("simple", _batchnorm),),
    "GRADS_BATCHNORM2D": (Variant("simple", _grads_batchnorm),),
    "COLUMN_STATS": (Variant("simple", _column_stats),),
    "COLUMN_PRODUCTS": (Variant("simple", _column_products),),
}
