"""The tensor view over trainings that the studio itself starts, ends and abandons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from studio.engine.gl.live import GlSnapshot
from studio.ui.kit import theme
from studio.ui.kit.scheduling import QtScheduler
from studio.ui.models import entities
from studio.ui.models.places import Places
from studio.ui.models.studio import Studio
from studio.ui.panes.tensor_view.pane import TensorViewPane
from studio.ui.shell.shared_context import provider_for

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

PROJECT = Path(__file__).resolve().parents[4] / "projects" / "digits-mlp"


def opened(qapp: QApplication, tmp_path: Path, backend: str, shared: str = "auto") -> Studio:
    scheduler = QtScheduler()
    made: list[Studio] = []
    studio = Studio(
        scheduler,
        Places.below(tmp_path / "places"),
        lambda: provider_for(made[0].preferences.text("shared_views")),
    )
    made.append(studio)
    studio.preferences.set("backend", backend)
    studio.preferences.set("shared_views", shared)
    theme.install(qapp, studio.theme)
    copy = tmp_path / "digits.glassbox"
    (project,) = PROJECT.glob("*.glassbox")
    copy.write_bytes(project.read_bytes())
    studio.open(copy)
    return studio


def kernel_of(studio: Studio) -> str:
    """The first dense kernel of the program shown."""
    shown = studio.compilation.shown
    assert shown is not None
    return next(t.name for t in shown.program.tensors.values() if t.name.endswith("/kernel"))


def test_weights_are_seen_before_while_and_after_a_training(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    studio = opened(qapp, tmp_path, "cpu")
    qtbot.waitUntil(lambda: studio.compilation.result is not None, timeout=30000)
    pane = TensorViewPane(studio)
    qtbot.addWidget(pane)
    pane.show()
    name = kernel_of(studio)
    pane.show_tensor(entities.tensor(name))
    qtbot.waitUntil(lambda: pane.view.badge == "AT REST · initial weights", timeout=30000)
    frame = pane.view.frame
    assert frame is not None
    first = frame.snapshot.array().copy()
    assert studio.training.why_not_start() == ""
    studio.training.start()
    qtbot.waitUntil(lambda: pane.view.badge.startswith("LIVE · step"), timeout=60000)
    studio.training.stop()
    qtbot.waitUntil(lambda: pane.view.badge.startswith("AT REST · weights of run"), timeout=60000)
    assert pane.view.frame is not None
    last = pane.view.frame.snapshot.array()
    assert not np.array_equal(first, last)
    trainer = studio.training.trainer
    assert trainer is not None
    np.testing.assert_array_equal(last, trainer.network.session.read(name).result())
    pane.close_view()
    studio.close()


@pytest.mark.parametrize(
    ("backend", "shared"), [("cpu", "auto"), pytest.param("gl", "always", marks=pytest.mark.gl)]
)
def test_the_window_may_close_in_the_middle_of_a_training(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path, backend: str, shared: str
) -> None:
    studio = opened(qapp, tmp_path, backend, shared)
    qtbot.waitUntil(lambda: studio.compilation.result is not None, timeout=30000)
    panes = []
    for key in (kernel_of(studio), f"{kernel_of(studio)}.grad"):
        pane = TensorViewPane(studio)
        qtbot.addWidget(pane)
        pane.show()
        pane.show_tensor(entities.Entity("tensor", key))
        panes.append(pane)
    studio.training.start()
    qtbot.waitUntil(
        lambda: all(pane.view.badge.startswith("LIVE · step") for pane in panes), timeout=60000
    )
    if backend == "gl":
        frame = panes[0].view.frame
        assert frame is not None
        assert isinstance(frame.snapshot, GlSnapshot)
        qtbot.waitUntil(lambda: panes[0].sheet.surface is not None, timeout=30000)
    studio.close()
    for pane in panes:
        assert pane.view.frame is None
        surface = pane.sheet.surface
        assert surface is None or surface.snapshot is None
        pane.close()
