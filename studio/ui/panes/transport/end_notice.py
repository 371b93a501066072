"""Tells a user who has gone elsewhere that a training has ended, and what it reached; quietly."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from studio.session.runs.columns import is_share
from studio.session.studio import Studio
from studio.session.training.state import Ending
from studio.widgets import binding, numbers


class EndNotice(QObject):
    """Waits for the end of a training and of the test behind it.

    Args:
        studio: the models.
        parent: a widget of the window.
    """

    def __init__(self, studio: Studio, parent: QWidget) -> None:
        super().__init__(parent)
        self._evaluation = studio.evaluation
        self._notify = studio.notify
        self._widget = parent
        self._ended: Ending | None = None
        binding.connect(self, studio.training.ended, self._hear_end)
        binding.connect(self, studio.evaluation.changed, self._tell)

    def _hear_end(self, ending: Ending) -> None:
        # Who looks at the window sees it, and what went wrong is told anyway.
        away = QGuiApplication.focusWindow() is None
        well = ending.state == "finished" and ending.verdict is None
        self._ended = ending if away and well else None
        if away and ending.verdict is not None:
            QApplication.alert(self._widget.window())
        self._tell()

    def _tell(self) -> None:
        ending, status = self._ended, self._evaluation.status
        if ending is None or status in ("measuring", "waiting"):
            return
        self._ended = None
        results = self._evaluation.results
        numbers_found = dict(ending.metrics) if results is None else dict(results.metrics)
        subject = self._evaluation.subject
        where = ""
        if results is not None and subject is not None:
            where = f"{subject.part_title(results.part)} "
        reached = [
            f"{where}{name.replace('_', ' ')} {_text(name, value)}"
            for name, value in sorted(numbers_found.items(), key=lambda each: not is_share(each[0]))
            if not name.startswith("learning_rate")
        ]
        self._notify(f"The training has finished: {', '.join(reached[:2])}", "ok")
        QApplication.alert(self._widget.window())


def _text(name: str, value: float) -> str:
    return numbers.share(value) if is_share(name) else numbers.number(value)
