"""A run that was branched opens as a project in the window, after asking about unsaved work."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from studio.session.document.edits.sections import set_training
from studio.session.studio import Studio
from studio.ui.shell.window import MainWindow


def trained(window: MainWindow, qtbot: QtBot) -> Studio:
    """One epoch of the project that is open, saved as it is."""
    studio = window.studio
    studio.preferences.set("backend", "cpu")
    studio.document.apply("epochs", set_training(studio.document.state, {"epochs": 1}))
    studio.document.save()
    qtbot.waitUntil(lambda: bool(studio.compilation.result))
    studio.training.start()
    qtbot.waitUntil(lambda: studio.training.state == "finished")
    qtbot.waitUntil(lambda: bool(studio.runs.runs) and not studio.runs.is_loading)
    return studio


@pytest.mark.slow
def test_a_branch_is_opened_and_its_run_is_there_to_go_on(opened: MainWindow, qtbot: QtBot) -> None:
    studio = trained(opened, qtbot)
    path, run = studio.document.path, studio.runs.runs[0]
    assert path is not None
    studio.restoring.branch(run.name, "last")
    branch = path.with_name(f"{path.stem}-branch.glassbox")
    qtbot.waitUntil(lambda: studio.document.path == branch)
    assert not studio.document.dirty
    assert studio.document.state.name.endswith("(branch)")
    qtbot.waitUntil(lambda: studio.runs.run(run.name) is not None)
    assert any(n.text.startswith("Branched the run") for n in studio.notices.all)
    studio.training.resume_run(studio.runs.run(run.name).folder, 2)
    qtbot.waitUntil(lambda: studio.training.state == "finished")


@pytest.mark.slow
def test_unsaved_work_is_asked_about_before_a_branch_opens(
    opened: MainWindow, qtbot: QtBot
) -> None:
    studio = trained(opened, qtbot)
    path = studio.document.path
    studio.document.apply("seed", set_training(studio.document.state, {"seed": 99}))
    studio.restoring.branch(studio.runs.runs[0].name, None)
    qtbot.waitUntil(lambda: opened.findChild(QMessageBox) is not None)
    question = opened.findChild(QMessageBox)
    assert question is not None
    question.reject()
    qtbot.waitUntil(lambda: any(n.text.startswith("Branched") for n in studio.notices.all))
    assert studio.document.path == path
    notice = next(n for n in studio.notices.all if n.text.startswith("Branched"))
    assert notice.action is not None
    studio.document.undo()
    studio.document.save()
    notice.action[1]()
    qtbot.waitUntil(lambda: studio.document.path != path)
