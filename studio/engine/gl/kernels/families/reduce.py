"""How reductions over chosen dimensions run: one invocation a result, or several and a fold."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from studio.engine.gl.kernels.column_sums import LOCAL, SUM, fold, parts_of
from studio.engine.gl.kernels.specs import Case, Pass, Variant
from studio.engine.gl.shader.dispatch import groups_for

_RULES: dict[str, Mapping[str, str]] = {
    "REDUCE_SUM": SUM,
    "REDUCE_MEAN": {**SUM, "FINISH(v)": "((v) / float(LAUNCH_1))"},
    "REDUCE_MAX": {
        "JOINS_SUM": "0",
        "START": "(-INFINITE)",
        "JOIN(a, b)": "larger(a, b)",
        "FINISH(v)": "(v)",
    },
    "REDUCE_MIN": {
        "JOINS_SUM": "0",
        "START": "INFINITE",
        "JOIN(a, b)": "smaller(a, b)",
        "FINISH(v)": "(v)",
    },
}


def _axes(case: Case) -> tuple[int, ...]:
    return case.ins.value("axes") or tuple(range(len(case.shape("x"))))


def _count(case: Case) -> int:
    """Elements that become one."""
    shape = case.shape("x")
    return prod(shape[axis] for axis in _axes(case))


def _mask(case: Case) -> int:
    return sum(1 << axis for axis in _axes(case))


def _reduce(case: Case) -> tuple[Pass, ...]:
    count, kept = _count(case), case.numel("y")
    rank = len(case.shape("x"))
    rule = _RULES[case.ins.mnemonic]
    parts = parts_of(case, count, kept)
    room = parts * kept if parts > 1 else 0
    first = Pass(
        "reduce",
        groups=(groups_for(parts * kept, LOCAL), 1, 1),
        defines={"REDUCED": _mask(case), "LAST_REDUCED": int(rank - 1 in _axes(case)), **rule},
        launch=(parts, count),
        scratch=room,
        partial=parts > 1,
    )
    return (first, fold(case, "y", kept, parts, room, count, rule)) if parts > 1 else (first,)


def _grads_spread(case: Case) -> tuple[Pass, ...]:
    mean = int(case.ins.mnemonic == "GRADS_REDUCE_MEAN")
    defines: dict[str, int | str] = {"REDUCED": _mask(case), "MEAN": mean}
    if not case.wants("x"):
        return ()
    return (Pass("grads_reduce", "dx", defines=defines, launch=(_count(case), 0)),)


def _grads_first(case: Case) -> tuple[Pass, ...]:
    if not case.wants("x"):
        return ()
    groups = groups_for(case.numel("y"), LOCAL)
    defines: dict[str, int | str] = {"REDUCED": _mask(case)}
    return (
        Pass(
            "grads_reduce_first",
            groups=(groups, 1, 1),
            defines=defines,
            launch=(_count(case), 0),
        ),
    )


def _argmax(case: Case) -> tuple[Pass, ...]:
    return (Pass("argmax", "y", defines={"LENGTH": case.shape("x")[-1]}),)


VARIANTS: dict[str, tuple[Variant, ...]] = {
    **{name: (Variant("simple", _reduce),) for name in _RULES},
    "GRADS_REDUCE_SUM": (Variant("simple", _grads_spread),),
    "GRADS_REDUCE_MEAN": (Variant("simple", _grads_spread),),
    "GRADS_REDUCE_MAX": (Variant("simple", _grads_first),),
    "GRADS_REDUCE_MIN": (Variant("simple", _grads_first),),
    "ARGMAX": (Variant("simple", _argmax),),
}
