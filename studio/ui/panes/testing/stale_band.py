"""Says that the weights belong to an older graph, and offers the ways out of that."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from studio.engine.core.errors import StudioError
from studio.session.studio import Studio
from studio.session.training.staleness import reverted
from studio.widgets import binding, theme


class StaleBand(QWidget):
    """An amber band; there only while the graph differs from the one that was trained."""

    def __init__(self, studio: Studio, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("stale_band")
        self._studio = studio
        self._training = studio.training
        self._text = QLabel(self)
        self._text.setProperty("role", "warning")
        self._text.setFont(theme.font("small"))
        self._text.setWordWrap(True)
        self._full = QLabel(self)
        self._full.setProperty("role", "soft")
        self._full.setFont(theme.font("small"))
        self._full.setWordWrap(True)
        self._full.hide()
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self._text, 1)
        self._show = self._button("stale.show", "Show difference", "List the layers that differ")
        self._show.setCheckable(True)
        self._show.toggled.connect(self._full.setVisible)
        self._revert = self._button(
            "stale.revert", "Revert", "Restore the graph that was trained. You can undo this."
        )
        self._revert.clicked.connect(self._take_back)
        self._retrain = self._button("stale.retrain", "Retrain", "Train the current graph")
        self._retrain.clicked.connect(lambda: studio.actions.trigger("train.start"))
        for button in (self._show, self._revert, self._retrain):
            row.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 2, 4, 2)
        column.setSpacing(2)
        column.addLayout(row)
        column.addWidget(self._full)
        binding.refresh(
            self, self.refresh, studio.training.staleness_changed, studio.training.state_changed,
            rate=10,
        )  # fmt: skip
        self.refresh()

    @property
    def text(self) -> str:
        """What it says; empty while it is away."""
        return self._text.text() if self._training.is_stale else ""

    def refresh(self) -> None:
        """Say what differs now."""
        staleness, difference = self._training.staleness, self._training.difference
        self.setVisible(bool(staleness))
        self._text.setText(staleness[:1].upper() + staleness[1:])
        self._full.setText("\n".join(difference.lines) if difference is not None else "")
        self._show.setVisible(difference is not None)
        idle = not self._training.is_busy
        self._retrain.setEnabled(idle)

    def _take_back(self) -> None:
        project, document = self._training.trained_project, self._studio.document
        if project is None:
            return
        try:
            state = reverted(document.state, project)
            document.apply("Revert to the graph that was trained", state)
        except StudioError as error:
            self._studio.fail(error)

    def _button(self, name: str, text: str, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setObjectName(name)
        button.setText(text)
        button.setToolTip(tip)
        button.setFont(theme.font("small"))
        button.setMinimumHeight(theme.HIT)
        return button
