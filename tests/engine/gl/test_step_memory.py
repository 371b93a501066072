"""What a training step holds on a GPU besides its samples, and how many levels it has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.ours import task_of
from benchmarks.workloads import WORKLOADS
from studio.engine.compiler.target import GL, Target
from studio.engine.core.tensor import Role
from studio.engine.gl.device.buffers import size_class
from studio.engine.gl.kernels.reference_devices import reference_caps
from studio.engine.gl.plan.persistent_buffers import persistent_buffers
from studio.engine.gl.plan.planned_step import PlannedStep, plan_step
from studio.engine.runtime.requirements import asked_in_turn
from studio.engine.train.network.programs import Programs

MIB = 1 << 20


def planned(name: str, batch: int, target: Target) -> PlannedStep:
    """A step of a measured network, its set one batch long."""
    program = Programs(task_of(WORKLOADS[name], batch)).compile("train", 2, target)
    return plan_step(program, target, batch, batch, reference_caps(target))


def held(step: PlannedStep) -> int:
    """Bytes of its buffers: arena, scratch storage, tables, and what stays but for the samples."""
    kept = [[t for t in tensors if t.role is not Role.DATA]
            for tensors in asked_in_turn(step.memory.program)]  # fmt: skip
    wanted = [[(t, t.descriptor(1)) for t in tensors] for tensors in kept]
    sizes = [nbytes for together in wanted for _, nbytes in persistent_buffers(together)]
    sizes += [*step.memory.buffers, step.order.scratch.nbytes]
    sizes += [entry.nbytes for entry in step.calls.host]
    return sum(size_class(nbytes) for nbytes in sizes if nbytes)


@pytest.mark.parametrize(
    ("name", "batch", "most", "levels"),
    [
        ("W2", 128, 13, 7),
        ("W2", 1024, 22.5, 7),
        ("W3", 128, 57, 14),
        ("W3", 1024, 308, 14),
        ("W4", 32, 70, 85),
        ("W4", 128, 240, 85),
    ],
)
def test_steps_need_no_more_memory_nor_levels_than_this(
    name: str, batch: int, most: float, levels: int
) -> None:
    side_by_side = planned(name, batch, GL)
    assert held(side_by_side) <= most * MIB
    assert max(side_by_side.order.levels) < levels
    assert side_by_side.order.seamless
    in_order = planned(name, batch, replace(GL, in_order=True))
    assert held(in_order) <= held(side_by_side)
    assert max(in_order.order.levels) >= max(side_by_side.order.levels)


def test_the_plan_leaves_gradients_of_weights_to_the_level_behind() -> None:
    step = planned("W2", 128, GL)
    names = [one.source.name for one in step.dispatches]
    levels = dict(zip(names, step.order.levels, strict=True))
    of_weights = [level for name, level in zip(names, step.order.levels, strict=True)
                  if name == "grads_linear_dw"]  # fmt: skip
    assert of_weights == [levels["grads_linear_dx"] + 1] * 2
    assert levels["update_adam"] == of_weights[0] + 1
