"""Editors of values that are of one kind out of several, each kind with options of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from studio.engine.compiler.lower import is_by_output
from studio.engine.core.kinds import Kinds
from studio.engine.core.options import AnyOption, Option, Plain, number
from studio.session.core.option_rows import Row, plain_text, row_of, tip
from studio.widgets.forms.editor import MIXED, Editor, choice_box
from studio.widgets.forms.form import INDENT, Form
from studio.widgets.labels.tool_button import tool_button

_TIP = Qt.ItemDataRole.ToolTipRole


def kinds_of(option: AnyOption) -> Kinds:
    """The kinds of an option that has some; TypeError for another."""
    if option.kinds is None:
        raise TypeError(f"{option.name} has no kinds")
    return option.kinds


def rows_of(kinds: Kinds, value: Plain) -> list[Row]:
    """The options of the kind a value is of."""
    key, values = kinds.split(value)
    return [row_of(o, values.get(o.name, o.plain_default)) for o in kinds.kind(key).options]


class KindsEditor(Editor):
    """A box of kinds, and below it the options of the kind chosen."""

    def __init__(self, option: AnyOption, parent: QWidget | None = None, nesting: int = 0) -> None:
        super().__init__(option, parent, nesting)
        self._kinds = kinds_of(option)
        self._value: Plain = None
        self.box = choice_box(self)
        self.prepare(self.box)
        for kind in self._kinds.kinds:
            self.box.addItem(kind.label, kind.key)
            if kind.doc:
                self.box.setItemData(self.box.count() - 1, kind.doc, _TIP)
        self.is_bare = len(self._kinds.kinds) == 1
        self.box.activated.connect(self._chosen)
        outer = parent.varying if isinstance(parent, Form) else None
        varying = None if outer is None else outer.inside(option.name)
        self.form = Form(self._take, self._reset, parent, nesting + 1, varying=varying)
        self.below = self.form
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.box)
        self.setFocusProxy(self.box)

    def show_value(self, value: Plain, *, is_mixed: bool = False) -> None:
        self._value = value
        by_output = is_by_output(value)
        self.box.setEnabled(not by_output)
        if is_mixed or by_output:
            text = MIXED if is_mixed else plain_text(value)
            self.box.setCurrentIndex(-1)
            self.box.setPlaceholderText(text)
            self.box.setToolTip(tip(self.option) if is_mixed else text)
            self.form.show_rows(())
        else:
            key, _ = self._kinds.split(value)
            place = self.box.findData(key)
            # One of a plugin that is not loaded is shown, and cannot be chosen.
            self.box.setPlaceholderText("" if place >= 0 else self._kinds.kind(key).label)
            self.box.setCurrentIndex(place)
            self.form.show_rows(rows_of(self._kinds, value))
        self.form.setVisible(bool(self.form.rows))

    def _chosen(self, index: int) -> None:
        self.edited.emit(self._kinds.with_kind(self._value, str(self.box.itemData(index))), "")

    def _take(self, name: str, value: Plain, key: str) -> None:
        self.submit(self._kinds.with_value(self._value, name, value), key)

    def _reset(self, name: str) -> None:
        key, _ = self._kinds.split(self._value)
        found = next(o for o in self._kinds.kind(key).options if o.name == name)
        self._take(name, found.plain_default, "")


class ListEditor(Editor):
    """Several values of some kinds, one below the other, and a box that adds one."""

    def __init__(self, option: AnyOption, parent: QWidget | None = None, nesting: int = 0) -> None:
        super().__init__(option, parent, nesting)
        self._kinds = kinds_of(option)
        self._items: list[Plain] = []
        self._shown: list[str] = []
        self._parts: list[_ListItem] = []
        self.adder = choice_box(self)
        self.adder.setPlaceholderText("Add…")
        self.prepare(self.adder, f"add_{option.name}")
        self.adder.setAccessibleName(f"Add to {option.label.lower()}")
        for kind in self._kinds.kinds:
            self.adder.addItem(kind.label, kind.key)
            self.adder.setItemData(self.adder.count() - 1, kind.doc, _TIP)
        self.adder.setCurrentIndex(-1)
        self.adder.activated.connect(self._add)
        self._none = QLabel("by the data" if option.optional else "none", self)
        self._none.setProperty("role", "faint")
        row = QVBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        row.addWidget(self.adder)
        row.addWidget(self._none)
        self.setFocusProxy(self.adder)
        self._list = QWidget(parent)
        self._column = QVBoxLayout(self._list)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(2)
        self.below = self._list

    def show_value(self, value: Plain, *, is_mixed: bool = False) -> None:
        self._items = list(value) if isinstance(value, list) and not is_mixed else []
        by_output = isinstance(value, dict) and not is_mixed
        self.adder.setEnabled(not by_output)
        self._none.setVisible(not self._items)
        unset = "by the data" if value is None else "none"
        self._none.setText(MIXED if is_mixed else plain_text(value) if by_output else unset)
        keys = [self._kinds.split(item)[0] for item in self._items]
        if keys != self._shown:
            self._rebuild(keys)
        for part, item in zip(self._parts, self._items, strict=True):
            part.form.show_rows(rows_of(self._kinds, item))
            part.form.setVisible(bool(part.form.rows))
        self.adder.setCurrentIndex(-1)

    def _rebuild(self, keys: Sequence[str]) -> None:
        for part in self._parts:
            self._column.removeWidget(part)
            part.hide()
            part.deleteLater()
        self._parts = [_ListItem(self, index, key) for index, key in enumerate(keys)]
        self._shown = list(keys)
        for part in self._parts:
            self._column.addWidget(part)
        self._list.setVisible(bool(self._parts))

    def _add(self, index: int) -> None:
        key = str(self.adder.itemData(index))
        self.adder.setCurrentIndex(-1)
        self.edited.emit([*self._items, self._kinds.with_kind(None, key)], "")

    def remove(self, index: int) -> None:
        """Take one of the values away; the last one leaves none, where that is allowed."""
        left: list[Plain] = [item for i, item in enumerate(self._items) if i != index]
        self.edited.emit(left or (None if self.option.optional else []), "")

    def change(self, index: int, name: str, value: Plain, key: str) -> None:
        """Change an option of one of the values; raises StudioError where it is refused."""
        items = list(self._items)
        items[index] = self._kinds.with_value(items[index], name, value)
        self.submit(items, key)

    def reset(self, index: int, name: str) -> None:
        """Take the default of an option of one of the values again."""
        kind, _ = self._kinds.split(self._items[index])
        found = next(o for o in self._kinds.kind(kind).options if o.name == name)
        self.change(index, name, found.plain_default, "")

    @property
    def kinds(self) -> Kinds:
        return self._kinds


class _ListItem(QWidget):
    """One value of a list: its kind, a button that removes it, its options."""

    def __init__(self, owner: ListEditor, index: int, key: str) -> None:
        super().__init__(owner)
        kind = owner.kinds.kind(key)
        title = QLabel(kind.label, self)
        title.setToolTip(kind.doc)
        name, tip = f"remove_{owner.option.name}_{index}", f"Remove {kind.label.lower()}"
        button = tool_button("close", name, tip, self)
        button.setIconSize(QSize(12, 12))
        button.clicked.connect(lambda: owner.remove(index))
        head = QHBoxLayout()
        head.setContentsMargins(INDENT, 0, 0, 0)
        head.addWidget(title, 1)
        head.addWidget(button)
        self.form = Form(
            lambda name, value, merge: owner.change(index, name, value, merge),
            lambda name: owner.reset(index, name),
            self,
            owner.nesting + 1,
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(head)
        column.addWidget(self.form)


class WeightsEditor(Editor):
    """Weights of classes or outputs: all the same, classes also balanced, or one by one."""

    def __init__(self, option: AnyOption, parent: QWidget | None = None, nesting: int = 0) -> None:
        super().__init__(option, parent, nesting)
        self._value: Plain = None
        self.classes: tuple[str, ...] = tuple(option.choices)
        self.box = choice_box(self)
        self.prepare(self.box)
        by_class = (("balanced", "balanced"), ("by class", "table"))
        by_output = (("by output", "table"),)
        is_of_classes = option.name == "class_weights"
        for text, key in (("equal", ""), *(by_class if is_of_classes else by_output)):
            self.box.addItem(text, key)
        self.box.activated.connect(self._chosen)
        self.form = Form(self._take, None, parent, nesting + 1)
        self.below = self.form
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.box)
        self.setFocusProxy(self.box)

    def show_value(self, value: Plain, *, is_mixed: bool = False) -> None:
        self._value = value
        table = value if isinstance(value, dict) else {}
        by_output = any(isinstance(each, str | dict) for each in table.values())
        self.box.setEnabled(not by_output)
        if by_output:
            self.box.setPlaceholderText(plain_text(value))
            self.box.setToolTip(plain_text(value))
            self.box.setCurrentIndex(-1)
            self.form.hide()
            return
        key = "table" if table else "balanced" if value == "balanced" else ""
        self.box.setCurrentIndex(self.box.findData(key))
        names = tuple(dict.fromkeys((*self.classes, *table)))
        self.form.show_rows(
            [row_of(_weight_option(name), table.get(name, 1.0)) for name in names if table]
        )
        self.form.setVisible(bool(table))

    def _chosen(self, index: int) -> None:
        key = self.box.itemData(index)
        if key == "table":
            # Without names of classes yet, the table begins with the first class by number.
            names = self.classes or ("0",)
            self.edited.emit(dict.fromkeys(names, 1.0), "")
        else:
            self.edited.emit(key or None, "")

    def _take(self, name: str, value: Plain, key: str) -> None:
        table = self._value if isinstance(self._value, dict) else {}
        self.submit({**table, name: value}, key)


@lru_cache(maxsize=1024)
def _weight_option(name: str) -> Option[float]:
    option = number("Weight of this class or output.", 1.0, low=0.0, label=name)
    return option.named(name)
