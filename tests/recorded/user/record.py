"""Records the files of a user: preferences, layouts, a project, runs, exports, unsaved work.

python -m tests.recorded.user.record

Writes into /tmp/glassbox, which must not exist, and ends without closing the window, as a crash
does. Needs a display of 1600x1000.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtWidgets import QApplication

from studio.engine.core.app_dirs import AppDirs
from studio.samples import open_copy
from studio.session.document.adding.palette import save_palette
from studio.session.document.edits.annotations import comment_instruction, name_tensor
from studio.session.document.edits.comments import add_frame, add_note
from studio.session.document.edits.layers import collapse, pin, set_option
from studio.session.document.edits.sections import set_training
from studio.session.export.exporting import export_forms
from studio.session.studio import Studio
from studio.ui.shell.docks.layout_store import LayoutStore
from studio.ui.shell.start.shared_context import prepare_sharing
from studio.ui.shell.window import MainWindow
from studio.widgets.event_loop.scheduling import QtScheduler
from tests.recorded.user.unpack import RECORDED

PREFERENCES = {
    "theme": "light", "reduced_motion": True, "high_contrast": True,
    "search_on_release": "with shift", "wire_style": "right-angle", "wheel": "zoom",
    "minimap": False, "previews": False, "backend": "cpu", "priority": "training",
    "shared_views": "never", "live_rate": 7, "profile_live": False, "watchdog": False,
    "restore_session": True,
}  # fmt: skip


def _wait(seconds: float) -> None:
    loop = QEventLoop()
    QTimer.singleShot(round(1000 * seconds), loop.quit)
    loop.exec()


def _until(wanted: Callable[[], object], seconds: float = 180.0) -> None:
    end = time.monotonic() + seconds
    while not wanted():
        if time.monotonic() > end:
            raise TimeoutError("the studio did not get there")
        _wait(0.05)


def _project(studio: Studio) -> str:
    """A sample with everything a project can hold; returns its first layer."""
    studio.open(open_copy("iris", RECORDED / "projects"))
    first = next(n for n in studio.document.state.nodes.values() if n.type_name == "Dense")
    state = set_training(studio.document.state, {"epochs": 2})
    state = add_note(state, 40.0, 300.0, "a note of the old version")
    state = collapse(pin(state, [first.id], True), [first.id], True)
    state = add_frame(state, [first.id], text="Frame")
    state = name_tensor(state, f"{first.name}/kernel", "my_kernel")
    state = comment_instruction(state, f"{first.name}/kernel", "first comment")
    studio.document.apply("Edit", state)
    studio.document.save()
    return first.id


def _runs_and_exports(studio: Studio) -> None:
    for number in range(2):
        _until(lambda: studio.compilation.result and not studio.compilation.is_stale)
        studio.actions.trigger("train.start")
        _until(lambda number=number: len(studio.runs.runs) > number)
        _until(lambda: not studio.training.is_busy and studio.evaluation.results is not None)
        _wait(1.2)
    newer, older = (run.name for run in studio.runs.runs)
    studio.runs.rename(newer, "best iris")
    studio.runs.set_star(newer, True)
    studio.runs.set_tags(newer, ("a", "b"))
    studio.runs.set_text(newer, "some\ntext")
    studio.runs.set_archived(older, True)
    studio.actions.trigger("export.dialog")
    for form in export_forms():
        studio.exporting.export(form, RECORDED / f"projects/iris/iris{form.ending}")
        _until(lambda: studio.exporting.task is None)


def _layouts(window: MainWindow) -> None:
    window.resize(1330, 830)
    window.studio.actions.trigger("workspace.build")
    _wait(0.5)
    window.docks["outline"].close()
    window.docks.show("history")
    window.docks["palette"].setFloating(True)
    window.docks["palette"].setGeometry(200, 150, 300, 400)
    _wait(0.5)
    window.studio.actions.trigger("workspace.train")
    _wait(0.5)
    window.docks["tensor_view"].close()
    window.docks.show("log")
    window.resizeDocks([window.docks["plots"]], [510], Qt.Orientation.Horizontal)
    _wait(0.5)
    window.keep_place()


def main() -> None:
    """Record everything."""
    RECORDED.mkdir()
    prepare_sharing()
    QApplication(["glassbox"])
    studio = Studio(QtScheduler(), AppDirs.below(RECORDED))
    window = MainWindow(studio, LayoutStore(studio.dirs.config))
    window.show()
    _until(lambda: window.is_ready)
    for name, value in PREFERENCES.items():
        studio.preferences.set(name, value)
    for kind in ("Dense", "Conv2D"):
        studio.palette.set_favourite(kind, True)
    studio.palette.used("Dropout")
    for _ in range(2):
        studio.quick_add.history.note("Conv2D", "MaxPooling2D")
    for command in ("view.go_to", "train.start"):
        window.history.note(command)
    first = _project(studio)
    window.show_canvas()
    _runs_and_exports(studio)
    _layouts(window)
    save_palette(studio.palette, studio.dirs.state / "palette.json")
    studio.quick_add.history.save()
    studio.document.apply("Unsaved", set_option(studio.document.state, first, "units", 77))
    _wait(2.5)
    sys.stdout.flush()
    os._exit(9)


if __name__ == "__main__":
    main()
