"""Commands on a project with two inputs and two outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from studio.engine import Concatenate, Dense, Input, Model, Project
from tests.cli.conftest import Answer

DATA = {
    "source": "arrays",
    "path": "data.npz",
    "inputs": {"left": "l", "right": "r"},
    "targets": {"which": "which", "size": "size"},
}


CPU = ("--backend", "cpu")


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 40, 3))
    which = np.array(["no", "yes"])[(left.sum(1) > 0).astype(int)]
    np.savez(tmp_path / "data.npz", l=left, r=right, which=which, size=right[:, :1])
    a, b = Input((3,), name="left"), Input((3,), name="right")
    joined = Concatenate()([a, b])
    ends = [Dense(2, name="which")(joined), Dense(1, name="size")(joined)]
    graph = Model([a, b], ends, name="two").graph
    Project.new("two", graph, DATA, {"epochs": 2}).save(tmp_path / "two.glassbox")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_project_with_two_inputs_and_outputs_is_trained_measured_used_and_exported(
    two: Path, glassbox: Callable[..., Answer]
) -> None:
    glassbox("train", "two.glassbox", *CPU)
    measured = glassbox("evaluate", "two.glassbox", "--json", *CPU).json["test"]
    assert list(measured) == ["loss", "which_loss", "size_loss", "which_accuracy"]
    assert measured["loss"] == pytest.approx(measured["which_loss"] + measured["size_loss"])
    found = glassbox("predict", "two.glassbox", "data.npz", "--json", *CPU).json
    assert found["classes"] == {"which": ["no", "yes"], "size": []}
    with np.load("data.npz") as stored:
        x = np.concatenate([stored["l"], stored["r"]], axis=1)
        np.savez("other.npz", left=stored["l"], right=stored["r"])
    glassbox("export", "two.glassbox", "--format", "npz", "-o", "weights.npz")
    with np.load("weights.npz") as w:
        for name in ("which", "size"):
            expected = x @ w[f"{name}/kernel"] + w[f"{name}/bias"]
            np.testing.assert_allclose(found["outputs"][name], expected, atol=1e-5)
    again = glassbox("predict", "two.glassbox", "other.npz", "--json", *CPU).json
    assert again["outputs"] == found["outputs"]
    table = glassbox("predict", "two.glassbox", "other.npz", *CPU).out.splitlines()
    assert table[0].split() == ["input", "which", "size"]
    assert "%" in table[1]
    written = glassbox("predict", "two.glassbox", "data.npz", "--output", "o.npz", *CPU).out
    assert written.startswith("o.npz: which float32[40, 2], size float32[40, 1]")
    report = glassbox("export", "two.glassbox", "--format", "gbi", "-o", "two.gbi").out
    assert "differ by at most" in report


def test_files_that_do_not_fit_the_inputs_are_refused(
    two: Path, glassbox: Callable[..., Answer]
) -> None:
    glassbox("train", "two.glassbox", "--epochs", "1", *CPU)
    np.savez("short.npz", left=np.zeros((2, 3)), right=np.zeros((3, 3)))
    np.savez("one.npz", left=np.zeros((2, 3)))
    np.save("plain.npy", np.zeros((2, 3)))
    for files, words in (
        (["short.npz"], "all inputs need the same number of rows: 'left' has 2, 'right' has 3"),
        (["one.npz"], "there is no array for the input 'right': the archive holds 'left'"),
        (["plain.npy"], "expected one .npz file with an array for each of left, right"),
        (["one.npz", "short.npz"], "expected one .npz file"),
        (["data.npz", "--output", "o.csv"], "several outputs is written to .npz"),
    ):
        answer = glassbox("predict", "two.glassbox", *files, *CPU, code=2)
        assert words in answer.err
