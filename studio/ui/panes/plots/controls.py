"""What stands over the plots: the axis, the smoothing, and switches for how values are shown."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QSlider,
    QToolButton,
    QWidget,
)

from studio.session.core.action_table import ActionRegistry
from studio.session.plots.axes import AXES, AXIS_TEXT
from studio.session.plots.smoothing import position_of, weight_at
from studio.session.runs.curves_display import CurvesDisplay
from studio.widgets import icons, theme
from studio.widgets.keys import with_keys

_NOTCHES = 100
_SLIDER = (48, 96)
_SWITCHES = (("plots.log_y", "Log y"), ("plots.outliers", "Clip"), ("plots.seeds", "Mean"),
             ("plots.follow", ""))  # fmt: skip


class PlotControls(QWidget):
    """The controls of the plots.

    Args:
        display: what is drawn.
        actions: the action table.
        parent: the pane.
    """

    def __init__(self, display: CurvesDisplay, actions: ActionRegistry, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("plot_controls")
        self._display = display
        self._actions = actions
        self._state: tuple[object, ...] | None = None
        self._axis = QComboBox(self)
        self._axis.setObjectName("plot_axis")
        self._axis.setAccessibleName("Horizontal axis")
        self._axis.setToolTip("Unit of the horizontal axis")
        for axis in AXES:
            self._axis.addItem(AXIS_TEXT[axis], axis)
        self._axis.activated.connect(self._chosen)
        self._name = QLabel("Smoothing", self)
        self._name.setProperty("role", "faint")
        self._name.setFont(theme.font("small"))
        self._slider = QSlider(Qt.Orientation.Horizontal, self)
        self._slider.setObjectName("plot_smoothing")
        self._slider.setAccessibleName("Smoothing")
        self._slider.setRange(0, _NOTCHES)
        self._slider.setFixedHeight(theme.HIT)
        self._slider.setMinimumWidth(_SLIDER[0])
        self._slider.setMaximumWidth(_SLIDER[1])
        self._slider.setToolTip("Smoothing factor; the raw curve is drawn faintly")
        self._slider.valueChanged.connect(self._smooth)
        self._value = QLabel(self)
        self._value.setFont(theme.font("numbers"))
        self._value.setMinimumWidth(40)
        self._name.setBuddy(self._slider)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self._axis)
        row.addSpacing(4)
        for widget in (self._name, self._slider, self._value):
            row.addWidget(widget)
        self._switches = {action: self._switch(action, word) for action, word in _SWITCHES}
        for button in self._switches.values():
            row.addWidget(button)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def fit(self, room: int) -> None:
        """Leave out what explains itself where there is little room, so that no word is cut."""
        self._set_short(short=False)
        self._set_short(short=self.minimumSizeHint().width() > room)

    def refresh(self) -> None:
        """Show the state of what is drawn."""
        display = self._display
        known, follows = display.axes, display.follows
        checked = tuple(self._actions.is_checked(action_id) for action_id in self._switches)
        has_seeds = display.has_seeds
        state = (known, display.shown_axis, display.weight, follows, checked, has_seeds)
        if state == self._state:
            return
        self._state = state
        # It is in the way where there is nothing to join.
        self._switches["plots.seeds"].setVisible(has_seeds)
        model = self._axis.model()
        for row, axis in enumerate(AXES):
            index = model.index(row, 0)
            flags = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled
            model.setData(index, int(flags.value) if axis in known else 0,
                          Qt.ItemDataRole.UserRole - 1)  # fmt: skip
        self._axis.setCurrentIndex(AXES.index(display.shown_axis))
        self._slider.blockSignals(True)
        self._slider.setValue(round(position_of(display.weight) * _NOTCHES))
        self._slider.blockSignals(False)
        self._value.setText(f"{display.weight:.3f}".rstrip("0").rstrip(".") or "0")
        for (action_id, button), on in zip(self._switches.items(), checked, strict=True):
            spec = self._actions[action_id]
            button.setChecked(on)
            button.setToolTip(with_keys(spec.tip.rstrip("."), spec.keys))
            if action_id == "plots.follow":
                button.setText("Following" if follows else "Follow")

    def _switch(self, action_id: str, word: str) -> QToolButton:
        spec = self._actions[action_id]
        button = QToolButton(self)
        button.setObjectName(f"plot_switch.{action_id}")
        button.setAccessibleName(spec.text)
        button.setCheckable(True)
        button.setText(word)
        button.setMinimumHeight(theme.HIT)
        button.setFont(theme.font("small"))
        if spec.icon:
            icons.keep(button, spec.icon)
            button.setIconSize(QSize(12, 12))
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.clicked.connect(lambda: self._trigger(action_id))
        return button

    def _set_short(self, *, short: bool) -> None:
        """Without the slider's name, and with a picture only on the switch that has one."""
        self._name.setVisible(not short)
        style = Qt.ToolButtonStyle
        for action_id, button in self._switches.items():
            if self._actions[action_id].icon:
                look = style.ToolButtonIconOnly if short else style.ToolButtonTextBesideIcon
                button.setToolButtonStyle(look)
        self.updateGeometry()

    def _trigger(self, action_id: str) -> None:
        self._actions.trigger(action_id)
        # Whatever came of it, the switch has turned by itself.
        self._state = None
        self.refresh()

    def _chosen(self, row: int) -> None:
        self._state = None
        self._display.choose_axis(AXES[row])

    def _smooth(self, place: int) -> None:
        self._state = None
        self._display.smooth(round(weight_at(place / _NOTCHES), 4))
