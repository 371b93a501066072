"""``glassbox train --workers``: the same training, stopped, gone on with; what it refuses."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.tensor import Role
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.exchange import AllReduce
from studio.engine.isa.ops.move import Fill
from studio.engine.isa.text import format_program
from studio.engine.scale.parallel.mpi_exchange import SILENT_SECONDS
from studio.samples import sample_root
from tests.cli.conftest import Answer

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture
def iris(tmp_path: Path) -> Path:
    folder = tmp_path / "an iris"
    shutil.copytree(sample_root() / "iris", folder, ignore=lambda *_: ["x.runs"])
    return folder


def words(project: Path, *more: object) -> list[str]:
    given = ["train", project, "--backend", "cpu", "--seed", 3, *more]
    return [sys.executable, "-m", "studio", *(str(word) for word in given)]


def trained(project: Path, *more: object) -> tuple[dict[str, object], Checkpoint]:
    """What a training answers, and the checkpoint it ends with."""
    done = subprocess.run(words(project, "--json", *more), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return answer, Checkpoint.load(Path(answer["run"]) / "checkpoints" / "final.safetensors")


@pytest.mark.slow
def test_two_processes_train_as_one_and_as_two_did_before(iris: Path) -> None:
    pytest.importorskip("mpi4py")
    alone, one = trained(iris, "--epochs", 3)
    answer, found = trained(iris, "--epochs", 3, "--workers", 2)
    assert found.position == one.position
    for name, values in one.tensors.items():
        if values.dtype == np.float32:
            np.testing.assert_allclose(
                found.tensors[name], values, rtol=2e-4, atol=2e-5, err_msg=name
            )
    assert answer["test"] == pytest.approx(alone["test"], rel=1e-4)
    again, repeated = trained(iris, "--epochs", 3, "--workers", 2)
    assert again["history"] == answer["history"]
    assert all(np.array_equal(found.tensors[n], a) for n, a in repeated.tensors.items())


def wait_for(found: Callable[[], object], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 300
    while not found():
        assert time.monotonic() < end
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def children_of(process: subprocess.Popen[str]) -> list[int]:
    """Process numbers of the two workers."""
    tasks = Path(f"/proc/{process.pid}/task").iterdir()
    children = [int(n) for t in tasks for n in (t / "children").read_text().split()]
    assert len(children) == 2
    return children


def checkpoints(project: Path) -> list[Path]:
    return sorted(project.glob("*.runs/*/checkpoints/epoch-*.safetensors"))


@LINUX
@pytest.mark.slow
def test_a_training_whose_worker_dies_goes_on_from_its_last_checkpoint(iris: Path) -> None:
    pytest.importorskip("mpi4py")
    with subprocess.Popen(
        words(iris, "--epochs", 100_000, "--workers", 2), stderr=subprocess.PIPE, text=True,
        stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            wait_for(lambda: checkpoints(iris), process)
            os.kill(max(children_of(process)), signal.SIGKILL)
            said, complaint = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 2
    assert "Traceback" not in said + complaint
    assert complaint.count("glassbox:") == 1
    assert "worker 1 of 2 was ended by signal 9" in complaint
    done = Checkpoint.load(checkpoints(iris)[-1]).position.epoch
    # Any number of workers that divides the batch goes on.
    answer, found = trained(iris, "--resume", "--epochs", done + 1, "--workers", 4)
    assert (answer["epochs"], found.position.epoch) == (done + 1, done + 1)


IMPATIENT = """
import sys
from studio.engine.scale.parallel.mpi_exchange import MpiExchange

MpiExchange.__init__.__defaults__ = (6.0,)
from studio.__main__ import main

sys.exit(main(sys.argv[1:]))
"""
"""The command with a shorter limit of silence."""

MANAGING = """
import sys
from studio.engine.scale.parallel.process_manager import ProcessManager

with ProcessManager([sys.executable, *sys.argv[1:], "--mpi"], 2) as manager:
    sys.exit(manager.wait())
"""


@LINUX
@pytest.mark.slow
def test_a_silent_worker_is_named_in_one_sentence(iris: Path, tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    command, manager = tmp_path / "command.py", tmp_path / "manager.py"
    command.write_text(IMPATIENT)
    manager.write_text(MANAGING)
    given = words(iris, "--epochs", 100_000)[3:]
    with subprocess.Popen(
        [sys.executable, str(manager), str(command), *given],
        stderr=subprocess.PIPE, text=True, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            wait_for(lambda: checkpoints(iris), process)
            os.kill(max(children_of(process)), signal.SIGSTOP)
            said, complaint = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 2
    assert "Traceback" not in said + complaint
    assert complaint.count("glassbox:") == 1
    assert "worker 1 of 2 has been silent for 6 s" in complaint
    assert "--resume" in complaint
    done = Checkpoint.load(checkpoints(iris)[-1]).position.epoch
    answer, found = trained(iris, "--resume", "--epochs", done + 1, "--workers", 4)
    assert (answer["epochs"], found.position.epoch) == (done + 1, done + 1)


def test_silence_has_a_limit_of_a_minute() -> None:
    assert SILENT_SECONDS == 60


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", pytest.param("gl", marks=pytest.mark.gl)])
def test_a_profile_of_two_workers_has_their_exchanges(
    iris: Path, tmp_path: Path, device: str
) -> None:
    pytest.importorskip("mpi4py")
    trace = tmp_path / "trace.json"
    given = ["profile", iris, "--backend", device, "--steps", 3, "--workers", 2, "--trace", trace]
    command = [sys.executable, "-m", "studio", *map(str, given)]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    found = [each for each in answer["kernels"] if each["mnemonic"] == "ALLREDUCE"]
    assert len(found) == 2
    # Gradients of 16·4 + 16 + 3·16 + 3 parameters; loss and accuracy.
    assert sorted(each["traffic_bytes"] for each in found) == [2 * 4 * 2, 2 * 4 * 131]
    assert all(each["median_us"] > 0 and each["gbytes"] > 0 for each in found)
    drawn = json.loads(trace.read_text())["traceEvents"]
    assert sum(each["name"] == "ALLREDUCE" for each in drawn) == 6


@LINUX
@pytest.mark.slow
def test_ctrl_c_stops_all_workers_behind_one_step(iris: Path) -> None:
    pytest.importorskip("mpi4py")
    with subprocess.Popen(
        words(iris, "--epochs", 100_000, "--workers", 2), stderr=subprocess.PIPE, text=True,
        stdout=subprocess.PIPE,
        # Heard even where the tests themselves run in the background.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        try:
            wait_for(lambda: checkpoints(iris), process)
            process.send_signal(signal.SIGINT)
            said, complaint = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 0, complaint
    assert "stopped as you asked" in said
    (last,) = iris.glob("*.runs/*/checkpoints/last.safetensors")
    assert Checkpoint.load(last).position.total_step > 0


def test_workers_must_divide_the_batch(refused: Callable[..., str], iris: Path) -> None:
    said = refused("train", iris, "--workers", 3)
    assert "3 do not divide 16 rows" in said
    assert "hint: 2 workers, or --batch 18" in said
    assert "expected 1 to 1024 workers, got 0" in refused("train", iris, "--workers", 0)


def test_mpirun_says_how_many_there_are(refused: Callable[..., str], iris: Path) -> None:
    assert "one of both" in refused("train", iris, "--workers", 2, "--mpi")


def test_what_is_missing_is_named_with_its_extra(
    refused: Callable[..., str], iris: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    assert "pip install 'glassbox-studio[scale]'" in refused("train", iris, "--mpi")


@pytest.mark.slow
def test_a_process_that_was_started_alone_is_told_how(iris: Path) -> None:
    pytest.importorskip("mpi4py")
    done = subprocess.run(words(iris, "--mpi"), capture_output=True, text=True)
    assert done.returncode == 2
    assert "this process was started alone" in done.stderr
    assert "mpirun -n 2" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"])
def test_workers_that_another_mpi_started_are_refused(iris: Path, name: str) -> None:
    pytest.importorskip("mpi4py")
    # MPICH looks at PMI_SIZE only beside PMI_FD, so that the process is alone.
    done = subprocess.run(
        words(iris, "--mpi"), capture_output=True, text=True, env=os.environ | {name: "2"}
    )
    assert done.returncode == 2, done.stderr
    assert "2 processes were started by another MPI" in done.stderr
    assert "Traceback" not in done.stderr


def test_one_worker_is_an_ordinary_training(glassbox: Callable[..., Answer], iris: Path) -> None:
    glassbox("train", iris, "--backend", "cpu", "--epochs", 1, "--workers", 1, "--batch", 30)
    assert checkpoints(iris)


def test_the_listing_shows_what_workers_exchange(
    glassbox: Callable[..., Answer], iris: Path
) -> None:
    assert "ALLREDUCE" not in glassbox("compile", iris).out
    two = glassbox("compile", iris, "--workers", 2, "--verify").out
    assert two.count("ALLREDUCE") == 2
    kernels = glassbox("compile", iris, "--workers", 2, "--kernels", "--target", "gl").out
    assert "ALLREDUCE" in kernels
    assert "== bucket_gradients" in glassbox("compile", iris, "--workers", 2, "--passes").out


def test_a_file_of_several_workers_is_refused(
    refused: Callable[..., str], iris: Path, tmp_path: Path
) -> None:
    builder = ProgramBuilder("two", "infer")
    x = builder.tensor("x", (-1, 4), role=Role.INPUT)
    y = builder.tensor("y", (4,))
    builder.append("forward", Fill(y=y, number=1.0))
    builder.append("forward", AllReduce(xs=[y]))
    path = tmp_path / "two.gbasm"
    path.write_text(format_program(builder.finish((x,), (y,))))
    rows = tmp_path / "x.npy"
    np.save(rows, np.zeros((1, 4), np.float32))
    assert "bring the workers of a training together" in refused(
        "exec", path, "--input", rows, "--json"
    )
