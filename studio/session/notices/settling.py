"""Settles notices: errors whose cause is gone, and offers that no longer apply."""

from __future__ import annotations

from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.runs.run_folder import RunFolder
from studio.session.core.action_table import ActionRegistry
from studio.session.data.data import DataModel
from studio.session.document.change import Change
from studio.session.document.document import Document
from studio.session.document.edits.sections import training_of
from studio.session.notices.notices import Notices
from studio.session.training.training import TrainingModel

OPEN = "open"
"""A project that could not be opened; settled by opening one."""

DOCUMENT = "document"
"""The open project; settled by opening another, as is all that is about a part of it."""

ACTION = "document.action"
"""Prefix for an action that was refused, followed by its id; settled when it succeeds."""

EDIT, UNDO = "document.edit", "document.undo"
"""An edit that was refused, and an offer to take the last one back; settled by the next edit."""

SAVE, DATA, RUNS, EXPORT = "document.save", "document.data", "document.runs", "document.export"
"""Settled when it is saved, its data are read, a deleted run is back or gone, it is exported."""

TRAINING, WEIGHTS = "document.training", "document.weights"
"""Why a training failed, and weights that are in no file; settled when a training begins."""


class NoticeSettling:
    """Listens to the models, and settles notices whose cause has ended.

    Attributes:
        culprit: the layer a failed training names; deleting it settles the failure.
        fitting: largest batch size that fits after a training lacked memory; 0 for none.

    Args:
        actions: success of one settles its earlier refusal.
        data: reading them settles errors about them.
        training: its start settles errors of the training before.
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
        training.sent.connect(self._training_started)

    def follow(self, document: Document) -> None:
        """Another project is open: settle all about the one before."""
        if self._document is not None:
            self._document.changed.disconnect(self._document_changed)
            self._document.saved.disconnect(self._document_saved)
        self._document = document
        document.changed.connect(self._document_changed)
        document.saved.connect(self._document_saved)
        self._notices.settle(DOCUMENT, OPEN)

    def refused(self) -> str:
        """What an error reported now is about: the action being carried out, else empty."""
        action = self._actions.current
        if not action:
            return ""
        self._refused.add(action)
        return f"{ACTION}.{action}"

    def failed_in(self, culprit: str = "", fitting: int = 0) -> None:
        """Remember the layer a training failed in, or the batch size that would fit."""
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

    def _training_started(self, _what: Trainer | RunFolder) -> None:
        # Unsaved weights of the training before are lost now.
        self._notices.settle(TRAINING, WEIGHTS)
