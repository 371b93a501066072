"""Peaks of a device are what it does at its full clock, with storages that no cache holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from studio.engine.compiler.target import GL
from studio.engine.core.errors import BackendError
from studio.engine.core.tensor import Ref
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.kernels import element_kernel
from studio.engine.gl.kernels.element_kernel import LARGE
from studio.engine.gl.plan import planner
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.isa.program import Program
from studio.engine.runtime import peaks as module
from studio.engine.runtime.peaks import is_gpu, measure_peaks
from studio.engine.train.devices import open_backend
from tests.engine.gl.one_line import planned_for

LOW_SHARE = 345 / 1980
RISES_IN = 0.33
COMPILES_IN = 0.4


class Device:
    """A GPU with caches, little memory or much, and a clock that sinks while it waits.

    Args:
        gflops: of products at the full clock.
        gbytes: of memory at the full clock.
        room: bytes it has.
        awake: whether its clock is high already.
    """

    def __init__(
        self,
        gflops: float = 50_000.0,
        gbytes: float = 4_000.0,
        room: int = 140 << 30,
        *,
        awake: bool = False,
    ) -> None:
        self.gflops, self.gbytes, self.room = gflops, gbytes, room
        self.cache = 50 << 20
        self.name, self.device = "gl", "a GPU"
        self.now = 0.0
        self.sends_fast = False
        self.busy = RISES_IN if awake else 0.0
        self.worked = 0.0
        self.in_use = 0
        self.most = 0
        self.sizes: list[tuple[str, int]] = []

    def perf_counter(self) -> float:
        return self.now

    def open_session(self) -> SimpleNamespace:
        return SimpleNamespace(close=lambda: None)

    def compile(self, program: Program, session: object, batch: int) -> Run:
        return Run(self, program, batch)

    def wait(self, seconds: float) -> None:
        """The host does something else, and the clock sinks."""
        self.now += seconds
        self.busy = 0.0 if seconds >= COMPILES_IN else self.busy

    def spend(self, seconds: float) -> None:
        """Work that takes so long at the full clock."""
        while seconds > 0:
            speed = LOW_SHARE + (1 - LOW_SHARE) * min(1.0, self.busy / RISES_IN) ** 2
            spent = min(1e-3, seconds / speed)
            self.now += spent
            self.busy += spent
            self.worked += spent
            seconds -= spent * speed


class Run:
    """An executable of the device: counts what its program does by the shapes of its operands."""

    def __init__(self, device: Device, program: Program, batch: int) -> None:
        self.device, self.program = device, program
        self.runs = 0
        shapes = [program.tensors[t].type.bind(batch).shape for t in program.inputs]
        made = program.tensors[program.outputs[0]].type.bind(batch).shape
        self.nbytes = 4 * sum(int(np.prod(shape)) for shape in [*shapes, made])
        if device.in_use + self.nbytes > device.room:
            raise BackendError("memory is short", who="gl")
        device.in_use += self.nbytes
        device.most = max(device.most, device.in_use)
        device.sizes.append(("product" if len(shapes) == 2 else "copy", batch))
        device.wait(COMPILES_IN)
        if len(shapes) == 2:
            self.seconds = 2e-9 * made[0] * made[1] * shapes[1][0] / device.gflops
        else:
            fast = 3.0 if self.nbytes < 4 * device.cache else 1.0
            self.seconds = 1e-9 * self.nbytes / (device.gbytes * fast)

    def feed(self, tensor: int, values: np.ndarray) -> None:
        self.device.wait(1e-10 * values.nbytes)

    def run(self, runs: int) -> int:
        for _ in range(runs):
            self.runs += 1
            if self.runs == 64 and not self.device.sends_fast:
                # The host compiles what sends the runs, once for all of them.
                self.device.sends_fast = True
                self.device.wait(1.6)
            self.device.spend(self.seconds)
        return runs

    def finish(self) -> None:
        """The host wakes up late."""
        self.device.now += 60e-6

    def close(self) -> None:
        self.device.in_use -= self.nbytes


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[[Device], Device]:
    """Have the peaks measured by a device's own clock."""

    def use(device: Device) -> Device:
        monkeypatch.setattr(module, "time", device)
        return device

    return use


def test_peaks_of_a_gpu_that_waited_are_those_of_its_full_clock(
    on: Callable[[Device], Device],
) -> None:
    device = on(Device())
    found = measure_peaks(device)  # type: ignore[arg-type]
    assert found.gflops == pytest.approx(50_000, rel=0.01)
    assert found.gbytes == pytest.approx(4_000, rel=0.01)
    assert device.in_use == 0
    assert device.worked < 1.5


def test_the_copy_lies_in_no_cache_and_moves_as_large_ones_do(
    on: Callable[[Device], Device],
) -> None:
    device = on(Device())
    measure_peaks(device)  # type: ignore[arg-type]
    what, rows = device.sizes[-1]
    assert what == "copy"
    assert rows * 1024 >= LARGE
    assert 2 * 4 * rows * 1024 > 10 * device.cache


def test_a_small_gpu_is_not_made_to_compute_for_minutes(on: Callable[[Device], Device]) -> None:
    device = on(Device(gflops=200.0, gbytes=30.0, awake=True))
    found = measure_peaks(device)  # type: ignore[arg-type]
    assert found.gflops == pytest.approx(200, rel=0.02)
    assert found.gbytes == pytest.approx(30, rel=0.02)
    assert ("product", 4096) not in device.sizes
    assert device.worked < 4


def test_what_does_not_fit_is_left_out(on: Callable[[Device], Device]) -> None:
    device = on(Device(room=800 << 20))
    found = measure_peaks(device)  # type: ignore[arg-type]
    assert device.sizes[-1] == ("copy", 1 << 16)
    assert device.in_use == 0
    assert found.gbytes == pytest.approx(4_000, rel=0.02)


def test_a_device_without_room_at_all_says_so(on: Callable[[Device], Device]) -> None:
    device = on(Device(room=1 << 20))
    with pytest.raises(BackendError, match="memory is short"):
        measure_peaks(device)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "device", "wanted"),
    [("gl", "NVIDIA H200", True), ("gl", "llvmpipe (software)", False), ("cpu", "a CPU", False)],
)
def test_software_and_processors_are_measured_as_they_are(
    on: Callable[[Device], Device], name: str, device: str, wanted: bool
) -> None:
    made = on(Device(awake=True))
    made.name, made.device = name, device
    assert is_gpu(made) == wanted  # type: ignore[arg-type]
    measure_peaks(made, 128, 512)  # type: ignore[arg-type]
    assert (made.sizes == [("product", 128), ("copy", 512)]) == (not wanted)


class Neighbours:
    """Other programs: the cores they use during one measurement after the other."""

    def __init__(self, cores: list[float]) -> None:
        self._cores = iter(cores)

    def __call__(self) -> SimpleNamespace:
        return SimpleNamespace(cores=next(self._cores))


def measured(
    monkeypatch: pytest.MonkeyPatch, seconds: list[float], cores: list[float]
) -> tuple[float, bool]:
    """What comes of measurements of that length beside neighbours that use so many cores."""
    taken = iter(seconds)
    monkeypatch.setattr(module, "OtherLoad", Neighbours(cores))
    monkeypatch.setattr(module, "_runs_for", lambda *_: 1)
    monkeypatch.setattr(module, "_block", lambda executable, runs: next(taken))
    return module._undisturbed(None)  # type: ignore[arg-type]


def test_a_peak_is_the_median_of_five_measurements_nothing_disturbed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The first is the warm-up; the second and fourth are disturbed, and fast by chance.
    seconds = [9.0, 0.5, 3.0, 0.5, 1.0, 2.0, 5.0, 4.0]
    assert measured(monkeypatch, seconds, [1.0, 0.0, 0.9, 0.1, 0.0, 0.0, 0.0]) == (3.0, True)


def test_a_peak_measured_beside_a_busy_neighbour_is_in_doubt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = [9.0, *[float(n) for n in range(module.TRIES, 0, -1)]]
    assert measured(monkeypatch, slow, [1.0] * module.TRIES) == (3.0, False)
    with open_backend("cpu") as opened:
        monkeypatch.undo()
        monkeypatch.setattr(module, "OtherLoad", Neighbours([1.0] * 100))
        monkeypatch.setattr(module, "_MEASURED_SECONDS", 0.001)
        assert measure_peaks(opened.backend, 64, 64).doubt == module.DOUBT
        monkeypatch.setattr(module, "OtherLoad", Neighbours([0.0] * 100))
        assert measure_peaks(opened.backend, 64, 64).doubt == ""


@pytest.fixture
def backend() -> Iterator[GlBackend]:
    made = GlBackend()
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.gl
def test_a_real_device_is_measured_the_same_way_and_left_as_it_was(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way of a GPU, with sizes and times a software renderer has, too."""
    monkeypatch.setattr(module, "is_gpu", lambda _: True)
    monkeypatch.setattr(module, "SIDES", (32, 64))
    monkeypatch.setattr(module, "ROWS", (16, 64))
    monkeypatch.setattr(module, "LEAST_WARM", 0.0)
    monkeypatch.setattr(module, "MOST_WARM", 0.05)
    before = backend.memory()
    found = measure_peaks(backend)
    after = backend.memory()
    assert found.gflops > 0
    assert found.gbytes > 0
    assert after.transient_bytes == before.transient_bytes


@pytest.mark.slow
@pytest.mark.gl
def test_large_copies_go_by_strips_on_hardware(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "LARGE", 1 << 13)
    monkeypatch.setattr(element_kernel, "STRIPS", 3)
    session = backend.open_session()
    with planned_for(backend, GL):
        executable = backend.compile(module._copy(), session, 9)
    assert isinstance(executable, GlExecutable)
    ((_, (planned,)),) = executable.planned
    assert planned.source.local == element_kernel.STRIP_LOCAL
    x = np.arange(9 * 1024, dtype=np.float32).reshape(9, 1024)
    executable.feed(executable.program.inputs[0], x)
    executable.run()
    y = Ref(executable.program.outputs[0])
    np.testing.assert_array_equal(executable.fetch(y).result(60), x)
    executable.close()
    session.close()
