"""What can be done with the data of a project."""

from __future__ import annotations

from functools import partial

from studio.ui.models.actions import ActionRegistry, ActionSpec
from studio.ui.models.data import DataModel
from studio.ui.models.data_sources import FORMS, OFFERED

NO_DATA = "the project has no data"

ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        "data.choose", "Choose data…",
        "Show the data pane and choose what the network is trained on.",
        menu="Graph/Data", aliases=("data set", "dataset", "source"), group="choose",
    ),
    ActionSpec(
        "data.attach", "Attach a data file…",
        "Train on a file of yours: a table, NumPy arrays or IDX files; samples and labels in two "
        "files are chosen together.",
        menu="Graph/Data", aliases=("csv", "npz", "npy", "mnist", "dataset", "open data"),
        group="choose",
    ),
    ActionSpec(
        "data.attach_path", "Attach a folder of pictures…",
        "Train on pictures of yours: one folder per class.",
        menu="Graph/Data", aliases=("images", "dataset", "photos", "folder"), group="choose",
    ),
    *(
        ActionSpec(
            f"data.use_{name}", f"Use {FORMS[name].title.lower()}", FORMS[name].about,
            menu="Graph/Data", aliases=("example data", "dataset", "toy"), group="offered",
        )
        for name in OFFERED
    ),
    ActionSpec(
        "data.fit_input", "Fit the input to the data",
        "Give the network's input the shape of a sample, or add an input.",
        menu="Graph/Data", aliases=("input shape",), group="change",
        needs="project",
    ),
    ActionSpec(
        "data.reload", "Read the data again",
        "Read the files anew, after they were changed by another program.",
        menu="Graph/Data", aliases=("refresh", "reload"), group="change",
        needs="project",
    ),
    ActionSpec(
        "data.remove", "Remove the data",
        "Let the project have no data; files are left as they are.",
        menu="Graph/Data", aliases=("detach",), group="change",
        needs="project",
    ),
)  # fmt: skip


class DataActions:
    """Carries out those actions that need no window; the registry keeps it.

    Args:
        actions: the action table.
        data: the data of the project.
    """

    def __init__(self, actions: ActionRegistry, data: DataModel) -> None:
        self._actions = actions
        self._data = data
        for name in OFFERED:
            actions.bind(f"data.use_{name}", partial(data.choose, name))
        actions.bind("data.fit_input", data.take_offer, self._why_no_fit)
        actions.bind("data.reload", data.reload, self._why_no_data)
        actions.bind("data.remove", data.detach, self._why_no_data)
        data.changed.connect(self._refresh)

    def _refresh(self) -> None:
        self._actions.refresh("data.fit_input", "data.reload", "data.remove")

    def _why_no_data(self) -> str:
        return "" if self._data.form is not None else NO_DATA

    def _why_no_fit(self) -> str:
        if self._data.dataset is None:
            return "no data is open"
        return "" if self._data.offer is not None else "the input fits already"


def bind_data(actions: ActionRegistry, data: DataModel) -> None:
    """Carry out those actions that need no window."""
    DataActions(actions, data)
