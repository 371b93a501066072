"""What the user may choose: searchable, in force at once, each with a way back."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QStackedWidget,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.engine.core.options import AnyOption, OptionKind
from studio.engine.plugins.loading import plugins_config
from studio.session.core.action_table import ActionRegistry
from studio.session.core.preferences import Preferences
from studio.session.studio import Studio
from studio.ui.shell.commands import fuzzy
from studio.ui.shell.dialogs.key_editor import KeyEditor
from studio.ui.shell.dialogs.key_sheet import is_chord
from studio.ui.shell.dialogs.plugin_list import PluginList
from studio.widgets import binding, theme
from studio.widgets.fields.scrub_field import ScrubField
from studio.widgets.forms.number_editors import stepping_of
from studio.widgets.keys import pressed_keys, shown_keys
from studio.widgets.labels.tool_button import tool_button

KEYS = "Keys"
_RESTART = ("scale",)


class PreferenceRow(QWidget):
    """One preference: label, sentence, editor, and a button that takes the default again.

    Args:
        preference: which one.
        preferences: all of them.
        failed: hears of a value that could not be kept.
        parent: the form.
    """

    def __init__(
        self,
        preference: AnyOption,
        preferences: Preferences,
        failed: Callable[[StudioError], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setObjectName(f"preference.{preference.name}")
        self.preference = preference
        self._preferences = preferences
        self._failed = failed
        text = QLabel(preference.label, self)
        doc = QLabel(preference.doc, self)
        doc.setProperty("role", "faint")
        doc.setWordWrap(True)
        self.editor = self._make_editor()
        self.editor.setObjectName(f"editor.{preference.name}")
        self.editor.setAccessibleName(preference.label)
        self.editor.setAccessibleDescription(preference.doc)
        text.setBuddy(self.editor)
        tip = f"Reset to default: {_shown(preference.default)}"
        self._reset = tool_button(
            "revert", f"reset.{preference.name}", tip, self, f"Reset {preference.label}"
        )
        self._reset.clicked.connect(lambda: self._set(preference.default))
        keep = self._reset.sizePolicy()
        keep.setRetainSizeWhenHidden(True)
        self._reset.setSizePolicy(keep)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 4, 0, 4)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(2)
        grid.addWidget(text, 0, 0)
        grid.addWidget(doc, 1, 0)
        grid.addWidget(self.editor, 0, 1, 2, 1, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self._reset, 0, 2, 2, 1, Qt.AlignmentFlag.AlignVCenter)
        grid.setColumnStretch(0, 1)
        self.refresh()

    def refresh(self) -> None:
        """Show the value in force."""
        value = self._preferences[self.preference.name]
        if isinstance(self.editor, QComboBox):
            self.editor.setCurrentIndex(self.editor.findData(value))
        elif isinstance(self.editor, QCheckBox):
            self.editor.setChecked(bool(value))
        elif isinstance(self.editor, ScrubField):
            self.editor.set_value(float(value))
        self._reset.setVisible(not self._preferences.is_default(self.preference.name))

    def _make_editor(self) -> QWidget:
        preference = self.preference
        if preference.choices:
            combo = QComboBox(self)
            for choice in preference.choices:
                combo.addItem(_shown(choice), choice)
            combo.setMinimumWidth(160)
            combo.activated.connect(lambda _row: self._set(combo.currentData()))
            return combo
        if preference.kind is OptionKind.FLAG:
            box = QCheckBox(self)
            box.clicked.connect(self._set)
            return box
        whole = preference.kind is OptionKind.INTEGER
        field = ScrubField(stepping_of(preference), parent=self)
        field.setFixedWidth(96)
        field.committed.connect(lambda value: self._set(round(value) if whole else value))
        return field

    def _set(self, value: object) -> None:
        try:
            self._preferences.set(self.preference.name, value)
        except StudioError as error:
            self._failed(error)
        self.refresh()


class PreferencesDialog(QDialog):
    """All preferences under their headings.

    Args:
        preferences: what can be chosen.
        failed: hears of a value that could not be kept.
        restart: starts the studio again, for what needs that.
        plugins: makes the list of plugins.
        actions: the actions whose keys can be changed.
        window: the main window.
    """

    def __init__(
        self,
        preferences: Preferences,
        failed: Callable[[StudioError], object],
        restart: Callable[[], object],
        plugins: Callable[[Callable[[], object], QWidget], PluginList],
        actions: ActionRegistry,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self.setObjectName("preferences")
        self.setWindowTitle("Preferences")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._preferences = preferences
        self._at_start = {name: preferences[name] for name in _RESTART}
        self.field = QLineEdit(self)
        self.field.setClearButtonEnabled(True)
        self.only_changed = QCheckBox("Only changed", self)
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._body = QWidget()
        self._rows: list[PreferenceRow] = []
        self._headings: dict[str, QLabel] = {}
        self.plugins = plugins(self.look, self._body)
        self._fill(failed)
        self._area.setWidget(self._body)
        self.keys = KeyEditor(actions, failed, self)
        self.tabs = QTabBar(self)
        self.tabs.setObjectName("preference_tabs")
        self.tabs.setAccessibleName("Kinds of preferences")
        self.tabs.setDrawBase(False)
        self._pages = QStackedWidget(self)
        for title, page in (("General", self._area), (KEYS, self.keys)):
            self.tabs.addTab(title)
            self._pages.addWidget(page)
        self._restart = QPushButton("Restart now", self)
        self._restart.setObjectName("restart")
        self._restart.clicked.connect(restart)
        close = QPushButton("Close", self)
        close.clicked.connect(self.accept)
        top = QHBoxLayout()
        top.addWidget(self.field, 1)
        top.addWidget(self.only_changed)
        bottom = QHBoxLayout()
        bottom.addWidget(self._restart)
        for button in self.keys.buttons:
            bottom.addWidget(button)
        bottom.addStretch(1)
        bottom.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        column.addWidget(self.tabs)
        column.addLayout(top)
        column.addWidget(self._pages, 1)
        column.addLayout(bottom)
        self.field.textChanged.connect(self.look)
        self.field.installEventFilter(self)
        self.only_changed.toggled.connect(self.look)
        self.tabs.currentChanged.connect(self._turn)
        binding.connect(self, preferences.changed, self._changed)
        self.resize(680, 640)
        self._turn(0)
        self.field.setFocus()

    def show_keys(self) -> None:
        """Turn to the keys."""
        self.tabs.setCurrentIndex(self._pages.indexOf(self.keys))
        self.field.setFocus()

    def eventFilter(self, _watched: object, event: QEvent) -> bool:
        # Keys that type nothing are looked up themselves where keys are listed.
        if not isinstance(event, QKeyEvent) or not self._shows_keys or not is_chord(event):
            return False
        if event.type() is QEvent.Type.ShortcutOverride:
            event.accept()
        elif event.type() is QEvent.Type.KeyPress:
            self.field.setText(shown_keys(pressed_keys(event)))
        return True

    @property
    def _shows_keys(self) -> bool:
        return self._pages.currentWidget() is self.keys

    def _turn(self, page: int) -> None:
        """Show another page; what is searched for is that page's."""
        self._pages.setCurrentIndex(page)
        words = "Search for a command, or press keys" if self._shows_keys else "Search preferences"
        self.field.setPlaceholderText(words)
        self.field.setAccessibleName(words)
        self.field.clear()
        for button in self.keys.buttons:
            button.setVisible(self._shows_keys)
        self.look()

    def look(self) -> None:
        """Show what fits the search."""
        typed = self.field.text()
        if self._shows_keys:
            self.keys.look(typed, only_changed=self.only_changed.isChecked())
            return
        shown: set[str] = set()
        for row in self._rows:
            each = row.preference
            words = f"{each.label} {each.doc} {each.group} {' '.join(each.choices)}"
            fits = not typed.strip() or fuzzy.folded(typed.strip()) in fuzzy.folded(words)
            if self.only_changed.isChecked():
                fits = fits and not self._preferences.is_default(each.name)
            row.setVisible(fits)
            if fits:
                shown.add(each.group)
        for group, heading in self._headings.items():
            heading.setVisible(group in shown)
        self.plugins.setVisible(
            self.plugins.fits(typed.strip())
            and (not self.only_changed.isChecked() or self.plugins.is_changed)
        )
        is_scaled = any(self._preferences[name] != was for name, was in self._at_start.items())
        self._restart.setVisible(is_scaled or self.plugins.is_changed)
        self._restart.setToolTip(
            "Restarts with the new scale and asks whether to keep it" if is_scaled else
            "Restart Glassbox with the plugins that are on"
        )  # fmt: skip

    def _fill(self, failed: Callable[[StudioError], object]) -> None:
        column = QVBoxLayout(self._body)
        column.setContentsMargins(0, 0, 8, 0)
        column.setSpacing(4)
        for preference in self._preferences:
            if preference.group not in self._headings:
                heading = QLabel(preference.group, self._body)
                heading.setFont(theme.font("title"))
                heading.setContentsMargins(0, 12 if self._headings else 0, 0, 4)
                self._headings[preference.group] = heading
                column.addWidget(heading)
            row = PreferenceRow(preference, self._preferences, failed, self._body)
            self._rows.append(row)
            column.addWidget(row)
        column.addWidget(self.plugins)
        column.addStretch(1)

    def _changed(self, name: str) -> None:
        for row in self._rows:
            if row.preference.name == name:
                row.refresh()
        self.look()


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    text = str(value)
    names = {"gl": "OpenGL", "cpu": "CPU", "auto": "Automatic"}
    return names.get(text, text[:1].upper() + text[1:])


def show(window: QWidget, studio: Studio, restart: Callable[[], object]) -> PreferencesDialog:
    """Open the dialog, which is not modal.

    Args:
        window: the main window.
        studio: the models.
        restart: starts the studio again.
    """
    found = window.findChild(PreferencesDialog)
    if found is None:
        config = plugins_config() or studio.dirs.config
        found = PreferencesDialog(
            studio.preferences, studio.fail, restart,
            lambda changed, parent: PluginList(config, changed, studio.fail, parent),
            studio.actions, window,
        )  # fmt: skip
    found.show()
    found.raise_()
    found.activateWindow()
    return found
