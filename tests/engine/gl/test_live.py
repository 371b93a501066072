"""Taps on executables of the OpenGL backend, and what kernels make of a snapshot."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH, Ref, Role
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.live.live import GlSnapshot
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.gl.run.session import GlSession
from studio.engine.isa.program import Program
from studio.engine.runtime.live import MOST_SNAPSHOTS, Snapshot, StepClock, Tap
from studio.engine.runtime.live_places import NotStoredError, NotThereError
from studio.engine.runtime.live_sheet import Pick, Sheet, draw
from studio.engine.runtime.live_statistics import Statistics, statistics_of
from tests.engine.gl.gl_programs import Lines

pytestmark = pytest.mark.gl


def scaled(length: int = 5) -> Program:
    lines = Lines()
    y = lines.input("x", (BATCH, 3))
    for k in range(length):
        z = lines.made(f"t{k}", (BATCH, 3))
        lines.add("forward", "SCALE", x=y, y=z, alpha=2.0)
        y = z
    return lines.program(y)


def counting(shape: tuple[int, ...]) -> Program:
    """A state that grows by one everywhere in every run."""
    lines = Lines()
    count = lines.kept("count", shape)
    one = lines.builder.tensor("one", (1,), role=Role.CONST, value=(1.0,))
    more = lines.made("more", shape)
    lines.add("forward", "ADD", x1=count, x2=one, y=more)
    lines.add("update", "COPY", x=more, y=count)
    return lines.program(more)


def compiled(
    backend: GlBackend, program: Program, batch: int = 4
) -> tuple[GlSession, GlExecutable]:
    session = backend.open_session()
    return session, backend.compile(program, session, batch)


def whole(shape: tuple[int, ...], **axes: int | tuple[int, int]) -> Sheet:
    return Sheet(shape, tuple(Pick(0, 1, size) for size in shape), **axes)  # type: ignore[arg-type]


def snapshot_of(backend: GlBackend, values: np.ndarray, pad: object = ()) -> Snapshot:
    """A snapshot of a state tensor with these values, held for good; its tap is closed."""
    lines = Lines()
    kept = lines.builder.tensor("kept", values.shape, DType.of(values.dtype), Role.STATE, pad=pad)
    x = lines.input("x", (BATCH, 1))
    y = lines.made("y", (BATCH, 1))
    lines.add("forward", "COPY", x=x, y=y)
    # Something has to name the state for it to be part of the program.
    if values.dtype == np.float32:
        z = lines.made("z", values.shape)
        lines.add("forward", "COPY", x=kept, y=z)
    session = backend.open_session()
    executable = backend.compile(lines.program(y), session, 1)
    session.write("kept", values) if not pad else _write_padded(session, values)
    tap = session.tap("kept")
    executable.attach(tap, StepClock())
    tap.request()
    executable.run()
    found = tap.take()
    assert found is not None
    found.keep()
    executable.close()
    session.close()
    tap.close()
    return found


def _write_padded(session: GlSession, values: np.ndarray) -> None:
    from studio.engine.gl.device.transfer import padded_to_device

    held = session.held("kept")
    data = padded_to_device(values, held.descriptor).reshape(-1)
    session._engine.call(session._pool.upload, held.where, data)


def spoiled(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype in ("float32", "float16"):
        values = (rng.standard_normal(shape) * 3 + 0.5).astype(dtype)
        flat = values.reshape(-1)
        for bad in (np.nan, np.inf, -np.inf, 0.0, -0.0):
            flat[rng.integers(0, flat.size, max(1, flat.size // 20))] = bad
        return values
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    low, high = (0, 256) if dtype == "uint8" else (-(2**31), 2**31)
    return rng.integers(low, high, shape).astype(dtype)


def assert_statistics(found: Statistics | None, values: np.ndarray) -> None:
    wanted = statistics_of(values)
    assert found is not None
    for name in ("count", "nan", "plus_inf", "minus_inf", "zeros"):
        assert getattr(found, name) == getattr(wanted, name), name
    assert (found.low, found.high) == (wanted.low, wanted.high)
    reach = max(wanted.high - wanted.low, 1e-30)
    assert found.mean == pytest.approx(wanted.mean, rel=2e-7, abs=3e-6 * reach)
    assert found.std == pytest.approx(wanted.std, abs=3e-6 * reach)
    assert sum(found.histogram) == wanted.finite
    # An element on the edge of a bin may fall to either side of it.
    apart = np.abs(np.cumsum(found.histogram) - np.cumsum(wanted.histogram)).max()
    assert apart <= max(2, wanted.finite // 500)


DTYPES = ("float32", "float16", "int32", "uint8", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1,), (), (70,), (5, 64, 3), (333, 411)], ids=str)
def test_statistics_are_those_of_numpy(
    backend: GlBackend, shape: tuple[int, ...], dtype: str, rng: np.random.Generator
) -> None:
    values = np.asarray(spoiled(rng, shape, dtype)) if shape else np.array(3, dtype)
    snapshot = snapshot_of(backend, values)
    assert_statistics(snapshot.render().statistics, values)
    np.testing.assert_array_equal(snapshot.array(), values)
    snapshot.release()


def test_statistics_of_values_far_apart_do_not_overflow(backend: GlBackend) -> None:
    values = np.array([-3e38, 3e38, 1.0, 0.0], np.float32)
    snapshot = snapshot_of(backend, values)
    assert_statistics(snapshot.render().statistics, values)
    snapshot.release()


@pytest.mark.parametrize("fill", [np.nan, np.inf, 2.5, 0.0], ids=str)
def test_statistics_of_one_value_everywhere(backend: GlBackend, fill: float) -> None:
    values = np.full((40, 3), fill, np.float32)
    snapshot = snapshot_of(backend, values)
    found, wanted = snapshot.render().statistics, statistics_of(values)
    assert found is not None
    np.testing.assert_equal(vars(found), vars(wanted))
    snapshot.release()


SHEETS = {
    "exact": {"rows": 0, "columns": 1},
    "turned": {"rows": 2, "columns": 0, "tiles": 1},
    "colour": {"rows": 0, "columns": 1, "channels": 2},
    "coarse": {"rows": 0, "columns": 1, "tiles": 2, "block": (3, 4)},
    "coarse colour": {"rows": 0, "columns": 1, "channels": 2, "block": (2, 5)},
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_tiles_are_those_of_numpy(backend: GlBackend, dtype: str, rng: np.random.Generator) -> None:
    values = spoiled(rng, (13, 18, 3), dtype)
    snapshot = snapshot_of(backend, values)
    sheets = [whole(values.shape, **axes) for axes in SHEETS.values()]  # type: ignore[arg-type]
    sheets.append(
        Sheet(values.shape, (Pick(12, -2, 6), Pick(1, 4, 5), Pick(2, 1, 1)), rows=0, columns=1)
    )
    made = snapshot.render(sheets, statistics=False)
    assert made.statistics is None
    for sheet in sheets:
        found, wanted = made.tiles[sheet], draw(values, sheet)
        np.testing.assert_array_equal(found.marks, wanted.marks)
        np.testing.assert_array_equal(found.low, wanted.low)
        np.testing.assert_array_equal(found.high, wanted.high)
        if sheet.exact:
            assert found.values is not None
            assert wanted.values is not None
            assert found.values.tobytes() == wanted.values.tobytes()
    snapshot.release()


@pytest.mark.parametrize("dtype", DTYPES)
def test_single_elements_are_read_exactly(
    backend: GlBackend, dtype: str, rng: np.random.Generator
) -> None:
    values = spoiled(rng, (7, 5), dtype)
    snapshot = snapshot_of(backend, values)
    for index in np.ndindex(values.shape):
        found = snapshot.element(index)
        assert found.dtype == values.dtype
        assert found.tobytes() == values[index].tobytes()
    snapshot.release()


def test_the_halo_of_a_padded_tensor_is_left_out(
    backend: GlBackend, rng: np.random.Generator
) -> None:
    values = rng.standard_normal((2, 6, 5, 4)).astype(np.float32) + 5
    snapshot = snapshot_of(backend, values, ((0, 0), (1, 2), (1, 1), (0, 0)))
    sheet = whole(values.shape, tiles=3, rows=1, columns=2)
    made = snapshot.render([sheet])
    assert_statistics(made.statistics, values)
    assert made.statistics is not None
    assert made.statistics.zeros == 0
    np.testing.assert_array_equal(made.tiles[sheet].low, draw(values, sheet).low)
    np.testing.assert_array_equal(snapshot.array(), values)
    assert snapshot.element((1, 5, 4, 3)) == values[1, 5, 4, 3]
    snapshot.release()


def test_nothing_ordered_is_nothing_made(backend: GlBackend) -> None:
    snapshot = snapshot_of(backend, np.zeros((2, 2), np.float32))
    made = snapshot.render(statistics=False)
    assert made.statistics is None
    assert made.tiles == {}
    snapshot.release()


def test_every_stored_tensor_is_seen_although_its_bytes_are_shared(backend: GlBackend) -> None:
    session, executable = compiled(backend, scaled())
    taps = [session.tap(f"t{k}") for k in range(5)]
    for tap in taps:
        executable.attach(tap, StepClock(9))
        tap.request()
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    executable.feed(0, x)
    executable.run()
    for k, tap in enumerate(taps):
        snapshot = tap.take()
        assert snapshot is not None
        with snapshot:
            np.testing.assert_array_equal(snapshot.array(), x * np.float32(2.0 ** (k + 1)))
            assert (snapshot.moment.step, snapshot.moment.index) == (10, k)
    executable.close()
    session.close()


def test_taps_come_and_go_between_runs_without_compiling(backend: GlBackend) -> None:
    session, executable = compiled(backend, scaled())
    compiled_before = backend.work.programs.counters()
    executable.feed(0, np.ones((4, 3), np.float32))
    tap = session.tap("t1")
    executable.run(3)
    executable.attach(tap, StepClock())
    executable.run(3)
    assert tap.captures == 0
    tap.request()
    executable.run(3)
    assert tap.captures == 1
    executable.detach(tap)
    tap.request()
    executable.run(3)
    assert tap.captures == 1
    found = executable.fetch(Ref(executable.program.outputs[0])).result(20)
    assert (found == 32.0).all()
    after = backend.work.programs.counters()
    assert (after.compiled, after.loaded) == (compiled_before.compiled, compiled_before.loaded)
    tap.close()
    executable.close()
    session.close()


def taken(tap: Tap) -> np.ndarray:
    snapshot = tap.take()
    assert snapshot is not None
    with snapshot:
        return snapshot.array()


def test_places_are_refused_as_on_the_cpu(backend: GlBackend) -> None:
    session, executable = compiled(backend, scaled())
    for tap in (session.tap("t3", after=1), session.tap("t0", after=4), session.tap("t9")):
        with pytest.raises(NotThereError):
            executable.attach(tap, StepClock())
    executable.close()
    session.close()
    lines = Lines()
    x = lines.input("x", (BATCH, 4))
    inside = lines.made("inside", (BATCH, 4), register=True)
    y = lines.made("y", (BATCH, 4))
    lines.add("forward", "FUSE", kind="chain")
    lines.add("forward", "SCALE", x=x, y=inside, alpha=2.0)
    lines.add("forward", "RELU", x=inside, y=y)
    lines.add("forward", "END")
    session, executable = compiled(backend, lines.program(y))
    with pytest.raises(NotStoredError):
        executable.attach(session.tap("inside"), StepClock())
    executable.close()
    session.close()


@pytest.mark.slow
def test_pictures_are_whole_while_another_thread_runs(backend: GlBackend) -> None:
    session, executable = compiled(backend, counting((150, 200)))
    there = threading.Event()
    tap = session.tap("count", ready=there.set)
    executable.attach(tap, StepClock())
    stop = threading.Event()
    done: list[int] = []

    def work() -> None:
        while not stop.is_set():
            done.append(executable.run(20, stop.is_set))

    thread = threading.Thread(target=work)
    thread.start()
    sheet = whole((150, 200), rows=0, columns=1, block=(150, 200))
    try:
        for _ in range(60):
            tap.request()
            assert there.wait(20)
            there.clear()
            snapshot = tap.take()
            assert snapshot is not None
            with snapshot:
                made = snapshot.render([sheet])
                assert made.statistics is not None
                low, high = made.statistics.low, made.statistics.high
                assert low == high == snapshot.moment.step
                assert made.tiles[sheet].low.item() == snapshot.moment.step
    finally:
        stop.set()
        thread.join()
    executable.finish()
    assert (session.read("count").result(20) == sum(done)).all()
    tap.close()
    executable.close()
    session.close()


def test_runs_do_not_wait_where_all_snapshots_are_in_use(backend: GlBackend) -> None:
    session, executable = compiled(backend, counting((5, 5)))
    tap = session.tap("count")
    executable.attach(tap, StepClock())
    held: list[Snapshot] = []
    for _ in range(MOST_SNAPSHOTS + 2):
        tap.request()
        executable.run()
        if (snapshot := tap.take()) is not None:
            held.append(snapshot)
    assert [s.array()[0, 0] for s in held] == [1.0, 2.0, 3.0]
    for snapshot in held:
        snapshot.release()
    executable.run()
    assert (taken(tap) == MOST_SNAPSHOTS + 3).all()
    tap.close()
    executable.close()
    session.close()


def test_buffers_are_used_again_and_given_back(backend: GlBackend) -> None:
    session, executable = compiled(backend, counting((64, 64)))
    tap = session.tap("count")
    executable.attach(tap, StepClock())
    names = set()
    pool = backend.work.pool
    for _ in range(6):
        tap.request()
        executable.run()
        snapshot = tap.take()
        assert isinstance(snapshot, GlSnapshot)
        names.add(snapshot.buffer.name)
        snapshot.render()
        snapshot.release()
    assert len(names) == 1
    in_use = pool.counters().in_use
    tap.close()
    backend.work.engine.call(lambda: None)
    assert pool.counters().in_use == in_use - 1
    executable.close()
    session.close()


def test_short_memory_is_told_and_runs_go_on(
    backend: GlBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, executable = compiled(backend, counting((64, 64)))
    tap = session.tap("count")
    executable.attach(tap, StepClock())
    pool = backend.work.pool
    monkeypatch.setattr(pool._counters, "budget_bytes", 0)
    backend.work.engine.call(pool.trim)
    tap.request()
    assert executable.run(2) == 2
    failure = tap.failure()
    assert failure is not None
    assert "not enough device memory" in failure.message
    monkeypatch.undo()
    executable.close()
    session.close()


@pytest.mark.slow
def test_a_tensor_of_many_elements_is_folded_in_rounds(backend: GlBackend) -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((1200, 1000)).astype(np.float32) * 1e-3 + 700
    values[500, 3] = np.nan
    snapshot = snapshot_of(backend, values)
    found = snapshot.render().statistics
    wide = values[np.isfinite(values)].astype(np.float64)
    assert found is not None
    assert found.mean == pytest.approx(wide.mean(), rel=1e-8)
    assert found.std == pytest.approx(wide.std(), rel=1e-4)
    snapshot.release()
