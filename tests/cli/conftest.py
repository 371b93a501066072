"""Runs commands in this process, on samples trained once for a short while."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.cli.app import main
from studio.samples import sample_root

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EPOCHS = {"digits-mlp": "2", "iris": "1", "spirals": "1"}


@dataclass(frozen=True)
class Answer:
    """What a command returned and wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        """The answer of ``--json``, read as strictly as the standard says."""

        def refuse(word: str) -> float:
            pytest.fail(f"{word} is not JSON", pytrace=False)

        return json.loads(self.out, parse_constant=refuse)


@pytest.fixture
def glassbox(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """``glassbox("isa", "ADD")`` runs that command and expects code 0, or ``code=`` another."""

    def run(*words: object, code: int = 0) -> Answer:
        capsys.readouterr()
        found = main([str(word) for word in words])
        written = capsys.readouterr()
        assert "Traceback" not in written.err + written.out
        assert found == code, written.err or written.out
        return Answer(found, written.out, written.err)

    return run


@pytest.fixture
def refused(glassbox: Callable[..., Answer]) -> Callable[..., str]:
    """Runs a command that must fail as a user's mistake; gives its one sentence and the hint."""

    def run(*words: object) -> str:
        answer = glassbox(*words, code=2)
        complaint = answer.err[answer.err.rindex("glassbox: ") :]
        lines = complaint.rstrip("\n").split("\n")
        assert len(lines) <= 2, "one sentence, and at most a line with a hint"
        assert all(line.startswith("  hint: ") for line in lines[1:])
        return complaint.removeprefix("glassbox: ")

    return run


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with spaces in its name that holds trained samples."""
    folder = tmp_path_factory.mktemp("my trained projects")
    for name, epochs in EPOCHS.items():
        shutil.copytree(sample_root() / name, folder / name, ignore=lambda *_: ["x.runs"])
        words = ["train", str(folder / name), "--backend", "cpu", "--epochs", epochs, "--json"]
        assert main([*words, "--seed", "7"]) == 0
    return folder


@pytest.fixture
def here(trained_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of a test: a copy of the trained samples, the test's own to change."""
    folder = tmp_path / "a folder"
    shutil.copytree(trained_once, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def digits(rng: np.random.Generator) -> np.ndarray:
    """Twelve raw pictures [12,8,8,1], values 0 to 16."""
    return rng.integers(0, 17, (12, 8, 8, 1)).astype(np.uint8)
