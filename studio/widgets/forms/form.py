"""Rows of label, editor and reset button, with what was refused said below the row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, Self

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QMenu, QToolButton, QWidget

from studio.engine.core.errors import StudioError
from studio.engine.core.options import AnyOption, Plain
from studio.engine.core.options import Editor as EditorName
from studio.session.core.option_rows import Row, default_text, tip
from studio.widgets import icons, menus, theme
from studio.widgets.forms.choice_editors import ChoiceEditor, FlagEditor, TextEditor
from studio.widgets.forms.editor import MIXED, Editor, is_escape
from studio.widgets.forms.number_editors import (
    NumberEditor,
    NumbersEditor,
    border_editor,
    pair_editor,
)
from studio.widgets.in_sight import bring_into_sight_soon
from studio.widgets.labels.elided_label import ElidedLabel

LABEL_WIDTH = 104
"""Width of the labels, the same in all forms of a pane, so that editors stand in one line."""

INDENT = 10
"""How far the options of a kind stand to the right of the kind."""

_RESET, _GAP = 20, 4

_TOP_LEFT = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft
_TOP_RIGHT = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight

TakeValue = Callable[[str, Plain, str], None]
"""Takes the name of an option, its new value and a merge key; raises StudioError to refuse."""


class Varying(Protocol):
    """Lets options of a form be varied by sweeps."""

    def can_vary(self, option: str) -> bool:
        """Whether a sweep can vary an option of that name."""
        ...

    def note(self, option: str) -> str:
        """How an option is varied, in a sentence; empty where it is not."""
        ...

    def vary(self, option: str, on: bool) -> None:
        """Vary an option in the next sweep, or not any more."""
        ...

    def inside(self, option: str) -> Self:
        """The same for the options of the kind that is chosen for an option."""
        ...


class FormRow(QObject):
    """One option in a form.

    The reset button and the label that says what was refused are made when they are first needed:
    most options never need either.

    Args:
        row: the option and its value.
        take: takes what the user settled on.
        reset: takes the default again; None where there is no such button.
        parent: the form.
        nesting: how many forms that form stands in.
        about: what the options are of, for names of fields; empty where the label says it all.
        varying: lets the option be varied by sweeps; None where none can be.
    """

    def __init__(
        self,
        row: Row,
        take: TakeValue,
        reset: Callable[[str], None] | None,
        parent: QWidget,
        nesting: int = 0,
        about: str = "",
        varying: Varying | None = None,
    ) -> None:
        super().__init__(parent)
        self.row = row
        self._varying = varying
        self._menu: QMenu | None = None
        self.is_touched = False
        self._is_told = False
        self._take = take
        self._reset = reset
        self._form = parent
        option = row.option
        self.label = ElidedLabel(parent)
        self.label.set_text(option.label)
        self.label.setObjectName(f"label_{option.name}")
        self.label.setFixedSize(LABEL_WIDTH - INDENT * nesting, theme.ROW)
        self.editor: Editor = _editor(option, parent, nesting)
        self.editor.submit = self._submit
        self.editor.edited.connect(self._edited)
        self.label.setBuddy(self.editor)
        self.label.setVisible(not self.editor.is_bare)
        self.button: QToolButton | None = None
        self.refusal: QLabel | None = None
        self._grid: QGridLayout | None = None
        self._line = 0
        if varying is not None:
            self._ask_for_menus()
        for part in self._parts:
            if about and part.accessibleName():
                part.setAccessibleName(f"{part.accessibleName()} of {about}")
        self.show_row(row)

    @property
    def _parts(self) -> tuple[QWidget, ...]:
        """The editor and what it is made of."""
        return (self.editor, *self.editor.findChildren(QWidget))

    @property
    def widgets(self) -> tuple[QWidget, ...]:
        """Everything the row is made of."""
        parts = (self.label, self.editor, self.button, self.refusal, self.editor.below)
        return tuple(part for part in parts if part is not None)

    def place(self, grid: QGridLayout, line: int) -> None:
        """Stand in three lines of a grid: the option, what belongs to it, what was refused."""
        self._grid, self._line = grid, line
        grid.addWidget(self.label, line, 0, _TOP_LEFT)
        grid.addWidget(self.editor, line, 1)
        if self.editor.below is not None:
            grid.addWidget(self.editor.below, line + 1, 0, 1, 3)
        self._place_button()

    def show_row(self, row: Row) -> None:
        """Show another value of the same option."""
        self.row = row
        self.is_touched = False
        can_reset = self._reset is not None and not row.is_default and not row.option.required
        self.editor.setVisible(not self.editor.is_bare)
        if can_reset and self.button is None and not self.editor.is_bare:
            self._make_button()
        if self.button is not None:
            self.button.setEnabled(can_reset)
            self.button.setIconSize(QSize(14, 14) if can_reset else QSize(0, 0))
        is_changed = not row.is_default and not row.option.required
        mark = "strong" if is_changed else "soft"
        if self.label.property("role") != mark:
            self.label.setProperty("role", mark)
            self.label.style().unpolish(self.label)
            self.label.style().polish(self.label)
        self.show_varied()
        self.editor.show_value(row.value, is_mixed=row.is_mixed)

    def show_varied(self) -> None:
        """Mark the label where the option is varied by the next sweep."""
        note = "" if self._varying is None else self._varying.note(self.row.option.name)
        self.label.set_marked(bool(note))
        said = tip(self.row.option)
        self.label.setToolTip(f"{said}\n{note}." if note else said)
        self.editor.setAccessibleDescription(f"{said} {note}." if note else said)
        if isinstance(self.editor.below, Form):
            self.editor.below.show_varied()

    def take_refusal(self) -> str:
        """What was refused and what counts instead, in a sentence.

        Empty where nothing was refused, or where it was told and no longer stands in the field.
        """
        refusal = self._shown_refusal()
        if refusal is None or (self._is_told and not self.editor.has_focus_inside):
            return ""
        self._is_told = True
        why, option = refusal.text().partition("\n")[0], self.row.option
        value = MIXED if self.row.is_mixed else _plain_text(self.row.value)
        return f"{option.label} is still {value}: {why}"

    def clear_error(self) -> None:
        """Say no more what was refused."""
        refusal = self._shown_refusal()
        if refusal is not None:
            refusal.hide()
            refusal.setText("")
            for part in self._parts:
                part.removeEventFilter(self)

    def _shown_refusal(self) -> QLabel | None:
        """What says that a value was refused, where one was."""
        return None if self.refusal is None or self.refusal.isHidden() else self.refusal

    def _make_button(self) -> None:
        option = self.row.option
        self.button = QToolButton(self._form)
        self.button.setObjectName(f"reset_{option.name}")
        self.button.setAccessibleName(f"Reset {option.label.lower()}")
        self.button.setToolTip(f"Reset to default. {default_text(option)}".rstrip())
        self.button.setFixedSize(QSize(_RESET, theme.HIT))
        self.button.setStyleSheet("padding: 0; border-width: 1px;")
        icons.keep(self.button, "revert", "accent")
        self.button.clicked.connect(self._reset_clicked)
        QWidget.setTabOrder(_last_field(self.editor), self.button)
        self._place_button()

    def _place_button(self) -> None:
        if self._grid is not None and self.button is not None:
            self._grid.addWidget(self.button, self._line, 2, _TOP_RIGHT)
            self.button.show()

    def _make_refusal(self) -> QLabel:
        made = QLabel(self._form)
        made.setObjectName(f"refusal_{self.row.option.name}")
        made.setProperty("role", "error")
        made.setWordWrap(True)
        made.setFont(theme.font("small"))
        if self._grid is not None:
            self._grid.addWidget(made, self._line + 2, 0, 1, 3)
        return made

    def _submit(self, value: Plain, key: str) -> None:
        """Hand a value on; raises what refuses it."""
        # The document may be back where it was before this is shown again.
        self.is_touched = True
        self._take(self.row.option.name, value, key)
        self.clear_error()

    def _edited(self, value: Plain, key: str) -> None:
        try:
            self._submit(value, key)
        except StudioError as error:
            self._refuse(error)

    def _reset_clicked(self) -> None:
        if self._reset is None:
            return
        try:
            self._reset(self.row.option.name)
            self.clear_error()
        except StudioError as error:
            self._refuse(error)

    def _refuse(self, error: StudioError) -> None:
        self._is_told = False
        if self.refusal is None:
            self.refusal = self._make_refusal()
        self.refusal.setText(f"{error.message}\n{error.hint}" if error.hint else error.message)
        self.refusal.show()
        # Not before: a filter hears each event of each of these, in Python.
        for part in self._parts:
            part.installEventFilter(self)
        bring_into_sight_soon(self.refusal)
        if not self.editor.has_focus_inside:
            self._show_truth()

    def _show_truth(self) -> None:
        self.editor.show_value(self.row.value, is_mixed=self.row.is_mixed)

    def _ask_for_menus(self) -> None:
        """Have context menus made here."""
        for part in (self.label, self.editor, *_fields(self.editor)):
            part.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            part.customContextMenuRequested.connect(self._open_menu)

    def _open_menu(self, at: QPoint) -> None:
        """Open the menu of a part of the row: the usual one of a field, and whether it varies."""
        over, varying, name = self.sender(), self._varying, self.row.option.name
        if not isinstance(over, QWidget) or varying is None:
            return
        is_varied = bool(varying.note(name))
        is_offered = is_varied or varying.can_vary(name)
        menu = over.createStandardContextMenu() if isinstance(over, QLineEdit) else QMenu(over)
        # The usual menu of a field lives only as long as Python holds it.
        self._menu = menus.own_keys(menu)
        if is_offered:
            if menu.actions():
                menu.addSeparator()
            entry = menu.addAction("Do not vary" if is_varied else "Vary this…")
            entry.setObjectName("vary")
            entry.triggered.connect(lambda: varying.vary(name, not is_varied))
        menu.aboutToHide.connect(menu.deleteLater)
        if menu.actions():
            menu.popup(over.mapToGlobal(at))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if is_escape(event):
            self._show_truth()
            self.clear_error()
            return True
        if event.type() == QEvent.Type.FocusOut:
            # What was refused is not the document's: it is not shown any longer than typed.
            self._show_truth()
        return False


def _fields(editor: Editor) -> list[QWidget]:
    """The parts of an editor that take the keyboard."""
    return [
        part
        for part in editor.findChildren(QWidget)
        if part.focusPolicy() is not Qt.FocusPolicy.NoFocus and part.window() is editor.window()
    ]


def _last_field(editor: Editor) -> QWidget:
    """The last part of an editor that Tab stops at; the editor itself where there is none."""
    fields = _fields(editor)
    return fields[-1] if fields else editor


def _plain_text(value: Plain) -> str:
    """A value in a sentence."""
    if isinstance(value, list):
        return ", ".join(_plain_text(each) for each in value) or "none"
    if isinstance(value, Mapping):
        return str(value.get("type", "unchanged"))
    return (
        "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    )


class Form(QWidget):
    """Options one below the other, labels and editors aligned.

    Args:
        take: takes what the user settled on; raises StudioError to refuse it.
        reset: takes the default of an option again.
        parent: the widget it stands in.
        nesting: how many forms it stands in; its labels are that much narrower.
        about: what the options are of, for names of fields.
        varying: lets the options be varied by sweeps; None where none can be.
    """

    def __init__(
        self,
        take: TakeValue,
        reset: Callable[[str], None] | None = None,
        parent: QWidget | None = None,
        nesting: int = 0,
        about: str = "",
        varying: Varying | None = None,
    ) -> None:
        super().__init__(parent)
        self.varying = varying
        self._nesting = nesting
        self._about = about
        self._take = take
        self._reset = reset
        self._rows: dict[str, FormRow] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(INDENT if nesting else 0, 0, 0, 0)
        # Qt leaves no gap before a column in which there is no widget yet.
        self._grid.setHorizontalSpacing(0)
        self._grid.setVerticalSpacing(_GAP)
        self._grid.setColumnMinimumWidth(0, LABEL_WIDTH - INDENT * nesting + _GAP)
        self._grid.setColumnMinimumWidth(2, _GAP + _RESET)
        self._grid.setColumnStretch(1, 1)

    @property
    def rows(self) -> tuple[FormRow, ...]:
        """The rows from top to bottom."""
        return tuple(self._rows.values())

    def row(self, name: str) -> FormRow:
        """The row of an option; KeyError where there is none."""
        return self._rows[name]

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Show these options; where they are the same as before only values change."""
        options = [row.option for row in rows]
        if [each.row.option for each in self._rows.values()] != options:
            self._rebuild(rows)
            return
        for row in rows:
            held = self._rows[row.option.name]
            if row != held.row or held.is_touched:
                held.show_row(row)

    def clear_error(self) -> None:
        """Say no more what was refused."""
        for row in self._rows.values():
            row.clear_error()

    def show_varied(self) -> None:
        """Mark the options that are varied by the next sweep, those of kinds too."""
        for row in self._rows.values():
            row.show_varied()

    def _rebuild(self, rows: Sequence[Row]) -> None:
        for old in self._rows.values():
            for widget in old.widgets:
                self._grid.removeWidget(widget)
                widget.hide()
                widget.deleteLater()
            old.deleteLater()
        self._rows = {}
        for place, row in enumerate(rows):
            made = FormRow(
                row, self._take, self._reset, self, self._nesting, self._about, self.varying
            )
            self._rows[row.option.name] = made
            made.place(self._grid, 3 * place)

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self._nesting and self._rows:
            # A line along the left edge shows what belongs to the choice above.
            painter = QPainter(self)
            painter.fillRect(2, 2, 1, self.height() - 4, theme.colour("hairline"))
            painter.end()


_EDITORS: Mapping[EditorName, Callable[[AnyOption, QWidget | None, int], Editor]] = {
    "integer": NumberEditor,
    "number": NumberEditor,
    "flag": FlagEditor,
    "choice": ChoiceEditor,
    "pair": pair_editor,
    "border": border_editor,
    "integers": NumbersEditor,
    "numbers": NumbersEditor,
    "text": TextEditor,
}


def _editor(option: AnyOption, parent: QWidget, nesting: int) -> Editor:
    """The editor of an option, in a form that is nested in so many others."""
    make = _EDITORS.get(option.form_editor)
    if make is not None:
        return make(option, parent, nesting)
    # Imported here, as these hold forms themselves.
    from studio.widgets.forms.kind_editors import KindsEditor, ListEditor, WeightsEditor

    nested: dict[EditorName, Callable[[AnyOption, QWidget | None, int], Editor]] = {
        "kinds": KindsEditor,
        "list": ListEditor,
        "weights": WeightsEditor,
    }
    return nested[option.form_editor](option, parent, nesting)
