"""What can be done with the path of what is selected, with its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.session.core.action_table import Action, ActionTable
from studio.session.core.entities import Kind

if TYPE_CHECKING:
    from studio.instruction_view.path_bar.bar import PathBar


def _same_as(kind: Kind, word: str, keys: str) -> Action[PathBar]:
    return Action(
        f"go.{word}", f"Go to its {word}", f"Show the {word} of what is selected.", (keys,), "View",
        aliases=("path", "level"), group="path", needs="sight",
        run=lambda bar: bar.go(kind), enabled=lambda bar: bar.why_not(kind),
    )  # fmt: skip


ACTIONS: ActionTable[PathBar] = ActionTable(
    35,
    _same_as("node", "layer", "Alt+1"),
    _same_as("instruction", "instruction", "Alt+2"),
    _same_as("tensor", "tensor", "Alt+3"),
    _same_as("kernel", "kernel", "Alt+4"),
)
"""The same thing at another level."""
