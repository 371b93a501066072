"""Commands that only look leave the current folder as it was, and read logits as shares."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.cli.app import main
from studio.engine.train.project.project import Project
from studio.samples import sample_root


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["compile", "spirals", "--mode", "infer"], 0, "LINEAR"),
        (["evaluate", "spirals"], 2, "glassbox train spirals"),
        (["export", "spirals", "--format", "npz", "-o", "w.npz"], 2, "glassbox train spirals"),
    ],
)
def test_looking_at_a_sample_copies_nothing(
    words: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == code
    captured = capsys.readouterr()
    assert said in captured.out + captured.err
    assert not list(tmp_path.iterdir())


def test_logits_are_shown_as_shares_that_sum_to_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    project = Project.load(sample_root() / "iris" / "iris.glassbox")
    document = project.to_json()
    last = document["graph"]["nodes"][-1]
    assert last["config"]["activation"] == "softmax"
    last["config"]["activation"] = "linear"
    document["training"]["epochs"] = 1
    made = Project.from_json(document)
    made.save(tmp_path / "iris.glassbox")
    assert main(["train", "iris.glassbox", "--backend", "cpu"]) == 0
    np.save(tmp_path / "x.npy", np.array([[5.1, 3.5, 1.4, 0.2]], np.float32))
    capsys.readouterr()
    assert main(["predict", "iris.glassbox", "x.npy", "--backend", "cpu"]) == 0
    shares = [w for w in capsys.readouterr().out.split() if w.endswith("%")]
    assert len(shares) == 3
    assert sum(float(w[:-1]) for w in shares) == pytest.approx(100.0, abs=0.2)
