"""Two trainings of one run keep each other out; what killed ones left behind does not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from studio.engine.core.errors import DataError
from studio.engine.core.process_identity import ProcessIdentity, own_identity
from studio.engine.train.loop.resuming import point_of, resume_point
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.run_lock import RunLock, holder_of, require_free
from studio.engine.train.runs.weights_origin import origin_of_run
from tests.engine.train.small_tasks import project

if TYPE_CHECKING:
    from studio.engine.runtime.backend import Backend

ROOT = Path(__file__).resolve().parents[4]

HOLD = """
import sys
from pathlib import Path
from studio.engine.core.errors import DataError
from studio.engine.train.runs.run_lock import RunLock

folder, go = Path(sys.argv[1]), Path(sys.argv[2])
print("ready", flush=True)
while not go.exists():
    pass
try:
    RunLock(folder).take()
    print("held", flush=True)
except DataError:
    print("refused", flush=True)
sys.stdin.readline()
"""


@contextmanager
def processes(folder: Path, count: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that take the lock of a folder at the same moment, and hold it to the end."""
    go = folder.parent / "go"
    words = [sys.executable, "-c", HOLD, str(folder), str(go)]
    children = [
        subprocess.Popen(words, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(count)
    ]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
        go.touch()
        yield children
    finally:
        go.unlink(missing_ok=True)
        for child in children:
            child.kill()
            child.wait(60)
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    pipe.close()


def answer_of(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def saved(folder: Path, **training: object) -> Project:
    made = project(**{"epochs": 3, **training})
    made.save(folder / "small.glassbox")
    return made


def trained(made: Project, cpu: Backend) -> RunFolder:
    run = RunFolder.create(made)
    with Trainer(Task.of_project(made), cpu, run=run) as trainer:
        trainer.run()
    return run


def notices(folder: Path) -> list[Path]:
    return sorted(folder.glob("training-*.lock"))


@pytest.mark.slow
def test_of_processes_at_the_same_moment_exactly_one_gets_the_run(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for _ in range(3):
        with processes(folder, 3) as children:
            answers = sorted(answer_of(child) for child in children)
            assert answers == ["held", "refused", "refused"]
            holder = holder_of(folder)
            assert holder is not None
            assert holder.process.pid in [child.pid for child in children]
            with pytest.raises(DataError, match=f"trained by process {holder.process.pid} since"):
                RunLock(folder).take()
        # Killed, they count for nothing, and what they left goes with the next one.
        assert holder_of(folder) is None
    lock = RunLock(folder)
    lock.take()
    assert len(notices(folder)) == 1
    lock.release()
    assert notices(folder) == []


def test_another_process_under_the_number_of_a_dead_one_holds_nothing(tmp_path: Path) -> None:
    own = own_identity()
    RunLock(tmp_path, ProcessIdentity(own.pid, own.started + "0")).take()
    assert holder_of(tmp_path) is None
    RunLock(tmp_path).take()
    assert holder_of(tmp_path) is not None


def test_a_process_of_another_machine_is_believed(tmp_path: Path) -> None:
    RunLock(tmp_path).take()
    (path,) = notices(tmp_path)
    content = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**content, "host": "elsewhere\u202e", "pid": 1}), "utf-8")
    with pytest.raises(DataError, match=r"process 1 on elsewhere\\u202e since") as caught:
        require_free(tmp_path)
    assert str(path) in caught.value.hint


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"{}", b'{"pid": "x"}', b'{"pid": 1e999}', b"\xff\xfe", b"[" * 9999],
)
def test_what_is_no_notice_keeps_nobody_out(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "training-x.lock").write_bytes(content)
    assert holder_of(tmp_path) is None
    RunLock(tmp_path).take()


def test_a_notice_from_beyond_all_times_is_told_without_one(tmp_path: Path) -> None:
    RunLock(tmp_path).take()
    (path,) = notices(tmp_path)
    content = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**content, "since": 1e300}), "utf-8")
    with pytest.raises(DataError) as caught:
        RunLock(tmp_path).take()
    assert caught.value.message == "the run is being trained by this process"


def test_a_training_holds_its_run_until_it_has_ended(tmp_path: Path, cpu: Backend) -> None:
    made = saved(tmp_path)
    run = RunFolder.create(made)
    held: list[bool] = []
    with Trainer(Task.of_project(made), cpu, run=run) as trainer:

        def hear(_epoch: int, _logs: object) -> None:
            held.append(holder_of(run.path) is not None)

        trainer.epoch_ended.connect(hear)
        trainer.run()
        assert notices(run.path) == []
    assert held == [True] * 3
    assert trainer.save_again() is None
    assert notices(run.path) == []


def test_a_second_resume_is_refused_and_changes_nothing(tmp_path: Path, cpu: Backend) -> None:
    made = saved(tmp_path)
    run = trained(made, cpu)
    task = Task.of_project(made).with_settings(epochs=5)
    with Trainer(task, cpu, run=run) as first, Trainer(task, cpu, run=run) as second:
        point = point_of(run)
        first.resume(point.checkpoint)
        before = {path: path.read_bytes() for path in run.path.rglob("*.*")}
        with pytest.raises(DataError, match="being trained by this process"):
            second.resume(point.checkpoint)
        with pytest.raises(DataError, match="being trained by this process"):
            second.run()
        with pytest.raises(DataError, match="being trained by this process"):
            resume_point(made)
        assert {path: path.read_bytes() for path in run.path.rglob("*.*")} == before
        assert origin_of_run(run).notes == ("the run is still training",)
        first.run()
        second.resume(point.checkpoint)
        with pytest.raises(DataError, match="trained this run in the meantime"):
            point.require_newest()
    assert notices(run.path) == []


def test_a_newer_run_in_training_is_not_passed_over(tmp_path: Path, cpu: Backend) -> None:
    made = saved(tmp_path)
    trained(made, cpu)
    newer = RunFolder.create(made)
    lock = RunLock(newer.path)
    lock.take()
    with pytest.raises(DataError, match="being trained"):
        resume_point(made)
    lock.release()
    assert resume_point(made).passed_over == (newer.name,)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="ends a process by a signal")
def test_a_killed_training_can_be_resumed_at_once(tmp_path: Path) -> None:
    made = saved(tmp_path, epochs=100_000)
    words = [sys.executable, "-m", "studio", "train", str(made.path), "--backend", "cpu", "--json"]
    child = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120.0
        while not list(made.runs_path.glob("*/checkpoints/epoch-*.safetensors")):
            assert child.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with pytest.raises(DataError, match=f"trained by process {child.pid} since"):
            resume_point(made)
    finally:
        child.kill()
        child.wait(60)
    assert resume_point(made).checkpoint.position.epoch >= 1
