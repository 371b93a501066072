"""``predict`` on arrays, tables and pictures, good and bad ones."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Answer

CPU = ("--backend", "cpu")


def naive_answers(weights: Path, digits: np.ndarray) -> np.ndarray:
    """The digits network written out in float64: values 0 to 16, two ReLU layers, softmax."""
    with np.load(weights) as stored:
        w = {name: stored[name].astype(np.float64) for name in stored.files}
    x = digits.reshape(len(digits), -1) / 16.0
    for layer in ("hidden1", "hidden2"):
        x = np.maximum(x @ w[f"{layer}/kernel"] + w[f"{layer}/bias"], 0.0)
    scores = x @ w["digit/kernel"] + w["digit/bias"]
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.fixture
def expected(glassbox: Callable[..., Answer], here: Path, digits: np.ndarray) -> np.ndarray:
    glassbox("export", "digits-mlp", "--format", "npz", "-o", "weights.npz")
    return naive_answers(here / "weights.npz", digits)


@pytest.mark.slow
def test_arrays_of_every_form_give_the_naive_answers(
    glassbox: Callable[..., Answer], here: Path, digits: np.ndarray, expected: np.ndarray
) -> None:
    np.save("full.npy", digits)
    np.save("channel.npy", digits[..., 0])
    np.save("flat.npy", digits.reshape(12, 64))
    np.save("float.npy", digits.astype(np.float64))
    np.savez("named.npz", x=digits, y=np.zeros(12))
    np.savetxt("rows.csv", digits.reshape(12, 64), fmt="%d", delimiter=",")
    for name in ("full.npy", "channel.npy", "flat.npy", "float.npy", "named.npz", "rows.csv"):
        found = glassbox("predict", "digits-mlp", name, "--json", *CPU).json
        np.testing.assert_allclose(found["outputs"], expected, atol=1e-5)
        assert found["classes"] == [str(digit) for digit in range(10)]
        assert found["names"][11] == f"{name}:11"


@pytest.mark.slow
def test_outputs_are_written_in_the_form_of_the_ending(
    glassbox: Callable[..., Answer], here: Path, digits: np.ndarray, expected: np.ndarray
) -> None:
    np.save("in.npy", digits)
    for name in ("o.npy", "o.npz", "O.CSV"):
        words = ("predict", "digits-mlp", "in.npy", "--output", name, *CPU)
        written, weights = glassbox(*words).out.splitlines()
        assert written == f"{name}: float32[12, 10]"
        assert weights.startswith("weights: epoch 2, final.safetensors, run ")
    np.testing.assert_allclose(np.load("o.npy"), expected, atol=1e-5)
    with np.load("o.npz") as stored:
        np.testing.assert_allclose(stored["outputs"], expected, atol=1e-5)
    with (here / "O.CSV").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["input", *"0123456789"]
    np.testing.assert_allclose([[float(v) for v in row[1:]] for row in rows], expected, atol=1e-5)


@pytest.mark.slow
def test_pictures_with_any_name_are_brought_to_the_input(
    glassbox: Callable[..., Answer], here: Path, digits: np.ndarray, expected: np.ndarray
) -> None:
    folder = here / "Bilder ü [1]"
    folder.mkdir()
    for number in range(3):
        pixels = np.rint(digits[number, ..., 0] * (255 / 16)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"Ziffer {number} é.png")
    found = glassbox("predict", "digits-mlp", folder, "--json", *CPU).json
    assert found["names"] == [f"Ziffer {number} é.png" for number in range(3)]
    np.testing.assert_allclose(found["outputs"], expected[:3], atol=1e-5)
    lines = glassbox("predict", "digits-mlp", folder, *CPU).out.splitlines()
    best = expected[:3].argmax(axis=1)
    for line, name, digit, row in zip(lines[1:], found["names"], best, expected, strict=False):
        assert line.startswith(name)
        assert line.removeprefix(name).split()[:2] == [str(digit), f"{row[digit]:.1%}"]


def test_table_is_read_by_the_names_of_its_columns(
    glassbox: Callable[..., Answer], here: Path
) -> None:
    columns = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    cells = ["5.1", "3.5", "1.4", "0.2"]
    (here / "a.csv").write_text(f"{','.join(columns)}\n{','.join(cells)}\n", encoding="utf-8")
    turned = ",".join(["note", *columns[::-1]]) + "\n" + ",".join(["hello", *cells[::-1]]) + "\n"
    (here / "b.csv").write_text(turned, encoding="utf-8")
    first, second = (
        glassbox("predict", "iris", name, "--json", *CPU).json["outputs"]
        for name in ("a.csv", "b.csv")
    )
    assert first == second
    assert np.sum(first) == pytest.approx(1, abs=1e-5)


def test_inputs_that_do_not_fit_are_refused(
    refused: Callable[..., str], here: Path, digits: np.ndarray
) -> None:
    np.save("good.npy", digits)
    whole = (here / "good.npy").read_bytes()
    np.save("shape.npy", np.zeros((3, 7, 7, 1), np.uint8))
    np.save("none.npy", digits[:0])
    np.save("nan.npy", np.full((1, 8, 8, 1), np.nan))
    np.save("half.npy", digits + 0.5)
    np.save("large.npy", digits.astype(np.int64) + 300)
    np.save("pickle.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez("two.npz", a=digits, b=digits)
    (here / "cut.npy").write_bytes(whole[:500])
    (here / "head.npy").write_bytes(whole[:20])
    (here / "empty.npy").write_bytes(b"")
    (here / "empty.csv").write_bytes(b"")
    (here / "fake.png").write_bytes(b"hello")
    (here / "short.csv").write_bytes(b"1,2,3\n")
    (here / "nan.csv").write_text(",".join(["nan"] * 64) + "\n", encoding="utf-8")
    (here / "folder").mkdir()
    for name, expected in {
        "nothere.npy": "nothere.npy",
        "shape.npy": "[rows, 8, 8, 1]: got [3, 7, 7, 1]",
        "none.npy": "the array is empty",
        "nan.npy": "whole number from 0 to 255: got nan",
        "half.npy": "must be a whole number",
        "large.npy": "must be a whole number",
        "pickle.npy": "never loaded",
        "two.npz": "it holds 'a', 'b'",
        "cut.npy": "768 bytes",
        "head.npy": "cut",
        "empty.npy": "empty",
        "empty.csv": "the file is empty",
        "fake.png": "this is not a PNG",
        "short.csv": "row 1: expected 64 cells",
        "nan.csv": "row 1, column 1",
        "folder": "holds no images",
    }.items():
        text = refused("predict", "digits-mlp", name, *CPU)
        assert expected in text
        assert name in text


def test_picture_for_a_network_without_pictures_is_refused(
    refused: Callable[..., str], here: Path
) -> None:
    Image.new("L", (8, 8)).save("a.png")
    assert "which are not images" in refused("predict", "iris", "a.png", *CPU)
