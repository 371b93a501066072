"""The pane of the training settings: they stand here whatever is selected."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from studio.session.document.document import Document
from studio.session.inspector.inspector import InspectorModel
from studio.session.studio import Studio
from studio.session.sweeps.variation import Variation, training_names
from studio.ui.panes.inspector.sections_view import scrolled, show_sweep
from studio.ui.panes.inspector.training_form import TrainingForm
from studio.widgets import binding
from studio.widgets.frames.frame import PaneFrame

_UNFOLDED = ("Validation",)
"""What part of the data is held out is chosen as often as the optimiser."""


class TrainingPane(PaneFrame):
    """Epochs, batch, optimiser, learning rate, validation, loss and the other settings."""

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setObjectName("training_pane")
        self._data = studio.data
        inspector = InspectorModel(lambda: studio.document, studio.bus, studio.compilation)
        varying = Variation(studio.sweeps.draft, training_names, lambda: show_sweep(studio))
        self.form = TrainingForm(inspector, unfolded=_UNFOLDED, varying=varying)
        self.set_body(scrolled(self.form))
        self._refresh_later = binding.refresh(
            self, self.refresh, studio.data.changed, when_visible=True
        )
        binding.refresh(self, self.form.show_varied, studio.sweeps.draft.changed, when_visible=True)
        binding.connect(self, studio.document_replaced, self._replace)
        self._follow(studio.document)
        self.refresh()

    def refresh(self) -> None:
        """Show the settings as they are now."""
        dataset = self._data.dataset
        self.form.refresh(() if dataset is None else dataset.class_names)

    def _follow(self, document: Document) -> None:
        document.changed.connect(self._refresh_later.hear)
        document.report_changed.connect(self._refresh_later.hear)

    def _replace(self, document: Document) -> None:
        self.form.clear_error()
        self._follow(document)
        self.refresh()
