"""The panes of the window, one row each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args

from studio.ui.shell.docks.workspaces import WORKSPACES, Workspace
from studio.widgets.icon_files import is_icon

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from studio.engine.core.signal import Signal
    from studio.session.core.action_table import ActionTable
    from studio.session.studio import Studio

Side: TypeAlias = Literal["left", "right", "bottom"]


class Place(NamedTuple):
    """Where a pane begins in a workspace.

    Attributes:
        side: of the window.
        column: which column of tabs, the outermost or topmost being 0.
        tab: its place among the tabs of the column; the first that is shown is in front.
        shown: whether it is open from the start.
        urgent: whether it comes in front of all others of its column when it has something to show.
    """

    side: Side
    column: int = 0
    tab: int = 100
    shown: bool = True
    urgent: bool = False


class Room(NamedTuple):
    """Pixels a pane needs to be read, with its header; given where the window has that much.

    Attributes:
        width: at a side, and beside another pane at the lower edge.
        height: at a side.
        below: height at the lower edge.
        least_width: in small windows, where about half of it is shown.
        least_height: in small windows, at a side.
        least_below: in small windows, at the lower edge.
    """

    width: int = 240
    height: int = 240
    below: int = 200
    least_width: int = 200
    least_height: int = 124
    least_below: int = 160


_USUAL = Room()


@dataclass(frozen=True)
class Content:
    """How to know whether a pane has something to show, before it is made.

    Attributes:
        is_missing: whether there is nothing.
        signals: what is emitted when that may have changed.
    """

    is_missing: Callable[[Studio], bool]
    signals: Callable[[Studio], tuple[Signal[Any], ...]]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of the window that is made where it is first needed.

    Attributes:
        path: ``module:Class``; imported when the part is first seen, and called with the studio
            and the parent widget.
        actions: module of the table ``ACTIONS`` of what is done to it; it imports no Qt, so that
            menus need not wait for the part. The part attaches the table to itself. Empty for a
            part without actions.
    """

    path: str
    actions: str = ""

    def load(self) -> None:
        """Import its code; on any thread."""
        import_module(self.path.partition(":")[0])

    def make(self, studio: Studio, parent: QWidget | None = None) -> QWidget:
        """Make its widget, best with its final parent: reparenting restyles all of it."""
        module, _, name = self.path.partition(":")
        made: QWidget = getattr(import_module(module), name)(studio, parent)
        return made


@dataclass(frozen=True, kw_only=True)
class PaneSpec(Part):
    """One pane.

    Attributes:
        id: its name in layouts and actions.
        title: what its header and the menu say.
        icon: name of its icon, or the icon itself: SVG elements on a grid of 16 by 16, drawn in
            ``currentColor``.
        places: where it begins, for each workspace; in one that is left out it begins closed, at
            the side of the first one named.
        page: what F1 opens: the name of a page of the documentation, or a text in Markdown, which
            begins with its heading.
        keys: show and hide it.
        room: what it needs to be read.
        content: whether it has something to show: while it has not, another pane of its column
            stands in front. None for a pane that always has.
    """

    id: str
    title: str
    icon: str
    places: Mapping[Workspace, Place]
    page: str = "guide"
    keys: tuple[str, ...] = ()
    room: Room = _USUAL
    content: Content | None = None

    def __post_init__(self) -> None:
        """ValueError for an icon, workspace or side that there is not."""
        if not is_icon(self.icon):
            raise ValueError(f"pane {self.id!r}: there is no icon {self.icon!r}")
        for workspace, place in self.places.items():
            if workspace not in WORKSPACES:
                raise ValueError(f"pane {self.id!r}: there is no workspace {workspace!r}")
            if place.side not in get_args(Side):
                raise ValueError(f"pane {self.id!r}: there is no side {place.side!r}")

    def place(self, workspace: str) -> Place:
        """Where it begins in a workspace."""
        found = next((place for name, place in self.places.items() if name == workspace), None)
        if found is not None:
            return found
        side: Side = next((place.side for place in self.places.values()), "right")
        return Place(side, 1, shown=False)


_PROGRAM = Content(
    lambda studio: studio.compilation.shown is None, lambda studio: (studio.compilation.changed,)
)

PANES: tuple[PaneSpec, ...] = (
    PaneSpec(
        id="palette", title="Palette", icon="palette",
        path="studio.graph_editor.panes.palette:PalettePane",
        room=Room(240, 240),
        places={
            "build": Place("left", 0, 0),
            "train": Place("left", 0, 2, shown=False),
            "profile": Place("left", 0, 2, shown=False),
        },
    ),
    PaneSpec(
        id="outline", title="Outline", icon="outline",
        path="studio.graph_editor.panes.outline:OutlinePane",
        room=Room(240, 240),
        places={
            "build": Place("left", 0, 1),
            "train": Place("left", 0, 3, shown=False),
            "profile": Place("left", 0, 1),
        },
    ),
    PaneSpec(
        id="inspector", title="Inspector", icon="inspector",
        path="studio.ui.panes.inspector.pane:InspectorPane",
        actions="studio.ui.panes.inspector.actions",
        room=Room(240, 300, least_height=200),
        places={
            "build": Place("left", 1, 0),
            "train": Place("left", 0, 1),
            "profile": Place("left", 0, 0),
        },
    ),
    PaneSpec(
        id="training", title="Training settings", icon="settings",
        path="studio.ui.panes.inspector.training_pane:TrainingPane",
        room=Room(240, 270, least_height=220),
        places={
            "build": Place("left", 1, 1, shown=False),
            "train": Place("left", 0, 0),
            "profile": Place("left", 0, 4, shown=False),
        },
    ),
    PaneSpec(
        id="listing", title="Listing", icon="listing",
        path="studio.instruction_view.listing.pane:ListingPane",
        actions="studio.instruction_view.listing.actions",
        page="instructions",
        room=Room(584, 420, 430, 584, 280, 280),
        content=_PROGRAM,
        places={
            "build": Place("right", 0, 0),
            "train": Place("bottom", 0, 2, shown=False),
            "profile": Place("right", 1, 0),
        },
    ),
    PaneSpec(
        id="tensor_map", title="Tensor map", icon="tensor-map",
        path="studio.instruction_view.tensor_map.pane:TensorMapPane",
        page="tensors",
        room=Room(610, 330, 250, 400, 260, 190),
        content=_PROGRAM,
        places={
            "build": Place("right", 1, 0),
            "train": Place("bottom", 0, 1),
            "profile": Place("bottom", 0, 0),
        },
    ),
    PaneSpec(
        id="tensor_view", title="Tensor", icon="tensor",
        path="studio.ui.panes.tensor_view.pane:TensorViewPane",
        actions="studio.ui.panes.tensor_view.actions",
        page="tensors",
        room=Room(400, 300, 240, 320, 200, 180),
        content=Content(
            lambda studio: studio.bus.path.tensor is None,
            lambda studio: (studio.bus.path_changed,),
        ),
        places={
            "build": Place("right", 1, 2, shown=False),
            "train": Place("right", 0, 1),
            "profile": Place("bottom", 0, 2, shown=False),
        },
    ),
    PaneSpec(
        id="problems", title="Problems", icon="problems",
        path="studio.ui.panes.problems.pane:ProblemsPane",
        content=Content(
            lambda studio: not studio.problems.items, lambda studio: (studio.problems.changed,)
        ),
        places={
            "build": Place("right", 0, 1, urgent=True),
            "train": Place("bottom", 0, 4, shown=False),
            "profile": Place("bottom", 0, 4, shown=False),
        },
    ),
    PaneSpec(
        id="log", title="Log", icon="log",
        path="studio.ui.panes.log.pane:LogPane",
        actions="studio.ui.panes.log.actions",
        page="commands", keys=("Ctrl+`",),
        places={
            "build": Place("bottom", 0, 0, shown=False),
            "train": Place("bottom", 0, 3, shown=False),
            "profile": Place("bottom", 0, 3, shown=False),
        },
    ),
    PaneSpec(
        id="history", title="History", icon="history",
        path="studio.graph_editor.panes.history:HistoryPane",
        places={
            "build": Place("bottom", 0, 1, shown=False),
            "train": Place("bottom", 0, 5, shown=False),
            "profile": Place("bottom", 0, 5, shown=False),
        },
    ),
    PaneSpec(
        id="plots", title="Plots", icon="plots",
        path="studio.ui.panes.plots.pane:PlotsPane",
        actions="studio.ui.panes.plots.actions",
        room=Room(760, 300, 264, 300, 200, 180),
        content=Content(
            lambda studio: studio.plots.is_empty,
            lambda studio: (studio.plots.changed, studio.runs.changed,
                            studio.training.state_changed),
        ),
        places={
            "build": Place("right", 1, 3, shown=False),
            "train": Place("bottom", 0, 0),
            "profile": Place("bottom", 0, 1),
        },
    ),
    PaneSpec(
        id="runs", title="Runs", icon="runs",
        path="studio.ui.panes.runs.pane:RunsPane",
        room=Room(280, 296, least_height=200),
        content=Content(
            lambda studio: not studio.runs.runs, lambda studio: (studio.runs.changed,)
        ),
        places={
            "build": Place("left", 1, 2, shown=False),
            "train": Place("left", 1, 0),
            "profile": Place("left", 0, 3, shown=False),
        },
    ),
    PaneSpec(
        id="sweeps", title="Sweep", icon="sweep",
        path="studio.ui.panes.sweeps.pane:SweepsPane",
        page="scale",
        room=Room(420, 340, 280, 280, 240, 200),
        content=Content(
            lambda studio: not (studio.sweeps.sweeps or studio.sweeps.is_planning),
            lambda studio: (studio.sweeps.changed,),
        ),
        places={
            "build": Place("right", 0, 2, shown=False),
            "train": Place("right", 0, 4, shown=False),
            "profile": Place("right", 1, 2, shown=False),
        },
    ),
    PaneSpec(
        id="data", title="Data", icon="data",
        path="studio.ui.panes.data.pane:DataPane",
        page="data",
        room=Room(300, 300),
        content=Content(lambda studio: studio.data.form is None,
                        lambda studio: (studio.data.changed,)),
        places={
            "build": Place("left", 0, 2),
            "train": Place("right", 0, 2),
            "profile": Place("left", 0, 5, shown=False),
        },
    ),
    PaneSpec(
        id="testing", title="Test", icon="testing",
        path="studio.ui.panes.testing.pane:TestingPane",
        room=Room(400, 340, 340, 360, 280, 280),
        content=Content(
            lambda studio: (
                studio.evaluation.results is None and studio.evaluation.status != "measuring"
            ),
            lambda studio: (studio.evaluation.changed,),
        ),
        places={
            "build": Place("bottom", 0, 3, shown=False),
            "train": Place("right", 0, 0),
            "profile": Place("right", 1, 1, shown=False),
        },
    ),
    PaneSpec(
        id="profiler", title="Profiler", icon="profiler",
        path="studio.ui.panes.profiler.pane:ProfilerPane",
        actions="studio.ui.panes.profiler.actions",
        page="benchmarks",
        room=Room(430, 480, 480, 400, 350, 350),
        content=Content(
            lambda studio: studio.profiling.measurement is None,
            lambda studio: (studio.profiling.changed, studio.profiling.state_changed),
        ),
        places={
            "build": Place("right", 1, 1, shown=False),
            "train": Place("right", 0, 3, shown=False),
            "profile": Place("right", 0, 0),
        },
    ),
)  # fmt: skip
"""The panes that come along, in the order of the View menu."""

CANVAS = Part(
    path="studio.graph_editor.canvas.view:CanvasView",
    actions="studio.graph_editor.canvas.actions",
)
"""What stands in the middle."""

TRANSPORT = Part(path="studio.ui.panes.transport.bar:TransportBar")
"""What stands in the middle of the toolbar."""

PATH_BAR = Part(
    path="studio.instruction_view.path_bar.bar:PathBar",
    actions="studio.instruction_view.path_bar.actions",
)
"""What stands under the toolbar."""


def action_tables(parts: Iterable[Part]) -> list[ActionTable[Any]]:
    """The tables of what is done to these parts."""
    return [import_module(part.actions).ACTIONS for part in parts if part.actions]
