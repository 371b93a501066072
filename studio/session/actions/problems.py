"""What can be done with the list of problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.session.compile.problems import ProblemItem
from studio.session.core.action_table import Action, ActionTable

if TYPE_CHECKING:
    from studio.session.studio import Studio


def _show(studio: Studio, item: ProblemItem | None) -> None:
    """A problem that is nowhere on the canvas is read in its pane."""
    pane = "pane.problems"
    if item is not None and item.entity is None and not studio.actions.is_checked(pane):
        studio.actions.trigger(pane)


def _why_none(studio: Studio) -> str:
    return "" if studio.problems.items else "there are no problems"


ACTIONS: ActionTable[Studio] = ActionTable(
    72,
    Action(
        "problems.next",
        "Next problem",
        "Select the next problem and its layer.",
        keys=("F4",),
        menu="Graph",
        aliases=("error", "warning"),
        group="problems",
        needs="sight",
        run=lambda studio: _show(studio, studio.problems.next()),
        enabled=_why_none,
    ),
    Action(
        "problems.previous",
        "Previous problem",
        "Select the previous problem and its layer.",
        keys=("Shift+F4",),
        menu="Graph",
        aliases=("error", "warning"),
        group="problems",
        needs="sight",
        run=lambda studio: _show(studio, studio.problems.previous()),
        enabled=_why_none,
    ),
)
"""The actions of the problems, in menu order."""
