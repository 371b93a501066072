"""Records of runs with wild values: shown as far as they make sense, never a failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.engine.train.runs.marks import MARKS, read_marks
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.step_log import FORMAT, NAME, VERSION, read_steps
from studio.session.core.run_notes import NOTES
from studio.session.plots.curves import load_curves
from studio.session.runs.records import read_record
from tests import hostile
from tests.engine.train.small_tasks import project

SUMMARY = {
    "state": "finished", "reason": "", "device": "cpu", "epochs": 2, "steps": 20, "seconds": 1.5,
    "metrics": {"loss": 0.5}, "started": "2026", "data_hash": "", "version": "0", "kernels": "",
}  # fmt: skip
STEPS = {
    "format": FORMAT, "version": VERSION, "metrics": ["loss"], "epoch_steps": 10, "batch": 5,
    "epoch_items": 50, "stride": 1, "began": 1.0,
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    saved = project(epochs=2)
    saved.save(tmp_path / "p.glassbox")
    return RunFolder.create(saved)


@pytest.mark.parametrize("value", [[], {}, 3, None, ["finished"]])
def test_a_state_that_is_no_text_is_an_unfinished_run(run: RunFolder, value: object) -> None:
    (run.path / "summary.json").write_text(json.dumps({**SUMMARY, "state": value}))
    assert read_record(run).state == "unfinished"


@pytest.mark.slow
def test_values_of_a_summary(run: RunFolder) -> None:
    def load(text: bytes) -> None:
        (run.path / "summary.json").write_bytes(text)
        read_record(run)
        load_curves(run)

    assert hostile.refusals(load, hostile.texts(SUMMARY)) == 0


@pytest.mark.slow
def test_values_of_notes_and_settings(run: RunFolder) -> None:
    def load(name: str, text: bytes) -> None:
        (run.path / name).write_bytes(text)
        read_record(run)

    notes = {"title": "a", "star": True, "tags": ["x"], "text": "t", "test": {"loss": 1.0}}
    assert hostile.refusals(lambda text: load(NOTES, text), hostile.texts(notes)) == 0
    settings = list(hostile.texts(json.loads((run.path / "settings.json").read_text())))[::7]
    assert hostile.refusals(lambda text: load("settings.json", text), settings) == 0


@pytest.mark.slow
def test_values_of_marks_and_steps(run: RunFolder) -> None:
    def load_marks(text: bytes) -> None:
        (run.path / MARKS).write_bytes(text + b"\n")
        read_marks(run.path)
        load_curves(run)

    mark = {"kind": "learning_rate", "step": 1, "wall": 1.0, "value": 0.5}
    assert hostile.refusals(load_marks, hostile.texts(mark)) == 0
    (run.path / MARKS).unlink()

    def load_steps(text: bytes) -> None:
        (run.path / NAME).write_bytes(text + b"\n" + bytes(480))
        read_steps(run.path)
        load_curves(run)

    assert hostile.refusals(load_steps, hostile.texts(STEPS)) > 100
