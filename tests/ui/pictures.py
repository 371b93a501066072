"""Takes the pictures of the documentation from the real window.

python -m tests.ui.pictures docs/pictures [digits] [pairs] [imported]

Needs a display (``xvfb-run`` will do); trains projects on the processor for them: ``digits``, and
``pairs``, a network with two inputs, two outputs and a shared layer; ``imported`` is a model of
Keras. Without a name it takes all.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtCore import QEventLoop, QPoint, QTimer
from PySide6.QtGui import QCursor, QImage
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget

from studio.engine import Concatenate, Dense, Input, Model
from studio.engine.core.app_dirs import AppDirs
from studio.engine.formats.npz import save_npz
from studio.engine.layers.named_parameters import public_weights
from studio.engine.train.weights import initial_weights
from studio.samples import open_copy
from studio.session.core import entities
from studio.session.core.theme import Choice
from studio.session.document.arrange.layered import layout_level
from studio.session.document.edits.blocks import group
from studio.session.document.edits.sections import set_training
from studio.session.document.levels import all_blocks
from studio.session.studio import Studio
from studio.ui.panes.export.dialog import ExportDialog
from studio.ui.panes.importing.match_dialog import MatchDialog
from studio.ui.panes.importing.report_dialog import ImportDialog
from studio.ui.shell.docks.layout_store import LayoutStore
from studio.ui.shell.start.shared_context import prepare_sharing
from studio.ui.shell.window import MainWindow
from studio.widgets import theme
from studio.widgets.event_loop.scheduling import QtScheduler
from studio.widgets.forms.section import Section
from tests.recorded.keras.record_keras import unpacked

SIZE = (1600, 1000)
EPOCHS = 200
STEPS = 45
"""Of an epoch."""
_PANE = (460, 560)
"""Size of the data pane where it is taken alone."""


class Camera:
    """A window, and what it shows written into files.

    Args:
        folder: gets the files.
        scratch: an empty folder for the user's files.
        look: the theme.
        size: of the window.
    """

    def __init__(
        self, folder: Path, scratch: Path, look: Choice, size: tuple[int, int] = SIZE
    ) -> None:
        self.folder = folder
        self.scratch = scratch
        self.look = look
        self.scheduler = QtScheduler()
        self.studio = Studio(self.scheduler, AppDirs.below(scratch / look))
        self.studio.preferences.set("backend", "cpu")
        self.studio.theme.choose(look)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            theme.install(application, self.studio.theme)
        self.window = MainWindow(self.studio, LayoutStore(scratch / look / "layout"))
        self.window.resize(*size)
        self.window.show()
        self.wait(1.0)

    def wait(self, seconds: float) -> None:
        """Let the window work as for a person: its cost to a training is in the picture."""
        loop = QEventLoop()
        QTimer.singleShot(round(1000 * seconds), loop.quit)
        loop.exec()

    def until(self, wanted: Callable[[], object], seconds: float = 120) -> None:
        """Let the window work until something is so."""
        end = time.monotonic() + seconds
        while not wanted():
            if time.monotonic() > end:
                raise TimeoutError("the studio did not get there")
            self.wait(0.05)

    def take(self, name: str, widget: QWidget | None = None, after: float = 1.2) -> None:
        """Write what a widget shows, the window where none is given."""
        self.until(lambda: self.window.is_ready)
        self.wait(after)
        self.folder.mkdir(parents=True, exist_ok=True)
        picture = (widget or self.window).grab().toImage()
        small = picture.convertToFormat(QImage.Format.Format_RGB888)
        small.save(str(self.folder / f"{name}-{self.look}.png"))

    def close(self) -> None:
        """Put everything away."""
        self.studio.document.history.mark_clean()
        self.studio.training.close()
        self.window.close()
        self.studio.close()
        self.scheduler.close()


def digits(camera: Camera) -> None:
    """The window from its welcome page to the profiler, and the inside of a block."""
    studio, window = camera.studio, camera.window
    camera.take("welcome")
    studio.open(open_copy("digits-cnn", camera.scratch / camera.look))
    window.show_canvas()
    camera.until(lambda: studio.compilation.result)
    camera.wait(0.5)
    _train_longer(studio)
    studio.actions.trigger("canvas.frame_all")
    studio.bus.select([entities.node("conv2")], source="")
    camera.take("build")
    _take_blocks(camera)
    studio.actions.trigger("train.start")
    camera.until(lambda: studio.training.state == "running")
    studio.actions.trigger("workspace.train")
    studio.bus.select([entities.tensor("conv2/kernel")], source="")
    camera.until(lambda: studio.training.status.epoch >= 12)
    camera.take("train")
    studio.actions.trigger("workspace.profile")
    switched = studio.profiling.bar
    camera.until(lambda: studio.profiling.bar is not switched)
    settled = studio.profiling.measurement.samples
    camera.until(lambda: studio.profiling.measurement.samples >= settled + 20)
    camera.take("profile")
    studio.training.stop()
    camera.until(lambda: not studio.training.is_busy)


def pairs(camera: Camera) -> None:
    """Uses of a shared layer, data mapped to inputs and outputs, and losses of two outputs."""
    studio, window = camera.studio, camera.window
    folder = Path(tempfile.mkdtemp(dir=camera.scratch))
    write_pairs(folder / "pairs.npz")
    pair_model().save(folder / "pairs.glassbox")
    studio.open(folder / "pairs.glassbox")
    window.show_canvas()
    studio.data.attach_path(folder / "pairs.npz")
    camera.until(lambda: studio.data.status == "ready" and not studio.problems.items)
    studio.document.apply("Epochs", set_training(studio.document.state, {"epochs": 60}))
    camera.until(lambda: not studio.compilation.is_stale)
    studio.bus.select([entities.node("tower")], source="")
    studio.actions.trigger("canvas.frame_all")
    camera.take("shared")
    dock = window.docks.show("data")
    dock.setFloating(True)
    dock.resize(*_PANE)
    camera.take("mapping", dock)
    dock.setFloating(False)
    studio.bus.clear("")
    _take_losses(camera)
    studio.actions.trigger("train.start")
    camera.until(lambda: studio.training.state == "finished")
    studio.actions.trigger("workspace.train")
    studio.bus.select([entities.tensor("tower/kernel")], source="")
    camera.take("outputs")


def _take_losses(camera: Camera) -> None:
    """What the inspector says of each output, alone."""
    dock = camera.window.docks.show("inspector")
    dock.setFloating(True)
    dock.resize(*_PANE)
    camera.until(lambda: dock.findChildren(Section, "section_loss_and_metrics"))
    (section,) = dock.findChildren(Section, "section_loss_and_metrics")
    section.set_open(True)
    camera.wait(0.5)
    area = next(a for a in dock.findChildren(QScrollArea) if a.isAncestorOf(section))
    top = section.mapTo(area, QPoint(0, 0)).y()
    area.verticalScrollBar().setValue(area.verticalScrollBar().value() + top)
    camera.take("losses", dock)
    dock.setFloating(False)


def write_pairs(file: Path) -> None:
    """Two descriptions of each thing, its kind (of three) and its size."""
    rng = np.random.default_rng(5)
    left, right = rng.normal(size=(2, 600, 6)).astype(np.float32)
    kind = np.argmax(left[:, :3] + right[:, :3], axis=1)
    np.savez(file, left=left, right=right, kind=kind, size=left[:, :1] - right[:, 1:2])


def pair_model() -> Model:
    """The network that the user's guide builds."""
    left, right = Input((6,), name="left"), Input((6,), name="right")
    tower = Dense(16, "relu", name="tower")
    both = Concatenate(name="both")([tower(left), tower(right)])
    hidden = Dense(16, "relu", name="hidden")(both)
    kind, size = Dense(3, "softmax", name="kind")(hidden), Dense(1, name="size")(hidden)
    return Model([left, right], [kind, size], name="pairs")


def _take_blocks(camera: Camera) -> None:
    """The canvas inside a block, beside the outline; the project is left without blocks."""
    studio = camera.studio
    document, before = studio.document, studio.document.state
    state = group(before, ["conv1", "conv2", "pool", "dropout1"], "features")
    state = group(state, ["conv1", "conv2"], "convolutions")
    state = group(state, ["hidden", "dropout2", "digit"], "classifier")
    (features, *_others) = (node.id for node in all_blocks(state))
    document.apply("Blocks", layout_level(layout_level(state), features))
    camera.window.show_pane("outline")
    studio.bus.select([entities.node("pool")], source="")
    studio.actions.trigger("canvas.frame_all")
    camera.take("blocks")
    studio.bus.select([entities.node("conv2")], source="")
    document.apply("As it was", before)


def _train_longer(studio: Studio) -> None:
    """Long enough to come to rest after every change of workspace, at a rate that suits it."""
    document = studio.document
    rate = {"initial_learning_rate": 0.003, "decay_steps": EPOCHS * STEPS}
    config = {"learning_rate": {"type": "CosineDecay", "config": rate}}
    changes = {"epochs": EPOCHS, "optimizer": {"type": "Adam", "config": config}}
    document.apply("Train longer", set_training(document.state, changes))
    document.save()


def imported(camera: Camera) -> None:
    """A model that Keras has saved: its report, weights for it, and its export."""
    folder = Path(tempfile.mkdtemp(dir=camera.scratch))
    source = folder / "net.keras"
    source.write_bytes(unpacked()["3.15.1/net.keras"])
    window, shown = camera.window, ImportDialog.isVisible
    window.take_files([source])
    found = window.findChildren
    camera.until(lambda: any(shown(d) and not d.bar.isVisible() for d in found(ImportDialog)))
    (dialog,) = found(ImportDialog)
    # A pointer in the middle would mark a cell.
    QCursor.setPos(0, 0)
    camera.take("import", dialog)
    dialog.close()
    _take_match(camera, folder)
    _take_export(camera)


def _take_match(camera: Camera, folder: Path) -> None:
    """The table of weights for the same network under other names."""
    graph = camera.studio.document.project().graph
    given = public_weights(graph, initial_weights(graph, 3))
    first = next(iter(given)).split("/")[0]
    renamed = {re.sub(rf"^{first}/", "backbone/first/", k): v for k, v in given.items()}
    last = list(renamed)[-1]
    renamed[last] = np.zeros((3, *renamed[last].shape), np.float32)
    save_npz(folder / "others.npz", renamed)
    window, shown = camera.window, MatchDialog.isVisible
    window.documents.imports.take_weights(folder / "others.npz")
    found = window.findChildren
    camera.until(lambda: any(shown(d) for d in found(MatchDialog)))
    (dialog,) = (each for each in found(MatchDialog) if shown(each))
    camera.take("match", dialog)
    dialog.close()


def _take_export(camera: Camera) -> None:
    """The dialog of exports, before the file is written."""
    window, studio = camera.window, camera.studio
    studio.actions.trigger("export.dialog")
    (dialog,) = window.findChildren(ExportDialog)
    dialog.choose("safetensors")
    dialog.path.show_text("net.safetensors")
    camera.until(lambda: dialog.weights.isVisible() and not studio.tasks.running)
    camera.take("export", dialog)
    dialog.close()


PARTS = {"digits": digits, "pairs": pairs, "imported": imported}


def main(arguments: list[str]) -> int:
    """Take them all, dark and light."""
    folder = Path(arguments[0] if arguments else "docs/pictures")
    prepare_sharing()
    application = QApplication(["glassbox"])
    looks: tuple[Choice, ...] = ("dark", "light")
    with tempfile.TemporaryDirectory() as scratch:
        for look in looks:
            for name, part in PARTS.items():
                if name in (arguments[1:] or PARTS):
                    camera = Camera(folder, Path(scratch) / name, look)
                    part(camera)
                    camera.close()
    application.quit()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
