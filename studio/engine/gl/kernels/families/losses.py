"""How losses and accuracies run: terms summed in a fixed order, gradients row by row."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from studio.engine.gl.kernels.families.softmax import row_lanes
from studio.engine.gl.kernels.specs import BoundInstruction, DispatchSpec, Variant
from studio.engine.gl.kernels.totals import TOTAL_LOCAL, reduced, summed, term_threads, terms, total
from studio.engine.gl.shader.dispatch import groups_for
from studio.engine.isa.instruction import all_instructions
from studio.engine.isa.ops.loss import ROW_LOSSES, Loss

_MEAN = "((sum) / float(LAUNCH_1))"
_LOCAL = 64


def _rows(op: BoundInstruction) -> tuple[int, dict[str, int | str]]:
    """Rows of predictions, and what a row kernel needs to know of them.

    POSITIONS is how many rows have one weight.
    """
    shape = op.shape("p")
    return prod(shape[:-1]), {"CLASSES": shape[-1], "POSITIONS": rows_weighed(op)}


def rows_weighed(op: BoundInstruction) -> int:
    """How many rows of predictions have one weight: those of an entry, where there are none."""
    shape = op.shape("p")
    weights = op.numel("weights") if op.has("weights") else shape[0]
    return prod(shape[:-1]) // max(weights, 1)


def _lanes(op: BoundInstruction) -> tuple[int, int]:
    """Invocations that share a row, and those of a work group."""
    return (1, _LOCAL) if op.caps.is_software else row_lanes(op.shape("p")[-1])


def _entry(op: BoundInstruction) -> dict[str, int | str]:
    """How many elements have one weight."""
    weights = op.numel("weights") if op.has("weights") else op.shape("p")[0]
    return {"ENTRY": op.numel("p") // max(weights, 1)}


def _is_summed(op: BoundInstruction) -> bool:
    return "dylann_sum" in op.ins.attrs and bool(op.ins.value("dylann_sum"))


def _row_loss(kernel: str) -> tuple[Variant, ...]:
    """The mean over the rows: what each leaves, and their sum."""

    def plan(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
        count, _ = _rows(op)
        whole = total(op, count, _MEAN, count, room=count)
        return (replace(_rows_dispatch(op, kernel), scratch=count, partial=True), whole)

    return (Variant("rows", plan),)


def _rows_dispatch(op: BoundInstruction, kernel: str) -> DispatchSpec:
    """The dispatch that stores the loss of every row."""
    count, defines = _rows(op)
    lanes, local = _lanes(op)
    return DispatchSpec(
        kernel,
        groups=(groups_for(count, local // lanes), 1, 1),
        local=(local, 1, 1),
        defines={**defines, "LANES": lanes},
        launch=(count, 0),
    )


def _each_row(kernel: str) -> tuple[Variant, ...]:
    return (Variant("rows", lambda op: (_rows_dispatch(op, kernel),)),)


def _mean(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    local = TOTAL_LOCAL[op.caps.is_software]
    return (DispatchSpec("loss_mean", local=(local, 1, 1), launch=(op.numel("x"), 0)),)


def _row_gradient(kernel: str) -> tuple[Variant, ...]:
    def plan(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
        if not op.wants("p"):
            return ()
        count, defines = _rows(op)
        # With Dylann's sum the gradient leaves the batch length out, not the positions.
        positions = prod(op.shape("p")[1:-1])
        share = f"float({positions})" if _is_summed(op) else "float(DP_NUMEL / CLASSES)"
        lanes, local = _lanes(op)
        groups = (groups_for(count, local // lanes), 1, 1)
        defines = {**defines, "SHARE": share, "LANES": lanes}
        return (DispatchSpec(kernel, groups=groups, local=(local, 1, 1), defines=defines),)

    return (Variant("rows", plan),)


def _element_loss(kernel: str) -> tuple[Variant, ...]:
    def plan(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
        finish = "((sum) * 0.5)" if _is_summed(op) else _MEAN
        return reduced(op, kernel, op.numel("p"), _entry(op), finish)

    return (Variant("simple", plan),)


def _element_gradient(kernel: str, operand: str = "p") -> tuple[Variant, ...]:
    def plan(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
        if not op.wants(operand):
            return ()
        defines = _entry(op) if operand == "p" else {}
        return (DispatchSpec(kernel, f"d{operand}", defines=defines),)

    return (Variant("simple", plan),)


def _penalty(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return reduced(op, "loss_l1l2", op.numel("w"), {}, "(sum)")


def _hits(op: BoundInstruction) -> tuple[int, dict[str, int | str]]:
    """How many predictions are right or wrong, and what a kernel needs to know of them."""
    count, defines = _rows(op)
    return op.numel("p") if op.ins.value("kind") == "binary" else count, defines


def _accuracy(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return reduced(op, "accuracy", *_hits(op), _MEAN)


def _weighted_accuracy(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    """Two sums, one behind the other in scratch storage: of weights that are right, and of all."""
    count, defines = _hits(op)
    parts, room = summed(op, count), 2 * term_threads(op)
    weight = {"EACH": count // max(op.numel("weights"), 1)}
    local = (TOTAL_LOCAL[op.caps.is_software], 1, 1)
    return (
        terms(op, "weighted_accuracy", count, {**defines, **weight}, room=room),
        terms(op, "weights_each", count, weight, base=parts, room=room),
        DispatchSpec("share_of_sums", local=local, launch=(parts, 0), scratch=room),
    )


def _of_losses() -> dict[str, tuple[Variant, ...]]:
    """Every loss of a batch with a gradient: its kernels are named as its mnemonic is."""
    found: dict[str, tuple[Variant, ...]] = {}
    for cls in all_instructions():
        if issubclass(cls, Loss) and cls.grad_class is not None:
            kernel, grad_ins = cls.mnemonic.lower(), cls.grad_class.mnemonic
            found[cls.mnemonic] = _row_loss(kernel) if cls.by_row else _element_loss(kernel)
            gradient = _row_gradient if cls.by_row else _element_gradient
            found[grad_ins] = gradient(grad_ins.lower())
    return found


VARIANTS: dict[str, tuple[Variant, ...]] = {
    **_of_losses(),
    **{row.mnemonic: _each_row(whole.mnemonic.lower()) for whole, row in ROW_LOSSES.items()},
    "LOSS_MEAN": (Variant("simple", _mean),),
    "LOSS_L1L2": (Variant("simple", _penalty),),
    "GRADS_LOSS_L1L2": _element_gradient("grads_loss_l1l2", "w"),
    "ACCURACY": (Variant("simple", _accuracy),),
    "WEIGHTED_ACCURACY": (Variant("simple", _weighted_accuracy),),
}
