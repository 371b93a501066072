"""What a program runs as on any target, without opening a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studio.engine.compiler.target import Target
    from studio.engine.gl.kernels.specs import DeviceCaps
    from studio.engine.isa.program import Program
    from studio.engine.runtime.kernel_calls import StepCalls


def step_calls(
    program: Program, target: Target, batch: int, rows: int, caps: DeviceCaps | None = None
) -> StepCalls:
    """The calls of one step, as a device of that kind with shipped choices of kernels makes them.

    Args:
        program: what runs; compiled for the target.
        target: the kind of device.
        batch: rows of the batch symbol.
        rows: rows of the resident data set.
        caps: what an OpenGL device is like; by default those of the one that stands for all.

    Raises:
        BackendError: an instruction has no kernel there, or a tensor is too large.
    """
    # Neither backend is loaded before a program is there.
    if target.name == "cpu":
        from studio.engine.cpu.run.bound_calls import bound_calls

        return bound_calls(program, target, batch, rows)
    from studio.engine.gl.kernels.reference_devices import reference_caps
    from studio.engine.gl.plan.planned_step import plan_step

    return plan_step(program, target, batch, rows, caps or reference_caps(target)).calls


def device_words(target: Target) -> str:
    """The device that stands for a target, in words."""
    if target.name == "cpu":
        from studio.engine.cpu.run.bound_calls import reference_words

        return reference_words()
    from studio.engine.gl.kernels.reference_devices import REFERENCE_DEVICES

    return REFERENCE_DEVICES[target.name].name
