"""Keras' application models in the window: opened, laid out, compiled, profiled, trained a step."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QAbstractButton

from studio.ui.panes.profiler.pane import ProfilerPane
from tests.end_to_end.keras_applications import SIDES, files_of, pictures_of_digits
from tests.ui.journeys.person import Person
from tests.ui.journeys.test_imported_model import Importer

pytestmark = [pytest.mark.peers, pytest.mark.slow]

WAIT = 300_000


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SIDES)
def test_an_application_model_is_opened_profiled_and_trained_a_step(
    name: str, person: Person, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if find_spec("keras") is None:
        pytest.skip("Keras is not installed")
    kept = files_of(name, tmp_path_factory.getbasetemp().parent)
    source = shutil.copy(kept / "model.keras", tmp_path / f"{name}.keras")
    pictures, classes = pictures_of_digits(SIDES[name], 40)
    np.savez(tmp_path / "pictures.npz", x=pictures, y=classes)
    studio, importer = person.studio, Importer(person)

    importer.open(source)
    importer.close(importer.report())
    places = [(node.x, node.y) for node in studio.document.state.layers()]
    assert len(set(places)) == len(places)
    importer.drop(tmp_path / "pictures.npz")
    person.until(lambda: studio.data.status == "ready", WAIT)
    person.until(lambda: not studio.compilation.is_stale and studio.compilation.result, WAIT)
    assert not [each for each in studio.problems.items if each.severity == "error"]

    person.press("Ctrl+3")
    # Nothing was measured yet, so that the listing is in front.
    person.click(*person.until(lambda: person.tab("Profiler"), WAIT))
    person.until(lambda: person.sees(ProfilerPane), WAIT)
    person.click(person.button("Dry run"))
    person.until(lambda: studio.profiling.measurement, WAIT)
    batch = person.see(QAbstractButton, "transport.train.step_batch")
    person.until(batch.isEnabled, WAIT)
    person.click(batch)
    person.until(lambda: studio.training.state == "paused", WAIT)
    assert studio.training.error is None
    person.click(person.see(QAbstractButton, "transport.train.stop"))
    person.until(lambda: not studio.training.is_busy, WAIT)
