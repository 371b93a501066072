"""``train --cluster``: a training on a cluster of this machine, and what may happen to it."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from studio import __version__
from studio.engine.scale.remote.mirror import TICKET
from tests.cli.test_processes import START, environment, posix
from tests.cli.test_sweeping import (
    PATIENCE,
    children,
    cluster,
    impatient,
    iris,
    listener,
    read,
    started,
    wait_for,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.cli.conftest import Answer

__all__ = ["iris"]
CPU = ("--backend", "cpu")
PROCESS = "studio.engine.scale.remote.training_process"
SHORT = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s"}
"""How long a scheduler looks for a worker that has gone, instead of half a minute."""


def trained(
    iris: Path, *words: str, code: int = 0, start: Sequence[str] = START
) -> subprocess.CompletedProcess[str]:
    """A training in a process of its own."""
    answer = subprocess.run(
        [*start, "train", "iris", *CPU, *words], cwd=iris.parent.parent, env=environment(),
        capture_output=True, check=False, timeout=PATIENCE, text=True,
    )  # fmt: skip
    assert answer.returncode == code, answer.stderr
    assert "Traceback" not in answer.stderr
    return answer


@contextmanager
def training(iris: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A training under way."""
    words = (*START, "train", "iris", *CPU, *words)
    with started(*words, folder=iris.parent.parent) as process:
        yield process


def runs_of(iris: Path) -> list[Path]:
    return sorted(iris.with_suffix(".runs").glob("*"))


def epochs_of(run: Path) -> list[dict]:
    path = run / "metrics.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def has_epochs(iris: Path, count: int) -> Callable[[], bool]:
    return lambda: bool(runs_of(iris)) and len(epochs_of(runs_of(iris)[-1])) >= count


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--cluster", "nowhere"), "expected an address such as tls://host:8786"),
        (("--cluster", "10.0.0.1:8786"), "is reached without TLS"),
        (("--cluster", "127.0.0.1:9", "--workers", "2"), "one process trains on a cluster"),
        (("--cluster", "127.0.0.1:9", "--out", "x"), "one process trains on a cluster"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(
    refused: Callable[..., str], iris: Path, words: tuple[str, ...], said: str
) -> None:
    assert said in refused("train", "iris", *words)
    assert runs_of(iris) == []


def test_a_missing_package_is_named(
    refused: Callable[..., str], iris: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    text = refused("train", "iris", "--cluster", "127.0.0.1:8786")
    assert "clusters need the package distributed, which is not installed" in text
    assert runs_of(iris) == []


@pytest.mark.slow
@posix
def test_a_run_on_a_cluster_is_that_of_this_machine(
    iris: Path, tmp_path: Path, glassbox: Callable[..., Answer]
) -> None:
    # A table of the project's own, which the worker gets; it sees nothing else.
    table = iris.parent / "measured.csv"
    rows = (Path(__file__).parents[2] / "projects/data/iris.csv").read_bytes()
    table.write_bytes(rows.rstrip() + b"\nnot,a,row\n")
    document = read(iris)
    document["data"] |= {"source": "csv", "path": "measured.csv", "bad_rows": "skip"}
    iris.write_text(json.dumps(document), encoding="utf-8")
    trained(iris, "--epochs", "4")
    with cluster(tmp_path / "cluster", 1) as (address, _):
        answer = json.loads(trained(iris, "--epochs", "4", "--cluster", address, "--json").stdout)
        here, there = runs_of(iris)
        assert Path(answer["run"]).name == there.name
        assert answer["outcome"] == "finished"
        assert answer["epochs"] == 4
        assert answer["cleaning"] == {"skipped": 1, "filled": 0}
        assert [e["loss"] for e in epochs_of(there)] == pytest.approx(
            [e["loss"] for e in epochs_of(here)], rel=1e-4
        )
        assert read(there / "settings.json")["data"] == read(here / "settings.json")["data"]
        names = [sorted(p.name for p in run.rglob("*") if p.is_file()) for run in (here, there)]
        assert names[0] == names[1]
        assert answer["test"]["loss"] == pytest.approx(read(here / "summary.json")["test"]["loss"],
                                                       rel=1e-4)  # fmt: skip
        # It is continued there, in the same run, and is a run like any other.
        more = trained(iris, "--epochs", "6", "--resume", "--cluster", address)
        assert "continuing after 4 of 6 epochs" in more.stderr
        assert [e["epoch"] for e in epochs_of(there)] == list(range(6))
        assert len(runs_of(iris)) == 2
        # The worker keeps the data, and nothing of a run that was fetched.
        left = [p for p in (tmp_path / "cluster").rglob("training-*") if p.is_dir()]
        assert left == []
    assert "test accuracy" in glassbox("evaluate", "iris", *CPU).out


@pytest.mark.slow
@posix
def test_a_training_outlives_who_asked_for_it_and_ctrl_c_ends_it(
    iris: Path, tmp_path: Path
) -> None:
    with cluster(tmp_path / "cluster", 1) as (address, workers):
        with training(iris, "--epochs", "100000", "--cluster", address) as process:
            wait_for(has_epochs(iris, 5))
            (run,) = runs_of(iris)
            assert "is being trained by process" in trained(iris, "--resume", code=2).stderr
            process.kill()
            process.wait()
        assert (run / TICKET).exists()
        known = len(epochs_of(run))
        assert children(workers[0].pid, PROCESS)
        with training(iris, "--cluster", address, "--resume") as process:
            wait_for(has_epochs(iris, known + 20))
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        assert b"connected again to run" in err
        assert b"stopped as you asked" in out
        assert runs_of(iris) == [run]
        assert not (run / TICKET).exists()
        epochs = [each["epoch"] for each in epochs_of(run)]
        assert epochs == list(range(len(epochs)))
        assert read(run / "summary.json")["state"] == "stopped"
        assert (run / "checkpoints/last.safetensors").exists()
        wait_for(lambda: not children(workers[0].pid, PROCESS))


@pytest.mark.slow
@posix
def test_a_training_that_the_cluster_has_forgotten_is_not_waited_for(
    iris: Path, tmp_path: Path
) -> None:
    with cluster(tmp_path / "cluster", 1) as (address, _):
        with training(iris, "--epochs", "50", "--cluster", address) as process:
            wait_for(lambda: any((run / TICKET).exists() for run in runs_of(iris)))
            (run,) = runs_of(iris)
            ticket = (run / TICKET).read_bytes()
            _, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, err
        assert not (run / TICKET).exists()
        # As if this machine had been turned off just before the end was noted.
        (run / TICKET).write_bytes(ticket)
        again = trained(iris, "--resume", "--cluster", address, code=2)
        assert "the cluster does not know it any more" in again.stderr
        assert not (run / TICKET).exists()


@pytest.mark.slow
@posix
def test_a_killed_worker_leaves_a_run_to_continue_anywhere(iris: Path, tmp_path: Path) -> None:
    with cluster(tmp_path / "cluster", 1, **SHORT) as (address, workers):
        with training(iris, "--epochs", "100000", "--cluster", address) as process:
            wait_for(lambda: any(list(run.glob("checkpoints/epoch-*")) for run in runs_of(iris)))
            workers[0].kill()
            _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 2
        assert b"has ended" in err
        assert b"glassbox train" in err
        (run,) = runs_of(iris)
        assert not (run / TICKET).exists()
        start = impatient(tmp_path, "WORKERS_SECONDS")
        nobody = trained(iris, "--resume", "--cluster", address, code=2, start=start)
        assert "the cluster has no workers" in nobody.stderr
    done = len(epochs_of(run))
    more = trained(iris, "--resume", "--epochs", str(done + 3))
    assert "continuing after" in more.stderr
    assert [each["epoch"] for each in epochs_of(run)][-1] == done + 2


@pytest.mark.slow
@posix
def test_a_lost_connection_says_how_to_connect_again(iris: Path, tmp_path: Path) -> None:
    with (
        cluster(tmp_path / "cluster", 1) as (address, workers),
        training(iris, "--epochs", "100000", "--cluster", address) as process,
    ):
        wait_for(has_epochs(iris, 5))
        listener(address).kill()
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 2
        assert b"was lost; the training goes on there" in err
        assert b"connect again with: glassbox train" in err
        (run,) = runs_of(iris)
        assert (run / TICKET).exists()
        # Dask ends its workers with their scheduler, and they what they train.
        wait_for(lambda: not children(workers[0].pid, PROCESS))
    start = impatient(tmp_path)
    nobody = trained(iris, "--resume", "--cluster", address, code=2, start=start)
    assert "there is no Dask cluster" in nobody.stderr
    more = trained(iris, "--resume", "--epochs", str(len(epochs_of(run)) + 1), start=start)
    assert f"the cluster at {address} is left" in more.stderr
    assert not (run / TICKET).exists()


@pytest.mark.slow
@posix
def test_a_cluster_of_another_version_is_refused(iris: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(Path(__file__).parents[2] / "studio", other / "studio",
                    ignore=shutil.ignore_patterns("__pycache__"))  # fmt: skip
    package = other / "studio/__init__.py"
    package.write_text(
        package.read_text("utf-8").replace(f'"{__version__}"', '"0.0.1"'), encoding="utf-8"
    )
    with cluster(tmp_path / "cluster", 1, PYTHONPATH=str(other)) as (address, _):
        said = trained(iris, "--cluster", address, code=2).stderr
    assert "runs Glassbox 0.0.1 on Python" in said
    assert runs_of(iris) == []
