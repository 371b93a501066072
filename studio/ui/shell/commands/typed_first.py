"""Commits what is being typed into a form before an action that uses it, and reports refusals."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QMainWindow

from studio.session.core.action_table import AnyAction
from studio.session.studio import Studio
from studio.widgets import binding
from studio.widgets.fields.scrub_field import ScrubField
from studio.widgets.forms.form import FormRow
from studio.widgets.forms.reverting_line import RevertingLine

_TRAINING = ("train.start", "train.step_batch", "train.step_epoch")
_USERS = (*_TRAINING, "file.save", "file.save_as", "profiler.dry_run")
"""Actions that use the values of the forms."""


class TypedFirst:
    """Commits the field being typed into before such an action.

    A key such as F5 leaves the caret in the field, whose text would count only when it is left.
    """

    def __init__(self, studio: Studio, window: QMainWindow) -> None:
        self._studio = studio
        self._window = window
        binding.connect(window, studio.actions.about_to, self._about_to)

    def _about_to(self, spec: AnyAction) -> None:
        if spec.id not in _USERS or (spec.id in _TRAINING and self._studio.training.is_busy):
            return
        told = [self._end_typing(), *(row.take_refusal() for row in self._rows())]
        for sentence in told:
            if sentence:
                self._studio.notify(sentence, "warning")

    def _rows(self) -> list[FormRow]:
        return list(self._window.findChildren(FormRow))

    def _end_typing(self) -> str:
        """Commit the field being typed into; says why where its text is not a number."""
        field = QApplication.focusWidget()
        if not isinstance(field, ScrubField | RevertingLine) or not field.isModified():
            return ""
        typed, is_wrong = field.text(), bool(field.property("wrong"))
        field.editingFinished.emit()
        if not is_wrong:
            return ""
        return f"{field.accessibleName()} is still {field.text()}: {typed[:40]!r} is not a number"
