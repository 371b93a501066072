"""What can be done to take a network out of the studio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.session.core.action_table import Action, ActionTable

if TYPE_CHECKING:
    from studio.session.studio import Studio


def _why_not_again(studio: Studio) -> str:
    exports = studio.exporting
    last = exports.last
    if last is None:
        return "nothing was exported yet"
    if exports.task is not None:
        return "an export is running"
    return exports.why_not(last[0])


ACTIONS: ActionTable[Studio] = ActionTable(
    60,
    Action(
        "export.again", "Export again",
        "Repeat the last export to the same file, with the current weights.",
        ("Ctrl+Shift+E",), "File", aliases=("repeat export", "write again"), group="export",
        needs="project",
        run=lambda studio: studio.exporting.again(studio.fail), enabled=_why_not_again,
    ),
    changes=lambda studio: (studio.exporting.changed,),
)  # fmt: skip
"""What needs no window; the window opens the dialog."""
