"""What is typed counts before an action that uses it, and what was refused is told then."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QMainWindow

from studio.ui.kit import binding
from studio.ui.kit.forms.form import FormRow
from studio.ui.kit.forms.reverting_line import RevertingLine
from studio.ui.kit.scrub_field import ScrubField
from studio.ui.models.actions import ActionSpec
from studio.ui.models.studio import Studio

_TRAINING = ("train.start", "train.step_batch", "train.step_epoch")
_USERS = (*_TRAINING, "file.save", "file.save_as", "profiler.dry_run")
"""Actions that use what stands in the forms."""


class TypedFirst:
    """Ends what is being typed before such an action; the registry keeps it.

    A key such as F5 leaves the caret in the field: its text would count only when the field is
    left.

    Args:
        studio: the models.
        window: has the forms.
    """

    def __init__(self, studio: Studio, window: QMainWindow) -> None:
        self._studio = studio
        self._window = window
        binding.connect(window, studio.actions.about_to, self._about_to)

    def _about_to(self, spec: ActionSpec) -> None:
        if spec.id not in _USERS or (spec.id in _TRAINING and self._studio.training.is_busy):
            return
        told = [self._end_typing(), *(row.take_refusal() for row in self._rows())]
        for sentence in told:
            if sentence:
                self._studio.notify(sentence, "warning")

    def _rows(self) -> list[FormRow]:
        return list(self._window.findChildren(FormRow))

    def _end_typing(self) -> str:
        """Have a field take what is typed; what to say where that is no number."""
        field = QApplication.focusWidget()
        if not isinstance(field, ScrubField | RevertingLine) or not field.isModified():
            return ""
        typed, is_wrong = field.text(), bool(field.property("wrong"))
        field.editingFinished.emit()
        if not is_wrong:
            return ""
        return f"{field.accessibleName()} stays {field.text()}: {typed[:40]!r} is no number"
