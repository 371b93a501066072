"""How batch normalisation runs: statistics in parts, their sum in a fixed order, the elements."""

from __future__ import annotations

from collections.abc import Mapping

from studio.engine.core.tensor import Ref
from studio.engine.gl.column_sums import LOCAL, fold_lanes, parts_of
from studio.engine.gl.dispatch import groups_for
from studio.engine.gl.specs import Case, Pass, Variant


def _shape(case: Case) -> tuple[int, int]:
    """Rows that share statistics, and channels that have their own."""
    cols = case.numel("mean")
    return case.numel("x") // max(cols, 1), cols


def _statistics(case: Case) -> Mapping[str, Ref]:
    """What ``center`` and ``spread`` stand for."""
    frozen = case.ins.value("frozen")
    names = ("mean", "var") if frozen else ("dmean", "dvar")
    return {"center": case.ref(names[0]), "spread": case.ref(names[1])}


def _width(case: Case, *names: str) -> int:
    """Neighbours an invocation computes at once."""
    return 4 if all(case.layout(name).vector_rows for name in names) else 1


def _column_pass(case: Case, kernel: str, parts: int, room: int, **more: Mapping[str, Ref]) -> Pass:
    _, cols = _shape(case)
    return Pass(
        kernel,
        groups=(groups_for(parts * cols, LOCAL), 1, 1),
        defines={"COLS": cols},
        launch=(parts, 0),
        scratch=room,
        bind=more.get("bind", {}),
    )


def _fold_pass(case: Case, kernel: str, parts: int, room: int) -> Pass:
    rows, cols = _shape(case)
    lanes, local = (1, LOCAL) if case.traits.is_software else fold_lanes(parts)
    return Pass(
        kernel,
        groups=(groups_for(cols, local // lanes), 1, 1),
        local=(local, 1, 1),
        defines={"COLS": cols, "LANES": lanes},
        launch=(parts, rows),
        scratch=room,
    )


def _element_pass(case: Case, kernel: str, parts: int, room: int, *names: str) -> Pass:
    _, cols = _shape(case)
    width = _width(case, *names)
    return Pass(
        kernel,
        groups=(groups_for(case.numel("x"), LOCAL * width), 1, 1),
        bind=_statistics(case),
        vector=names if width == 4 else (),
        defines={"COLS": cols, "WIDTH": width},
        launch=(parts, 0),
        scratch=room,
    )


def _batchnorm(case: Case) -> tuple[Pass, ...]:
    elements = _element_pass(case, "batchnorm", 0, 0, "x", "y")
    if case.ins.value("frozen"):
        return (elements,)
    rows, cols = _shape(case)
    parts = parts_of(case, rows, cols)
    room = 2 * parts * cols
    return (
        _column_pass(case, "batchnorm_parts", parts, room),
        _fold_pass(case, "batchnorm_statistics", parts, room),
        elements,
    )


def _grads_batchnorm(case: Case) -> tuple[Pass, ...]:
    rows, cols = _shape(case)
    parts = parts_of(case, rows, cols)
    sums = not case.ins.value("frozen") or case.wants("gamma") or case.wants("beta")
    room = 2 * (parts + 1) * cols if sums else 0
    passes: list[Pass] = []
    if sums:
        bind = _statistics(case)
        passes.append(_column_pass(case, "grads_batchnorm_parts", parts, room, bind=bind))
        passes.append(_fold_pass(case, "grads_batchnorm_totals", parts, room))
    if case.wants("x"):
        passes.append(_element_pass(case, "grads_batchnorm_dx", parts, room, "x", "dy", "dx"))
    return tuple(passes)


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "BATCHNORM": (Variant("simple", _batchnorm),),
    "GRADS_BATCHNORM": (Variant("simple", _grads_batchnorm),),
    "BATCHNORM2D": (Variant("simple", _batchnorm),),
    "GRADS_BATCHNORM2D": (Variant("simple", _grads_batchnorm),),
}
