"""How pooling runs: one invocation per result, and back one per input cell."""

from __future__ import annotations

from studio.engine.gl.specs import Case, Pass, Variant, value_kernel


def gradient(kernel: str, operand: str = "x") -> tuple[Variant, ...]:
    """The single variant of a gradient whose file is a value kernel over one operand's gradient."""

    def plan(case: Case) -> tuple[Pass, ...]:
        return (Pass(kernel, f"d{operand}"),) if case.wants(operand) else ()

    return (Variant("simple", plan),)


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "MAXPOOL2D": value_kernel("maxpool2d"),
    "GRADS_MAXPOOL2D": gradient("grads_maxpool2d"),
    "AVGPOOL2D": value_kernel("avgpool2d"),
    "GRADS_AVGPOOL2D": gradient("grads_avgpool2d"),
    "GLOBAL_AVGPOOL2D": value_kernel("global_avgpool2d"),
    "GRADS_GLOBAL_AVGPOOL2D": gradient("grads_global_avgpool2d"),
}
