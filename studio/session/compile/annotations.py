"""Names and comments a person gives the program: read from the document, written to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from studio.engine.core.errors import ParameterError
from studio.engine.core.signal import Signal
from studio.engine.train.project.annotations import NO_ANNOTATIONS, Annotations
from studio.session.document.edits.annotations import (
    annotations_of,
    comment_instruction,
    name_tensor,
)

if TYPE_CHECKING:
    from studio.session.compile.provenance import Provenance
    from studio.session.document.change import Change
    from studio.session.document.document import Document


class AnnotationModel:
    """What a person wrote on the listing of the document that is open.

    Args:
        provenance: gives the map of the program shown.
        every: gives those of all programs of the document.
    """

    def __init__(
        self,
        provenance: Callable[[], Provenance],
        every: Callable[[], Iterable[Provenance]] = tuple,
    ) -> None:
        self.changed: Signal[[]] = Signal()
        self.found: Annotations = NO_ANNOTATIONS
        self._provenance = provenance
        self._every = every
        self._document: Document | None = None

    def follow(self, document: Document) -> None:
        """Read and write another document from now on."""
        if self._document is not None:
            self._document.changed.disconnect(self._document_changed)
        self._document = document
        document.changed.connect(self._document_changed)
        self._read(document)

    def name_tensor(self, key: str, text: str) -> None:
        """Call a tensor something; with an empty text its own name is shown again.

        A name is taken from a tensor that no program has any more, where it cannot be seen.

        Raises:
            ParameterError: a name that is not allowed, or that stands for something else.
            ReadOnlyError: the document may not be changed.
        """
        document, alias = self._document, text.strip()
        if document is None:
            return
        if alias and alias != self.found.aliases.get(key):
            self._check_free(alias)
        state, owner = document.state, self._owner(alias)
        if owner and not any(each.has_tensor(owner) for each in self._every()):
            state = name_tensor(state, owner, "")
        verb = "Name" if alias else "Remove the name of"
        document.apply(f"{verb} {key}", name_tensor(state, key, alias))

    def comment(self, key: str, text: str) -> None:
        """Say something of an instruction; with an empty text nothing.

        Raises:
            ParameterError: a comment that is not allowed.
            ReadOnlyError: the document may not be changed.
        """
        document = self._document
        if document is None:
            return
        index = self._provenance().index_of(key)
        line = "an instruction" if index is None else self._line(index)
        verb = "Comment on" if text.strip() else "Remove the comment on"
        document.apply(f"{verb} {line}", comment_instruction(document.state, key, text))

    def _line(self, index: int) -> str:
        return f"#{index} {self._provenance().instruction_at(index).mnemonic}"

    def _owner(self, alias: str) -> str:
        """The tensor that has a name; empty for none."""
        found = self.found.aliases.items()
        return next((key for key, name in found if alias and name == alias), "")

    def _check_free(self, alias: str) -> None:
        """Names of tensors and layers lead somewhere else."""
        provenance = self._provenance()
        if provenance.has_tensor(alias) or provenance.instructions_of(alias):
            raise ParameterError(f"{alias!r} is already used", who="name")

    def _document_changed(self, change: Change) -> None:
        if "annotations" in change.sections and self._document is not None:
            self._read(self._document)

    def _read(self, document: Document) -> None:
        found = annotations_of(document.state)
        if found != self.found:
            self.found = found
            self.changed.emit()
