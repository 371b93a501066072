"""Takes pictures of every pane, dialog and menu in many states, for somebody to look at.

python -m tests.ui.survey FOLDER [--theme dark] [--size 1024x700] [--only PART ...]

Needs a display of the size, or ``xvfb-run -a -s "-screen 0 2560x1440x24"``; ``QT_SCALE_FACTOR=2``
gives 200 %. Unlike golden pictures nothing in them is held still and nothing compares them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QDialog,
    QHeaderView,
    QLineEdit,
    QListWidget,
    QMenu,
    QScrollArea,
    QTabWidget,
    QWidget,
)

from studio.engine.core.process_identity import ProcessIdentity
from studio.samples import open_copy
from studio.session.core import entities
from studio.session.document.edits.layers import add_layer, set_option
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sections import set_training
from studio.session.safety.journal import Journal, JournalOwner
from studio.ui.panes.data.pane import DataPane
from studio.ui.panes.testing.pane import TestingPane
from studio.ui.shell.commands.finder import Finder
from studio.ui.shell.dialogs import key_sheet
from studio.ui.shell.docks.dock import Dock
from studio.ui.shell.docks.panes import PANES
from studio.ui.shell.docks.workspaces import WORKSPACES
from studio.ui.shell.start.shared_context import prepare_sharing
from tests.session.data.files import write_table
from tests.ui.pictures import Camera

_ENDED = ProcessIdentity(2**22 + 1, "long ago")
"""A process that is not running: no system gives such a number."""

_HUGE = 3e38
"""A learning rate that a single step gives weights beyond float32 by."""

_SEVEN = ((0.35, 0.25), (0.65, 0.25), (0.6, 0.4), (0.5, 0.6), (0.45, 0.85))
_DATA = (360, 640)


def open_sample(camera: Camera, sample: str, epochs: int = 0) -> None:
    """Open a sample project, with so many epochs where some are given."""
    studio = camera.studio
    studio.document.history.mark_clean()
    studio.open(open_copy(sample, Path(tempfile.mkdtemp(dir=camera.scratch))))
    camera.window.show_canvas()
    if epochs:
        studio.document.apply("Epochs", set_training(studio.document.state, {"epochs": epochs}))
    camera.until(lambda: studio.compilation.result and not studio.compilation.is_stale)


def show(camera: Camera, pane: str) -> Dock:
    """A pane in front, where it stands in the window."""
    dock = camera.window.docks.show(pane)
    dock.ensure()
    return dock


def shoot(camera: Camera, panes: tuple[str, ...], state: str) -> None:
    """Take panes in front, where they stand in the window."""
    for pane in panes:
        camera.take(f"{pane}-{state}", show(camera, pane), 0.4)


def empty(camera: Camera) -> None:
    """The welcome page, and every pane of an empty project."""
    camera.take("welcome")
    camera.studio.new()
    camera.window.show_canvas()
    camera.take("window-empty")
    shoot(camera, tuple(pane.id for pane in PANES), "empty")
    camera.studio.actions.trigger("workspace.reset")


def build(camera: Camera) -> None:
    """What is known of a network before it is trained."""
    studio = camera.studio
    open_sample(camera, "digits-resnet")
    shoot(camera, ("outline", "listing", "tensor_map"), "resnet")
    open_sample(camera, "digits-cnn")
    camera.take("window-build")
    shoot(camera, ("palette", "outline", "inspector", "data", "plots", "log"), "build")
    studio.bus.select([entities.node("conv1"), entities.node("conv2")], source="")
    shoot(camera, ("inspector",), "several")
    studio.bus.select([entities.node("conv2")], source="")
    shoot(camera, ("inspector", "tensor_map"), "selected")
    for view in ("level_layers", "level_instructions", "level_kernels", "passes"):
        studio.actions.trigger(f"listing.{view}")
        shoot(camera, ("listing",), view)
    studio.actions.trigger("listing.level_instructions")
    before = studio.document.state
    wrong = set_option(before, "conv2", "padding", "valid")
    studio.document.apply("A large window", set_option(wrong, "conv2", "kernel_size", [9, 9]))
    camera.until(lambda: studio.problems.items)
    studio.actions.trigger("canvas.frame_all")
    camera.take("window-error")
    shoot(camera, ("problems", "inspector", "listing", "tensor_map", "outline"), "error")
    shoot(camera, ("history",), "build")


def training(camera: Camera) -> None:
    """A training under way, paused and ended."""
    studio = camera.studio
    open_sample(camera, "digits-cnn", epochs=900)
    studio.actions.trigger("workspace.train")
    studio.actions.trigger("train.start")
    studio.bus.select([entities.tensor("conv2/kernel")], source="")
    camera.until(lambda: studio.training.status.epoch >= 3)
    camera.take("window-train")
    shoot(camera, ("tensor_view", "plots", "runs", "testing"), "running")
    studio.actions.trigger("workspace.profile")
    camera.until(lambda: studio.profiling.measurement)
    camera.take("window-profile")
    tabs = show(camera, "profiler").findChild(QTabWidget, "profiler_tabs")
    for number in range(tabs.count()):
        tabs.setCurrentIndex(number)
        shoot(camera, ("profiler",), tabs.tabText(number).lower())
    studio.actions.trigger("profiler.freeze")
    shoot(camera, ("profiler",), "frozen")
    studio.actions.trigger("workspace.train")
    for tensor in ("conv2/output", "conv2/kernel.grad", "conv2/bias"):
        studio.bus.select([entities.tensor(tensor)], source="")
        shoot(camera, ("tensor_view",), tensor.replace("/", "-"))
    studio.actions.trigger("train.pause")
    camera.until(lambda: studio.training.state == "paused")
    camera.take("transport-paused", camera.window.top_bar)
    studio.actions.trigger("train.stop")
    camera.until(lambda: studio.evaluation.results is not None)
    camera.take("window-trained")
    _test_page(camera)


def _test_page(camera: Camera) -> None:
    dock = show(camera, "testing")
    camera.until(lambda: dock.pane is not None)
    pane = dock.pane
    if not isinstance(pane, TestingPane):
        raise TypeError("the test page is another pane")
    tabs = pane.findChild(QTabWidget, "testing_tabs")
    for number in range(tabs.count()):
        tabs.setCurrentIndex(number)
        shoot(camera, ("testing",), tabs.tabText(number).lower())
    sheet = pane.ask.draw
    area = sheet.area()
    places = [
        QPointF(area.left() + x * area.width(), area.top() + y * area.height()).toPoint()
        for x, y in _SEVEN
    ]
    QTest.mousePress(sheet, Qt.MouseButton.LeftButton, pos=places[0])
    for place in places[1:]:
        QTest.mouseMove(sheet, place)
        camera.wait(0.05)
    QTest.mouseRelease(sheet, Qt.MouseButton.LeftButton, pos=places[-1])
    shoot(camera, ("testing",), "drawn")


def workspaces(camera: Camera) -> None:
    """The window in every workspace, during a training and after it."""
    studio = camera.studio
    open_sample(camera, "digits-cnn", epochs=900)
    studio.actions.trigger("train.start")
    camera.until(lambda: studio.training.status.epoch >= 2)
    for workspace in WORKSPACES:
        studio.actions.trigger(f"workspace.{workspace}")
        camera.take(f"workspace-{workspace}-running", None, 2.0)
    studio.actions.trigger("train.stop")
    camera.until(lambda: studio.evaluation.results is not None)
    for workspace in WORKSPACES:
        studio.actions.trigger(f"workspace.{workspace}")
        camera.take(f"workspace-{workspace}-trained")


def marks(camera: Camera) -> None:
    """Weights that are infinite and no numbers, beside some that are."""
    studio = camera.studio
    open_sample(camera, "digits-cnn", epochs=900)
    tolerant = set_training(studio.document.state, {"stop_on_nan": False})
    studio.document.apply("Go on", tolerant)
    camera.until(lambda: not studio.compilation.is_stale)
    studio.actions.trigger("workspace.train")
    studio.actions.trigger("train.start")
    camera.until(lambda: studio.training.status.epoch >= 2)
    studio.actions.trigger("train.pause")
    camera.until(lambda: studio.training.state == "paused")
    studio.training.set_learning_rate(_HUGE)
    for number, tensor in enumerate(("conv1/kernel", "conv1/output", "conv2/output", "conv2/bias")):
        studio.bus.select([entities.tensor(tensor)], source="")
        camera.wait(0.5)
        done = studio.training.status.steps
        studio.actions.trigger("train.step_batch")
        camera.until(lambda done=done: studio.training.status.steps > done)
        shoot(camera, ("tensor_view",), f"marks-{number}-{tensor.replace('/', '-')}")
    camera.take("window-marks")
    shoot(camera, ("plots", "log"), "marks")
    studio.actions.trigger("train.stop")
    camera.until(lambda: not studio.training.is_busy)


def recovery(camera: Camera) -> None:
    """Work of a window that crashed: on the welcome page, and compared with its file."""
    studio = camera.studio
    open_sample(camera, "digits-cnn")
    before = studio.document.state
    state = set_option(add_layer(delete(before, ["dropout1"]), "Flatten"), "conv1", "filters", 24)
    state = set_training(state, {"epochs": 12})
    owner = JournalOwner("c" * 32, studio.document.path, _ENDED)
    journal = Journal(camera.scratch / camera.look / "state" / "journals" / "c-0001.journal", owner)
    journal.append(before, "")
    journal.append(state, "Change epochs")
    journal.close()
    studio.recovery.look()
    camera.until(lambda: studio.recovery.sessions)
    camera.window.show_welcome()
    camera.take("welcome-recovered")
    (session,) = studio.recovery.sessions
    camera.window.documents.compare_recovered(session)
    for dialog in camera.window.findChildren(QDialog):
        if dialog.isVisible():
            camera.take("dialog-recovery", dialog)
            dialog.close()
    studio.recovery.discard(session)


def menus(camera: Camera) -> None:
    """The menus of what is under the pointer."""
    studio = camera.studio
    open_sample(camera, "digits-cnn", epochs=3)
    studio.actions.trigger("train.start")
    camera.until(lambda: studio.evaluation.results is not None)
    studio.bus.select([entities.node("conv2")], source="")
    for pane, name in (
        ("palette", "palette_tree"), ("outline", "outline_tree"), ("runs", "run_table"),
        ("tensor_map", "tensor_map.table"), ("plots", "plot.loss"), ("log", "log_lines"),
        ("tensor_view", "tensor_picture"), ("listing", ""),
    ):  # fmt: skip
        for number, widget in enumerate(_asked(show(camera, pane), name)):
            camera.wait(0.3)
            _ask(camera, f"menu-{pane}-{number}", widget, widget.rect().center())
            if number == 0 and isinstance(widget.parentWidget(), QAbstractScrollArea):
                _ask(camera, f"menu-{pane}-row", widget, QPoint(60, 14))
    canvas = camera.window.ensure_canvas()
    _ask(camera, "menu-canvas", canvas.viewport(), QPoint(20, 20))
    layer = canvas.view_point(canvas.graph.area_of(["conv2"]).center()).toPoint()
    _ask(camera, "menu-canvas-layer", canvas.viewport(), layer)


def _asked(dock: Dock, name: str) -> Iterator[QWidget]:
    """What can be asked in a pane: its main part, and the heading of a table."""
    found = dock.findChildren(QWidget, name) if name else dock.findChildren(QAbstractScrollArea)
    for widget in found:
        if widget.isVisible() and not isinstance(widget, QHeaderView):
            area = isinstance(widget, QAbstractScrollArea)
            yield widget.viewport() if area else widget
    for header in dock.findChildren(QHeaderView):
        if header.isVisible() and header.orientation() is Qt.Orientation.Horizontal:
            yield header.viewport()


def _ask(camera: Camera, name: str, widget: QWidget, place: QPoint) -> None:
    """Click with the right button, as a window system does: it sends the question beside."""
    QTest.mousePress(widget, Qt.MouseButton.RightButton, pos=place)
    reason = QContextMenuEvent.Reason.Mouse
    event = QContextMenuEvent(reason, place, widget.mapToGlobal(place))
    QApplication.sendEvent(widget, event)
    if QApplication.activePopupWidget() is None:
        QTest.mouseRelease(widget, Qt.MouseButton.RightButton, pos=place)
    _popup(camera, name)


def runs(camera: Camera) -> None:
    """Several runs, and the export of one with its check."""
    studio = camera.studio
    open_sample(camera, "spirals")
    studio.actions.trigger("workspace.train")
    for seed in range(3):
        changed = set_training(studio.document.state, {"seed": seed, "epochs": 12})
        studio.document.apply("Seed", changed)
        camera.until(lambda: not studio.compilation.is_stale)
        studio.actions.trigger("train.start")
        camera.until(lambda seed=seed: len(studio.runs.runs) > seed)
        camera.until(lambda: not studio.training.is_busy)
    for run in studio.runs.runs:
        studio.runs.overlay.choose(run.name, True)
    shoot(camera, ("plots", "runs", "testing"), "three")
    studio.actions.trigger("export.dialog")
    dialog = camera.window.findChild(QDialog, "export_dialog")
    forms = dialog.findChild(QListWidget, "export_forms")
    for row in range(forms.count()):
        forms.setCurrentRow(row)
        camera.take(f"export-{row}", dialog)
    forms.setCurrentRow(0)
    dialog.export()
    camera.take("export-running", dialog, 0.1)
    camera.until(lambda: studio.exporting.task is None)
    camera.take("export-check", dialog)
    dialog.close()


def data(camera: Camera) -> None:
    """The data pane from top to bottom, with tables, pictures, points and a file with problems."""
    camera.studio.actions.trigger("workspace.train")
    dock = show(camera, "data")
    dock.setFloating(True)
    dock.resize(*_DATA)
    for sample in ("iris", "digits-cnn", "spirals"):
        open_sample(camera, sample)
        _scrolled(camera, dock, sample)
    good = write_table(camera.scratch)
    lines = good.read_text("utf-8").splitlines()
    lines[5], lines[9] = "house,many,12", lines[9] + ",more"
    bad = camera.scratch / "bad.csv"
    bad.write_text("\n".join(lines), "utf-8")
    pane = dock.pane
    if isinstance(pane, DataPane):
        for path in (bad, good):
            camera.studio.new()
            camera.window.show_canvas()
            pane.attaching.attach(path)
            camera.wait(1.5)
            _scrolled(camera, dock, path.stem)
    dock.setFloating(False)


def _scrolled(camera: Camera, dock: Dock, name: str) -> None:
    bar = dock.findChild(QScrollArea).verticalScrollBar()
    for page in range(4):
        camera.take(f"data-{name}-{page}", dock, 0.4)
        if bar.value() >= bar.maximum():
            break
        bar.setValue(bar.value() + bar.pageStep())
    bar.setValue(0)


def dialogs(camera: Camera) -> None:
    """What stands over the window: finders, dialogs, notices, menus."""
    studio, window = camera.studio, camera.window
    open_sample(camera, "digits-cnn")
    for name, action, typed in (
        ("palette", "view.command_palette", "tra"), ("go-to", "view.go_to", "conv"),
    ):  # fmt: skip
        studio.actions.trigger(action)
        _search(camera, window.findChildren(Finder)[-1], name, typed)
    window.ensure_canvas().setFocus()
    _dialog(camera, "keys", lambda: key_sheet.show(window, studio.actions))
    for action in ("file.preferences", "help.about", "help.guide"):
        _dialog(camera, action, lambda action=action: studio.actions.trigger(action))
    studio.notify("Wrote digits-cnn.safetensors", "ok", ("Show", lambda: None), "/home/me/out")
    studio.notify("Tensors are drawn from copies: the device lent no context", "warning")
    studio.notify("conv2: expected 3 numbers, got 4", "error", None, "kernel_size is 3 by 3")
    camera.take("window-notices")
    for action in ("window.notices", "window.tasks"):
        studio.actions.trigger(action)
        _popup(camera, action)
    for entry in window.menuBar().actions():
        menu = QMenu.menuInAction(entry)
        menu.popup(window.pos())
        _popup(camera, f"menu-{entry.text().replace('&', '')}")
    studio.actions.trigger("canvas.find")
    QTest.keyClicks(window.findChild(QLineEdit, "find_field"), "conv")
    camera.take("canvas-find", window.ensure_canvas())
    studio.actions.trigger("canvas.quick_add")
    QTest.keyClicks(window.findChild(QLineEdit, "quick_add_field"), "conv 32 > relu > pool")
    camera.take("canvas-typed-net", window.ensure_canvas())


def _search(camera: Camera, finder: Finder, name: str, typed: str) -> None:
    finder.type(typed)
    camera.take(f"finder-{name}", finder)
    finder.close()


def _dialog(camera: Camera, name: str, opened: Callable[[], object]) -> None:
    opened()
    for dialog in camera.window.findChildren(QDialog):
        if dialog.isVisible():
            camera.take(f"dialog-{name}", dialog)
            dialog.close()


def _popup(camera: Camera, name: str) -> None:
    popup: QWidget | None = QApplication.activePopupWidget()
    if popup is not None:
        camera.take(f"popup-{name}", popup, 0.4)
        popup.close()


PARTS = (empty, build, training, workspaces, marks, runs, data, dialogs, menus, recovery)


def main(words: list[str]) -> int:
    """Take the parts that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.ui.survey")
    parser.add_argument("folder", type=Path, help="gets the pictures")
    parser.add_argument("--theme", choices=("dark", "light"), default="dark")
    parser.add_argument("--size", default="1024x700", help="of the window, before it is scaled")
    parser.add_argument("--only", nargs="+", choices=[part.__name__ for part in PARTS])
    asked = parser.parse_args(words)
    width, height = map(int, asked.size.split("x"))
    prepare_sharing()
    application = QApplication(["glassbox"])
    with tempfile.TemporaryDirectory() as scratch:
        camera = Camera(asked.folder, Path(scratch), asked.theme, (width, height))
        for part in PARTS:
            if not asked.only or part.__name__ in asked.only:
                part(camera)
        camera.close()
    application.quit()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
