"""Milliseconds a frame of the canvas takes: panning, zooming, dragging, hovering, searching.

A graph of 300 layers and 600 wires by default. Without a screen run it under ``xvfb-run``;
``QT_SCALE_FACTOR=2`` measures a screen of 200 %.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from benchmarks.timing import machine
from studio.engine.core.app_dirs import AppDirs
from studio.engine.layers.graph import Port
from studio.graph_editor.canvas.view import CanvasView
from studio.session.document.cards.geometry import COLUMN
from studio.session.document.document import Document
from studio.session.document.edits.layers import add_layer
from studio.session.document.state import DocumentState
from studio.session.studio import Studio
from studio.ui.shell.docks.panes import CANVAS, PANES, PATH_BAR, action_tables
from studio.widgets import theme
from studio.widgets.event_loop.scheduling import QtScheduler

ROWS = 10
FRAMES = 120
ROW_HEIGHT = 180.0

Step = Callable[[], object]


def lattice(columns: int) -> DocumentState:
    """Ten rows of convolutions, joined by threes in every other column: two wires a layer."""
    state = add_layer(DocumentState(), "Input", config={"shape": [32, 32, 4]}, at=(0.0, 0.0))
    before = ["input"] * ROWS
    for column in range(columns):
        made = []
        for row in range(ROWS):
            kind = "Conv2D" if column % 2 == 0 else "Concatenate"
            config = {"filters": 8, "kernel_size": [1, 1]} if kind == "Conv2D" else {}
            at = ((column + 1) * COLUMN, row * ROW_HEIGHT)
            state = add_layer(state, kind, at=at, config=config)
            node = list(state.nodes.values())[-1]
            sources = [before[row]]
            if kind == "Concatenate":
                sources += [before[(row + 1) % ROWS], before[(row + 3) % ROWS]]
            inputs = tuple(Port(each) for each in dict.fromkeys(sources))
            state = state.with_nodes([replace(node, inputs=inputs)])
            made.append(node.id)
        before = made
    return state


def frames(steps: Iterator[Step]) -> list[tuple[float, float]]:
    """Milliseconds of each step with the painting that follows: passed, and of this thread."""
    found = []
    for step in steps:
        start, worked = time.perf_counter(), time.thread_time()
        step()
        QApplication.sendPostedEvents()
        QApplication.processEvents()
        spent = time.thread_time() - worked
        found.append(((time.perf_counter() - start) * 1e3, spent * 1e3))
    return found


def panning(canvas: CanvasView) -> Iterator[Step]:
    """Steps of 24 pixels across the graph at 100 %."""
    canvas.navigation.zoom_to(1.0)
    for number in range(FRAMES):
        by = QPoint(-24, -8 if number % 40 < 20 else 8)
        yield lambda by=by: canvas.navigation.pan(by)


def zooming(canvas: CanvasView) -> Iterator[Step]:
    """The wheel from 10 % to 200 % and back, all of the canvas painted anew each time."""
    canvas.navigation.zoom_to(0.1)
    middle = QPointF(canvas.viewport().rect().center())
    for number in range(FRAMES):
        turn = 120 if number % 62 < 31 else -120
        yield lambda turn=turn: canvas.navigation.wheel(turn, middle)


def repainting(canvas: CanvasView, zoom: float) -> Iterator[Step]:
    """Everything in sight painted anew at one zoom."""
    canvas.show_all()
    canvas.navigation.zoom_to(zoom)
    for _ in range(FRAMES // 2):
        yield canvas.viewport().repaint


def dragging(canvas: CanvasView, node_id: str) -> Iterator[Step]:
    """One layer with its wires follows the pointer."""
    canvas.navigation.zoom_to(0.8)
    canvas.navigation.look_at(canvas.graph.area_of([node_id]).center())
    viewport = canvas.viewport()
    start = canvas.view_point(canvas.graph.area_of([node_id]).center())
    send(viewport, QEvent.Type.MouseButtonPress, start, down=True)
    for number in range(FRAMES):
        at = start + QPointF(8 + 2 * number, number)
        yield lambda at=at: send(viewport, QEvent.Type.MouseMove, at, down=True)
    send(viewport, QEvent.Type.MouseButtonRelease, at, down=False)


def hovering(canvas: CanvasView) -> Iterator[Step]:
    """The pointer goes across layers and wires."""
    canvas.show_all()
    canvas.navigation.zoom_to(0.6)
    viewport = canvas.viewport()
    for number in range(FRAMES):
        at = QPointF(20 + number * 8, 100 + (number * 37) % 500)
        yield lambda at=at: send(viewport, QEvent.Type.MouseMove, at, down=False)


def searching(canvas: CanvasView) -> Iterator[Step]:
    """The search field opens, a letter is typed, it closes."""
    canvas.context.bus.clear()
    for _ in range(20):
        yield lambda: canvas.studio.actions.trigger("canvas.quick_add")
        yield lambda: canvas.searches.popup.field.setText("con")
        canvas.searches.popup.close_search()


def laying_out(canvas: CanvasView) -> Iterator[Step]:
    """Everything is laid out for the canvas, and taken back."""
    for _ in range(5):
        yield lambda: canvas.studio.actions.trigger("graph.layout_all")
        canvas.studio.document.undo()


def send(viewport: QWidget, kind: QEvent.Type, at: QPointF, *, down: bool) -> None:
    """One event of the mouse."""
    none, left = Qt.MouseButton.NoButton, Qt.MouseButton.LeftButton
    button = none if kind == QEvent.Type.MouseMove else left
    where = QPointF(viewport.mapToGlobal(at.toPoint()))
    buttons = left if down else none
    event = QMouseEvent(kind, at, where, button, buttons, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(viewport, event)


def report(name: str, found: list[tuple[float, float]]) -> None:
    """One line of the table."""
    passed, worked = (sorted(column) for column in zip(*found, strict=True))
    late = min(len(found) - 1, int(len(found) * 0.95))
    numbers = (statistics.median(passed), passed[late], passed[-1], statistics.median(worked),
               worked[late])  # fmt: skip
    print(f"{name:<28}" + "".join(f"{each:>9.2f}" for each in numbers) + f"{len(found):>8}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, default=30, help="columns of ten layers")
    parser.add_argument("--size", default="1600x1000", help="size of the canvas")
    parser.add_argument("--theme", default="dark", choices=("dark", "light"))
    args = parser.parse_args()
    app = QApplication(sys.argv[:1])
    scheduler = QtScheduler()
    with tempfile.TemporaryDirectory() as folder:
        studio = Studio(scheduler, AppDirs.below(Path(folder)))
        studio.actions.declare(*action_tables((CANVAS, PATH_BAR, *PANES)))
        studio.theme.choose(args.theme)
        theme.install(app, studio.theme)
        theme.set_reduced_motion(True)
        state = lattice(args.columns)
        studio.replace(Document(state))
        canvas = CanvasView(studio)
        width, _, height = args.size.partition("x")
        canvas.resize(int(width), int(height))
        canvas.show()
        QTest.qWaitForWindowExposed(canvas)
        studio.compilation.follow(None)
        QTest.qWait(1000)
        print(" ".join(f"{key}: {value}" for key, value in machine().items()))
        layers, wires = len(state.nodes), sum(1 for _ in state.wires())
        ratio = canvas.devicePixelRatioF()
        print(f"{layers} layers, {wires} wires, canvas {args.size} at {ratio:.0%}, {args.theme}")
        heads = ("p50", "p95", "worst", "CPU p50", "CPU p95")
        print(f"{'milliseconds a frame':<28}" + "".join(f"{h:>9}" for h in heads) + "  frames")
        report("panning at 100 %", frames(panning(canvas)))
        report("zooming 10 % to 200 %", frames(zooming(canvas)))
        for zoom in (0.1, 0.2, 0.3, 0.5, 0.6, 1.0, 2.0):
            report(f"repaint at {zoom:.0%}", frames(repainting(canvas, zoom)))
        middle = list(state.nodes)[len(state.nodes) // 2]
        report("dragging a layer", frames(dragging(canvas, middle)))
        report("hovering", frames(hovering(canvas)))
        report("search opens and filters", frames(searching(canvas)))
        report("laying out everything", frames(laying_out(canvas)))
        canvas.close()
        studio.close()
    scheduler.close()


if __name__ == "__main__":
    main()
