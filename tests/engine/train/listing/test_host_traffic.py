"""What a listing says the host does is what it does while a network trains and answers."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from studio.engine.compiler.plan_memory import plan_memory
from studio.engine.compiler.target import GL
from studio.engine.core.tensor import Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.run.session import CpuSession
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.device.buffer_pool import BufferPool
from studio.engine.gl.plan.planned_step import plan_step
from studio.engine.gl.run.session import GlSession
from studio.engine.layers.initializers import starts_at_zero
from studio.engine.train.listing.host_traffic import host_entries, resident_rows
from studio.engine.train.loop.control import Control
from studio.engine.train.loop.epoch_loop import EpochLoop
from studio.engine.train.network.data_feeder import DataFeeder
from studio.engine.train.network.evaluation import Evaluator
from studio.engine.train.network.inference import Inference
from studio.engine.train.network.network import Network
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.samples import sample_root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from studio.engine.isa.program import Program
    from studio.engine.runtime.backend import Backend
    from studio.engine.runtime.kernel_calls import HostEntry


class Heard:
    """Hears what sessions, feeds and clears move; bytes of each time, by action and name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.moved: dict[tuple[str, str], list[int]] = defaultdict(list)
        self.cleared: dict[str, int] = defaultdict(int)
        for kind in (CpuSession, GlSession):
            self._wrap_session(monkeypatch, kind)
        clear = BufferPool.clear

        def clear_heard(pool: BufferPool, target: Any) -> None:
            self.cleared[target.buffer.purpose] += target.nbytes
            clear(pool, target)

        monkeypatch.setattr(BufferPool, "clear", clear_heard)

    def _wrap_session(self, monkeypatch: pytest.MonkeyPatch, kind: type) -> None:
        write, write_all, read = kind.write, kind.write_all, kind.read

        def write_heard(session: Any, name: str, values: np.ndarray, row: int = 0) -> None:
            self.moved["upload", name].append(values.nbytes)
            write(session, name, values, row)

        def write_all_heard(session: Any, values: Any) -> None:
            kept = list(values)
            for name, array in kept:
                self.moved["upload", name].append(array.nbytes)
            write_all(session, kept)

        def read_heard(session: Any, name: str) -> Any:
            self.moved["read back", name].append(0)
            return read(session, name)

        monkeypatch.setattr(kind, "write", write_heard)
        monkeypatch.setattr(kind, "write_all", write_all_heard)
        monkeypatch.setattr(kind, "read", read_heard)


@pytest.fixture(params=["cpu", pytest.param("gl", marks=pytest.mark.gl)])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Each kind of device."""
    made = CpuBackend() if request.param == "cpu" else GlBackend()
    yield made
    made.close()


@pytest.fixture
def task() -> Task:
    """A sample whose last batch of an epoch has fewer rows, for two epochs."""
    return task_of("iris")


def task_of(name: str) -> Task:
    return Task.of_project(Project.load(sample_root() / name / f"{name}.glassbox"))


def listed(backend: Backend, task: Task, program: Program) -> tuple[HostEntry, ...]:
    batch, (rows, _) = task.batch_rows, resident_rows(task, program.mode)
    plan = plan_memory(program, batch, rows, backend.target)
    return host_entries(program, plan, backend.target, batch, rows)


def by_name(found: tuple[HostEntry, ...], action: str) -> dict[str, HostEntry]:
    return {entry.what: entry for entry in found if entry.action == action}


def in_words(nbytes: int) -> int:
    return -(-nbytes // 4) * 4


@pytest.mark.slow
def test_host_moves_what_is_listed_in_a_training(
    backend: Backend, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, batch, epochs = Heard(monkeypatch), task.batch_rows, 2
    samples = task.training_samples()
    assert len(samples) % batch
    with Network(task, backend) as network:
        program = network.program("train")
        found = listed(backend, task, program)
        feeder = DataFeeder(network, "train", samples, batch, 0, 1 << 30)
        loop = EpochLoop(network, feeder, Control(), lambda: None)
        network.initialise(0)
        for epoch in range(epochs):
            loop.begin(0)
            assert loop.run(epoch, shuffle=True)
    uploads = by_name(found, "upload")
    weights = [t for t in program.of_role(Role.PARAM) if not starts_at_zero(t)]
    (role,) = [name for name in uploads if name.endswith("of role param")]
    assert role == f"{len(weights)} tensors of role param"
    own = {name for action, name in heard.moved if action == "upload"}
    assert own == {t.name for t in weights} | set(uploads) - {role}
    assert sum(sum(heard.moved["upload", t.name]) for t in weights) == uploads[role].nbytes
    times = {
        "once": 1,
        "once for each length of batches": 2,
        "every epoch": epochs,
        "before every run of batches of one length": 2 * epochs,
    }
    for name, entry in uploads.items():
        if name == role:
            continue
        sizes = heard.moved["upload", name]
        assert {in_words(nbytes) for nbytes in sizes} == {entry.nbytes}
        assert len(sizes) == times.get(entry.when, len(sizes)), name
    assert {name for action, name in heard.moved if action == "read back"} == set(
        by_name(found, "read back")
    )
    assert not by_name(found, "feed") | by_name(found, "fetch")


def test_host_moves_shards_of_data_that_does_not_fit(
    backend: Backend, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, batch, samples = Heard(monkeypatch), task.batch_rows, task.training_samples()
    with Network(task, backend) as network:
        program = network.program("train")
        feeder = DataFeeder(network, "train", samples, batch, 0, 5 * batch * samples.row_bytes)
        assert not feeder.plan.is_resident
        rows = 2 * feeder.plan.shard_samples
        plan = plan_memory(program, batch, rows, backend.target)
        found = host_entries(program, plan, backend.target, batch, rows, streams=True)
        loop = EpochLoop(network, feeder, Control(), lambda: None)
        network.initialise(0)
        loop.begin(0)
        assert loop.run(0, shuffle=True)
    shards = [entry for entry in found if entry.when == "every shard"]
    assert {entry.what for entry in shards} == {"data/x", "data/y", "train/order"}
    for entry in shards:
        sizes = heard.moved["upload", entry.what]
        assert len(sizes) == -(-len(samples) // feeder.plan.shard_samples)
        # The last shard may be shorter.
        assert {in_words(nbytes) for nbytes in sizes[:-1]} == {entry.nbytes}


def test_host_moves_what_is_listed_in_an_evaluation(
    backend: Backend, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Network(task, backend) as network:
        network.initialise(0, "evaluate")
        heard = Heard(monkeypatch)
        program = network.program("evaluate")
        found = listed(backend, task, program)
        samples = task.validation or task.test
        assert samples is not None
        Evaluator(network).evaluate(samples)
    uploads = {name: e for name, e in by_name(found, "upload").items() if " of role " not in name}
    assert {name for action, name in heard.moved if action == "upload"} == set(uploads)
    for name, entry in uploads.items():
        assert {in_words(nbytes) for nbytes in heard.moved["upload", name]} == {entry.nbytes}
    assert {name for action, name in heard.moved if action == "read back"} == set(
        by_name(found, "read back")
    )


@pytest.mark.slow
def test_host_feeds_and_fetches_what_is_listed_for_answers(
    backend: Backend, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Network(task, backend) as network:
        network.initialise(0, "infer")
        heard = Heard(monkeypatch)
        program = network.program("infer")
        found = listed(backend, task, program)
        executable = network.executable("infer", task.batch_rows)
        moved: dict[str, list[str]] = {"feed": [], "fetch": []}
        feed, fetch, kind = executable.feed, executable.fetch, type(executable)
        names = program.tensors

        def feed_heard(_: Any, tensor: int, values: np.ndarray) -> None:
            moved["feed"].append(names[tensor].name)
            feed(tensor, values)

        def fetch_heard(_: Any, ref: Any) -> Any:
            moved["fetch"].append(names[ref.id].name)
            return fetch(ref)

        monkeypatch.setattr(kind, "feed", feed_heard)
        monkeypatch.setattr(kind, "fetch", fetch_heard)
        with Inference(backend, program, network.session) as inference:
            inference._executables[task.batch_rows] = executable
            inference.run([task.training_samples().inputs[0][: task.batch_rows]])
    for action, known in moved.items():
        assert known == list(by_name(found, action))
    assert not [name for action, name in heard.moved if action == "read back"]


@pytest.mark.slow
@pytest.mark.gl
def test_clears_and_uploads_of_a_recording_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of("digits-cnn")
    backend, batch = GlBackend(target=GL), task.batch_rows
    rows = len(task.training_samples())
    try:
        with Network(task, backend) as network:
            DataFeeder(network, "train", task.training_samples(), batch, 0, 1 << 30)
            network.initialise(0)
            heard = Heard(monkeypatch)
            program = network.executable("train", batch).program
            work = backend.work
            found = listed(backend, task, program)
            host = plan_step(program, work.target, batch, rows, work.caps).calls.host
    finally:
        backend.close()
    arena = [n for purpose, n in heard.cleared.items() if purpose.startswith("the arena of")]
    (entry,) = [e for e in found if e.action == "clear" and e.what.endswith("of the arena")]
    assert arena == [entry.nbytes]
    (counters,) = [e for e in host if e.action == "clear"]
    # A buffer on loan may be longer than what was asked for.
    assert heard.cleared["counters of work groups"] >= counters.nbytes
    assert {e.what for e in host} >= {"launch numbers", "tables of segments"}
