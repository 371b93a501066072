"""What only a process of its own shows: exit codes, Ctrl-C, closed pipes, full disks, encodings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from studio.samples import sample_root

ROOT = Path(__file__).resolve().parents[2]
START = [sys.executable, "-m", "studio"]
MLP = str(sample_root() / "digits-mlp")

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX signals and pipes")


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def run(*words: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    settings = {"env": environment(), "capture_output": True, "timeout": 60, **options}
    return subprocess.run([*START, *words], check=False, **settings)  # type: ignore[call-overload]


@pytest.mark.slow
def test_exit_codes_reach_the_shell() -> None:
    assert run("--version").returncode == 0
    answer = run("train", "nothere")
    assert answer.returncode == 2
    assert answer.stdout == b""
    assert answer.stderr.startswith(b"glassbox: [nothere] no such project\n  hint: ")


@pytest.mark.slow
@posix
@pytest.mark.parametrize("words", [["compile", MLP], ["isa", "--json"], ["compile", MLP, "--json"]])
def test_reader_that_goes_away_is_no_error(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        answer = run(*words, capture_output=False, stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert answer.stderr == b""
    assert answer.returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_is_one_sentence() -> None:
    with Path("/dev/full").open("wb") as full:
        answer = run("isa", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert answer.returncode == 2
    assert answer.stderr.startswith(b"glassbox: ")
    assert answer.stderr.count(b"\n") == 1


@pytest.mark.slow
def test_output_is_utf8_where_the_system_is_not(tmp_path: Path) -> None:
    project = tmp_path / "Übung.glassbox"
    text = (sample_root() / "iris" / "iris.glassbox").read_text("utf-8")
    project.write_text(text.replace('"species"', '"Blüte"'), encoding="utf-8")
    plain = environment(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="")
    answer = run("compile", os.fspath(tmp_path), "--mode", "infer", env=plain)
    assert answer.returncode == 0, answer.stderr
    assert "Blüte" in answer.stdout.decode("utf-8")


def interruptible(words: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """A process that hears SIGINT even where the tests themselves run in the background."""
    return subprocess.Popen(
        words,
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def rest_of(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What a process says until it ends; one that does not end is killed and fails the test."""
    try:
        return process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise


@pytest.mark.slow
@posix
def test_ctrl_c_stops_cleanly_and_resume_goes_on(tmp_path: Path) -> None:
    words = [*START, "train", "digits-mlp", "--backend", "cpu", "--epochs", "100000"]
    process = interruptible(words, tmp_path)
    assert process.stderr is not None
    said = b""
    while b"epoch 2/" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    process.send_signal(signal.SIGINT)
    out, err = rest_of(process)
    assert process.returncode == 0, err
    assert b"stopping after this step" in err
    assert b"--resume" in out.splitlines()[0]
    run_folder = tmp_path / out.strip().splitlines()[-1].removeprefix(b"run: ").decode()
    summary = json.loads((run_folder / "summary.json").read_text("utf-8"))
    assert summary["state"] == "stopped"
    epochs = str(summary["epochs"] + 1)
    answer = run(
        "train", "digits-mlp", "--backend", "cpu", "--epochs", epochs, "--resume", "--json",
        cwd=tmp_path,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert found["outcome"] == "finished"
    assert found["epochs"] == int(epochs)


@pytest.mark.slow
@posix
@pytest.mark.parametrize("delay", [0.15, 0.4])
def test_ctrl_c_while_it_starts_shows_no_traceback(delay: float, tmp_path: Path) -> None:
    words = [*START, "profile", MLP, "--backend", "cpu", "--steps", "100000"]
    process = interruptible(words, tmp_path)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    out, err = rest_of(process)
    # Python itself may still be starting, and is then ended by the signal.
    assert process.returncode in (130, -signal.SIGINT)
    assert b"studio/cli/commands" not in err
    assert out == b""


@pytest.mark.slow
@posix
def test_project_that_may_not_be_written_beside_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "iris.glassbox"
    project.write_bytes((sample_root() / "iris" / "iris.glassbox").read_bytes())
    # A file where the folder of runs would be stops root as well as everybody else.
    (tmp_path / "iris.runs").write_bytes(b"")
    answer = run("train", str(project), "--backend", "cpu", "--epochs", "1")
    assert answer.returncode == 2
    assert b"runs cannot be recorded here" in answer.stderr
    assert b"Traceback" not in answer.stderr
