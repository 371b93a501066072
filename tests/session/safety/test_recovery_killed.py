"""A session killed at any moment loses at most the command it was in, and no file is touched."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from studio.engine.core.process_identity import ProcessIdentity
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.train.project.project import Project
from studio.session.safety.recovery_sessions import find_sessions

ROOT = Path(__file__).resolve().parents[3]
NOBODY = ProcessIdentity(0, "")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="sessions are made by forking")


def project_file(folder: Path) -> Path:
    graph = LayerGraph("net")
    x = graph.add(Input((2,), name="input"))
    for number in range(4):
        x = graph.add(Dense(8 + number, name=f"dense{number}"), x)
    graph.outputs = (x,)
    return Project.new("kept", graph, {"source": "spirals"}).save(folder / "kept.glassbox")


class Sessions:
    """The process sessions are forked from."""

    def __init__(self) -> None:
        module = "tests.session.safety.killed_session"
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"from {module} import main; main()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    def kill_one(self, folder: Path, project: str, seed: int) -> tuple[list[str], str, str]:
        """Run a session and kill it; hashes it had made, the one it was about to make, the last
        line."""
        dice = random.Random(seed)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{folder}\t{project}\t{seed}\n")
        self.process.stdin.flush()
        pid, made, coming, line = 0, [], "", ""
        wanted, delay = dice.randrange(1, 60), dice.uniform(0.0, 0.004)
        while True:
            line = self.process.stdout.readline().strip()
            word, _, rest = line.partition(" ")
            if word == "pid":
                pid = int(rest)
            elif word == "will":
                coming = rest.split()[1]
            elif word == "done":
                made.append(rest.split()[1])
            elif word == "over":
                return made, coming, line
            else:
                raise AssertionError(f"the session said {line!r}")
            if pid and len(made) >= wanted:
                time.sleep(delay)
                os.kill(pid, signal.SIGKILL)
                wanted = 1 << 30

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()


def killed_many_times(tmp_path: Path, times: int) -> None:
    original = project_file(tmp_path)
    content = original.read_bytes()
    sessions = Sessions()
    try:
        for number in range(times):
            folder = tmp_path / f"state{number}"
            made, coming, _ = sessions.kill_one(folder, str(original) if number % 2 else "", number)
            found = find_sessions(folder / "journals", NOBODY)
            assert len(found) == 1, f"session {number} left {len(found)} journals"
            recovered = found[0].state.content_hash
            assert recovered in (made[-1], coming), (
                f"session {number}: step {made.index(recovered) + 1 if recovered in made else '?'} "
                f"of {len(made)} was recovered"
            )
            assert found[0].path == (original if number % 2 else None)
            document = found[0].document()
            assert document.dirty
            assert document.state.content_hash == recovered
            found[0].discard()
            assert not list((folder / "journals").iterdir())
            assert original.read_bytes() == content
    finally:
        sessions.close()


@pytest.mark.slow
def test_forty_killed_sessions_lose_at_most_the_command_they_were_in(tmp_path: Path) -> None:
    killed_many_times(tmp_path, 40)


@pytest.mark.slow
@pytest.mark.full
def test_two_hundred_killed_sessions(tmp_path: Path) -> None:
    killed_many_times(tmp_path, 200)
