"""An arena longer than one buffer may be: several buffers, and the same results bit by bit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest

from studio.engine.compiler.target import GL
from studio.engine.core.errors import BackendError, NumericError
from studio.engine.core.tensor import BATCH, Ref, Role
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.choices.measured_choices import Measured, MeasuredChoices
from studio.engine.gl.choices.signatures import product_signature
from studio.engine.gl.kernels.specs import SHIPPED
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.gl.run.storages import Storages
from studio.engine.gl.tuning.findings import Finding, Tuning
from studio.engine.gl.tuning.tuner import tune_kernels
from studio.engine.gl.tuning.whole_steps import hold_against_steps
from studio.engine.isa.program import Program
from studio.engine.runtime.live import StepClock
from studio.engine.runtime.live_places import NotStoredError, NotThereError
from studio.engine.train.network.data_feeder import DataFeeder, StepRange
from studio.engine.train.network.network import Network
from tests.engine.gl.gl_programs import Lines, run_once
from tests.engine.gl.one_line import run_line
from tests.engine.gl.tuning.tuned_lines import linear, op_of, other_tiles, products_of
from tests.engine.train.small_tasks import DIGITS, cnn, equal_bytes, task

pytestmark = pytest.mark.gl

MIB = 1 << 20
BATCH_ROWS = 512
STEPS = 3
Arrays = Mapping[str, np.ndarray]


def limit(backend: GlBackend, nbytes: int = GL.max_storage_bytes) -> None:
    """Let no buffer of an arena be longer than so many bytes."""
    backend.work.target = replace(GL, max_storage_bytes=nbytes)


@pytest.fixture(autouse=True)
def no_limit_afterwards(backend: GlBackend) -> Iterator[None]:
    yield
    limit(backend)


def buffers_of(executable: GlExecutable) -> int:
    return len(executable._storages._arena)


@dataclass
class Trained:
    """What a training left: weights and slots, what was watched, kernels profiled, buffers."""

    weights: Arrays
    watched: Arrays
    kernels: list[tuple[str, str]]
    buffers: int


def watch_all(network: Network, executable: GlExecutable) -> Arrays:
    """Data and gradients of everything stored as they are in the next step."""
    taps = []
    clock = StepClock()
    for tensor in executable.program.tensors.values():
        for grad in (False, True):
            tap = network.session.tap(tensor.name, grad=grad)
            try:
                executable.attach(tap, clock)
            except (NotStoredError, NotThereError):
                tap.close()
                continue
            tap.request()
            taps.append(tap)
    executable.run(1)
    executable.finish()
    found = {}
    for tap in taps:
        snapshot = tap.take()
        assert snapshot is not None
        with snapshot:
            found[f"{tap.name}{'.grad' if tap.grad else ''}"] = snapshot.array()
        executable.detach(tap)
        tap.close()
    return found


def trained(backend: GlBackend) -> Trained:
    """Steps of a convolutional network: plain ones, a watched, a profiled and a checked one."""
    made = task(cnn(), DIGITS, batch_size=BATCH_ROWS)
    assert made.training is not None
    with Network(made, backend) as network:
        network.initialise(0)
        feeder = DataFeeder(network, "train", made.training, BATCH_ROWS, 0, 1 << 30)
        order = np.arange(len(made.training), dtype=np.int32)
        network.session.write("train/order", order)
        rates = network.program("train").tensors.named("train/rates").shape
        network.session.write("train/rates", np.full(rates, 1e-2, np.float32))
        feeder.position(StepRange(0, 0, BATCH_ROWS, 1), step=0, epoch=0, record=0)
        executable = network.executable("train", BATCH_ROWS)
        assert isinstance(executable, GlExecutable)
        executable.run(STEPS)
        watched = watch_all(network, executable)
        profile = executable.profile(1)
        executable.check()
        executable.run(1)
        weights = network.read((Role.PARAM, Role.STATE, Role.SLOT))
        kernels = [(event.mnemonic, event.kernel) for event in profile.events]
        return Trained(weights, watched, kernels, buffers_of(executable))


@pytest.mark.slow
@pytest.mark.parametrize("nbytes", [GL.max_storage_bytes, MIB])
def test_training_in_an_arena_full_of_other_numbers_has_the_same_bits(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch, nbytes: int
) -> None:
    limit(backend, nbytes)
    clean = trained(backend)
    filled: list[int] = []
    make_zero = Storages.make_zero

    def fill_first(storages: Storages) -> None:
        """Clear as ever, in an arena where every float is no number."""
        for buffer in () if storages._is_zero else storages._arena:
            filled.append(buffer.nbytes)
            storages._pool.upload(buffer.slice(), np.full(buffer.nbytes, 255, np.uint8))
        make_zero(storages)

    monkeypatch.setattr(Storages, "make_zero", fill_first)
    dirty = trained(backend)
    assert len(filled) >= dirty.buffers
    assert equal_bytes(clean.weights, dirty.weights)
    assert equal_bytes(clean.watched, dirty.watched)


@pytest.mark.slow
def test_training_in_several_buffers_has_the_same_bits(backend: GlBackend) -> None:
    whole = trained(backend)
    limit(backend, MIB)
    parts = trained(backend)
    assert whole.buffers == 1 < parts.buffers
    assert equal_bytes(whole.weights, parts.weights)
    # In several buffers more of the tensors may keep their bytes, or fewer.
    both = whole.watched.keys() & parts.watched.keys()
    assert len(both) >= 0.9 * len(whole.watched)
    assert any(name.endswith(".grad") for name in both)
    assert all(np.isfinite(whole.watched[name]).all() for name in both)
    assert [n for n in both if whole.watched[n].tobytes() != parts.watched[n].tobytes()] == []
    assert {m for m, _ in whole.kernels} == {m for m, _ in parts.kernels}
    assert backend.work.pool.counters().in_use == 0


def branches() -> tuple[Program, list[Ref]]:
    """Three functions of one input and the sum of all: six tensors needed at once."""
    lines = Lines()
    x = lines.input("x", (BATCH, 1000))
    made = [lines.made(name, (BATCH, 1000)) for name in ("rectified", "bent", "doubled")]
    lines.add("forward", "RELU", x=x, y=made[0])
    lines.add("forward", "TANH", x=x, y=made[1])
    lines.add("forward", "SCALE", x=x, y=made[2], alpha=2.0)
    first, last = (lines.made(name, (BATCH, 1000)) for name in ("first", "last"))
    lines.add("forward", "ADD", x1=made[0], x2=made[1], y=first)
    lines.add("forward", "ADD", x1=first, x2=made[2], y=last)
    outputs = [*made, last]
    return lines.program(*outputs), outputs


def test_a_tensor_of_the_longest_length_fills_a_buffer(backend: GlBackend) -> None:
    program, outputs = branches()
    x = np.random.default_rng(2).standard_normal((256, 1000), dtype=np.float32)
    limit(backend, x.nbytes)
    with pytest.raises(BackendError, match=r"\[x\].*at most 1024000 bytes.*needs 1028000"):
        run_once(backend, program, 257, x=np.zeros((257, 1000), np.float32))
    session = backend.open_session()
    executable = backend.compile(program, session, 256)
    storages = executable._storages
    places = {storages.place(ref) for ref in (Ref(program.inputs[0]), *outputs)}
    assert len({name for name, _ in places}) == 5
    assert buffers_of(executable) == 6
    assert executable.nbytes >= 6 * x.nbytes
    executable.close()
    session.close()
    rectified, bent, doubled, last = run_once(backend, program, 256, *outputs, x=x)
    np.testing.assert_array_equal(rectified, np.maximum(x, 0))
    np.testing.assert_array_equal(doubled, 2 * x)
    np.testing.assert_allclose(bent, np.tanh(x.astype(np.float64)), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(last, rectified + bent + doubled)


def test_check_mode_finds_the_same_number_in_several_buffers(backend: GlBackend) -> None:
    program, _ = branches()
    x = np.ones((256, 1000), np.float32)
    x[200, 7] = np.nan

    def said() -> str:
        session = backend.open_session()
        executable = backend.compile(program, session, 256)
        executable.feed(program.inputs[0], x)
        with pytest.raises(NumericError) as caught:
            executable.check()
        executable.close()
        session.close()
        return str(caught.value)

    whole = said()
    limit(backend, MIB)
    assert said() == whole
    assert "[200, 7]" in whole


@pytest.mark.slow
def test_other_kernels_are_held_against_steps_in_several_buffers(backend: GlBackend) -> None:
    line, expected = linear(rows=600, inner=64, out=48)
    (product,) = products_of(op_of(line))
    sign = product_signature(op_of(line), product)
    tile, _ = other_tiles(backend, product)
    row = Measured(tile, 1, 1.0, 2.0)
    backend.choose_by(MeasuredChoices({sign: row}))
    whole = run_line(backend, line, "y")["y"]
    limit(backend, 600 * 64 * 4)
    parts = run_line(backend, line, "y")["y"]
    backend.choose_by(SHIPPED)
    np.testing.assert_allclose(whole, expected, rtol=1e-5, atol=1e-5)
    assert whole.tobytes() == parts.tobytes()
    finding = Finding(sign, ("shipped", 1), row, 2)
    found = hold_against_steps(
        backend, [(line.program, line.batch)], Tuning((finding,), 0, 1.0, "a clock")
    )
    assert found.passed_over == ()
    # Which is faster is the device's to say: the step ran by both.
    assert len(found.steps) + len(found.dropped) == 1
    tried = tune_kernels(backend, [(line.program, line.batch)], 1.0)
    assert len(tried.findings) + tried.left == 1
    assert backend.work.pool.counters().in_use == 0


def test_more_than_the_device_has_is_refused_before_anything_is_made(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, _ = branches()
    limit(backend, MIB)
    pool = backend.work.pool
    backend.work.engine.call(pool.trim)
    monkeypatch.setattr(pool._counters, "budget_bytes", 4 * MIB)
    session = backend.open_session()
    with pytest.raises(BackendError, match=r"the arena of probe .* needs 5\.9 MiB .*4\.0 MiB"):
        backend.compile(program, session, 256)
    assert pool.counters().allocated == 0
    session.close()


def test_buffers_before_one_the_driver_refuses_are_given_back(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, _ = branches()
    limit(backend, MIB)
    pool = backend.work.pool
    backend.work.engine.call(pool.trim)
    real = pool._reserve
    asked: list[int] = []

    def refused(allocation: object) -> None:
        asked.append(1)
        if len(asked) == 3:
            raise BackendError("no more of it", who="gl")
        real(allocation)  # type: ignore[arg-type]

    monkeypatch.setattr(pool, "_reserve", refused)
    session = backend.open_session()
    with pytest.raises(BackendError, match="no more of it"):
        backend.compile(program, session, 256)
    assert len(asked) == 3
    assert pool.counters().in_use == 0
    session.close()
