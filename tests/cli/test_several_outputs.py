"""Commands on a project with two inputs and two outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from studio.engine import Concatenate, Dense, Input, Model, Project, execute_all
from tests.cli.conftest import Answer
from tests.engine.train.two_inputs import two_inputs

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
        (
            ["data.npz", "--output", "o.csv"],
            "several outputs (which, size), which are written to .npz, got 'o.csv'",
        ),
    ):
        answer = glassbox("predict", "two.glassbox", *files, *CPU, code=2)
        assert words in " ".join(answer.err.split())


def test_a_table_with_their_columns_feeds_several_inputs(
    two: Path, glassbox: Callable[..., Answer]
) -> None:
    rows = np.random.default_rng(1).normal(size=(30, 6)).astype(np.float32).round(3)
    head = [f"l{n}" for n in range(3)] + [f"r{n}" for n in range(3)]
    kinds = ["yes" if row[0] > 0 else "no" for row in rows]
    table = zip(*rows.T, kinds, rows.sum(1), strict=True)
    lines = [",".join(map(str, line)) for line in ([*head, "which", "size"], *table)]
    (two / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    project = Project.load(two / "two.glassbox")
    data = {
        "source": "columns",
        "path": "rows.csv",
        "inputs": {"left": head[:3], "right": head[3:]},
        "targets": {"which": "which", "size": "size"},
    }
    made = Project.new("table", project.graph, data, {"epochs": 1})
    made.save(two / "table.glassbox")
    glassbox("train", "table.glassbox", *CPU)
    answer = glassbox("predict", "table.glassbox", "rows.csv", "--json", *CPU).json
    np.savez("rows.npz", left=rows[:, :3], right=rows[:, 3:])
    again = glassbox("predict", "table.glassbox", "rows.npz", "--json", *CPU).json
    for name in ("which", "size"):
        np.testing.assert_allclose(answer["outputs"][name], again["outputs"][name], atol=1e-6)
    assert answer["names"][0] == "rows.csv:0"
    (two / "short.csv").write_text("l0,l1,l2\n1,2,3\n", encoding="utf-8")
    said = glassbox("predict", "table.glassbox", "short.csv", *CPU, code=2).err
    assert "the first row names no column 'r0', which the input 'right' takes" in " ".join(
        said.split()
    )


@pytest.mark.slow
def test_exec_takes_every_input_by_name_and_writes_every_output(
    two: Path, glassbox: Callable[..., Answer]
) -> None:
    glassbox("train", "two.glassbox", "--epochs", "1", *CPU)
    glassbox("export", "two.glassbox", "--format", "gbi", "-o", "two.gbi")
    with np.load("data.npz") as stored:
        left, right = stored["l"].astype(np.float32), stored["r"].astype(np.float32)
    # In another order, and with an array that is no input.
    np.savez("rows.npz", right=right, other=right, left=left)
    expected = glassbox("predict", "two.glassbox", "rows.npz", "--json", *CPU).json["outputs"]
    words = ("exec", "two.gbi", "--input", "rows.npz")
    said = glassbox(*words, "--output", "o.npz", *CPU).out
    assert said == "o.npz: which float32[40, 2], size float32[40, 1]\n"
    with np.load("o.npz") as found:
        assert list(found) == ["which", "size"]
        for name, values in expected.items():
            np.testing.assert_allclose(found[name], values, atol=1e-5)
    answer = glassbox(*words, "--json", *CPU).json
    assert answer["shape"] == {"which": [40, 2], "size": [40, 1]}
    np.testing.assert_allclose(answer["outputs"]["size"], expected["size"], atol=1e-5)


def test_exec_refuses_by_name_what_does_not_fit(two: Path, glassbox: Callable[..., Answer]) -> None:
    listing = """.glassbox 1
.program "two" infer
.tensor 0x0 "left/output" float32 [N,1] input
.tensor 0x1 "right/output" float32 [N,1] input
.tensor 0x2 "sum/output" float32 [N,1] activation
.tensor 0x3 "sum/output_2" float32 [N,1] activation
.input 0x0
.input 0x1
.output 0x2
.output 0x3
.section forward
ADD 0x0 0x1 0x2 1 1
ADD 0x2 0x1 0x3 1 1
.end
"""
    (two / "sum.gbasm").write_text(listing, encoding="utf-8")
    rows = np.ones((2, 1), np.float32)
    np.savez("one.npz", left=rows)
    np.savez("short.npz", left=rows, right=rows[:1])
    np.savez("rows.npz", left=rows, right=rows)
    np.savez("wide.npz", left=rows, right=np.ones((2, 2), np.float32))
    np.save("plain.npy", rows)
    for name, output, said in (
        ("one.npz", "o.npz", "there is no array for the input 'right': the arrays are 'left'"),
        ("short.npz", "o.npz", "all inputs need the same number of rows"),
        ("plain.npy", "o.npz", "expected an .npz file with an array for each of left, right"),
        ("wide.npz", "o.npz", "rows of 'right' must have shape [N,1], got [2,2]"),
        ("rows.npz", "o.npy", "several outputs (sum, sum_1), which are written to .npz"),
    ):
        words = ("exec", "sum.gbasm", "--input", name, "--output", output, *CPU)
        assert said in " ".join(glassbox(*words, code=2).err.split())
        assert not Path(output).exists()
    answer = glassbox("exec", "sum.gbasm", "--input", "rows.npz", "--json", *CPU).json
    assert answer["outputs"] == {"sum": [[2.0], [2.0]], "sum_1": [[3.0], [3.0]]}
    assert list(execute_all("sum.gbasm", [rows, rows], "cpu")) == ["sum", "sum_1"]


def test_exec_writes_a_single_output_as_npy_or_by_name_as_npz(
    two: Path, glassbox: Callable[..., Answer]
) -> None:
    listing = """.glassbox 1
.program "one" infer
.tensor 0x0 "left/output" float32 [N,1] input
.tensor 0x1 "sum/output" float32 [N,1] activation
.input 0x0
.output 0x1
.section forward
ADD 0x0 0x0 0x1 1 1
.end
"""
    (two / "one.gbasm").write_text(listing, encoding="utf-8")
    np.savez("rows.npz", left=np.ones((2, 1), np.float32), other=np.zeros(3))
    words = ("exec", "one.gbasm", "--input", "rows.npz", *CPU)
    assert glassbox(*words, "--output", "o.npy").out == "o.npy: float32[2, 1]\n"
    assert np.load("o.npy").tolist() == [[2.0], [2.0]]
    glassbox(*words, "--output", "o.npz")
    with np.load("o.npz") as found:
        assert {name: values.tolist() for name, values in found.items()} == {"sum": [[2.0], [2.0]]}


@pytest.mark.slow
def test_exec_knows_inputs_that_are_normalised_or_whole_numbers_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, glassbox: Callable[..., Answer]
) -> None:
    two_inputs(tmp_path, epochs=1)
    monkeypatch.chdir(tmp_path)
    glassbox("train", "two.glassbox", *CPU)
    glassbox("export", "two.glassbox", "--format", "gbi", "-o", "two.gbi")
    with np.load("two.npz") as stored:
        np.savez("rows.npz", row=stored["numbers"], picture=stored["pixels"])
    found = glassbox("exec", "two.gbi", "--input", "rows.npz", "--json", *CPU).json
    expected = glassbox("predict", "two.glassbox", "rows.npz", "--json", *CPU).json
    for name in ("parity", "total"):
        np.testing.assert_allclose(found["outputs"][name], expected["outputs"][name], atol=1e-5)
