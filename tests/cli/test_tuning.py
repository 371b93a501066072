"""``tune``: what it measures, where it keeps it, and how it is removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from studio.engine.gl.backend import GlBackend
from studio.engine.gl.choices.measured_choices import FILE_NAME, Measured, keep_rows
from studio.samples import sample_root
from tests.engine.gl.tuning.tuned_lines import tile_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from studio.engine.gl.run.executable import GlExecutable
    from studio.engine.gl.run.session import GlSession
    from studio.engine.isa.program import Program
    from tests.cli.conftest import Answer

MLP = sample_root() / "digits-mlp"
IRIS = sample_root() / "iris"
SPIRALS = sample_root() / "spirals"
"""Wide enough for products by tiles on software renderers and on GPUs alike."""


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the table of the test's own cache folder lies."""
    monkeypatch.setenv("GLASSBOX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache" / FILE_NAME


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tiles of the products of training programs, in the order in which they are compiled."""
    found: list[str] = []
    compiled = GlBackend.compile

    def listing(
        self: GlBackend, program: Program, session: GlSession, *given: Any, **named: Any
    ) -> GlExecutable:
        made = compiled(self, program, session, *given, **named)
        if program.mode == "train":
            texts = [one.source.text for _, planned in made.planned for one in planned]
            found.extend(tile_of(text) for text in texts if "#define TILE_M" in text)
        return made

    monkeypatch.setattr(GlBackend, "compile", listing)
    return found


def slow_tile() -> tuple[str, str]:
    """The device's fingerprint, and a tile of its family that the samples do without."""
    opened = GlBackend()
    opened.close()
    return opened.fingerprint, "registers_4x4" if opened.info.is_software else "tiles_64x64"


@pytest.mark.gl
@pytest.mark.slow
def test_tune_says_the_same_to_people_and_programs_and_keeps_it(
    glassbox: Callable[..., Answer], table: Path
) -> None:
    found = glassbox("tune", SPIRALS, "--backend", "gl", "--json").json
    assert found["table"] == str(table)
    assert found["left"] == 0
    kernels = {one["kernel"].partition(" #")[0]: one for one in found["kernels"]}
    assert {name.split()[0] for name in kernels} >= {"linear", "grads_linear_dw", "grads_linear_dx"}
    for one in kernels.values():
        assert one["tried"] >= 1
        assert one["refused"] == []
        assert one["shipped_us"] == pytest.approx(one["median_us"] * one["gain"])
    (device,) = json.loads(table.read_text("utf-8"))["devices"].values()
    kept = {one["kernel"] for one in found["kernels"] if one["kept"]}
    assert set(device["choices"]) == kept
    assert kept <= {one["kernel"] for one in found["kernels"] if one["gain"] > 1}
    assert all(step["tuned"] <= step["shipped"] for step in found["steps"])
    assert bool(found["steps"]) >= bool(kept)
    assert found["passed_over"] == []
    text = glassbox("tune", SPIRALS, "--backend", "gl").out
    for one in found["kernels"]:
        assert one["kernel"] in text
    assert f"kept in {table}" in text


@pytest.mark.gl
@pytest.mark.slow
def test_training_by_other_kernels_is_the_same_and_says_so(
    glassbox: Callable[..., Answer], table: Path, taken: list[str]
) -> None:
    def trained() -> tuple[str, list[float]]:
        """By which kernels, and the losses of the epochs."""
        words = ("train", SPIRALS.name, "--backend", "gl", "--epochs", 3, "--seed", 1, "--json")
        found = glassbox(*words).json
        summary = json.loads((Path(found["run"]) / "summary.json").read_text("utf-8"))
        return summary["kernels"], found["history"]["loss"]

    device, tile = slow_tile()
    by, losses = trained()
    assert by == "shipped"
    shipped = taken.copy()
    assert len(shipped) - shipped.count(tile) >= 3
    products = [
        one["kernel"]
        for one in glassbox("tune", SPIRALS, "--backend", "gl", "--json").json["kernels"]
        if one["shipped_parts"] and one["shipped"] != tile
    ]
    assert len(products) >= 3
    glassbox("tune", "--forget")
    keep_rows(device, dict.fromkeys(products, Measured(tile, 1, 1.0, 2.0)))
    taken.clear()
    first, second = trained(), trained()
    changed = [now for before, now in zip(shipped * 2, taken, strict=True) if now != before]
    assert len(changed) >= 6
    assert set(changed) == {tile}
    assert first[0].startswith(f"{len(products)} measured #")
    assert first == second, "a table gives the same results every time"
    assert first[1] == pytest.approx(losses, rel=1e-4)
    table.write_text("{")
    taken.clear()
    assert trained() == (by, losses)
    assert taken == shipped


@pytest.mark.slow
@pytest.mark.gl
def test_time_that_is_up_is_said(glassbox: Callable[..., Answer], table: Path) -> None:
    found = glassbox("tune", MLP, "--backend", "gl", "--seconds", 1, "--json").json
    assert found["left"] + len(found["kernels"]) > 0
    assert found["seconds"] < 60


def test_forget_removes_the_table_once(glassbox: Callable[..., Answer], table: Path) -> None:
    table.parent.mkdir()
    table.write_text("whatever it holds")
    assert glassbox("tune", "--forget").out == f"{table}: removed\n"
    assert not table.exists()
    assert glassbox("tune", "--forget").out == "there is no table of measured choices\n"
    assert glassbox("tune", "--forget", "--json").json == {"table": str(table), "removed": False}


def test_what_cannot_be_tuned_is_refused(
    refused: Callable[..., str], table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "only OpenGL kernels can be tuned" in refused("tune", IRIS, "--backend", "cpu")
    assert "there is no project to tune for" in refused("tune")
    assert "takes no project" in refused("tune", IRIS, "--forget")
    assert "--seconds" in refused("tune", IRIS, "--seconds", "0")
    assert "no such project" in refused("tune", "nothere", "--backend", "gl")
    monkeypatch.setenv("GLASSBOX_CACHE_DIR", "")
    assert "there is no cache folder" in refused("tune", IRIS, "--backend", "gl")
    assert not table.exists()
