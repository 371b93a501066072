"""What differs between two states of the document."""

from __future__ import annotations

from dataclasses import dataclass, replace

from studio.session.document.state import CanvasNode, DocumentState

SECTIONS = ("name", "graph_name", "outputs", "data", "training", "notes", "annotations")


@dataclass(frozen=True)
class Change:
    """The difference between two states; views repaint what it names.

    Attributes:
        text: name of the step that made it.
        before: the state until now.
        after: the state from now on.
        added: ids of new nodes, in their order.
        removed: ids of nodes that are gone.
        modified: ids of nodes that differ in anything.
        moved: those among ``modified`` that differ in nothing but their place.
        sections: names of other parts that differ: ``outputs``, ``data``, ``training``, …
    """

    text: str
    before: DocumentState
    after: DocumentState
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    sections: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not (self.added or self.removed or self.modified or self.sections)

    @property
    def only_places(self) -> bool:
        """Whether things were moved and nothing else happened."""
        return (
            bool(self.modified)
            and self.modified == self.moved
            and not (self.added or self.removed or self.sections)
        )

    @classmethod
    def between(cls, before: DocumentState, after: DocumentState, text: str = "") -> Change:
        """The difference; nodes that are the same object in both cost one comparison."""
        if before is after:
            return cls(text, before, after)
        old, new = before.nodes, after.nodes
        modified, moved = [], []
        for node_id, node in new.items():
            was = old.get(node_id)
            if was is None or was is node or was == node:
                continue
            modified.append(node_id)
            if _same_but_place(was, node):
                moved.append(node_id)
        return cls(
            text,
            before,
            after,
            tuple(i for i in new if i not in old),
            tuple(i for i in old if i not in new),
            tuple(modified),
            tuple(moved),
            frozenset(s for s in SECTIONS if getattr(before, s) != getattr(after, s)),
        )


def _same_but_place(one: CanvasNode, other: CanvasNode) -> bool:
    return replace(one, x=other.x, y=other.y) == other
