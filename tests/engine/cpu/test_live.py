"""Taps on executables of the NumPy backend: what is captured, when, and at what cost to runs."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from studio.engine.core.tensor import BATCH, Ref, Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.run.executable import CpuExecutable
from studio.engine.cpu.run.session import CpuSession
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.arithmetic import Add, Scale
from studio.engine.isa.ops.move import Copy
from studio.engine.isa.program import Program
from studio.engine.runtime.live import MOST_SNAPSHOTS, StepClock, Tap
from studio.engine.runtime.live_places import NotStoredError, NotThereError
from tests.engine.cpu.programs import chain, dense, epilogue, normal, training


def scaled(lengths: int = 5) -> Program:
    """x·2, x·4, … : results that may share bytes once they are read."""
    b = ProgramBuilder("scaled", "infer")
    x = b.tensor("x", (BATCH, 3), role=Role.INPUT)
    y = x
    for k in range(lengths):
        z = b.tensor(f"t{k}", (BATCH, 3))
        b.append("forward", Scale(x=y, y=z, alpha=2.0))
        y = z
    return b.finish((x,), (y,))


def counting(shape: tuple[int, ...] = (200, 300)) -> Program:
    """A state that grows by one everywhere in every run."""
    b = ProgramBuilder("counting", "train")
    count = b.tensor("count", shape, role=Role.STATE)
    one = b.tensor("one", (1,), role=Role.CONST, value=(1.0,))
    more = b.tensor("more", shape)
    b.append("forward", Add(x1=count, x2=one, y=more))
    b.append("update", Copy(x=more, y=count))
    return b.finish((), (more,))


def compiled(program: Program, batch: int = 4) -> tuple[CpuSession, CpuExecutable]:
    backend = CpuBackend()
    session = backend.open_session()
    return session, backend.compile(program, session, batch)


def taken(tap: Tap) -> np.ndarray:
    snapshot = tap.take()
    assert snapshot is not None
    with snapshot:
        return snapshot.array().copy()


def test_every_stored_tensor_is_seen_although_its_bytes_are_shared() -> None:
    session, executable = compiled(scaled())
    assert executable.plan.total_bytes < executable.plan.sum_bytes
    taps = [session.tap(f"t{k}") for k in range(5)]
    for tap in taps:
        executable.attach(tap, StepClock())
        tap.request()
    x = normal(4, 3)
    executable.feed(0, x)
    executable.run()
    for k, tap in enumerate(taps):
        np.testing.assert_array_equal(taken(tap), x * np.float32(2.0 ** (k + 1)))


def test_gradients_parameters_slots_and_inputs_are_seen() -> None:
    session, executable = _fitting()
    executable.run(3)
    before = session.read("w").result()
    names = [("w", False), ("w", True), ("w/m", False), ("train/step", False)]
    taps = [session.tap(name, grad=grad) for name, grad in names]
    for tap in taps:
        executable.attach(tap, StepClock(3))
        tap.request()
    executable.run()
    w, gradient, slot, step = (taken(tap) for tap in taps)
    np.testing.assert_array_equal(w, session.read("w").result())
    assert not np.array_equal(w, before)
    np.testing.assert_array_equal(slot, session.read("w/m").result())
    np.testing.assert_array_equal(step, session.read("train/step").result())
    # The data are y = x·(1, -2, 3): the gradient of the mean of squares by the weights before.
    x = session.read("data/x").result()[[(12 + i) % 10 for i in range(4)]]
    wanted = 2 / 4 * (x @ (before - [[1.0, -2.0, 3.0]]).T).T @ x
    np.testing.assert_allclose(gradient, wanted, rtol=1e-4, atol=1e-6)


def _fitting() -> tuple[CpuSession, CpuExecutable]:
    backend = CpuBackend()
    session = backend.open_session()
    program = training()
    session.ensure([program.tensors.named(n) for n in ("data/x", "data/y", "train/order")], 10)
    executable = backend.compile(program, session, 4)
    x = normal(10, 3)
    session.write("data/x", x)
    session.write("data/y", x @ np.array([[1.0], [-2.0], [3.0]], np.float32))
    session.write("train/order", np.arange(10, dtype=np.int32))
    session.write("train/rates", np.full(4, 0.1, np.float32))
    return session, executable


def test_a_parameter_is_seen_before_and_behind_its_update() -> None:
    session, executable = _fitting()
    program = executable.program
    (update,) = (i for s, i, line in program.located() if line.mnemonic == "UPDATE_ADAM")
    early, late = session.tap("w", after=update - 1), session.tap("w", after=update)
    for tap in (early, late):
        executable.attach(tap, StepClock())
        tap.request()
    before = session.read("w").result()
    executable.run()
    np.testing.assert_array_equal(taken(early), before)
    np.testing.assert_array_equal(taken(late), session.read("w").result())


def test_the_moment_says_step_and_instruction() -> None:
    session, executable = compiled(scaled())
    clock = StepClock(40)
    tap = session.tap("t2")
    executable.attach(tap, clock)
    executable.feed(0, normal(4, 3))
    executable.run(2)
    tap.request()
    executable.run()
    snapshot = tap.take()
    assert snapshot is not None
    assert (snapshot.moment.step, snapshot.moment.index) == (43, 2)
    assert clock.step == 43
    assert (snapshot.shape, snapshot.name, snapshot.grad) == ((4, 3), "t2", False)


def test_only_finished_steps_are_shown_but_instructions_at_once() -> None:
    session, executable = compiled(scaled())
    live, behind = session.tap("t0"), session.tap("t0", after=0)
    for tap in (live, behind):
        executable.attach(tap, StepClock())
        tap.request()
    executable.feed(0, normal(4, 3))
    executable.run_to(3)
    assert live.take() is None
    assert behind.take() is not None
    executable.run_to(5)
    assert live.take() is not None


def test_nothing_is_copied_unless_somebody_asked() -> None:
    session, executable = compiled(scaled())
    told: list[int] = []
    tap = session.tap("t1", ready=lambda: told.append(1))
    executable.attach(tap, StepClock())
    executable.feed(0, normal(4, 3))
    executable.run(20)
    assert (tap.captures, told, tap.take()) == (0, [], None)
    tap.request()
    executable.run(20)
    assert (tap.captures, told) == (1, [1])
    executable.detach(tap)
    tap.request()
    executable.run(20)
    assert tap.captures == 1


def test_a_snapshot_stays_while_runs_go_on() -> None:
    session, executable = compiled(counting((5, 5)))
    tap = session.tap("count")
    executable.attach(tap, StepClock())
    tap.request()
    executable.run()
    first = tap.take()
    assert first is not None
    for _ in range(10):
        tap.request()
        executable.run(3)
    assert (first.array() == 1.0).all()
    assert (taken(tap) == 29.0).all()


def test_runs_do_not_wait_where_all_snapshots_are_in_use() -> None:
    session, executable = compiled(counting((5, 5)))
    tap = session.tap("count")
    executable.attach(tap, StepClock())
    held = []
    for _ in range(MOST_SNAPSHOTS):
        tap.request()
        executable.run()
        held.append(tap.take())
    tap.request()
    executable.run()
    assert tap.take() is None
    assert tap.wanted
    assert held[0] is not None
    held[0].release()
    executable.run()
    assert (taken(tap) == MOST_SNAPSHOTS + 2).all()


def test_one_held_for_good_does_not_count() -> None:
    session, executable = compiled(counting((2, 2)))
    tap = session.tap("count")
    executable.attach(tap, StepClock())
    kept = []
    for _ in range(3 * MOST_SNAPSHOTS):
        tap.request()
        executable.run()
        snapshot = tap.take()
        assert snapshot is not None
        snapshot.keep()
        kept.append(snapshot)
    assert [int(s.array()[0, 0]) for s in kept] == list(range(1, 3 * MOST_SNAPSHOTS + 1))


def test_memory_of_released_snapshots_is_used_again() -> None:
    session, executable = compiled(counting((50, 50)))
    tap = session.tap("count")
    executable.attach(tap, StepClock())
    places = set()
    for _ in range(10):
        tap.request()
        executable.run()
        snapshot = tap.take()
        assert snapshot is not None
        places.add(snapshot.array().__array_interface__["data"][0])
        snapshot.release()
    assert len(places) == 1


@pytest.mark.slow
def test_pictures_are_whole_while_another_thread_runs() -> None:
    session, executable = compiled(counting())
    there = threading.Event()
    tap = session.tap("count", ready=there.set)
    executable.attach(tap, StepClock())
    stop = threading.Event()
    thread = threading.Thread(target=lambda: executable.run(1 << 30, stop.is_set))
    thread.start()
    try:
        steps = []
        for _ in range(200):
            tap.request()
            assert there.wait(20)
            there.clear()
            snapshot = tap.take()
            assert snapshot is not None
            with snapshot:
                array = snapshot.array()
                assert array.min() == array.max() == snapshot.moment.step
                steps.append(snapshot.moment.step)
        assert steps == sorted(steps)
        # The same look at the live storage does see steps that are under way.
        live = session.held("count").array
        torn = any(live.min() != live.max() for _ in range(3000))
    finally:
        stop.set()
        thread.join()
    assert torn


def test_a_register_is_refused_by_an_answer_of_its_own() -> None:
    for program, name in ((chain(True), "one"), (epilogue(True), "both")):
        session, executable = compiled(program, 2)
        with pytest.raises(NotStoredError, match="fused kernel"):
            executable.attach(session.tap(name), StepClock())
    session, executable = compiled(chain(False), 2)
    executable.attach(session.tap("one"), StepClock())


def test_places_that_do_not_hold_the_tensor_are_refused() -> None:
    session, executable = compiled(scaled())
    refused = {
        "early": session.tap("t3", after=1),
        "overwritten": session.tap("t0", after=4),
        "no gradient": session.tap("t0", grad=True),
        "unknown": session.tap("t9"),
        "before the first": session.tap("t0", after=-1),
    }
    for tap in refused.values():
        with pytest.raises(NotThereError):
            executable.attach(tap, StepClock())
    executable.feed(0, normal(4, 3))
    executable.run()
    with pytest.raises(NotThereError, match="up to 1"):
        executable.attach(refused["overwritten"], StepClock())


def test_a_group_is_looked_at_behind_its_last_part() -> None:
    program = epilogue(True)
    session, executable = compiled(program, 2)
    tap = session.tap("kept", after=2)
    executable.attach(tap, StepClock())
    tap.request()
    for name in ("x", "side"):
        tensor = program.tensors.named(name)
        executable.feed(tensor.id, normal(2, *tensor.shape[1:]))
    executable.run()
    snapshot = tap.take()
    assert snapshot is not None
    assert snapshot.moment.index == 5
    with snapshot:
        kept = executable.fetch(Ref(program.tensors.named("kept").id)).result()
        np.testing.assert_array_equal(snapshot.array(), kept)


def test_a_padded_tensor_is_seen_without_its_halo() -> None:
    program = epilogue(True)
    session, executable = compiled(program, 2)
    tap = session.tap("y")
    executable.attach(tap, StepClock())
    tap.request()
    executable.run()
    assert taken(tap).shape == (2, 6, 5, 3)


def test_taps_follow_data_that_was_replaced() -> None:
    session, executable = _fitting()
    tap = session.tap("data/x")
    executable.attach(tap, StepClock())
    program = executable.program
    session.ensure([program.tensors.named(n) for n in ("data/x", "data/y", "train/order")], 6)
    values = normal(6, 3, seed=5)
    session.write("data/x", values)
    session.write("train/order", np.arange(6, dtype=np.int32))
    executable.run()
    tap.request()
    executable.run()
    np.testing.assert_array_equal(taken(tap), values)


def test_a_failure_is_told_and_runs_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    session, executable = compiled(dense())
    tap = session.tap("dense/kernel")
    executable.attach(tap, StepClock())

    def refuse(*_: object, **__: object) -> np.ndarray:
        raise MemoryError

    monkeypatch.setattr("studio.engine.cpu.run.live.np.empty", refuse)
    tap.request()
    assert executable.run(2) == 2
    failure = tap.failure()
    assert failure is not None
    assert "not enough memory" in failure.message
    assert tap.failure() is None
    assert not tap.wanted


def test_runs_have_the_same_bits_with_and_without_taps() -> None:
    found = []
    for watched in (False, True):
        session, executable = _fitting()
        clock = StepClock()
        taps = []
        if watched:
            taps = [
                session.tap(tensor.name, grad=grad)
                for tensor in executable.program.tensors.values()
                for grad in (False, True)
            ]
            attached = []
            for tap in taps:
                try:
                    executable.attach(tap, clock)
                    attached.append(tap)
                except NotThereError:
                    continue
            assert len(attached) > 10
        for _ in range(30):
            for tap in taps:
                tap.request()
                if (snapshot := tap.take()) is not None:
                    snapshot.release()
            executable.run()
        found.append({name: session.read(name).result().tobytes() for name in session.names()})
    assert found[0] == found[1]


def test_instrumented_steps_are_not_looked_at_and_the_next_plain_one_is() -> None:
    session, executable = compiled(counting())
    tap = session.tap("count")
    executable.attach(tap, StepClock())
    tap.request()
    executable.profile(3)
    assert tap.take() is None
    executable.run()
    np.testing.assert_array_equal(taken(tap), np.full((200, 300), 4.0, np.float32))
