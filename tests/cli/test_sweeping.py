"""``sweep``: refusals, tables, worker processes that are killed, and a cluster of this machine."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from studio.engine.scale.sweep.connection import CONNECT_SECONDS, WORKERS_SECONDS
from studio.samples import open_copy
from tests.cli.test_processes import START, environment, posix

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Answer

RATE = "learning_rate=log:1e-4..1e-1"
UNITS = "hidden.units=4,8,16"
VARIED = ("--vary", RATE, "--vary", UNITS, "--backend", "cpu")
RANDOM = (*VARIED, "--sampler", "random", "--trials", "4")
WORKER = "studio.engine.scale.sweep.worker_process"
PATIENCE = 300.0

IMPATIENT = """
import sys
from studio.engine.scale.sweep import connection

connection.{limit} = 2.0
from studio.__main__ import main

sys.exit(main(sys.argv[1:]))
"""


def impatient(folder: Path, limit: str = "CONNECT_SECONDS") -> list[str]:
    """The command with a shorter limit for a cluster, or its workers, that will not be there."""
    path = folder / "impatient.py"
    path.write_text(IMPATIENT.format(limit=limit), encoding="utf-8")
    return [sys.executable, str(path)]


def test_a_cluster_has_twenty_seconds_to_answer() -> None:
    assert CONNECT_SECONDS == WORKERS_SECONDS == 20


@pytest.fixture
def iris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of a test, with a project that trains for two epochs on a table."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / open_copy("iris", Path())
    document = json.loads(path.read_text("utf-8"))
    document["training"]["epochs"] = 2
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def same(answer: dict) -> list[tuple[object, ...]]:
    """What must be the same wherever trials are trained."""
    return [
        (each["trial"], each["values"], each["state"], each["value"], each["epochs"])
        for each in answer["trials"]
    ]


@contextmanager
def started(*words: str, folder: Path, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is killed with all its children at the end of the block."""
    process = subprocess.Popen(
        words, cwd=folder, env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        for child in children(process.pid):
            child.kill()
        process.kill()
        process.communicate()


def children(pid: int, of: str = "") -> list[psutil.Process]:
    """Processes below one, those alone whose command line holds a word."""
    try:
        below = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [child for child in below if not of or of in command_of(child)]


def command_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


def wait_for(what: Callable[[], object]) -> None:
    """Wait until something holds; only what never does fails."""
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "expected 1 to 32 things to vary, got 0"),
        (("--vary", "hiden.units=1,2"), "there is no layer 'hiden'"),
        (("--vary", "learning_rate=log:0..1"), "a logarithmic range begins above 0"),
        (("--vary", RATE, "--objective", "test_loss"), "the test part is no objective"),
        (("--vary", RATE, "--sampler", "grid"), "a grid needs values"),
        (("--vary", UNITS, "--sampler", "grid", "--trials", "2"), "the grid has 3 points"),
        (("--vary", UNITS, "--keep", "some"), "expected a number of trials or all, got 'some'"),
        (("--vary", UNITS, "--max-hours", "0"), "expected a number of hours above 0"),
        (("--vary", UNITS, "--max-hours", "nan"), "expected a number of hours above 0"),
        (("--resume",), "there is no sweep to resume"),
        (("--vary", UNITS, "--name", "x"), "only a sweep that is continued has a name"),
        (("--vary", UNITS, "--cluster", "10.0.0.1:8786"), "is reached without TLS"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(
    refused: Callable[..., str], iris: Path, words: tuple[str, ...], said: str
) -> None:
    before = sorted(iris.parent.iterdir())
    assert said in refused("sweep", "iris", *words)
    assert sorted(iris.parent.iterdir()) == before


def test_missing_packages_are_named(
    refused: Callable[..., str], iris: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    text = refused("sweep", "iris", *VARIED)
    assert "sweeps need the package optuna, which is not installed" in text
    assert 'pip install "glassbox-studio[scale]"' in text


@pytest.mark.slow
def test_a_sweep_is_a_table_of_ordinary_runs(
    glassbox: Callable[..., Answer], refused: Callable[..., str], iris: Path
) -> None:
    answer = glassbox("sweep", "iris", *RANDOM, "--workers", 2)
    lines = answer.out.splitlines()
    assert lines[0].split() == ["trial", "val_loss", "learning_rate", "hidden.units", "state"]
    assert len(lines) == 7
    assert "trials are measured on a random 10% of the training part instead" in answer.err
    assert "4 trials to train, in 2 processes of 1 thread" in answer.err
    values = [float(line.split()[1]) for line in lines[1:5]]
    assert values == sorted(values)
    best = lines[1].split()
    assert lines[5] == f"best: trial {best[0]}, val_loss {best[1]}"
    run = lines[6].removeprefix("run: ")
    assert glassbox("evaluate", "iris", "--run", run, "--backend", "cpu").out
    weights = glassbox("evaluate", "iris", "--backend", "cpu", "--json").json["weights"]
    assert (weights["run"], weights["notes"]) == (run, [])
    assert glassbox("export", "iris", "--format", "npz", "-o", "x.npz").out
    more = glassbox("train", "iris", "--epochs", 3, "--resume", "--backend", "cpu")
    assert f"continuing after 2 of 3 epochs, from epoch-0002.safetensors of run {run}" in more.err
    again = glassbox("sweep", "iris", "--resume")
    assert "nothing left to train: all 4 trials are done" in again.err
    assert "a resumed sweep keeps what it began with" in refused("sweep", "iris", "--resume",
                                                                 "--seeds", 3)  # fmt: skip
    wider = glassbox("sweep", "iris", "--resume", "--trials", 5, "--json").json
    assert [each["trial"] for each in wider["trials"]] == [0, 1, 2, 3, 4]


@pytest.mark.slow
@posix
def test_a_killed_worker_changes_no_number(iris: Path) -> None:
    whole = swept(iris, "--workers", "1")
    words = [*START, "sweep", "iris", *RANDOM, "--workers", "2", "--json"]
    with started(*words, folder=iris.parent.parent) as process:
        wait_for(lambda: children(process.pid, WORKER))
        children(process.pid, WORKER)[0].kill()
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    answer = json.loads(out)
    assert same(answer) == same(whole)
    assert max(each["attempts"] for each in answer["trials"]) == 2


@pytest.mark.slow
@posix
def test_a_killed_sweep_goes_on_and_its_workers_end(iris: Path) -> None:
    whole = swept(iris, "--workers", "1")
    folder = iris.parent.parent
    words = [*START, "sweep", "iris", *RANDOM, "--workers", "1", "--json"]
    with started(*words, folder=folder) as process:
        tables = iris.parent / "iris.sweeps"

        def one_is_done() -> bool:
            newest = sorted(tables.glob("*/trials.json"))
            listed = [each for path in newest[1:] for each in read(path)["trials"]]
            return any(each["state"] == "finished" for each in listed)

        wait_for(one_is_done)
        workers = children(process.pid, WORKER)
        process.kill()
        process.wait()
        wait_for(lambda: not any(worker.is_running() for worker in workers))
    answer = swept(iris, "--resume", words=("--backend", "cpu"))
    assert same(answer) == same(whole)


@pytest.mark.slow
@posix
def test_a_sweep_under_way_is_not_resumed_and_ctrl_c_stops_it(iris: Path) -> None:
    folder = iris.parent.parent
    # So many trials that they are not over before the second command was answered.
    many = (*VARIED, "--sampler", "random", "--trials", "1000")
    words = [*START, "sweep", "iris", *many, "--workers", "1"]
    process = subprocess.Popen(
        words, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        wait_for(lambda: children(process.pid, WORKER))
        second = subprocess.run(
            [*START, "sweep", "iris", "--resume"], cwd=folder, env=environment(),
            capture_output=True, check=False,
        )  # fmt: skip
        assert second.returncode == 2
        assert b"the sweep is under way, by process" in second.stderr
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, err
    assert b"stopped as you asked; " in out
    assert not list((iris.parent / "iris.runs").glob(".*"))


def read(path: Path) -> dict:
    return json.loads(path.read_text("utf-8"))


def swept(iris: Path, *more: str, words: tuple[str, ...] = RANDOM) -> dict:
    """The answer of a sweep in a process of its own."""
    answer = subprocess.run(
        [*START, "sweep", "iris", *words, *more, "--json"], cwd=iris.parent.parent,
        env=environment(), capture_output=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


# -- a cluster of processes on the loopback address ------------------------------------------------


@contextmanager
def cluster(
    folder: Path, workers: int, protocol: str = "tcp", **more: str
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and its workers, as a user starts them, with more in their environment."""
    folder.mkdir()
    about = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quiet = {"DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "1h", "DASK_TEMPORARY_DIRECTORY": str(folder)}
    quiet |= more
    with ExitStack() as stack:
        stack.enter_context(
            started(
                *dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                "--protocol", protocol, "--scheduler-file", str(about), folder=folder, **quiet,
            )
        )  # fmt: skip
        wait_for(lambda: about.exists() and about.read_text("utf-8").endswith("}"))
        address = read(about)["address"]
        yield (
            address,
            [
                stack.enter_context(
                    started(
                        *dask, "worker", address, "--host", "127.0.0.1", "--nthreads", "1",
                        "--protocol", protocol, "--no-nanny", "--no-dashboard", folder=folder,
                        **quiet,
                    )
                )
                for _ in range(workers)
            ],
        )  # fmt: skip


def scheduler_at(address: str) -> psutil.Process:
    """The process that listens there."""
    port = int(address.rpartition(":")[2])
    found = (each for each in psutil.net_connections("tcp") if each.status == psutil.CONN_LISTEN)
    return psutil.Process(next(each.pid for each in found if each.laddr.port == port))


@pytest.mark.slow
@posix
def test_a_cluster_that_loses_a_worker_gives_the_table_of_one_machine(
    iris: Path, tmp_path: Path
) -> None:
    # A table of the project's own, which workers get as part of its data.
    table = iris.parent / "measured.csv"
    table.write_bytes((Path(__file__).parents[2] / "projects/data/iris.csv").read_bytes())
    document = read(iris)
    document["data"] |= {"source": "csv", "path": "measured.csv"}
    iris.write_text(json.dumps(document), encoding="utf-8")
    whole = swept(iris, "--workers", "1")
    assert {each["state"] for each in whole["trials"]} == {"finished"}
    with cluster(tmp_path / "cluster", 3) as (address, workers):
        first = swept(iris, "--workers", "3", "--cluster", address)
        assert same(first) == same(whole)
        words = [*START, "sweep", "iris", *RANDOM, "--workers", "3", "--cluster", address, "--json"]
        with started(*words, folder=iris.parent.parent) as process:
            wait_for(lambda: children(workers[0].pid, WORKER))
            workers[0].kill()
            out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        assert same(json.loads(out)) == same(whole)
        assert workers[0].poll() is not None
    runs = sorted((iris.parent / "iris.runs").iterdir())
    assert len(runs) == 12
    settings = {json.dumps(read(run / "settings.json")["data"], sort_keys=True) for run in runs}
    assert settings == {json.dumps(document["data"], sort_keys=True)}


@pytest.mark.slow
@posix
def test_a_cluster_that_is_gone_loses_no_trial_that_has_ended(iris: Path, tmp_path: Path) -> None:
    whole = swept(iris, "--workers", "1")
    with cluster(tmp_path / "cluster", 1) as (address, _):
        words = [*START, "sweep", "iris", *RANDOM, "--workers", "1", "--cluster", address]
        with started(*words, folder=iris.parent.parent) as process:

            def one_is_done() -> bool:
                tables = sorted((iris.parent / "iris.sweeps").glob("*/trials.json"))[1:]
                return any(each["state"] == "finished" for path in tables
                           for each in read(path)["trials"])  # fmt: skip

            wait_for(one_is_done)
            listener(address).kill()
            _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert b"Traceback" not in err
    assert f"[--cluster] the cluster at {address} was lost".encode() in err
    assert b"--resume" in err
    assert not list((iris.parent / "iris.sweeps").glob("*/training-*.lock"))
    assert same(swept(iris, "--resume", words=())) == same(whole)


def listener(address: str) -> psutil.Process:
    """The process that hears at an address of this machine."""
    port = int(address.rpartition(":")[2])
    return next(
        psutil.Process(each.pid) for each in psutil.net_connections("tcp")
        if each.laddr and each.laddr.port == port and each.status == psutil.CONN_LISTEN
    )  # fmt: skip


@pytest.mark.slow
def test_a_sweep_whose_trials_all_fail_says_why(
    glassbox: Callable[..., Answer], iris: Path
) -> None:
    wild = ("--vary", "learning_rate=1e30,3e30", "--sampler", "grid", "--backend", "cpu")
    answer = glassbox("sweep", "iris", *wild, "--workers", 1, code=1)
    assert answer.err.count("must be finite") == 2
    assert [line.split()[-1] for line in answer.out.splitlines()[1:]] == ["failed", "failed"]
    assert len(list((iris.parent / "iris.runs").iterdir())) == 2


@pytest.mark.slow
def test_a_sweep_whose_time_is_over_says_how_it_goes_on(
    glassbox: Callable[..., Answer], iris: Path
) -> None:
    grid = ("--vary", UNITS, "--sampler", "grid", "--backend", "cpu", "--workers", 1)
    first = glassbox("sweep", "iris", *grid, "--max-hours", 1e-9)
    assert first.out.startswith("the time is over; 3 trials are left; go on with: glassbox sweep")
    assert first.out.rstrip().endswith("--resume")
    name = next((iris.parent / "iris.sweeps").iterdir()).name
    glassbox("sweep", "iris", *grid, "--max-hours", 1e-9)
    older = glassbox("sweep", "iris", "--resume", "--name", name, "--max-hours", 1e-9)
    assert older.out.rstrip().endswith(f"--resume --name {name}")


@pytest.mark.slow
def test_a_cluster_that_is_not_there_is_one_sentence(iris: Path, tmp_path: Path) -> None:
    words = [*impatient(tmp_path), "sweep", "iris", *RANDOM, "--cluster", "127.0.0.1:9"]
    answer = subprocess.run(
        words, cwd=iris.parent.parent, env=environment(), capture_output=True, check=False
    )
    assert answer.returncode == 2
    assert b"there is no Dask cluster at tcp://127.0.0.1:9" in answer.stderr
    assert b"Traceback" not in answer.stderr
    assert not (iris.parent / "iris.sweeps").exists()
