"""The slice field of a tensor view, and a slider for each axis of which one index is shown."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QLineEdit, QSlider, QWidget

from studio.session.tensor_view.tensor_view import TensorViewModel
from studio.session.tensor_view.view_state import Slider
from studio.widgets import theme


class SliceField(QLineEdit):
    """Takes a slice as NumPy writes it; Enter takes it, Esc goes back to what holds.

    Args:
        view: what is sliced.
        parent: the widget it stands in.
    """

    def __init__(self, view: TensorViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tensor_slice")
        self.setAccessibleName("Slice")
        self.setPlaceholderText("[0, :, ::2]")
        self.setToolTip(
            "Part of the tensor to show, in NumPy notation: [0, :, ::2]\nt[-50:] "
            "shows the last 50 steps in sequence"
        )
        self.setFont(theme.font("mono"))
        self._view = view
        self.returnPressed.connect(self._take)

    def refresh(self) -> None:
        """Show the slice in force, unless one is being typed."""
        if not self.hasFocus() and self.text() != self._view.view_state.text:
            self.setText(self._view.view_state.text)
        wrong = bool(self._view.slice_error)
        if self.property("wrong") != wrong:
            self.setProperty("wrong", wrong)
            self.style().unpolish(self)
            self.style().polish(self)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self._view.set_slice(self._view.view_state.text)
            self.setText(self._view.view_state.text)
            return
        super().keyPressEvent(event)

    def _take(self) -> None:
        self._view.set_slice(self.text())


class SliceControls(QWidget):
    """The slice field, what is wrong with it, and the sliders.

    Args:
        view: what is sliced.
        parent: the widget it stands in.
    """

    def __init__(self, view: TensorViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view = view
        self.field = SliceField(view, self)
        self._shape = QLabel(self)
        self._shape.setObjectName("tensor_shape")
        self._shape.setFont(theme.font("mono"))
        self._shape.setProperty("role", "soft")
        self._error = QLabel(self)
        self._error.setObjectName("slice_error")
        self._error.setProperty("role", "error")
        self._error.setWordWrap(True)
        self._rows: dict[int, tuple[QLabel, QSlider, QLabel]] = {}
        line = QHBoxLayout()
        line.setSpacing(6)
        line.addWidget(self._shape)
        line.addWidget(self.field, 1)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(4)
        self._grid.addLayout(line, 0, 0, 1, 3)
        self._grid.addWidget(self._error, 1, 0, 1, 3)
        self._grid.setColumnStretch(1, 1)

    def refresh(self) -> None:
        """Show slice and sliders as they are."""
        shape = self._view.shape
        self._shape.setText("" if shape is None else str(list(shape)))
        self.field.refresh()
        self._error.setText(self._view.slice_error)
        self._error.setVisible(bool(self._view.slice_error))
        # There is nothing to choose along an axis of one index.
        sliders = {slider.axis: slider for slider in self._view.sliders if slider.count > 1}
        for axis in self._rows.keys() - sliders.keys():
            for widget in self._rows.pop(axis):
                widget.setParent(None)
                widget.deleteLater()
        for axis, slider in sliders.items():
            if axis not in self._rows:
                # By the axis, not by the sliders there are: those stay where they are.
                self._add(axis, 2 + axis)
            self._show(slider)

    def _add(self, axis: int, row: int) -> None:
        name, slider, value = QLabel(f"axis {axis}", self), QSlider(self), QLabel(self)
        slider.setOrientation(Qt.Orientation.Horizontal)
        slider.setObjectName(f"tensor_axis_{axis}")
        slider.setAccessibleName(f"Index of axis {axis}")
        slider.valueChanged.connect(lambda at: self._view.set_position(axis, at))
        value.setFont(theme.font("numbers"))
        for column, widget in enumerate((name, slider, value)):
            self._grid.addWidget(widget, row, column)
            widget.show()
        self._rows[axis] = (name, slider, value)

    def _show(self, slider: Slider) -> None:
        _, control, value = self._rows[slider.axis]
        control.blockSignals(True)
        control.setRange(0, slider.count - 1)
        control.setValue(slider.at)
        control.blockSignals(False)
        value.setText(f"{slider.at} / {slider.count - 1}")
