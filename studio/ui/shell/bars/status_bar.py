"""The status bar: facts about graph, program and training, each a button to the pane with more."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QSize, Qt, QTimer
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QStatusBar,
    QToolButton,
    QWidget,
)

from studio.session.plots.series import Curve
from studio.session.studio import Studio
from studio.ui.shell.bars import status_facts
from studio.ui.shell.bars.popups import NoticesPopup, TasksPopup
from studio.ui.shell.bars.status_facts import Fact
from studio.widgets import binding, icons, numbers, theme
from studio.widgets.training_tick import tick_of

_AGE_MS = 10_000
_HINT_MS = 4_000
_OF_DOCUMENT = ("state", "validity", "compile", "step", "progress", "loss", "zoom")

HEIGHT = 28
_SLACK = 12
"""Pixels that a fact keeps though it has become so much shorter."""

_WIDE = 1100
"""From this width on there is room for everything."""

_STRIDES = 60


class FactButton(QToolButton):
    """One fact; a click shows the pane with more."""

    def __init__(self, name: str, label: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(f"fact.{name}")
        self._label = label
        self.setAutoRaise(True)
        self.setIconSize(QSize(14, 14))
        self.setFixedHeight(24)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._shown: Fact | None = None
        self._room = 0
        self._icon = ("", "")
        self._allowed = True

    def allow(self, on: bool) -> None:
        """Whether there is anything the fact could be about."""
        self._allowed = on
        self._show_or_hide()

    def show_fact(self, fact: Fact) -> None:
        """Say this from now on."""
        if fact == self._shown:
            return
        self._shown = fact
        # The style leaves no room between picture and text.
        self.setText(f" {fact.text}" if fact.icon and fact.text else fact.text)
        only_icon = bool(fact.icon) and not fact.text
        style = Qt.ToolButtonStyle
        self.setToolButtonStyle(
            style.ToolButtonIconOnly if only_icon else style.ToolButtonTextBesideIcon
        )
        if fact.icon and self._icon != (fact.icon, fact.role):
            self._icon = (fact.icon, fact.role)
            icons.keep(self, fact.icon, fact.role)
        self.setToolTip(fact.tip)
        self.setAccessibleName(f"{self._label}: {fact.text or fact.tip}")
        self._show_or_hide()

    def sizeHint(self) -> QSize:
        """Keep the width when the text becomes a little shorter, so that neighbours stay."""
        hint = super().sizeHint()
        if not 0 <= self._room - hint.width() <= _SLACK:
            self._room = hint.width()
        return QSize(self._room, hint.height())

    def _show_or_hide(self) -> None:
        fact = self._shown
        said = fact is not None and bool(fact.text or fact.icon)
        self.setVisible(self._allowed and said)


class BottomBar(QStatusBar):
    """Holds the status bar outside the layout of the window.

    Otherwise each change of a fact's width would lay out the whole window again.

    Args:
        status: what stands in it.
        window: the window.
    """

    def __init__(self, status: QWidget, window: QWidget) -> None:
        super().__init__(window)
        self.setSizeGripEnabled(False)
        self.setFixedHeight(HEIGHT)
        status.setParent(self)
        self._status = status

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # A widget of fixed size does not pass changed size hints on to its parent.
        self._status.setFixedSize(event.size().width(), HEIGHT)


class StatusBar(QWidget):
    """The facts of a studio.

    Args:
        studio: where the facts are.
        go: shows a pane, or triggers an action, by its id.
        parent: the window.
    """

    def __init__(self, studio: Studio, go: Callable[[str], object], parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("status_bar")
        self.setAccessibleName("Status")
        self.setFixedHeight(HEIGHT)
        self._studio = studio
        self._zoom: Callable[[], float] | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 0, 4, 0)
        row.setSpacing(0)
        self._facts: dict[str, FactButton] = {}
        for name, label, target in (
            ("state", "Training", "plots"), ("validity", "Graph", "problems"),
            ("compile", "Program", "listing"), ("device", "Device", "profiler"),
            ("step", "Step", "profiler"), ("progress", "Progress", "plots"),
        ):  # fmt: skip
            row.addWidget(self._fact(name, label, go, target))
        row.addWidget(self._loss(go))
        self._hint = QLabel(self)
        self._hint.setObjectName("hint")
        self._hint.setProperty("role", "soft")
        self._hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._hint.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        row.addWidget(self._hint, 1)
        for name, label, target in (
            ("tasks", "Tasks", "window.tasks"), ("zoom", "Zoom", "canvas.zoom_100"),
            ("bell", "Notices", "window.notices"),
        ):  # fmt: skip
            row.addWidget(self._fact(name, label, go, target))
        self._hint_timer = QTimer(self)
        self._hint_timer.setSingleShot(True)
        self._hint_timer.setInterval(_HINT_MS)
        self._hint_timer.timeout.connect(self._hint.clear)
        self._ageing = QTimer(self)
        self._ageing.setInterval(_AGE_MS)
        self._ageing.timeout.connect(self._show_compile)
        self._ageing.start()
        self._follow()

    def follow_zoom(self, zoom: Callable[[], float]) -> None:
        """Show the canvas's zoom; call `show_zoom` when it changed."""
        self._zoom = zoom
        self.show_zoom()

    def show_zoom(self) -> None:
        """The zoom has changed."""
        if self._zoom is not None:
            text = f"{round(self._zoom() * 100)}{numbers.THIN}%"
            self._facts["zoom"].show_fact(Fact(text, "Zoom of the canvas; press for 100 %"))

    def show_document(self, on: bool) -> None:
        """Show the facts of the document, or leave them out while none is open."""
        for name in _OF_DOCUMENT:
            self._facts[name].allow(on)

    def hint(self, text: str) -> bool:
        """Say something that is forgotten after a moment; whether there is room for it."""
        self._hint.setText(text)
        self._hint_timer.start()
        return self._hint.isVisible() and self._hint.width() >= self._hint.sizeHint().width()

    def show_tasks(self) -> None:
        """Open the list of running tasks."""
        TasksPopup(self._studio, self.window()).open_above(self._facts["tasks"])

    def show_notices(self) -> None:
        """Open the list of notices."""
        NoticesPopup(self._studio, self.window()).open_above(self._facts["bell"])

    def button(self, name: str) -> FactButton:
        """The button of a fact."""
        return self._facts[name]

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Where there is little room the curve goes first; its number stays. The epoch stands in
        # the toolbar, which in turn has no room for the time that is left.
        self._spark.setVisible(event.size().width() >= _WIDE and self._has_loss)
        self._show_progress()

    def _fact(self, name: str, label: str, go: Callable[[str], object], target: str) -> FactButton:
        button = FactButton(name, label, self)
        button.clicked.connect(lambda: go(target))
        button.hide()
        self._facts[name] = button
        return button

    def _loss(self, go: Callable[[str], object]) -> QWidget:
        holder = QWidget(self)
        row = QHBoxLayout(holder)
        row.setContentsMargins(4, 0, 4, 0)
        row.setSpacing(0)
        self._has_loss = False
        self._spark = Sparkline(holder)
        row.addWidget(self._spark)
        row.addWidget(self._fact("loss", "Loss", go, "plots"))
        self._spark.hide()
        return holder

    def _follow(self) -> None:
        studio = self._studio
        self._tick = tick_of(studio.training)
        binding.connect(self, self._tick.ticked, self._show_training)
        binding.refresh(
            self, self._show_compile, studio.compilation.changed, studio.compilation.stale_changed
        )
        binding.refresh(self, self._show_validity, studio.problems.changed)
        binding.connect(self, studio.document_replaced, self._replaced)
        binding.refresh(
            self, self._show_step, studio.profiling.changed, studio.profiling.state_changed,
            rate=4, live="fact",
        )  # fmt: skip
        binding.refresh(self, self._show_tasks, studio.tasks.changed, rate=10)
        binding.refresh(self, self._show_bell, studio.notices.changed)
        binding.connect(self, studio.preferences.changed, self._preference_changed)
        binding.connect(self, theme.changed, self.update)
        self._show_all()

    def _show_all(self) -> None:
        for show in (
            self._show_training, self._show_validity, self._show_compile, self._show_step,
            self._show_tasks, self._show_bell,
        ):  # fmt: skip
            show()

    def _replaced(self, _document: object) -> None:
        self._show_all()

    def _preference_changed(self, _name: str) -> None:
        self._show_device()

    def _show_training(self) -> None:
        self._facts["state"].show_fact(status_facts.state_fact(self._studio))
        self._show_progress()
        self._show_loss()
        self._show_step()
        self._show_device()

    def _show_progress(self) -> None:
        status, brief = self._tick.status, self.width() < _WIDE
        fact = status_facts.progress_fact(self._studio, status, brief=brief)
        self._facts["progress"].show_fact(fact)

    def _show_validity(self) -> None:
        self._facts["validity"].show_fact(status_facts.validity_fact(self._studio))

    def _show_device(self) -> None:
        self._facts["device"].show_fact(status_facts.device_fact(self._studio))

    def _show_step(self) -> None:
        self._facts["step"].show_fact(status_facts.step_fact(self._studio, self._tick.status))

    def _show_compile(self) -> None:
        result = self._studio.compilation.result
        age = None if result is None else time.monotonic() - result.ended
        self._facts["compile"].show_fact(status_facts.compile_fact(self._studio, age))
        self._show_device()

    def _show_loss(self) -> None:
        curves = self._studio.training.curves
        series = () if curves is None else curves.series("loss", "training")
        self._has_loss = bool(series)
        self._spark.setVisible(self._has_loss and self.width() >= _WIDE)
        if curves is None or not series:
            self._facts["loss"].show_fact(Fact(""))
            return
        self._spark.show_curve(series[-1][1].curve)
        latest = curves.latest("loss", "training")
        tip = f"Loss of the last step: {numbers.exact(latest)}"
        checked = curves.latest("loss", "validation")
        if checked is not None:
            tip += f"\nValidation loss: {numbers.number(checked)}"
        for output in curves.outputs:
            own = curves.latest(f"{output}_loss", "training")
            tip += "" if own is None else f"\nLoss of {output}: {numbers.number(own)}"
        self._facts["loss"].show_fact(Fact(f"Loss {numbers.number(latest)}", tip))

    def _show_tasks(self) -> None:
        self._facts["tasks"].show_fact(status_facts.tasks_fact(self._studio))

    def _show_bell(self) -> None:
        self._facts["bell"].show_fact(status_facts.bell_fact(self._studio))


class Sparkline(QWidget):
    """The loss of the whole training so far, as a curve without axes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values: NDArray[np.float64] = np.empty(0)
        self.setFixedSize(72, 20)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def show_curve(self, curve: Curve) -> None:
        """Draw a curve, thinned so that every stretch keeps its highest and lowest."""
        self._values = thinned(curve, _STRIDES)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(72, 20)

    def paintEvent(self, _event: QPaintEvent) -> None:
        values = self._values
        if len(values) < 2:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.colour("series.0"), 1))
        low, high = float(values.min()), float(values.max())
        span = high - low or 1.0
        width, height = self.width() - 2.0, self.height() - 6.0
        points = [
            QPointF(1 + width * i / (len(values) - 1), 3 + height * (1 - (value - low) / span))
            for i, value in enumerate(values.tolist())
        ]
        painter.drawPolyline(QPolygonF(points))
        painter.end()


def thinned(curve: Curve, strides: int) -> NDArray[np.float64]:
    """At most two values for each of so many stretches, its extremes; none that is not finite."""
    if len(curve) <= 2 * strides:
        values = np.asarray(curve.values, np.float64)
    else:
        edges = np.linspace(0, len(curve), strides + 1).astype(np.int64)
        begin, end = edges[:-1], edges[1:]
        values = np.stack([curve.highest(begin, end), curve.lowest(begin, end)], 1).ravel()
    found: NDArray[np.float64] = values[np.isfinite(values)]
    return found
