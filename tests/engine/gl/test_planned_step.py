"""A step planned without a device is the step an executable records, and hides nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import pytest

from benchmarks.ours import task_of
from benchmarks.workloads import WORKLOADS
from studio.engine.compiler.target import GL, GL_SOFTWARE, TARGETS
from studio.engine.core.tensor import Role
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.kernels.reference_devices import reference_caps
from studio.engine.gl.plan.planned_step import PlannedStep, plan_step
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.gl.shader.planned import (
    ArenaBinding,
    ScratchBinding,
    StorageBinding,
    TableBinding,
    TicketsBinding,
)
from studio.engine.train.network.network import Network
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.samples import sample_names, sample_root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from studio.engine.core.tensor import Ref
    from studio.engine.gl.shader.planned import PlannedDispatch
    from studio.engine.isa.program import Program

TARGET_NAMES = (GL.name, GL_SOFTWARE.name)


class Work(NamedTuple):
    """A network, which of its programs, and the batch it runs in."""

    name: str
    mode: str
    batch: int = 0

    @property
    def rows(self) -> int:
        """Rows of the resident data; the measured networks have those of one batch."""
        if self.mode == "infer":
            return 0
        samples = task(self.name).training
        return self.batch if samples is None else len(samples)

    def __str__(self) -> str:
        return "-".join(filter(None, (self.name, self.mode, str(self.batch or ""))))


@cache
def task(name: str) -> Task:
    if name in WORKLOADS:
        work = WORKLOADS[name]
        return task_of(work, batch=1)
    return Task.of_project(Project.load(sample_root() / name / f"{name}.glassbox"))


SAMPLES = [
    Work(name, mode, task(name).batch_rows)
    for name in sample_names()
    for mode in ("train", "evaluate", "infer")
]
MEASURED = [
    Work(work.id, "train" if work.optimizer else "infer", batch)
    for work in WORKLOADS.values()
    for batch in work.batches_gpu
]


@pytest.fixture(scope="module", params=TARGET_NAMES)
def device(request: pytest.FixtureRequest) -> Iterator[GlBackend]:
    """A backend that plans for each target in turn."""
    backend = GlBackend(target=TARGETS[request.param])
    yield backend
    backend.close()


def started(network: Network, work: Work) -> GlExecutable:
    """The executable of a network whose session is asked for tensors as a training does."""
    network.initialise(0, work.mode)
    data = network.program(work.mode).of_role(Role.DATA, Role.STEP)
    if work.rows:
        network.session.ensure(data, work.rows)
    executable = network.executable(work.mode, work.batch)
    assert isinstance(executable, GlExecutable)
    return executable


def check_recorded(backend: GlBackend, work: Work) -> None:
    with Network(task(work.name), backend) as network:
        executable = started(network, work)
        device = executable.work
        step = plan_step(executable.program, device.target, work.batch, work.rows, device.caps)
        planned = step.dispatches
        assert [entry for entry, _ in executable.planned] == [entry for entry, _ in step.entries]
        assert [[described(one) for one in found] for _, found in executable.planned] == [
            [described(one) for one in found] for _, found in step.entries
        ]
        recording = executable._recording
        assert recording is not None
        assert recording.order == step.order
        assert [(one.program, one.groups, one.barrier) for one in executable.issued] == [
            (
                device.engine.call(device.compiled, planned[number].source),
                planned[number].groups,
                step.order.barriers[number],
            )
            for number in step.order.numbers
        ]


def described(one: PlannedDispatch) -> tuple[object, ...]:
    return one.source, one.groups, one.launch, one.variant, one.slack


@pytest.mark.slow
@pytest.mark.gl
@pytest.mark.parametrize("work", SAMPLES, ids=str)
def test_plan_of_a_sample_is_what_a_device_records(device: GlBackend, work: Work) -> None:
    check_recorded(device, work)


@pytest.mark.gl
@pytest.mark.slow
@pytest.mark.parametrize("work", MEASURED, ids=str)
def test_plan_of_a_measured_network_is_what_a_device_records(device: GlBackend, work: Work) -> None:
    check_recorded(device, work)


@pytest.mark.slow
@pytest.mark.gl
def test_plan_in_order_is_what_a_device_records_in_order() -> None:
    backend = GlBackend(target=replace(GL, in_order=True))
    try:
        check_recorded(backend, Work("digits-cnn", "train", task("digits-cnn").batch_rows))
    finally:
        backend.close()


def step_of(work: Work, target_name: str, *, in_order: bool = False) -> tuple[Program, PlannedStep]:
    target = replace(TARGETS[target_name], in_order=in_order)
    program = Programs(task(work.name)).program(work.mode, 2, target)
    step = plan_step(program, target, work.batch, work.rows, reference_caps(target))
    return program, step


@pytest.mark.slow
@pytest.mark.parametrize("work", [*SAMPLES, *MEASURED], ids=str)
@pytest.mark.parametrize("target", TARGET_NAMES)
def test_every_line_has_dispatches_that_do_its_work_alone(work: Work, target: str) -> None:
    program, step = step_of(work, target)
    for entry, planned in step.entries:
        assert planned, f"line {entry.index}: {entry.mnemonic} has no dispatch"
        own = {program.storage(ref) for ref in entry.reads() | entry.writes()}
        touched: set[Ref] = set()
        for one in planned:
            for binding in one.bindings:
                where = f"line {entry.index}: {entry.mnemonic}, {one.source.name}, {binding}"
                if isinstance(binding, StorageBinding):
                    touched.add(binding.ref)
                elif isinstance(binding, ArenaBinding):
                    touched |= set(binding.refs)
                else:
                    alone = (TableBinding, ScratchBinding, TicketsBinding)
                    assert isinstance(binding, alone), f"{where}: shared with another line"
        found = {program.storage(ref) for ref in touched}
        assert found <= own, f"line {entry.index}: {entry.mnemonic} touches others' storages"
        stored = {ref for ref in entry.writes() if step.stored(ref)}
        missing = {program.storage(ref) for ref in stored} - found
        assert not missing, f"line {entry.index}: {entry.mnemonic} does not write its results"


@pytest.mark.slow
@pytest.mark.parametrize("work", [*SAMPLES, *MEASURED], ids=str)
@pytest.mark.parametrize("target", TARGET_NAMES)
def test_order_says_of_every_dispatch_when_it_runs(work: Work, target: str) -> None:
    _, step = step_of(work, target)
    order, count = step.order, len(step.dispatches)
    assert sorted(order.numbers) == list(range(count))
    by_turn = [order.levels[number] for number in order.numbers]
    assert by_turn == sorted(by_turn)
    assert set(by_turn) == set(range(max(by_turn) + 1))
    assert sum(order.barriers) == max(by_turn) + 1
    _, plain = step_of(work, target, in_order=True)
    assert plain.order.numbers == tuple(range(count))
    assert sum(plain.order.barriers) >= sum(order.barriers)
