"""How long a hover, a selection and a compile take until every linked view has painted.

Run it under an X server: ``xvfb-run -a python -m benchmarks.linking``. The budget is 50 ms at the
95th percentile for a hover that all views show, on a program as large as that of a deep network.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QApplication, QWidget

from studio.engine.core.app_dirs import AppDirs
from studio.engine.layers.catalog import layer_class
from studio.engine.layers.graph import LayerGraph
from studio.engine.train.project.project import Project
from studio.graph_editor.canvas.view import CanvasView
from studio.graph_editor.panes.outline import OutlinePane
from studio.instruction_view.listing.pane import ListingPane
from studio.instruction_view.path_bar.bar import PathBar
from studio.instruction_view.tensor_map.pane import TensorMapPane
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.document.document import Document
from studio.session.studio import Studio
from studio.ui.shell.docks.panes import CANVAS, PANES, PATH_BAR, action_tables
from studio.widgets import theme
from studio.widgets.event_loop.scheduling import QtScheduler

HOVERS = 1000
SELECTIONS = 200


def deep_project(blocks: int) -> Project:
    """A residual network of many blocks on the digits."""
    graph = LayerGraph("deep")
    x = graph.add(layer_class("Input")((8, 8, 1)))
    x = graph.add(layer_class("Conv2D")(8, 3, padding="same"), x)
    for _ in range(blocks):
        before = x
        x = graph.add(layer_class("Conv2D")(8, 3, padding="same", use_bias=False), x)
        x = graph.add(layer_class("BatchNormalization")(), x)
        x = graph.add(layer_class("Add")(), before, x)
        x = graph.add(layer_class("Activation")("relu"), x)
    x = graph.add(layer_class("GlobalAveragePooling2D")(), x)
    graph.outputs = (graph.add(layer_class("Dense")(10, "softmax"), x),)
    return Project.new("deep", graph, {"source": "digits", "normalization": "unit"})


class Bench:
    """The program's views over one studio."""

    def __init__(self, app: QApplication, project: Project) -> None:
        self.app = app
        self.scheduler = QtScheduler()
        self.studio = Studio(self.scheduler, AppDirs.below(Path(tempfile.mkdtemp())))
        self.studio.actions.declare(*action_tables((CANVAS, PATH_BAR, *PANES)))
        theme.install(app, self.studio.theme)
        self.studio.replace(Document.of_project(project))
        self.settle()
        kinds = (CanvasView, OutlinePane, ListingPane, TensorMapPane, PathBar)
        sizes = ((1000, 700), (240, 700), (620, 900), (1200, 320), (1200, 28))
        self.views: list[QWidget] = [kind(self.studio) for kind in kinds]
        for view, size in zip(self.views, sizes, strict=True):
            view.resize(*size)
            view.show()
        self.settle()

    def settle(self) -> None:
        """Until nothing is left to do."""
        while self.studio.compilation.is_compiling or self.studio.tasks.running:
            self.app.processEvents()
            time.sleep(0.002)
        self.app.processEvents()

    def timed(self, work: Callable[[], object]) -> float:
        """Milliseconds until the work is done and every view has painted."""
        began = time.perf_counter()
        work()
        self.app.processEvents()
        return (time.perf_counter() - began) * 1e3

    def things(self) -> list[Entity]:
        """Everything that can be pointed at."""
        provenance = self.studio.compilation.provenance
        lines = [entities.instruction(provenance.key_of(i)) for i in range(len(provenance))]
        tensors = [entities.tensor(t.name) for t in provenance.program.tensors.values()]
        nodes = [entities.node(n) for n in self.studio.document.state.nodes]
        return [*lines, *tensors, *nodes]

    def close(self) -> None:
        """End everything."""
        for view in self.views:
            view.close()
        self.studio.close()
        self.scheduler.close()


def spread(times: list[float]) -> str:
    """Median, 95th percentile and worst."""
    ordered = sorted(times)
    p95 = ordered[int(0.95 * (len(ordered) - 1))]
    return f"median {ordered[len(ordered) // 2]:6.2f}  p95 {p95:6.2f}  worst {ordered[-1]:6.2f} ms"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=60, help="residual blocks of the network")
    options = parser.parse_args()
    app = QApplication(sys.argv[:1])
    bench = Bench(app, deep_project(options.blocks))
    random.seed(1)
    things, bus = bench.things(), bench.studio.bus
    rows = len(bench.studio.compilation.provenance)
    print(f"{rows} instructions, {len(things)} things to point at")
    print(f"compile   {bench.studio.compilation.result.took_ms:8.1f} ms")
    hovers = [bench.timed(lambda: bus.hover(random.choice(things), "x")) for _ in range(HOVERS)]
    print("hover    ", spread(hovers))
    chosen = [
        bench.timed(lambda: bus.select([random.choice(things)], source="x"))
        for _ in range(SELECTIONS)
    ]
    print("select   ", spread(chosen))
    bench.close()


if __name__ == "__main__":
    main()
