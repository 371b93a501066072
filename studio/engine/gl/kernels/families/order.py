"""How running results and rankings along a dimension run."""

from __future__ import annotations

from math import prod
from typing import Any

from studio.engine.gl.kernels.sorting import (
    KEY_PASSES,
    LINE,
    Macros,
    joins,
    passes_for,
    sort_room,
    sorted_list,
    sorted_places,
)
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.shader.dispatch import groups_for
from studio.engine.isa.instruction import GradInstruction

_CHUNK = 256
"""Elements of a long line that one invocation goes through."""
_LONG = 1024
_MANY_LINES = {True: 8, False: 1 << 14}
"""Lines that keep a device busy by themselves."""
_SCAN = 256
"""Invocations of a work group that joins chunks."""
_RANKING_WORK = {True: 1 << 24, False: 1 << 30}
"""Comparisons up to which each element is held against all others of its line."""
_FEW_FOUND = 32
"""Elements found, up to which each element of a gradient goes through all of them."""


def _line(op: BoundInstruction) -> Macros:
    """How long a line along the axis is, and how far its elements are apart."""
    shape = op.shape("x")
    axis = op.ins.value("axis") % len(shape)
    return {"LENGTH": shape[axis], "INNER": prod(shape[axis + 1 :])}


def _running(
    op: BoundInstruction, x: str, y: str, *, turned: bool, chunk: int
) -> tuple[DispatchSpec, ...]:
    """Run from one end of each line to the other, in chunks where a line is longer than one.

    Args:
        op: the instruction.
        x: what is read, by its name.
        y: what is stored.
        turned: go from the end.
        chunk: elements in a chunk.
    """
    ins, line, kind = op.ins, _line(op), op.layout(x).value_type
    name, length = ins.value("op"), int(line["LENGTH"])
    adds = frozenset({"y"}) if isinstance(ins, GradInstruction) and op.adds(y) else frozenset[str]()
    of: dict[str, Any] = {"bind": {"x": op.ref(x), "y": op.ref(y)}, "adds": adds}
    defines = {**line, **joins(name, kind), "TURNED": int(turned), "CHUNK": chunk}
    chunks = groups_for(length, chunk)
    lines = op.numel(x) // length
    work: dict[str, Any] = {
        "groups": (groups_for(lines * chunks, LINE), 1, 1),
        "scratch": lines * chunks if chunks > 1 else 0,
        "scratch_ints": kind == "int" and chunks > 1,
    }
    leaves_out = {**defines, "LEAVES_OUT": int(ins.value("exclusive"))}
    last = DispatchSpec("cumulate", defines=leaves_out, **of, **work)
    if chunks == 1:
        return (last,)
    return (
        DispatchSpec("cumulate_chunks", defines=defines, bind={"x": op.ref(x)}, **work),
        DispatchSpec(
            "cumulate_scan",
            defines={"CHUNKS": chunks, **joins(name, kind)},
            launch=(lines, 0),
            **{**work, "groups": (lines, 1, 1), "local": (_SCAN, 1, 1)},
        ),
        last,
    )


def _cumulate(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    turned, length = op.ins.value("reverse"), int(_line(op)["LENGTH"])
    return _running(op, "x", "y", turned=turned, chunk=length)


def _cumulate_chunks(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return _running(op, "x", "y", turned=op.ins.value("reverse"), chunk=_CHUNK)


def _is_long(op: BoundInstruction) -> bool:
    """Whether there are fewer lines than invocations, and they are worth three dispatches."""
    length = int(_line(op)["LENGTH"])
    lines = op.numel("x") // length
    return length >= _LONG and lines < _MANY_LINES[op.caps.is_software]


def _is_long_sum(op: BoundInstruction) -> bool:
    return op.ins.value("op") == "sum" and _is_long(op)


def _grads_sum_chunks(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    if not op.wants("x"):
        return ()
    return _running(op, "dy", "dx", turned=not op.ins.value("reverse"), chunk=_CHUNK)


def _grads_cumulate(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    ins, line = op.ins, _line(op)
    if not op.wants("x"):
        return ()
    name, length = ins.value("op"), int(line["LENGTH"])
    if name == "sum":
        # A sum that goes the other way.
        return _running(op, "dy", "dx", turned=not ins.value("reverse"), chunk=length)
    groups = (groups_for(op.numel("x") // length, LINE), 1, 1)
    if name == "prod":
        return (DispatchSpec("grads_cumulate_product", groups=groups, defines=line),)
    better = "((a) > (b))" if name == "max" else "((a) < (b))"
    defines = {**line, "BETTER(a, b)": better}
    return (DispatchSpec("grads_cumulate_extreme", groups=groups, defines=defines),)


def _topped(op: BoundInstruction) -> Macros:
    return {**_line(op), "TOP": op.ins.value("k")}


def _topk(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    groups = (groups_for(op.numel("x"), LINE), 1, 1)
    return (DispatchSpec("topk", groups=groups, defines=_topped(op)),)


def _is_long_ranking(op: BoundInstruction) -> bool:
    """Whether a sort costs less than comparing each element with all others of its line."""
    work = op.numel("x") * int(_line(op)["LENGTH"])
    return work > _RANKING_WORK[op.caps.is_software]


def _topk_sorted(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    """Sort the elements of all lines, then by the line they are in."""
    defines, count = _topped(op), op.numel("x")
    length = int(defines["LENGTH"])
    lines = count // length
    passes = KEY_PASSES + (passes_for(lines - 1) if lines > 1 else 0)
    scratch: dict[str, Any] = {"scratch": sort_room(count), "scratch_ints": True}
    return (
        DispatchSpec(
            "topk_keys", groups=(groups_for(count, LINE), 1, 1), defines=defines, **scratch
        ),
        *sorted_places(count, range(passes), sort_room(count), length=length),
        DispatchSpec(
            "topk_sorted",
            groups=(groups_for(op.numel("y"), LINE), 1, 1),
            defines={**defines, "SORTED": sorted_list(passes)},
            **scratch,
        ),
    )


def _grads_topk(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    if not op.wants("x"):
        return ()
    return (DispatchSpec("grads_topk", "dx", defines=_topped(op)),)


def _grads_topk_marked(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    if not op.wants("x"):
        return ()
    of: dict[str, Any] = {
        "defines": _topped(op),
        "scratch": op.numel("x"),
        "scratch_ints": True,
    }
    groups = (groups_for(op.numel("i"), LINE), 1, 1)
    return (
        DispatchSpec("topk_marks", groups=groups, **of),
        DispatchSpec("grads_topk_marked", "dx", **of),
    )


def _finds_many(op: BoundInstruction) -> bool:
    return int(op.ins.value("k")) > _FEW_FOUND


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "CUMULATE": (
        Variant("simple", _cumulate),
        Variant("chunks", _cumulate_chunks, _is_long, software=1, hardware=1),
    ),
    "GRADS_CUMULATE": (
        Variant("simple", _grads_cumulate),
        Variant("chunks", _grads_sum_chunks, _is_long_sum, software=1, hardware=1),
    ),
    "TOPK": (
        Variant("simple", _topk),
        Variant("sorted", _topk_sorted, _is_long_ranking, software=1, hardware=1),
    ),
    "GRADS_TOPK": (
        Variant("simple", _grads_topk),
        Variant("marked", _grads_topk_marked, _finds_many, software=1, hardware=1),
    ),
}
