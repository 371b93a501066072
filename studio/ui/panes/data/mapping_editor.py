"""Which array, column or folder goes to which input or output of the network."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QMenu, QVBoxLayout, QWidget

from studio.engine.core.errors import StudioError
from studio.session.data.data import DataModel
from studio.session.data.mapping import (
    Side,
    SourcePart,
    mapped,
    missing_ends,
    stray_names,
    uses_of,
)
from studio.widgets import theme
from studio.widgets.labels.elided_button import ElidedButton
from studio.widgets.labels.elided_label import ElidedLabel
from studio.widgets.menus import own_keys

_HEADINGS = {"arrays": ("array", "shape"), "columns": ("column", "holds"),
             "folders": ("folder", "holds")}  # fmt: skip
_UNUSED = "not used"
_BESIDE = 48
"""Letters that name, contents and menu beside each other need."""


class MappingEditor(QWidget):
    """A row for each part of the source, with a menu of the inputs and outputs it can go to.

    In a narrow pane what a part holds stands below its name.

    Args:
        data: the data of the project.
        parent: the widget it stands in.
    """

    def __init__(self, data: DataModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("mapping_editor")
        self._data = data
        self._shown: object = None
        self._buttons: dict[str, ElidedButton] = {}
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(2)
        self._lines: list[tuple[QWidget, QWidget, QWidget]] = []
        self._is_stacked = False
        self._missing = QLabel(self)
        self._missing.setObjectName("mapping_missing")
        self._missing.setProperty("role", "error")
        self._missing.setFont(theme.font("small"))
        self._missing.setWordWrap(True)
        self.by_name = ElidedButton("Map by name", _BY_NAME_TIP, self)
        self.by_name.setObjectName("map_by_name")
        self.by_name.clicked.connect(lambda: self._change(data.mapping.map_by_name))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addLayout(self._grid)
        column.addWidget(self._missing)
        column.addWidget(self.by_name)

    def show_parts(self) -> None:
        """Show the parts of the source and where each goes.

        Rows stay while the parts are the same: a menu of theirs may be open.
        """
        data, ends = self._data, self._data.mapping.ends
        reference = data.data
        shown = data.parts, reference.get("source")
        if shown != self._shown:
            self._shown = shown
            self._fill()
        for part in data.parts:
            uses = uses_of(reference, part.key)
            text = ", ".join(_use_text(side, name) for side, name in uses) or _UNUSED
            button = self._buttons[part.key]
            button.set_text(text)
            button.setAccessibleName(f"{part.key} goes to {text}")
        said = [f"Nothing goes to the {end.title}." for end in missing_ends(reference, ends)]
        said += [
            f"There is no {'input' if side == 'inputs' else 'output'} {name}, which data is "
            "mapped to."
            for side, name in stray_names(reference, ends)
        ]
        self._say(said)
        self.by_name.setVisible(bool(data.parts))

    def begin(self) -> QWidget | None:
        """Give the keyboard to the first part that goes nowhere; the widget that has it now."""
        reference = self._data.data
        free = (b for key, b in self._buttons.items() if not uses_of(reference, key))
        found = next(free, next(iter(self._buttons.values()), None))
        if found is not None:
            found.setFocus()
        return found

    def _fill(self) -> None:
        held = next((key for key, button in self._buttons.items() if button.hasFocus()), "")
        self._buttons.clear()
        for widget in (each for line in self._lines for each in line):
            self._grid.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        headings = _HEADINGS.get(str(self._data.data.get("source")), ("part", "shape"))
        self._lines = [
            (self._heading(headings[0]), self._heading(headings[1]), self._heading("goes to"))
        ]
        self._lines += [self._line_of(part) for part in self._data.parts]
        self._arrange()
        if held in self._buttons:
            self._buttons[held].setFocus()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if (self.width() < self._wanted_width()) != self._is_stacked:
            self._arrange()

    def _wanted_width(self) -> int:
        """So wide that what stands beside each other can be read."""
        return _BESIDE * self.fontMetrics().averageCharWidth()

    def _arrange(self) -> None:
        """Lay the lines out for the width there is."""
        grid, stacked = self._grid, self.width() < self._wanted_width()
        self._is_stacked = stacked
        for place, stretch in enumerate((1, 1, 0) if stacked else (3, 4, 4)):
            grid.setColumnStretch(place, stretch)
        for number, (name, about, button) in enumerate(self._lines):
            for widget in (name, about, button):
                grid.removeWidget(widget)
            if stacked:
                grid.addWidget(name, 2 * number, 0)
                grid.addWidget(about, 2 * number + 1, 0)
                grid.addWidget(button, 2 * number, 1, 2, 1)
            else:
                for place, widget in enumerate((name, about, button)):
                    grid.addWidget(widget, 2 * number, place)
        if self._lines:
            self._lines[0][1].setVisible(not stacked)

    def _heading(self, text: str) -> QLabel:
        label = QLabel(text, self)
        label.setProperty("role", "faint")
        label.setFont(theme.font("small"))
        return label

    def _line_of(self, part: SourcePart) -> tuple[QWidget, QWidget, QWidget]:
        name, about = ElidedLabel(self), ElidedLabel(self)
        name.set_text(part.key)
        about.set_text(part.about)
        about.setToolTip(part.detail)
        about.setProperty("role", "soft")
        about.setFont(theme.font("small"))
        tip, middle = f"Inputs and outputs that get {part.key}.", Qt.TextElideMode.ElideMiddle
        button = ElidedButton("", tip, self, middle)
        button.setObjectName(f"goes_to_{part.key}")
        menu = own_keys(QMenu(button))
        menu.setObjectName(f"menu_{part.key}")
        menu.aboutToShow.connect(lambda: self._fill_menu(menu, part))
        button.setMenu(menu)
        self._buttons[part.key] = button
        return name, about, button

    def _fill_menu(self, menu: QMenu, part: SourcePart) -> None:
        menu.clear()
        uses = uses_of(self._data.data, part.key)
        known = [(end.side, end.name, end.title) for end in self._data.mapping.ends]
        if self._data.data.get("source") == "arrays":
            known += [
                ("weights", name, _use_text("weights", name))
                for name in mapped(self._data.data, "targets")
            ]
        known += [
            (side, name, f"{_use_text(side, name)} (not in the network)")
            for side, name in uses
            if (side, name) not in {(each[0], each[1]) for each in known}
        ]
        side_before = ""
        for side, name, title in known:
            if side_before and side != side_before:
                menu.addSeparator()
            side_before = side
            is_on = (side, name) in uses
            action = _checkable(menu, title, is_on=is_on)
            take = partial(self._data.mapping.use, part, side, name, used=not is_on)
            action.triggered.connect(partial(self._change, take))
        if known:
            menu.addSeparator()
        action = _checkable(menu, _UNUSED.capitalize(), is_on=not uses)
        if uses:
            action.triggered.connect(
                partial(self._change, partial(self._data.mapping.leave_out, part))
            )

    def _change(self, change: object, *_: object) -> None:
        try:
            change()  # type: ignore[operator]
        except StudioError as error:
            self._say([error.message])

    def _say(self, texts: list[str]) -> None:
        self._missing.setText("\n".join(texts))
        self._missing.setVisible(bool(texts))


def _use_text(side: Side, name: str) -> str:
    return f"weights of {name}" if side == "weights" else name


def _checkable(menu: QMenu, text: str, *, is_on: bool) -> QAction:
    action = menu.addAction(text.replace("&", "&&"))
    action.setCheckable(True)
    action.setChecked(is_on)
    return action


_BY_NAME_TIP = (
    "Give each array, column or folder to the input or output of the same name; the rest by shape "
    "where only one fits."
)
