"""The inspector of the project: totals of the network, training settings, notes."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from studio.engine.core.errors import StudioError
from studio.session.inspector.facts import GraphFacts
from studio.session.inspector.inspector import InspectorModel
from studio.ui.panes.inspector.training_form import TrainingForm
from studio.widgets import numbers, theme
from studio.widgets.forms.facts import Fact, Facts
from studio.widgets.forms.form import Varying
from studio.widgets.forms.reverting_line import RevertingLine
from studio.widgets.forms.section import Section

_NOTES_LINES = 5


class GraphView(QWidget):
    """Shows and changes what belongs to no layer."""

    def __init__(
        self,
        inspector: InspectorModel,
        parent: QWidget | None = None,
        varying: Varying | None = None,
    ) -> None:
        super().__init__(parent)
        self._inspector = inspector
        self.name = RevertingLine(self)
        self.name.setObjectName("project_name")
        self.name.setAccessibleName("Name of the project")
        self.name.setToolTip("Project name.")
        self.name.setFont(theme.font("title"))
        self.name.editingFinished.connect(self._rename)
        self._remark = QLabel(self)
        self._remark.setObjectName("project_remark")
        self._remark.setProperty("role", "faint")
        self._remark.setFont(theme.font("small"))
        self._remark.setWordWrap(True)
        self._refusal = QLabel(self)
        self._refusal.setObjectName("project_refusal")
        self._refusal.setProperty("role", "error")
        self._refusal.setFont(theme.font("small"))
        self._refusal.setWordWrap(True)
        self._refusal.hide()
        self.facts = Facts(self)
        self._totals = Section("Network", self.facts, parent=self)
        self.settings = TrainingForm(inspector, self, varying=varying)
        self.notes = QPlainTextEdit(self)
        self.notes.setObjectName("notes")
        self.notes.setAccessibleName("Notes of the project")
        self.notes.setPlaceholderText("Notes, saved with the project")
        self.notes.setTabChangesFocus(True)
        self.notes.setFixedHeight(self.notes.fontMetrics().lineSpacing() * _NOTES_LINES + 16)
        self.notes.textChanged.connect(self._write)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        for widget in (self.name, self._refusal, self._remark, self._totals, self.settings):
            column.addWidget(widget)
        column.addWidget(Section("Notes", self.notes, parent=self))

    def clear_error(self) -> None:
        """Say no more what was refused."""
        self._refusal.hide()
        self.settings.clear_error()

    def refresh(self, class_names: tuple[str, ...]) -> None:
        """Show the project as it is now."""
        state = self._inspector.document.state
        self.name.show_text(state.name)
        chosen = "No layer" if self._inspector.has_selection else "Nothing"
        self._remark.setText(f"{chosen} selected: project settings and totals.")
        self._show_totals(self._inspector.graph_facts())
        self.settings.refresh(class_names)
        if state.notes != self.notes.toPlainText():
            blocked = self.notes.blockSignals(True)
            self.notes.setPlainText(state.notes)
            self.notes.blockSignals(blocked)

    def _show_totals(self, facts: GraphFacts) -> None:
        unused = f" ({facts.unused} not reached)" if facts.unused else ""
        trained = ""
        if facts.trained is not None and facts.trained != facts.parameters:
            trained = f" ({numbers.count(facts.trained)} trained)"
        lines: list[Fact] = [
            ("layers", f"{facts.layers}{unused}", "Layers reached by data."),
            ("parameters", f"{numbers.count(facts.parameters)}{trained}",
             "Numbers the network saves; shown while no error stands."),
        ]  # fmt: skip
        if facts.problems:
            count = len(facts.problems)
            lines.append(("problems", str(count), facts.problems[0].message))
        if facts.instructions is not None:
            lines += [
                ("instructions", numbers.count(facts.instructions),
                 "From the last compiled program."),
                ("work of a step", numbers.quantity(facts.flops, "FLOP"),
                 f"Operations for {facts.batch} samples, estimated from the instructions."),
                ("memory of a step", numbers.memory(facts.peak_bytes),
                 f"Peak memory of activations and gradients for {facts.batch} samples."),
                ("compiled in", numbers.duration(facts.took_ms / 1000),
                 "Duration of the last compilation."),
            ]  # fmt: skip
        self.facts.show_facts(lines)
        stale = facts.is_stale and facts.instructions is not None
        self._totals.set_note("older program" if stale else "")

    def _rename(self) -> None:
        if not self.name.is_changed:
            return
        try:
            self._inspector.set_project_name(self.name.text())
            self._refusal.hide()
        except StudioError as error:
            self._refusal.setText(error.message)
            self._refusal.show()
            self.name.revert()

    def _write(self) -> None:
        try:
            self._inspector.set_notes(self.notes.toPlainText())
            self._refusal.hide()
        except StudioError as error:
            self._refusal.setText(error.message)
            self._refusal.show()
