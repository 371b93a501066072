"""One run: what it was, words to find it by, the user's own text, and all that happened in it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtWidgets import QLabel, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from studio.engine.core.errors import NumericError
from studio.session.runs.details import Detail, DetailGroup, Form, details_of
from studio.session.runs.records import RunRecord, history_of, parts_of
from studio.ui.panes.runs.cells import exact_text, shown_text
from studio.widgets import numbers, theme
from studio.widgets.forms.facts import Fact, Facts
from studio.widgets.forms.section import Section
from studio.widgets.labels.elided_label import ElidedLabel

_OPEN = ("Course", "Events", "Metrics")
"""Groups of details that are unfolded from the start."""
_LINES = 8
"""Lines there are for what happened to a run."""


class DetailsView(QWidget):
    """Groups of names and values below headings that fold."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("run_details_view")
        self._known: tuple[object, ...] = ()
        self._sections: dict[str, tuple[Section, Facts]] = {}
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(8)

    @property
    def texts(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """What is shown below each heading, folded or not."""
        shown = {title: each for title, each in self._sections.items() if not each[0].isHidden()}
        return {title: facts.texts for title, (_, facts) in shown.items()}

    def section(self, title: str) -> Section:
        """The section of a title; KeyError where there is none."""
        return self._sections[title][0]

    def show_run(self, run: RunRecord) -> None:
        """Show a run; its folder is looked at again where its files, or the run, have changed."""
        known = (run.name, run.stamp, run.state, run.steps, run.epochs, len(run.marks), run.test)
        if known == self._known:
            return
        self._known = known
        groups = details_of(run)
        titles = {group.title for group in groups}
        for title, (section, _) in self._sections.items():
            section.setVisible(title in titles)
        for place, group in enumerate(groups):
            self._facts(group, place).show_facts([_fact(each) for each in group.details])

    def _facts(self, group: DetailGroup, place: int) -> Facts:
        if group.title not in self._sections:
            facts = Facts()
            section = Section(group.title, facts, is_open=group.title in _OPEN, parent=self)
            self._sections[group.title] = (section, facts)
            self._column.insertWidget(place, section)
        return self._sections[group.title][1]


class NotesView(QWidget):
    """Shows a run and lets the user write about it.

    Attributes:
        edited: name of the run, its text, its tags.
    """

    edited = Signal(str, str, object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("run_notes")
        self._run: RunRecord | None = None
        self._title = ElidedLabel(self)
        self._title.setObjectName("run_title")
        strong = theme.font("ui")
        strong.setBold(True)
        self._title.setFont(strong)
        self._facts = QLabel(self)
        self._facts.setObjectName("run_facts")
        self._facts.setWordWrap(True)
        self._facts.setProperty("role", "soft")
        self._facts.setFont(theme.font("small"))
        self._tags = QLineEdit(self)
        self._tags.setObjectName("run_tags")
        self._tags.setPlaceholderText("Tags, separated by commas")
        self._tags.setAccessibleName("Tags")
        self._text = QPlainTextEdit(self)
        self._text.setObjectName("run_text")
        self._text.setPlaceholderText("Notes about this run")
        self._text.setAccessibleName("Notes")
        self._text.setTabChangesFocus(True)
        self._text.setMinimumHeight(2 * theme.ROW)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(6)
        column.addWidget(self._title)
        column.addWidget(self._facts)
        column.addWidget(self._tags)
        column.addWidget(self._text, 1)
        self.details = DetailsView(self)
        column.addWidget(self.details)
        self._tags.editingFinished.connect(self._write)
        self._text.installEventFilter(self)

    @property
    def text(self) -> QPlainTextEdit:
        return self._text

    @property
    def tags(self) -> QLineEdit:
        return self._tags

    def show_run(self, run: RunRecord, word: str) -> None:
        """Show another run; what is being written about this one stays.

        Args:
            run: which run.
            word: how it stands or ended.
        """
        if self._run is not None and self._run.name != run.name:
            self._write()
        changed = self._run is None or self._run.name != run.name
        self._run = run
        self._title.set_text(run.title)
        self._title.setToolTip(f"The run in the folder {run.name}")
        history = history_of(run.marks, is_training=run.state == "running")
        self._facts.setText("\n".join([_facts(run, word), *_shown(history)]))
        self._facts.setToolTip("\n".join(history) if len(history) > _LINES else "")
        self.details.show_run(run)
        written = self._text.toPlainText()
        if (changed or not self._text.hasFocus()) and written != run.notes.text:
            self._text.setPlainText(run.notes.text)
        if changed or not self._tags.hasFocus():
            self._tags.setText(", ".join(run.notes.tags))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._text and event.type() == QEvent.Type.FocusOut:
            self._write()
        return super().eventFilter(watched, event)

    def _write(self) -> None:
        if self._run is None:
            return
        tags = tuple(tag.strip() for tag in self._tags.text().split(",") if tag.strip())
        text = self._text.toPlainText()
        if text != self._run.notes.text or tags != self._run.notes.tags:
            self.edited.emit(self._run.name, text, tags)


def _shown(history: tuple[str, ...]) -> tuple[str, ...]:
    """What happened last, and how much before."""
    if len(history) <= _LINES:
        return history
    kept = history[1 - _LINES :]
    return (f"{numbers.count(len(history) - len(kept))} changes before", *kept)


def _time(run: RunRecord) -> str:
    """How long it trained, and in how many parts where there are several."""
    if run.seconds is None:
        return ""
    parts = parts_of(run.marks)
    several = f" in {numbers.count(parts)} parts" if parts > 1 else ""
    return f"{numbers.duration(run.seconds)}{several}"


def _facts(run: RunRecord, word: str) -> str:
    lines = [run.problem or f"{word}. {run.reason}".rstrip(". ") + "."]
    lines += [f"{run.verdict[1]}."] if run.verdict[1] else []
    if run.error == NumericError.code:
        lines.append(
            "The tensors of the step that broke are shown until the next training begins or the "
            "project is closed; the run does not keep them."
        )
    if run.project is not None:
        training = run.project.training
        layers = len(run.project.graph.nodes)
        rate = numbers.number(training.optimizer.rate(0))
        lines.append(
            f"{numbers.counted(layers, 'layer')}, {numbers.count(run.parameters)} parameters; "
            f"{type(training.optimizer).__name__}, rate {rate}, batch {training.batch_size}, "
            f"seed {training.seed}"
        )
    place = [run.device, _time(run)]
    lines.append(", ".join(part for part in place if part))
    origin = [
        f"data {run.data_hash[:12]}" if run.data_hash else "",
        f"Glassbox {run.version}" if run.version else "",
    ]
    lines.append(", ".join(part for part in origin if part))
    return "\n".join(line for line in lines if line)


def _fact(detail: Detail) -> Fact:
    text = _text(detail.form, detail.value)
    if detail.note:
        text = f"{text}, {detail.note}"
    return detail.name, text, _exact(detail)


def _text(form: Form, value: str | float | int) -> str:
    if form == "bytes":
        return numbers.memory(int(value))
    return shown_text(form, value)


def _exact(detail: Detail) -> str:
    if detail.form == "bytes":
        return f"{detail.name}: {numbers.count(int(detail.value))} bytes"
    return f"{detail.name}: {exact_text(detail.form, detail.value)}"
