"""How losses and accuracies run: terms summed in a fixed order, gradients row by row."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from studio.engine.gl.kernels.families.softmax import row_lanes
from studio.engine.gl.kernels.specs import Case, Pass, Variant
from studio.engine.gl.kernels.totals import TOTAL_LOCAL, reduced, total
from studio.engine.gl.shader.dispatch import groups_for
from studio.engine.isa.instruction import all_instructions
from studio.engine.isa.ops.loss import ROW_LOSSES, Loss

_MEAN = "((sum) / float(LAUNCH_1))"
_LOCAL = 64


def _rows(case: Case) -> tuple[int, dict[str, int | str]]:
    """Rows of predictions, and what a row kernel needs to know of them."""
    shape = case.shape("p")
    return prod(shape[:-1]), {"CLASSES": shape[-1], "POSITIONS": prod(shape[1:-1])}


def _lanes(case: Case) -> tuple[int, int]:
    """Invocations that share a row, and those of a work group."""
    return (1, _LOCAL) if case.caps.is_software else row_lanes(case.shape("p")[-1])


def _entry(case: Case) -> dict[str, int | str]:
    return {"ENTRY": prod(case.shape("p")[1:])}


def _is_summed(case: Case) -> bool:
    return "dylann_sum" in case.ins.attrs and bool(case.ins.value("dylann_sum"))


def _row_loss(kernel: str) -> tuple[Variant, ...]:
    """The mean over the rows: what each leaves, and their sum."""

    def plan(case: Case) -> tuple[Pass, ...]:
        count, _ = _rows(case)
        whole = total(case, count, _MEAN, count, room=count)
        return (replace(_rows_pass(case, kernel), scratch=count, partial=True), whole)

    return (Variant("rows", plan),)


def _rows_pass(case: Case, kernel: str) -> Pass:
    """The dispatch that stores the loss of every row."""
    count, defines = _rows(case)
    lanes, local = _lanes(case)
    return Pass(
        kernel,
        groups=(groups_for(count, local // lanes), 1, 1),
        local=(local, 1, 1),
        defines={**defines, "LANES": lanes},
        launch=(count, 0),
    )


def _each_row(kernel: str) -> tuple[Variant, ...]:
    return (Variant("rows", lambda case: (_rows_pass(case, kernel),)),)


def _mean(case: Case) -> tuple[Pass, ...]:
    local = TOTAL_LOCAL[case.caps.is_software]
    return (Pass("loss_mean", local=(local, 1, 1), launch=(case.numel("x"), 0)),)


def _row_gradient(kernel: str) -> tuple[Variant, ...]:
    def plan(case: Case) -> tuple[Pass, ...]:
        if not case.wants("p"):
            return ()
        count, defines = _rows(case)
        # With Dylann's sum the gradient leaves the batch length out, not the positions.
        share = "float(POSITIONS)" if _is_summed(case) else "float(DP_NUMEL / CLASSES)"
        lanes, local = _lanes(case)
        groups = (groups_for(count, local // lanes), 1, 1)
        defines = {**defines, "SHARE": share, "LANES": lanes}
        return (Pass(kernel, groups=groups, local=(local, 1, 1), defines=defines),)

    return (Variant("rows", plan),)


def _element_loss(kernel: str) -> tuple[Variant, ...]:
    def plan(case: Case) -> tuple[Pass, ...]:
        finish = "((sum) * 0.5)" if _is_summed(case) else _MEAN
        return reduced(case, kernel, case.numel("p"), _entry(case), finish)

    return (Variant("simple", plan),)


def _element_gradient(kernel: str, operand: str = "p") -> tuple[Variant, ...]:
    def plan(case: Case) -> tuple[Pass, ...]:
        if not case.wants(operand):
            return ()
        defines = _entry(case) if operand == "p" else {}
        return (Pass(kernel, f"d{operand}", defines=defines),)

    return (Variant("simple", plan),)


def _penalty(case: Case) -> tuple[Pass, ...]:
    return reduced(case, "loss_l1l2", case.numel("w"), {}, "(sum)")


def _accuracy(case: Case) -> tuple[Pass, ...]:
    count, defines = _rows(case)
    if case.ins.value("kind") == "binary":
        count = case.numel("p")
    return reduced(case, "accuracy", count, defines, _MEAN)


def _of_losses() -> dict[str, tuple[Variant, ...]]:
    """Every loss of a batch with a gradient: its kernels are named as its mnemonic is."""
    found: dict[str, tuple[Variant, ...]] = {}
    for cls in all_instructions():
        if issubclass(cls, Loss) and cls.twin is not None:
            kernel, twin = cls.mnemonic.lower(), cls.twin.mnemonic
            found[cls.mnemonic] = _row_loss(kernel) if cls.by_row else _element_loss(kernel)
            gradient = _row_gradient if cls.by_row else _element_gradient
            found[twin] = gradient(twin.lower())
    return found


VARIANTS: dict[str, tuple[Variant, ...]] = {
    **_of_losses(),
    **{row.mnemonic: _each_row(whole.mnemonic.lower()) for whole, row in ROW_LOSSES.items()},
    "LOSS_MEAN": (Variant("simple", _mean),),
    "LOSS_L1L2": (Variant("simple", _penalty),),
    "GRADS_LOSS_L1L2": _element_gradient("grads_loss_l1l2", "w"),
    "ACCURACY": (Variant("simple", _accuracy),),
}
