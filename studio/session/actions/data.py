"""What can be done with the data of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.session.core.action_table import Action, ActionTable
from studio.session.data.sources import FORMS, OFFERED

if TYPE_CHECKING:
    from studio.session.studio import Studio

NO_DATA = "the project has no data"


def _use(name: str) -> Action[Studio]:
    return Action(
        f"data.use_{name}", f"Use {FORMS[name].title.lower()}", FORMS[name].about,
        menu="Graph/Data", aliases=("example data", "dataset", "toy"), group="offered",
        run=lambda studio: studio.data.choose(name),
    )  # fmt: skip


def _why_no_data(studio: Studio) -> str:
    return "" if studio.data.form is not None else NO_DATA


def _why_no_fit(studio: Studio) -> str:
    if studio.data.dataset is None:
        return "no data is open"
    return "" if studio.data.offer is not None else "the input already fits"


ACTIONS: ActionTable[Studio] = ActionTable(
    20,
    *map(_use, OFFERED),
    Action(
        "data.fit_input", "Fit the input to the data",
        "Set the input to the shape of a sample, or add an input.",
        menu="Graph/Data", aliases=("input shape",), group="change",
        needs="project",
        run=lambda studio: studio.data.take_offer(), enabled=_why_no_fit,
    ),
    Action(
        "data.reload", "Reload the data",
        "Reload the files after another program changed them.",
        menu="Graph/Data", aliases=("refresh", "reload"), group="change",
        needs="project",
        run=lambda studio: studio.data.reload(), enabled=_why_no_data,
    ),
    Action(
        "data.remove", "Remove the data",
        "Remove the data from the project; files are kept.",
        menu="Graph/Data", aliases=("detach",), group="change",
        needs="project",
        run=lambda studio: studio.data.detach(), enabled=_why_no_data,
    ),
    changes=lambda studio: (studio.data.changed,),
)  # fmt: skip
"""What is done to the data itself; the window asks for files."""
