"""How look-ups by indices run, and the sums by index that are their gradients."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from studio.engine.core.tensor import Shape
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.shader.dispatch import groups_for

_LOCAL = 64


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
    defines: dict[str, int | str]

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
    defines: dict[str, int | str] = {"ELEMENTS": 1, "AXIS": axis}
    return IndexForm(prod(x), prod(i), 1, 1, {**defines, **_sizes(x), "INNER": 1})


def _tuples(
    sizes: Shape, count: int, outer: int, inner: int, shared: int, between: int
) -> IndexForm:
    """Tuples through dimensions of these sizes, the first ``shared`` without an index."""
    defines: dict[str, int | str] = {
        "ELEMENTS": 0,
        "SHARED": shared,
        "BETWEEN": max(between, 1) if shared else "COUNT",
        "INNER": max(inner, 1),
    }
    return IndexForm(prod(sizes), count, outer, inner, {**defines, **_sizes(sizes)})


def _sizes(sizes: Shape) -> dict[str, int | str]:
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


def _marks(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    """Two dispatches that find for each element of x which one of u takes part, if one does."""
    form, room = form_of(op), op.numel("x")
    nobody = -1 if op.ins.value("reduction") == "none" else 2**31 - 1
    return (
        DispatchSpec(
            "scatter_clear",
            groups=(groups_for(room, _LOCAL), 1, 1),
            defines={"NOBODY": nobody},
            launch=(room, 0),
            scratch=room,
            scratch_ints=True,
        ),
        DispatchSpec(
            "scatter_marks",
            groups=(groups_for(form.count * form.inner, _LOCAL), 1, 1),
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
    **{f"GRADS_{name}": (Variant("simple", _grads_gather),) for name in _GATHERS},
    **{name: (Variant("simple", _scatter),) for name in _SCATTERS},
    **{f"GRADS_{name}": (Variant("simple", _grads_scatter),) for name in _SCATTERS},
}
