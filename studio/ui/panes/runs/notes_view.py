"""The notes of one run: what it was, words to find it by, and the user's own text."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtWidgets import QLabel, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from studio.engine.core.errors import NumericError
from studio.session.runs.records import RunRecord, history_of, parts_of
from studio.widgets import numbers, theme
from studio.widgets.labels.elided_label import ElidedLabel

_LINES = 8
"""Lines there are for what happened to a run."""


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
