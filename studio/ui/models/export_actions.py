"""What can be done to take a network out of the studio."""

from __future__ import annotations

from collections.abc import Callable

from studio.engine.core.errors import StudioError
from studio.ui.models.actions import ActionRegistry, ActionSpec
from studio.ui.models.exporting import ExportModel, search_words

ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        "export.dialog", "Export…",
        "Write the trained network, its program or a picture of the graph to a file, and prove "
        "that the file is the same model.",
        ("Ctrl+E",), "File", aliases=("save as", "weights", *search_words()), group="export",
        needs="project",
    ),
    ActionSpec(
        "export.again", "Export again",
        "Write what was exported last to the same file, with the weights as they are now.",
        ("Ctrl+Shift+E",), "File", aliases=("repeat export", "write again"), group="export",
        needs="project",
    ),
)  # fmt: skip


class ExportActions:
    """Carries out those actions that need no window; the registry keeps it.

    Args:
        actions: the action table.
        exports: what can be exported.
        failed: hears why what was written last could not be written again.
    """

    def __init__(
        self,
        actions: ActionRegistry,
        exports: ExportModel,
        failed: Callable[[StudioError], object],
    ) -> None:
        self._actions = actions
        self._exports = exports
        actions.bind("export.again", lambda: exports.again(failed), self._why_not)
        exports.changed.connect(self._refresh)

    def _refresh(self) -> None:
        self._actions.refresh("export.again")

    def _why_not(self) -> str:
        last = self._exports.last
        if last is None:
            return "nothing has been exported of this project yet"
        if self._exports.task is not None:
            return "an export is running"
        return self._exports.why_not(last[0])


def bind_exports(
    actions: ActionRegistry, exports: ExportModel, failed: Callable[[StudioError], object]
) -> None:
    """Carry out those actions that need no window."""
    ExportActions(actions, exports, failed)
