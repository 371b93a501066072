"""Offers after a failed training, such as a smaller batch; each is one undoable edit."""

from __future__ import annotations

from collections.abc import Callable

from studio.engine.core.errors import StudioError
from studio.session.document.document import Document
from studio.session.document.edits.sections import set_training, training_of
from studio.session.document.state import DocumentState
from studio.session.notices.notices import NoticeAction, Notices
from studio.session.training.training import TrainingModel


class Remedies:
    """Makes the actions of notices about a training; each is for the document open then.

    Args:
        notices: say why something cannot be done.
    """

    def __init__(
        self, document: Callable[[], Document], training: TrainingModel, notices: Notices
    ) -> None:
        self._document = document
        self._training = training
        self._notices = notices

    def batch_size(self, size: int) -> NoticeAction:
        """Train with a batch of another size next time."""
        document = self._document()

        def edit(state: DocumentState) -> DocumentState:
            return set_training(state, {"batch_size": size})

        return f"Batch size {size}", lambda: self._apply(
            document, f"Set batch size to {size}", edit
        )

    def learning_rate(self, rate: float) -> NoticeAction:
        """Train again from fresh weights with another learning rate."""
        document = self._document()

        def edit(state: DocumentState) -> DocumentState:
            optimizer = training_of(state).optimizer.replace(learning_rate=rate)
            return set_training(state, {"optimizer": optimizer})

        def again() -> None:
            if not self._apply(document, f"Set learning rate to {rate:g}", edit):
                return
            reason = self._training.why_not_start()
            if reason:
                self._notices.add(f"The learning rate is {rate:g} now, but {reason}", "warning")
            else:
                self._training.start()

        return f"Train again with learning rate {rate:g}", again

    def _apply(
        self, document: Document, text: str, edit: Callable[[DocumentState], DocumentState]
    ) -> bool:
        """Edit the document the action was offered for; whether that could be done."""
        if document is not self._document():
            self._notices.add("This suggestion was for another project", "warning")
            return False
        try:
            document.apply(text, edit(document.state))
        except StudioError as error:
            self._notices.add_error(error)
            return False
        return True
