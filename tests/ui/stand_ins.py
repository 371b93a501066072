"""Actions that stand in for those of a part a test goes without."""

from __future__ import annotations

from studio.session.core.action_table import Action, ActionTable


def shows(action_id: str, shown: list[str]) -> ActionTable[None]:
    """The action of a pane, which notes its id when it shows it."""
    return ActionTable(
        100,
        Action(
            action_id,
            "Show",
            "Show the pane.",
            run=lambda _: shown.append(action_id),
            checked=lambda _: action_id in shown,
        ),
    )
