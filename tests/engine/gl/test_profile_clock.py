"""A profile says what kernels take at the device's full clock, whatever it did before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest

from studio.engine.compiler.target import GL, GL_SOFTWARE
from studio.engine.core.tensor import BATCH, Ref
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.device.timers import Sample
from studio.engine.gl.record import spinner as spinners
from studio.engine.gl.record.spinner import Spinner
from studio.engine.gl.run import profile_run
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.profiler.events import Profile
from tests.engine.gl.gl_programs import Lines

pytestmark = pytest.mark.gl

LOW, HIGH = 0.345e9, 1.98e9
RISES_IN = 0.3
CYCLES = 20_000
"""What every dispatch takes: some ten microseconds at the full clock."""
QUEUES_IN = 12e-6
"""What the host takes to queue a dispatch: longer than the device takes for it."""


WEIGHTS = np.linspace(0.1, 1.0, 64, dtype=np.float32).reshape(8, 8)


class Waking:
    """A GPU whose clock is low when it has waited, and rises while it works.

    Attributes:
        host: seconds of the host's clock.
        device: seconds at which the device has done what is queued.
        busy: seconds it has worked.
        spun: steps of spinning it was given.
    """

    def __init__(self, busy: float = 0.0) -> None:
        self.host = self.device = 0.0
        self.busy = busy
        self.spun = 0
        self.log: list[str] = []

    def work(self, cycles: float) -> None:
        """Queue a piece of work; it cannot begin before it is queued."""
        self.device = max(self.device, self.host)
        slice_of = 1e-3
        while cycles > 0:
            speed = LOW + (HIGH - LOW) * min(1.0, self.busy / RISES_IN)
            spent = min(slice_of, cycles / speed)
            self.busy += spent
            self.device += spent
            cycles -= spent * speed

    def spin(self, steps: int) -> None:
        self.log.append("spin")
        self.spun += steps
        self.work(8.0 * steps)

    def issue(self, gl: object, dispatches: list[object]) -> None:
        for _ in dispatches:
            self.log.append("dispatch")
            self.host += QUEUES_IN
            self.work(CYCLES)

    def finish(self) -> float:
        """The host waits for the device."""
        self.host = max(self.host, self.device) + 50e-6
        return self.host


class Timestamps:
    """Times on the device's own clock."""

    source = "gpu timestamps"

    def __init__(self, gpu: Waking) -> None:
        self.gpu = gpu
        self.stamps: list[float] = []
        self.labels: list[str] = []
        self.step = 0

    def begin(self, step: int) -> bool:
        self.gpu.log.append("begin")
        self.step, self.labels = step, []
        self.stamps = [max(self.gpu.device, self.gpu.host)]
        return True

    def mark(self, label: str) -> None:
        self.labels.append(label)
        self.stamps.append(self.gpu.device)

    def end(self) -> None:
        pass

    def collect(self) -> list[Sample]:
        self.gpu.finish()
        pairs = zip(self.stamps, self.stamps[1:], strict=False)
        spent = tuple(after - before for before, after in pairs)
        return [Sample(self.step, tuple(self.labels), spent, "gpu timestamps")]

    def release(self) -> None:
        pass


@contextmanager
def running_on(gpu: Waking) -> Iterator[None]:
    """Spinner and profile work on the simulated device."""
    clock = SimpleNamespace(perf_counter=lambda: gpu.host, monotonic=lambda: gpu.host)
    with ExitStack() as stack:
        for module in (spinners, profile_run):
            stack.enter_context(patch.object(module, "step_timer", lambda *_: Timestamps(gpu)))
            stack.enter_context(patch.object(module, "time", clock))
        stack.enter_context(patch.object(Spinner, "_spin", lambda _, steps: gpu.spin(steps)))
        stack.enter_context(patch.object(profile_run, "issue", gpu.issue))
        yield


@pytest.fixture
def executable(request: pytest.FixtureRequest) -> Iterator[GlExecutable]:
    """Three products one after another; hardware unless the test asks for software."""
    software = getattr(request, "param", "hardware") == "software"
    backend = GlBackend(target=GL_SOFTWARE if software else GL)
    lines = Lines()
    value = lines.input("x", (BATCH, 8))
    weights = lines.kept("w", (8, 8))
    for number in range(3):
        made = lines.made(f"y{number}", (BATCH, 8))
        lines.add("forward", "MATMUL", a=value, b=weights, y=made)
        value = made
    program = lines.program(value)
    session = backend.open_session()
    made_of = backend.compile(program, session, 4)
    session.write("w", WEIGHTS)
    made_of.feed(program.inputs[0], np.ones((4, 8), np.float32))
    yield made_of
    made_of.close()
    session.close()
    backend.close()


def micros(profile: Profile) -> list[float]:
    return [event.duration_us for event in profile.events]


FULL = CYCLES / HIGH * 1e6


def test_a_profile_begins_when_the_clock_has_risen(executable: GlExecutable) -> None:
    gpu = Waking()
    with running_on(gpu):
        found = executable.profile(5)
    assert len(found.events) == 15
    assert micros(found) == pytest.approx([FULL] * 15, rel=0.02)
    assert found.wall_us < 5 * 1000, "waiting for the clock is no part of the steps"


def test_host_gaps_are_not_counted_as_kernels(executable: GlExecutable) -> None:
    """The host takes longer to queue a kernel than the device to run it."""
    gpu = Waking(busy=1.0)
    with running_on(gpu):
        alone = executable.profile(1, while_busy=True)
        covered = executable.profile(1)
    assert max(micros(alone)) > 1.1 * FULL
    assert micros(covered) == pytest.approx([FULL] * 3, rel=0.02)


@pytest.mark.slow
def test_every_step_is_queued_behind_spinning(executable: GlExecutable) -> None:
    gpu = Waking(busy=1.0)
    with running_on(gpu):
        executable.profile(1)
        gpu.log.clear()
        executable.profile(2)
    # The clock is read once, in two calls, before the first step.
    step = ["spin", "begin", "dispatch", "dispatch", "dispatch"]
    assert gpu.log == ["begin", "spin", *step, *step]


def test_a_second_profile_of_a_busy_device_waits_for_nothing(executable: GlExecutable) -> None:
    gpu = Waking()
    with running_on(gpu):
        executable.profile(1)
        before = gpu.host
        executable.profile(1)
    assert gpu.host - before < 0.01


def test_a_device_that_sank_between_two_profiles_is_brought_back(executable: GlExecutable) -> None:
    gpu = Waking()
    with running_on(gpu):
        executable.profile(1)
        gpu.busy = 0.0
        again = executable.profile(2)
    assert micros(again) == pytest.approx([FULL] * 6, rel=0.03)


@pytest.mark.slow
def test_the_clock_is_looked_at_again_in_a_long_profile(executable: GlExecutable) -> None:
    gpu = Waking(busy=1.0)
    with running_on(gpu), patch.object(profile_run, "SETTLE_SECONDS", 0.0):
        executable.profile(1)
        gpu.log.clear()
        executable.profile(3)
    assert gpu.log.count("begin") == 2 * 3


def test_a_step_amid_a_training_spins_nothing(executable: GlExecutable) -> None:
    gpu = Waking()
    with running_on(gpu):
        executable.profile(1, while_busy=True)
    assert gpu.spun == 0


@pytest.mark.parametrize("executable", ["software"], indirect=True)
def test_software_spins_nothing(executable: GlExecutable) -> None:
    gpu = Waking()
    with running_on(gpu):
        executable.profile(2)
    assert gpu.spun == 0


@pytest.mark.slow
def test_a_profile_with_spinning_leaves_the_results_alone(executable: GlExecutable) -> None:
    """On the real device, nothing replaced: kernels run as they do without."""
    result = Ref(executable.program.outputs[0])
    profile = executable.profile(2)
    found = executable.fetch(result).result(60)
    weights = WEIGHTS.astype(np.float64)
    np.testing.assert_allclose(found, np.ones((4, 8)) @ weights @ weights @ weights, rtol=1e-5)
    assert all(event.duration_us > 0 for event in profile.events)
