"""How look-ups by indices run, and the sums by index that are their gradients."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from studio.engine.core.tensor import Ref, Shape
from studio.engine.gl.kernels.sorting import (
    LINE,
    Macros,
    joins,
    sorted_runs,
)
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.shader.dispatch import groups_for

_SIMPLE_WORK = {True: 1 << 23, False: 1 << 27}
"""Comparisons of an index with a key, up to which each element goes through all indices."""
_SIMPLE_COUNT = {True: 1 << 20, False: 1 << 11}


@dataclass(frozen=True)
class IndexForm:
    """What is looked up in, or written to, as [outer, keys, inner].

    Attributes:
        keys: what an index, or a tuple of them, names one of.
        count: how many are named.
        outer: entries in front of the keys.
        inner: elements of an entry.
        defines: what ``index_places.glsl`` has to know.
    """

    keys: int
    count: int
    outer: int
    inner: int
    defines: Macros

    @property
    def launch(self) -> tuple[int, int]:
        """The numbers of a dispatch: both may change with the batch."""
        return self.count, self.keys


def form_of(op: BoundInstruction) -> IndexForm:
    """How the indices of a gather or scatter name what is in x."""
    x, i = op.shape("x"), op.shape("i")
    name = op.ins.mnemonic
    if name.endswith("_ND"):
        shared = int(op.ins.value("batch")) if "batch" in op.ins.attrs else 0
        depth = shared + i[-1]
        between = prod(i[shared:-1]) if shared else 0
        return _tuples(x[:depth], prod(i[:-1]), 1, prod(x[depth:]), shared, between)
    axis = op.ins.value("axis") % len(x)
    if name.endswith("GATHER"):
        return _tuples((x[axis],), prod(i), prod(x[:axis]), prod(x[axis + 1 :]), 0, 0)
    defines: Macros = {"ELEMENTS": 1, "AXIS": axis}
    return IndexForm(prod(x), prod(i), 1, 1, {**defines, **_sizes(x), "INNER": 1})


def _tuples(
    sizes: Shape, count: int, outer: int, inner: int, shared: int, between: int
) -> IndexForm:
    """Tuples through dimensions of these sizes, the first ``shared`` without an index."""
    defines: Macros = {
        "ELEMENTS": 0,
        "SHARED": shared,
        "BETWEEN": max(between, 1) if shared else "COUNT",
        "INNER": max(inner, 1),
    }
    return IndexForm(prod(sizes), count, outer, inner, {**defines, **_sizes(sizes)})


def _sizes(sizes: Shape) -> Macros:
    """The sizes the keys go through; the first may be the batch, so it follows from the keys."""
    rest = max(prod(sizes[1:]), 1)
    listed = ", ".join([f"KEYS / {rest}", *map(str, sizes[1:])])
    return {"DEPTH": len(sizes), "SIZES": f"int[{len(sizes)}]({listed})"}


def _gather(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    form = form_of(op)
    floating = op.layout("y").value_type == "float"
    nowhere = "NOT_A_NUMBER" if floating else "0"
    defines = {**form.defines, "NOWHERE": nowhere}
    return (DispatchSpec("gather", "y", defines=defines, launch=form.launch),)


def _grads_gather(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    if not op.wants("x"):
        return ()
    form = form_of(op)
    return (DispatchSpec("grads_gather", "dx", defines=form.defines, launch=form.launch),)


def _is_long(op: BoundInstruction) -> bool:
    """Whether a sort of the indices costs less than going through all of them everywhere."""
    form, software = form_of(op), op.caps.is_software
    work = form.count * form.keys * form.inner * form.outer
    return form.count > _SIMPLE_COUNT[software] or work > _SIMPLE_WORK[software]


def _runs(
    op: BoundInstruction, entries: Ref, join: Macros, kernel: str, result: str
) -> tuple[DispatchSpec, ...]:
    """Sort the indices by key, then join each run of them.

    Args:
        op: the instruction.
        entries: what the indices bring, which kernels call ``e``.
        join: how they are joined.
        kernel: the value kernel that goes through the keys.
        result: what it stores.
    """
    form = form_of(op)
    joined: Macros = {**join, "INNER": form.defines["INNER"]}
    return sorted_runs(
        form.count,
        form.keys,
        form.outer * form.inner,
        DispatchSpec("index_keys", defines=form.defines),
        DispatchSpec("index_chunks", bind={"e": entries}, defines=joined),
        DispatchSpec(kernel, result, bind={"e": entries}, defines=joined),
    )


def _grads_gather_sorted(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    if not op.wants("x"):
        return ()
    return _runs(op, op.ref("dy"), joins("sum", "float"), "grads_gather_runs", "dx")


_JOINED = {"add": "sum", "mul": "prod", "max": "max", "min": "min"}


def _is_long_join(op: BoundInstruction) -> bool:
    return op.ins.value("reduction") in _JOINED and _is_long(op)


def _scatter_sorted(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    join = joins(_JOINED[op.ins.value("reduction")], op.layout("y").value_type)
    return _runs(op, op.ref("u"), join, "scatter_runs", "y")


def _marks(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    """Two dispatches that find for each element of x which one of u takes part, if one does."""
    form, room = form_of(op), op.numel("x")
    no_entry = -1 if op.ins.value("reduction") == "none" else 2**31 - 1
    return (
        DispatchSpec(
            "scatter_clear",
            groups=(groups_for(room, LINE), 1, 1),
            defines={"NO_ENTRY": no_entry},
            launch=(room, 0),
            scratch=room,
            scratch_ints=True,
        ),
        DispatchSpec(
            "scatter_marks",
            groups=(groups_for(form.count * form.inner, LINE), 1, 1),
            defines=form.defines,
            launch=form.launch,
            scratch=room,
            scratch_ints=True,
        ),
    )


def _scatter(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    form = form_of(op)
    if op.ins.value("reduction") != "none":
        return (DispatchSpec("scatter", "y", defines=form.defines, launch=form.launch),)
    last = DispatchSpec("scatter_last", "y", scratch=op.numel("x"), scratch_ints=True)
    return (*_marks(op), last)


def _grads_scatter(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    form, reduction = form_of(op), op.ins.value("reduction")
    marked = reduction in ("none", "max", "min") and (op.wants("u") or reduction == "none")
    found = list(_marks(op)) if marked else []
    for name, by_mark in (("x", reduction == "none"), ("u", marked)):
        if op.wants(name):
            found.append(
                DispatchSpec(
                    f"grads_scatter_d{name}",
                    f"d{name}",
                    defines=form.defines,
                    launch=form.launch,
                    scratch=op.numel("x") if by_mark else 0,
                    scratch_ints=by_mark,
                )
            )
    return tuple(found)


_GATHERS = ("GATHER", "GATHER_ELEMENTS", "GATHER_ND")

_SCATTERS = ("SCATTER", "SCATTER_ND")

VARIANTS: dict[str, tuple[Variant, ...]] = {
    **{name: (Variant("simple", _gather),) for name in _GATHERS},
    **{
        f"GRADS_{name}": (
            Variant("simple", _grads_gather),
            Variant("sorted", _grads_gather_sorted, _is_long, software=1, hardware=1),
        )
        for name in _GATHERS
    },
    **{
        name: (
            Variant("simple", _scatter),
            Variant("sorted", _scatter_sorted, _is_long_join, software=1, hardware=1),
        )
        for name in _SCATTERS
    },
    **{f"GRADS_{name}": (Variant("simple", _grads_scatter),) for name in _SCATTERS},
}
