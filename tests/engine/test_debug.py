"""What an interactive Python prints and runs: programs, kernels, listings typed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.cli.app import main
from studio.engine import debug
from studio.engine.core.errors import StudioError
from studio.engine.isa.text import format_program
from studio.engine.train.devices import open_backend
from studio.engine.train.export.exporting import exportable
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.network.programs import Programs
from studio.samples import sample_root
from tests.engine.train.small_tasks import project, task

if TYPE_CHECKING:
    from pathlib import Path

IRIS = sample_root() / "iris" / "iris.glassbox"
LISTING = """\
.glassbox 1
.program "by hand" infer
.tensor 0x1 "w" float32 [2,3] param trainable weight init="ones" stream=1
.tensor 0x2 "b" float32 [2] param trainable init="zeros" stream=2
.tensor 0x3 "x" float32 [N,3] input
.tensor 0x4 "sum" float32 [N,2] activation
.tensor 0x5 "y" float32 [N,2] activation
.input 0x3
.output 0x5

.section forward
LINEAR 0x1 0x2 0x3 0x4
RELU 0x4 0x5
.end
"""


def test_a_program_is_shown_in_the_form_that_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    small = task()
    debug.show(small, mode="infer")
    shown = capsys.readouterr().out
    program = Programs(small).program("infer")
    assert shown == format_program(program)
    debug.show(program)
    assert capsys.readouterr().out == shown
    debug.show(project(), "infer", level=0)
    plain = capsys.readouterr().out
    assert "FUSE" in shown
    assert "FUSE" not in plain


@pytest.mark.parametrize("target", ["cpu", "gl-hardware"])
def test_kernels_are_those_of_the_command(capsys: pytest.CaptureFixture[str], target: str) -> None:
    source = target != "cpu"
    debug.kernels(str(IRIS), target=target, source=source)
    printed = capsys.readouterr().out
    words = ["compile", str(IRIS), "--kernels", "--target", target, *["--source"] * source]
    assert main(words) == 0
    assert capsys.readouterr().out.startswith(printed)
    assert ("#version 430" in printed) == source


def test_kernels_in_order_differ_from_those_side_by_side(
    capsys: pytest.CaptureFixture[str],
) -> None:
    debug.kernels(IRIS)
    beside = capsys.readouterr().out
    debug.kernels(IRIS, in_order=True)
    assert "in the program's order" not in beside
    assert "in the program's order" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["cpu", pytest.param("gl", marks=pytest.mark.gl)])
def test_a_listing_typed_by_hand_runs_with_the_weights_given(backend: str) -> None:
    rows = np.array([[1, 2, 3], [-1, -2, -3]])
    weights = {"w": [[1, 0, 0], [0, 0, 2]], "b": np.array([0.5, 1.0])}
    found = debug.run(LISTING, rows.astype("f"), weights=weights, backend=backend)
    expected = np.maximum(rows @ np.transpose(weights["w"]) + weights["b"], 0)
    np.testing.assert_allclose(found["y"], expected, atol=1e-6)


def test_what_is_left_out_is_made_up_the_same_way_for_the_same_seed() -> None:
    first, again, other = (debug.run(LISTING, seed=seed)["y"] for seed in (1, 1, 2))
    assert first.shape == (4, 2)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    ones = debug.run(LISTING, np.array([[1, 2, 3]]).astype("f"))["y"]
    np.testing.assert_array_equal(ones, [[6, 6]])


def test_what_is_shown_can_be_run(capsys: pytest.CaptureFixture[str]) -> None:
    debug.show(IRIS, "infer")
    found = debug.run(capsys.readouterr().out, np.ones((5, 4), "f"))
    (answers,) = found.values()
    np.testing.assert_allclose(answers.sum(1), np.ones(5), atol=1e-6)


def test_a_file_runs_with_its_own_weights(tmp_path: Path) -> None:
    from studio.engine.interop.file_format import format_named

    file = tmp_path / "small.gbi"
    rows = np.array([[0.2, -0.4], [1.0, 0.1]], np.float32)
    with open_backend("cpu") as device, Trainer(task(epochs=1), device.backend) as trainer:
        trainer.run()
        expected = trainer.trained().predict(rows)
        format_named("gbi").write(exportable(trainer.trained()), file)
    (found,) = debug.run(file, rows).values()
    np.testing.assert_allclose(found, expected, atol=1e-5)
    (found,) = debug.run(str(file), rows).values()
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: debug.show(IRIS, "learn"), "expected one of train, evaluate, infer"),
        (lambda: debug.show(IRIS, target="gpu"), "expected one of cpu, gl-hardware"),
        (lambda: debug.show(IRIS, level=9), "level must be 0 to 2"),
        (lambda: debug.kernels("nothing.glassbox"), "nothing.glassbox"),
        (lambda: debug.run("nothing.gbasm"), "nothing.gbasm"),
        (lambda: debug.run("nonsense\nin two lines\n"), "line 1"),
        (lambda: debug.run(LISTING.replace("RELU 0x4", "RELU 0x9")), "0x9"),
        (lambda: debug.run(LISTING, weights={"v": [1]}), "no weight 'v'"),
        (lambda: debug.run(LISTING, weights={"b": [1, 2, 3]}), r"expected shape \[2\]"),
        (lambda: debug.run(LISTING, np.ones((2, 7), "f")), "rows must have shape"),
        (lambda: debug.run(LISTING, np.ones((2, 3)), np.ones(2)), "expected 1 input arrays"),
        (lambda: debug.run(Programs(task()).program("train")), "expected an inference program"),
    ],
)
def test_mistakes_are_answered_in_a_sentence(call: object, words: str) -> None:
    with pytest.raises(StudioError, match=words):
        call()  # type: ignore[operator]
