"""The panes of the window: what each is called, where it belongs, and where its code is."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from studio.ui.models.studio import Studio

Area: TypeAlias = Literal["left", "right", "bottom"]


@dataclass(frozen=True)
class PaneSpec:
    """One pane.

    Attributes:
        id: its name in layouts and actions.
        title: what its header says.
        icon: name of its icon.
        area: the side of the window it begins at.
        workspaces: where it is shown from the start.
        path: ``module:Class``; imported when the pane is first seen.
    """

    id: str
    title: str
    icon: str
    area: Area
    workspaces: tuple[str, ...]
    path: str

    def load(self) -> None:
        """Import its code; on any thread."""
        import_module(self.path.partition(":")[0])

    def make(self, studio: Studio, parent: QWidget | None = None) -> QWidget:
        """Make the pane's widget, at best where it is to stand: moving it styles all of it anew."""
        module, _, name = self.path.partition(":")
        made: QWidget = getattr(import_module(module), name)(studio, parent)
        return made


PANES: tuple[PaneSpec, ...] = (
    PaneSpec("palette", "Palette", "palette", "left", ("build",),
             "studio.graph_editor.view.palette_pane:PalettePane"),
    PaneSpec("outline", "Outline", "outline", "left", ("build", "profile"),
             "studio.graph_editor.view.outline_pane:OutlinePane"),
    PaneSpec("inspector", "Inspector", "inspector", "right", ("build", "profile"),
             "studio.ui.panes.inspector.pane:InspectorPane"),
    PaneSpec("listing", "Listing", "listing", "right", ("build", "profile"),
             "studio.instruction_view.view.listing_pane:ListingPane"),
    PaneSpec("tensor_map", "Tensor map", "tensor-map", "bottom", ("build", "profile"),
             "studio.instruction_view.view.tensor_map_pane:TensorMapPane"),
    PaneSpec("tensor_view", "Tensor", "tensor", "bottom", ("train",),
             "studio.ui.panes.tensor_view.pane:TensorViewPane"),
    PaneSpec("problems", "Problems", "problems", "bottom", ("build",),
             "studio.ui.panes.problems.pane:ProblemsPane"),
    PaneSpec("log", "Log", "log", "bottom", (), "studio.ui.panes.log.pane:LogPane"),
    PaneSpec("history", "History", "history", "bottom", (),
             "studio.graph_editor.view.history_pane:HistoryPane"),
    PaneSpec("plots", "Plots", "plots", "bottom", ("build", "train", "profile"),
             "studio.ui.panes.plots.pane:PlotsPane"),
    PaneSpec("runs", "Runs", "runs", "left", ("train",), "studio.ui.panes.runs.pane:RunsPane"),
    PaneSpec("data", "Data", "data", "left", ("build", "train"),
             "studio.ui.panes.data.pane:DataPane"),
    PaneSpec("testing", "Test", "testing", "right", ("train",),
             "studio.ui.panes.testing.pane:TestingPane"),
    PaneSpec("profiler", "Profiler", "profiler", "right", ("profile",),
             "studio.ui.panes.profiler.pane:ProfilerPane"),
)  # fmt: skip
"""Every pane, in the order of the View menu."""

TRANSPORT = "studio.ui.panes.transport.bar:TransportBar"
"""What stands in the middle of the toolbar, once there is one."""

PATH_BAR = "studio.instruction_view.view.path_bar:PathBar"
"""What stands under the toolbar, once there is one."""

CANVAS = "studio.graph_editor.view.canvas:CanvasView"
"""What stands in the middle."""
