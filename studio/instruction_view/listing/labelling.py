"""Lets a person name registers and comment on lines, in the field over the listing."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtCore import Signal as QtSignal

from studio.engine.core.errors import StudioError
from studio.engine.core.tensor import Ref
from studio.instruction_view.listing.search_bar import SearchBar
from studio.session.compile.annotations import AnnotationModel
from studio.session.listing.listing import Listing
from studio.widgets import binding


class Labelling(QObject):
    """Asks for names and comments, and shows those of the document in the listing.

    Args:
        listing: what is labelled.
        annotations: the names and comments of the document.
        field: where they are typed.
        parent: owner in Qt.
    """

    ended = QtSignal()
    """What was typed has been taken."""

    changed = QtSignal()
    """Labels have changed, here or by undo."""

    def __init__(
        self, listing: Listing, annotations: AnnotationModel, field: SearchBar, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._listing = listing
        self._annotations = annotations
        self._field = field
        self._key = ""
        field.wrote.connect(self._write)
        binding.connect(self, annotations.changed, self._take)
        listing.annotate(annotations.found)

    def name_of(self, ref: Ref) -> str:
        """The name the user gave a register; empty for none."""
        labels = self._listing.labels
        return "" if labels is None else labels.names.get(ref, "")

    def ask_name(self, ref: Ref) -> None:
        """Ask what a register is to be called."""
        rows = self._listing.rows
        if rows is not None:
            self._key = rows.origins.key_of_ref(ref)
            own = self._annotations.found.aliases.get(self._key, "")
            self._field.ask("name", own, f"{ref} {self._key}")

    def ask_comment(self) -> None:
        """Ask what is to be said of the line with the caret."""
        rows, line = self._listing.rows, self._listing.caret_line
        if rows is not None and line is not None and line.row >= 0:
            self._key = rows.key(line.row)
            said = self._annotations.found.comments.get(self._key, "")
            self._field.ask("comment", said, f"#{line.row} {rows.mnemonic(line.row)}")

    def give_up(self) -> None:
        """Another document is open: close a field that asks about the old one."""
        if self._field.purpose in ("name", "comment"):
            self._field.hide()

    def _write(self, text: str) -> None:
        try:
            if self._field.purpose == "name":
                self._annotations.name_tensor(self._key, text)
            else:
                self._annotations.comment(self._key, text)
        except StudioError as error:
            self._field.answer(error.message, is_wrong=True)
            return
        self.ended.emit()

    def _take(self) -> None:
        self._listing.annotate(self._annotations.found)
        self.changed.emit()
