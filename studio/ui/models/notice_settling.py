"""Settles notices: an error whose cause is gone, and an offer that would do nothing any more."""

from __future__ import annotations

from studio.engine.train.trainer import Trainer
from studio.graph_editor.model.change import Change
from studio.graph_editor.model.document import Document
from studio.graph_editor.model.edits.sections import training_of
from studio.ui.models.actions import ActionRegistry
from studio.ui.models.data import DataModel
from studio.ui.models.notices import Notices
from studio.ui.models.training import TrainingModel

OPEN = "open"
"""A project that could not be opened; settled by opening one."""

DOCUMENT = "document"
"""The open project; settled by opening another, as is all that is about a part of it."""

ACTION = "document.action"
"""An action that was refused, by its id behind this; settled when it is done after all."""

EDIT, UNDO = "document.edit", "document.undo"
"""An edit that was refused, and an offer to take the last one back; settled by the next edit."""

SAVE, DATA, RUNS, EXPORT = "document.save", "document.data", "document.runs", "document.export"
"""Settled when it is saved, its data are read, a deleted run is back or gone, it is exported."""

TRAINING, WEIGHTS = "document.training", "document.weights"
"""Why a training failed, and weights that are in no file; settled when a training begins."""


class NoticeSettling:
    """Listens to the models for what ends the cause of a notice.

    Attributes:
        culprit: the layer that a failed training names; without it the failure is of the past.
        fitting: the batch size that a training without enough memory could have; 0 for none.

    Args:
        notices: what is settled.
        actions: one that is done leaves no earlier refusal of itself behind.
        data: when they are read, nothing that was said of them is true.
        training: when it begins, the one before is of the past.
    """

    def __init__(
        self, notices: Notices, actions: ActionRegistry, data: DataModel, training: TrainingModel
    ) -> None:
        self.culprit = ""
        self.fitting = 0
        self._notices = notices
        self._actions = actions
        self._data = data
        self._refused: set[str] = set()
        self._document: Document | None = None
        actions.triggered.connect(self._action_done)
        data.changed.connect(self._data_changed)
        training.started.connect(self._training_started)

    def follow(self, document: Document) -> None:
        """Another project is open: nothing that was said of the one before matters."""
        if self._document is not None:
            self._document.changed.disconnect(self._document_changed)
            self._document.saved.disconnect(self._document_saved)
        self._document = document
        document.changed.connect(self._document_changed)
        document.saved.connect(self._document_saved)
        self._notices.settle(DOCUMENT, OPEN)

    def refused(self) -> str:
        """What an error is about that is told now: the action under way, if there is one."""
        action = self._actions.current
        if not action:
            return ""
        self._refused.add(action)
        return f"{ACTION}.{action}"

    def failed_in(self, culprit: str = "", fitting: int = 0) -> None:
        """A training failed in a layer, or for want of memory."""
        self.culprit, self.fitting = culprit, fitting

    def _action_done(self, action_id: str) -> None:
        if action_id in self._refused:
            self._refused.discard(action_id)
        else:
            self._notices.settle(f"{ACTION}.{action_id}")

    def _document_changed(self, change: Change) -> None:
        self._notices.settle(EDIT, UNDO)
        if self._document is None:
            return
        fits = 0 < training_of(self._document.state).batch_size <= self.fitting
        if fits or self.culprit in change.removed:
            self._notices.settle(TRAINING)

    def _document_saved(self) -> None:
        self._notices.settle(SAVE)

    def _data_changed(self) -> None:
        if self._data.status == "ready":
            self._notices.settle(DATA)

    def _training_started(self, _trainer: Trainer) -> None:
        # Weights of the training before that were written nowhere are gone now.
        self._notices.settle(TRAINING, WEIGHTS)
