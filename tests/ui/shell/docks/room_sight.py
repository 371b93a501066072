"""How much of each pane is seen, read from its widgets; alone a process of some scale prints it.

python -m tests.ui.shell.docks.room_sight PROJECT WIDTHxHEIGHT

opens a project in a window of a process of its own (``QT_SCALE_FACTOR`` gives the scale) and writes
what is seen in every workspace, as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QApplication, QTableView, QToolBar, QWidget

from studio.instruction_view.listing.pane import ListingPane
from studio.instruction_view.tensor_map.pane import TensorMapPane
from studio.ui.panes.inspector.training_pane import TrainingPane
from studio.ui.panes.plots.pane import PlotsPane
from studio.ui.panes.profiler.pane import ProfilerPane
from studio.ui.panes.runs.pane import RunsPane
from studio.ui.panes.testing.pane import TestingPane
from studio.ui.shell.docks.workspaces import WORKSPACES
from studio.widgets.frames.frame import PaneFrame
from studio.widgets.labels.elided_label import ElidedLabel

if TYPE_CHECKING:
    from studio.ui.shell.window import MainWindow

Seen = dict[str, Any]

LISTED = ("row", "instruction", "shape", "layers")
SETTINGS = ("Epochs", "Batch size", "Optimiser", "Learning rate", "Decay steps", "Validation")
"""Of a network whose learning rate has a schedule."""


def whole_rows(table: QTableView) -> int:
    """How many rows there is room for."""
    return table.viewport().height() // table.verticalHeader().defaultSectionSize()


def whole_columns(table: QTableView) -> set[str]:
    """Keys of the columns that are in sight from edge to edge."""
    header, width = table.horizontalHeader(), table.viewport().width()
    found = set()
    for place, column in enumerate(table.entries.columns):  # type: ignore[attr-defined]
        left = header.sectionViewportPosition(place)
        if not header.isSectionHidden(place) and 0 <= left <= width - header.sectionSize(place):
            found.add(column.key)
    return found


def seen(window: MainWindow) -> Seen:
    """What is seen in the workspace that is shown."""
    docks = window.docks
    fronts = {name: d for name, d in docks.all.items() if docks.is_in_front(d)}
    found: Seen = {"fronts": sorted(fronts), "canvas": _size(window.centralWidget())}
    for name, dock in fronts.items():
        read = _READERS.get(name)
        if read is not None and isinstance(dock.pane, PaneFrame) and not dock.pane.is_empty:
            found[name] = read(dock.pane)
    found["empty"] = {
        name: dock.width() * dock.height() / (window.width() * window.height())
        for name, dock in fronts.items()
        if isinstance(dock.pane, PaneFrame) and dock.pane.is_empty
    }
    found["places"] = {name: _place(window, dock).getRect() for name, dock in fronts.items()}
    found["outside"] = outside(window)
    return found


def outside(window: MainWindow) -> list[str]:
    """What of the window lies off its screen, or over another part of it."""
    parts: dict[str, QRect] = {
        each.objectName() or type(each).__name__: _place(window, each)
        for each in (window.centralWidget(), window.statusBar(), window.menuBar())
    }
    for bar in window.findChildren(QToolBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
        parts[bar.objectName()] = _place(window, bar)
    for name, dock in window.docks.all.items():
        if window.docks.is_in_front(dock):
            parts[name] = _place(window, dock)
    screen = window.screen().geometry()
    found = [
        name
        for name, place in parts.items()
        if not screen.contains(place.translated(window.mapToGlobal(QPoint(0, 0))))
    ]
    listed = list(parts.items())
    for number, (name, place) in enumerate(listed):
        found += [f"{name} over {o}" for o, p in listed[number + 1 :] if place.intersects(p)]
    return found


def _place(window: MainWindow, widget: QWidget) -> QRect:
    return QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())


def _size(widget: QWidget) -> tuple[int, int]:
    return widget.width(), widget.height()


def _listing(pane: ListingPane) -> Seen:
    return {"rows": whole_rows(pane.view), "columns": sorted(whole_columns(pane.view))}


def _tensor_map(pane: TensorMapPane) -> Seen:
    return {"picture": _size(pane.picture)}


def _profiler(pane: ProfilerPane) -> Seen:
    return {"rows": whole_rows(pane.table) if pane.table.isVisible() else 0}


def _matrix(pane: TestingPane) -> Seen:
    """Whether a line of text has room beside each row of cells."""
    view = pane.matrix.matrix
    names = view.counts.shape[0] if view.counts is not None else 0
    first, last = view.cell_rect((0, 0)), view.cell_rect((names - 1, names - 1))
    high = QFontMetricsF(view.font()).height() - 3
    inside = view.visibleRegion().boundingRect().contains(last.toAlignedRect())
    # Labels have a column and a row of their own beside the title of each axis.
    labelled = first.left() > 24 and first.top() > 24
    return {"labelled": names > 1 and labelled and inside and last.height() >= high}


def _runs(pane: RunsPane) -> Seen:
    return {"rows": whole_rows(pane.table), "columns": sorted(whole_columns(pane.table))}


def _plots(pane: PlotsPane) -> Seen:
    return {
        "heights": [plot.viewport().visibleRegion().boundingRect().height() for plot in pane.plots]
    }


def _training(pane: TrainingPane) -> Seen:
    labels = [label for label in pane.findChildren(ElidedLabel) if label.isVisibleTo(pane)]
    return {"settings": [each.whole for each in labels if each.text() == each.whole]}


_READERS: dict[str, Callable[[Any], Seen]] = {
    "listing": _listing,
    "tensor_map": _tensor_map,
    "profiler": _profiler,
    "testing": _matrix,
    "runs": _runs,
    "plots": _plots,
    "training": _training,
}


class Alone:
    """A window in a process of its own, worked by hand.

    Args:
        folder: for the user's files.
        size: of the window.
    """

    def __init__(self, folder: Path, size: QSize) -> None:
        from studio.engine.core.app_dirs import AppDirs
        from studio.session.studio import Studio
        from studio.ui.shell.docks.layout_store import LayoutStore
        from studio.ui.shell.window import MainWindow
        from studio.widgets import theme
        from studio.widgets.event_loop.scheduling import QtScheduler

        self.scheduler = QtScheduler()
        self.studio = Studio(self.scheduler, AppDirs.below(folder))
        self.studio.preferences.set("backend", "cpu")
        theme.install(QApplication.instance(), self.studio.theme)  # type: ignore[arg-type]
        self.window = MainWindow(self.studio, LayoutStore(folder / "layout"))
        self.window.resize(size)

    def until(self, wanted: Callable[[], object], patience: float = 240) -> None:
        end = time.monotonic() + patience
        while not wanted():
            if time.monotonic() > end:
                raise TimeoutError("the window did not get there")
            QApplication.processEvents()
            time.sleep(0.005)

    def close(self) -> None:
        self.studio.document.history.mark_clean()
        self.studio.training.close()
        self.window.close()
        self.studio.close()
        self.scheduler.close()


def settle(window: MainWindow, until: Callable[[Callable[[], object]], object]) -> None:
    """Wait until every pane in sight is made and stands where it stays."""
    studio = window.studio
    until(lambda: window.is_ready and not studio.compilation.is_compiling)
    until(lambda: not studio.tasks.running)
    before: list[object] = []

    def still() -> bool:
        now = [(n, d.geometry(), d.isVisible()) for n, d in window.docks.all.items()]
        before.append(now)
        is_still = len(before) > 20 and all(each == now for each in before[-20:])
        return is_still and not window.docks.is_settling

    until(still)


def look_around(
    window: MainWindow, until: Callable[[Callable[[], object]], object]
) -> dict[str, Seen]:
    """What is seen in every workspace; the first one is shown again at the end."""
    found = {}
    for name in WORKSPACES:
        window.studio.actions.trigger(f"workspace.{name}")
        settle(window, until)
        found[name] = seen(window)
    window.studio.actions.trigger("workspace.build")
    settle(window, until)
    return found


def train(window: MainWindow, until: Callable[[Callable[[], object]], object]) -> None:
    """Train the network, and wait for everything that is known of it then."""
    studio = window.studio
    until(lambda: studio.compilation.result is not None and not studio.compilation.is_stale)
    studio.actions.trigger("train.start")
    until(lambda: studio.runs.runs)
    until(lambda: not studio.training.is_busy)
    until(lambda: studio.evaluation.results is not None)
    if studio.profiling.measurement is None:
        studio.actions.trigger("profiler.dry_run")
    until(lambda: studio.profiling.measurement is not None)
    # Wait with the settling until the last of it is shown.
    until(lambda: not studio.tasks.running)
    # In a small window the curves stand in front of the listing since the training began.
    if window.docks.workspace == "build" and not window.docks.is_in_front(window.docks["listing"]):
        window.docks.show("listing")
        window.docks.focus_middle()


def main(arguments: list[str]) -> int:
    """Write what is seen before and after a training."""
    project, (wide, high) = Path(arguments[0]), map(int, arguments[1].split("x"))
    application = QApplication(["glassbox"])
    with tempfile.TemporaryDirectory() as scratch:
        alone = Alone(Path(scratch), QSize(wide, high))
        alone.studio.open(project)
        alone.window.show_canvas()
        alone.window.show()
        alone.until(lambda: alone.studio.compilation.shown is not None)
        before = look_around(alone.window, alone.until)
        train(alone.window, alone.until)
        after = look_around(alone.window, alone.until)
        size, ratio = alone.window.size().toTuple(), alone.window.devicePixelRatioF()
        alone.close()
    application.quit()
    told = json.dumps({"before": before, "after": after, "size": size, "ratio": ratio})
    sys.stdout.write(f"{told}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
