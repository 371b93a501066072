"""Why an edit is refused."""

from __future__ import annotations

from typing import ClassVar

from studio.engine.core.errors import GraphError, StudioError
from studio.session.document.state import CanvasNode


class CycleError(GraphError):
    """A wire would close a loop."""

    code: ClassVar[str] = "graph.cycle"


class DuplicateLink(GraphError):  # noqa: N818
    """The two are linked already."""

    code: ClassVar[str] = "graph.duplicate_link"


class AbsentOutput(GraphError):  # noqa: N818
    """The layer has no output of that number."""

    code: ClassVar[str] = "graph.absent_output"


class InputTaken(GraphError):  # noqa: N818
    """The input has its wire, or there is no input to take one."""

    code: ClassVar[str] = "graph.input_taken"


class ShapeClash(GraphError):  # noqa: N818
    """What would flow does not fit where it would go."""

    code: ClassVar[str] = "graph.shape_clash"


class LossInCopies(GraphError):  # noqa: N818
    """Layers of other linked copies would go.

    Args:
        message: what would go.
        block: the linked block that would lose something.
        who: what is moved.
    """

    code: ClassVar[str] = "graph.loss_in_copies"

    def __init__(self, message: str, *, block: CanvasNode, who: str) -> None:
        super().__init__(message, who=who, hint="unlink the block first")
        self.block = block


class ReadOnlyError(StudioError):
    """The document may be looked at, not changed."""

    code: ClassVar[str] = "read_only"
