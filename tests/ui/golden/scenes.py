"""What golden pictures show: the window in its workspaces, each pane, what stands over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QListWidget, QWidget

from studio.session.core import entities
from studio.session.document.edits.layers import set_option
from studio.ui.shell.commands import command_palette
from studio.ui.shell.dialogs import key_sheet
from tests.ui.golden import example_project
from tests.ui.golden.camera import Camera
from tests.ui.golden.comparison import Pixels

WINDOW = (1600, 1000)
CANVAS = (1100, 640)

PANES: Mapping[str, tuple[int, int]] = {
    "palette": (260, 420),
    "outline": (280, 300),
    "inspector": (360, 640),
    "listing": (560, 560),
    "tensor_map": (900, 300),
    "tensor_view": (620, 460),
    "problems": (520, 180),
    "log": (640, 220),
    "plots": (620, 620),
    "runs": (460, 420),
    "sweeps": (460, 420),
    "data": (380, 640),
    "testing": (760, 620),
    "profiler": (560, 620),
}
"""Panes and the sizes they are taken in."""

Scene = tuple[str, Pixels]
_WEIGHTS_FORM = "Weights (safetensors)"


def scenes(camera: Camera, wanted: frozenset[str] | None = None) -> Iterator[Scene]:
    """Take the pictures one after another.

    Args:
        camera: of a window that is not shown yet.
        wanted: names of the pictures to take; all where it is None.
    """

    def wants(*names: str) -> bool:
        return wanted is None or not wanted.isdisjoint(names)

    camera.show(*WINDOW)
    if wants("welcome"):
        yield "welcome", _welcome(camera)
    _open(camera)
    for workspace in ("build", "train", "profile"):
        if wants(workspace):
            camera.studio.actions.trigger(f"workspace.{workspace}")
            yield workspace, camera.take()
    if wants("command_palette"):
        yield "command_palette", _command_palette(camera)
    if wants("key_sheet"):
        camera.window.ensure_canvas().setFocus()
        yield "key_sheet", _dialog(camera, key_sheet.show(camera.window, camera.studio.actions))
    if wants("export"):
        yield "export", _export(camera)
    for name, size in PANES.items():
        if wants(name):
            yield name, _pane(camera, name, size)
    if wants("canvas"):
        yield "canvas", _canvas(camera)


def _welcome(camera: Camera) -> Pixels:
    path = example_project.make(camera.scratch / "lately")
    camera.studio.recent.add(path, "digits-cnn")
    return camera.take()


def _open(camera: Camera) -> None:
    """Open the example project with everything that can be known of it."""
    studio, window = camera.studio, camera.window
    studio.open(example_project.make(camera.scratch))
    window.show_canvas()
    camera.until(lambda: studio.compilation.result)
    camera.until(lambda: len(studio.runs.runs) == 3 and not studio.runs.is_loading)
    studio.evaluation.test_run(studio.runs.runs[0].name)
    studio.profiling.start_dry_run()
    camera.until(lambda: studio.evaluation.status == "ready")
    camera.until(lambda: studio.profiling.measurement)
    studio.bus.select([entities.node("conv2")], source="")
    studio.bus.select([entities.tensor("conv2/kernel")], source="canvas")
    studio.bus.select([entities.node("conv2")], source="")


def _pane(camera: Camera, name: str, size: tuple[int, int]) -> Pixels:
    if name == "log":
        _write_log(camera)
    if name == "problems":
        return _problems(camera, size)
    return _floating(camera, name, size)


def _problems(camera: Camera, size: tuple[int, int]) -> Pixels:
    """One problem, which is mended again."""
    studio = camera.studio
    document, before = studio.document, studio.document.state
    wrong = set_option(before, "conv2", "padding", "valid")
    document.apply("a large window", set_option(wrong, "conv2", "kernel_size", [9, 9]))
    camera.until(lambda: studio.problems.items)
    taken = _floating(camera, "problems", size)
    document.apply("as it was", before)
    camera.until(lambda: not studio.problems.items and not studio.compilation.is_stale)
    return taken


def _floating(camera: Camera, name: str, size: tuple[int, int]) -> Pixels:
    dock = camera.window.docks[name]
    dock.ensure()
    dock.setFloating(True)
    dock.show()
    dock.resize(*size)
    camera.until(dock.isVisible)
    _leave(dock)
    taken = camera.take(dock)
    dock.hide()
    return taken


def _write_log(camera: Camera) -> None:
    """Lines as they come, with nothing in them that takes time."""
    log = camera.studio.log
    camera.work(0.1)
    log.clear()
    log.add("Opened digits-cnn")
    log.add("The graph is valid: 9 layers", "ok", "studio")
    log.add("A sample of class 3 is written like an 8", "warning", "data", "sample 214\nsample 981")
    log.add("conv2: expected 3 numbers, got 4", "error", "compiler", "kernel_size is 3 by 3")
    log.add("The training ended after 40 epochs", "ok", "training")
    camera.until(lambda: len(log.lines) == 5)


def _canvas(camera: Camera) -> Pixels:
    window, studio = camera.window, camera.studio
    studio.actions.trigger("workspace.build")
    window.set_focus_mode(True)
    camera.resize(*CANVAS)
    studio.actions.trigger("canvas.frame_all")
    canvas = window.ensure_canvas()
    taken = camera.take(canvas)
    window.set_focus_mode(False)
    return taken


def _command_palette(camera: Camera) -> Pixels:
    finder = command_palette.show(camera.window, camera.studio.actions, camera.window.history)
    finder.type("tra")
    taken = camera.take(finder)
    finder.close()
    return taken


def _export(camera: Camera) -> Pixels:
    camera.studio.actions.trigger("export.dialog")
    dialog = camera.window.findChild(QDialog, "export_dialog")
    # What the preview says of a program changes with the compiler; the folder is new each time.
    forms = dialog.findChild(QListWidget, "export_forms")
    (weights,) = forms.findItems(_WEIGHTS_FORM, Qt.MatchFlag.MatchExactly)
    forms.setCurrentItem(weights)
    camera.take(dialog)
    dialog.findChild(QLineEdit, "export_path").setText("digits-cnn.safetensors")
    return _dialog(camera, dialog)


def _dialog(camera: Camera, dialog: QDialog) -> Pixels:
    camera.until(dialog.isVisible)
    _leave(dialog)
    taken = camera.take(dialog)
    dialog.close()
    return taken


def _leave(widget: QWidget) -> None:
    """Take the keyboard out of a widget."""
    focused = QApplication.focusWidget()
    if focused is not None and widget.isAncestorOf(focused):
        focused.clearFocus()
