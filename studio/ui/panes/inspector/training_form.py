"""The training settings as a form: in the inspector of the project, and in a pane of their own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from PySide6.QtWidgets import QWidget

from studio.session.inspector.inspector import InspectorModel
from studio.session.inspector.sections import training_sections
from studio.ui.panes.inspector.sections_view import SectionsView
from studio.widgets.forms.form import Form, Varying
from studio.widgets.forms.kind_editors import WeightsEditor

_LOSSES = "Loss and metrics"


class TrainingForm(SectionsView):
    """Shows and changes the training settings of the document.

    Args:
        inspector: the document and its options.
        parent: owner in Qt.
        unfolded: titles of sections that are open from the start besides the usual ones.
        varying: lets settings be varied by sweeps.
    """

    def __init__(
        self,
        inspector: InspectorModel,
        parent: QWidget | None = None,
        unfolded: Collection[str] = (),
        varying: Varying | None = None,
    ) -> None:
        super().__init__(
            inspector.set_training, inspector.reset_training, parent,
            take_of_group=inspector.set_output_training,
            reset_of_group=inspector.reset_output_training, varying=varying,
        )  # fmt: skip
        self._inspector = inspector
        self._unfolded = unfolded

    def refresh(self, class_names: tuple[str, ...]) -> None:
        """Show the settings as they are now."""
        inspector = self._inspector
        found = training_sections(inspector.training_rows(), inspector.output_groups())
        self.show_sections(
            [replace(each, is_open=each.is_open or each.title in self._unfolded) for each in found]
        )
        by_output = self.groups(_LOSSES)
        for output, form in by_output.items():
            _show_classes(form, inspector.class_names(output))
        for form in self.forms:
            if form not in by_output.values():
                _show_classes(form, class_names)


def _show_classes(form: Form, names: tuple[str, ...]) -> None:
    """Let the form's editors of weights know the classes."""
    for row in form.rows:
        if isinstance(row.editor, WeightsEditor) and row.editor.classes != names:
            row.editor.classes = names
            row.editor.show_value(row.row.value)
