"""A project whose input has an unknown length: compiled, trained, used and exported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine import (
    Conv2D,
    Dense,
    GlobalAveragePooling2D,
    Input,
    Model,
    Project,
    Reshape,
    execute,
)
from studio.engine.formats.gbasm import load_program_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Answer


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Sequences of 12 steps as data of a network that takes any."""
    monkeypatch.chdir(tmp_path)
    x = Input((None, 4), name="tokens")
    y = Conv2D(6, (3, 1), activation="relu", name="conv")(Reshape((-1, 1, 4))(x))
    graph = Model(x, Dense(2, "softmax", name="head")(GlobalAveragePooling2D()(y))).graph
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 12, 4)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=values, y=(values.mean(axis=(1, 2)) > 0).astype(np.int32))
    Project("bare", graph).save(tmp_path / "bare.glassbox")
    data = {"source": "npz", "path": "data.npz"}
    made = Project.new("words", graph, data, {"epochs": 1})
    made.save(tmp_path / "words.glassbox")
    return made


@pytest.mark.usefixtures("project")
def test_a_listing_needs_a_length_or_data(
    glassbox: Callable[..., Answer], refused: Callable[..., str]
) -> None:
    said = refused("compile", "bare.glassbox", "--mode", "infer")
    assert said.startswith("[tokens] a program needs numbers in place of None, got the input")
    bare = ("compile", "bare.glassbox", "--mode", "infer")
    assert "[N,7,4]" in glassbox(*bare, "--length", "tokens=7").out
    assert "[N,12,4]" in glassbox("compile", "words.glassbox").out
    assert "[N,7,4]" in glassbox("compile", "words.glassbox", "--length", "tokens=7").out
    for wrong, message in (
        ("tokens", "expected a length such as tokens=32"),
        ("tokens=-3", "expected a length such as tokens=32"),
        ("tokens=0", "expected a number for the input [None,4], got [0]"),
        ("tokens=3x4", "expected a number for the input [None,4], got [3, 4]"),
        ("words=3", "no input 'words' has an unknown length"),
        ("tokens=2", "at least 3 rows"),
    ):
        assert message in refused(*bare, "--length", wrong)


@pytest.mark.slow
def test_an_export_has_the_length_of_the_data_or_the_one_named(
    glassbox: Callable[..., Answer], refused: Callable[..., str], project: Project, tmp_path: Path
) -> None:
    glassbox("train", "words.glassbox", "--backend", "cpu")
    for words, length in (((), 12), (("--length", "tokens=7"), 7)):
        said = glassbox("export", "words.glassbox", "-o", "words.gbi", *words).out
        assert "reloaded by Glassbox, its answers on" in said
        program = load_program_file(tmp_path / "words.gbi").program
        assert program.tensors[program.inputs[0]].shape == (-1, length, 4)
        rows = np.random.default_rng(1).normal(size=(3, length, 4)).astype(np.float32)
        answers = execute(tmp_path / "words.gbi", rows)
        with Model.load(tmp_path / "words.glassbox", backend="cpu") as model:
            wanted = np.asarray(model.predict(rows), np.float64)
        np.testing.assert_allclose(answers.astype(np.float64), wanted, rtol=1e-5, atol=1e-6)
    glassbox("export", "words.glassbox", "-o", "words.safetensors")
    np.save(tmp_path / "nine.npy", np.zeros((2, 9, 4), np.float32))
    np.save(tmp_path / "one.npy", np.zeros((5, 4), np.float32))
    assert len(glassbox("predict", "words.glassbox", "nine.npy", "--json").json["outputs"]) == 2
    assert len(glassbox("predict", "words.glassbox", "one.npy", "--json").json["outputs"]) == 1
    said = refused("predict", "words.glassbox", "one.npy", "nine.npy")
    assert "expected files with samples of one length, got [5, 4] and [9, 4]" in said
    np.save(tmp_path / "wrong.npy", np.zeros((2, 9, 3), np.float32))
    assert "inputs must have shape" in refused("predict", "words.glassbox", "wrong.npy")
    glassbox("import", "words.safetensors", "-o", "words.glassbox")
    glassbox("evaluate", "words.glassbox")
