"""Colours and fonts for widgets: the theme's roles as Qt takes them, for the whole application."""

from __future__ import annotations

from functools import cache
from typing import Literal, TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from studio.engine.core.signal import Signal
from studio.session.core.theme import Mode, Theme
from studio.widgets import style_sheet
from studio.widgets.restyling import change_style_sheet

FontKind: TypeAlias = Literal["ui", "small", "title", "large", "mono", "numbers"]

COMPACT_ROW, ROW = 22, 28
"""Heights of a row in tables and trees, and of one line of controls."""

HIT = 24
"""Smallest side of anything to click on."""

_FACTORS = {"ui": 1.0, "small": 0.85, "title": 1.15, "large": 1.4, "mono": 1.0, "numbers": 1.0}
# Fixed-width families whose zero cannot be taken for an O, best first.
_MONO = ("JetBrains Mono", "Cascadia Mono", "Source Code Pro", "SF Mono", "Menlo", "Consolas",
         "DejaVu Sans Mono", "Liberation Mono")  # fmt: skip

changed: Signal[[]] = Signal()
"""Emitted after colours changed everywhere; views that paint themselves repaint."""


class _InForce:
    """What the application shows now."""

    def __init__(self) -> None:
        self.theme = Theme("dark")
        self.reduced_motion = False
        self.applied = ""
        self.listening: QApplication | None = None

    def apply(self) -> None:
        """Give palette and style sheet to the application, and tell the views."""
        _colour.cache_clear()
        app = QApplication.instance()
        if isinstance(app, QApplication):
            _tell_platform(app, self.theme)
            sheet = style_sheet.of(self.theme)
            if sheet == self.applied:
                app.setPalette(palette(self.theme))
            elif self.applied:
                change_style_sheet(app, palette(self.theme), sheet)
            else:
                app.setPalette(palette(self.theme))
                app.setStyleSheet(sheet)
            self.applied = sheet
        changed.emit()

    def system_changed(self, _scheme: Qt.ColorScheme) -> None:
        """The system went dark or light; what we told it ourselves comes back here as well."""
        if self.theme.choice == "system":
            self.theme.follow(system_mode())


_in_force = _InForce()


def install(app: QApplication, theme: Theme) -> None:
    """Show ``theme`` in the whole application, now and after each of its changes."""
    before = _in_force.theme
    before.changed.disconnect(_in_force.apply)
    _in_force.theme = theme
    if _in_force.listening is not app:
        _in_force.listening = app
        _in_force.applied = ""
        app.setStyle("Fusion")
        app.setEffectEnabled(Qt.UIEffect.UI_AnimateMenu, False)
        app.styleHints().colorSchemeChanged.connect(_in_force.system_changed)
    theme.follow(system_mode())
    theme.changed.connect(_in_force.apply)
    _in_force.apply()


def current() -> Theme:
    """The theme in force."""
    return _in_force.theme


def colour(role: str, alpha: int = 255) -> QColor:
    """The colour of a role; KeyError for an unknown role."""
    found = QColor(_colour(role))
    if alpha != 255:
        found.setAlpha(alpha)
    return found


def mixed(role: str, ground: str, share: float) -> QColor:
    """``share`` of one role's colour laid over another's."""
    return QColor(_in_force.theme.mixed(role, ground, share))


@cache
def _colour(role: str) -> QColor:
    return QColor(_in_force.theme.colour(role))


def font(kind: FontKind) -> QFont:
    """The font for a kind of text, from the system's font and size."""
    if kind == "mono":
        found = QFont(_mono_family())
        found.setStyleHint(QFont.StyleHint.Monospace)
        found.setFixedPitch(True)
    else:
        found = QFont(QGuiApplication.font())
    base = QGuiApplication.font()
    if base.pointSizeF() > 0:
        found.setPointSizeF(base.pointSizeF() * _FACTORS[kind])
    else:
        found.setPixelSize(max(1, round(base.pixelSize() * _FACTORS[kind])))
    if kind in ("title", "large"):
        found.setWeight(QFont.Weight.DemiBold)
    if kind in ("mono", "numbers"):
        found.setFeature(QFont.Tag("tnum"), 1)
        found.setFeature(QFont.Tag("zero"), 1)
    return found


@cache
def _mono_family() -> str:
    given = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    installed = set(QFontDatabase.families())
    if QFontInfo(given).family() in _MONO:
        return QFontInfo(given).family()
    return next((name for name in _MONO if name in installed), given.family())


def set_reduced_motion(on: bool) -> None:
    """Whether things change place at once instead of sliding there."""
    _in_force.reduced_motion = on


def duration(milliseconds: int) -> int:
    """How long a movement takes: as given, or no time with reduced motion."""
    return 0 if _in_force.reduced_motion else milliseconds


def system_mode() -> Mode:
    """What the system shows; dark where it does not say."""
    scheme = QGuiApplication.styleHints().colorScheme()
    return "light" if scheme is Qt.ColorScheme.Light else "dark"


def _tell_platform(app: QApplication, theme: Theme) -> None:
    """Have window frames and native dialogs follow as well."""
    hints = app.styleHints()
    if theme.choice == "system":
        hints.unsetColorScheme()
    else:
        hints.setColorScheme(
            Qt.ColorScheme.Dark if theme.choice == "dark" else Qt.ColorScheme.Light
        )


def palette(theme: Theme) -> QPalette:
    """The palette of plain widgets."""
    made = QPalette()
    for role, name in _PALETTE_ROLES.items():
        made.setColor(role, QColor(theme.colour(name)))
    made.setColor(QPalette.ColorRole.AlternateBase, QColor(theme.mixed("field", "dock", 0.45)))
    made.setColor(QPalette.ColorRole.Highlight, QColor(theme.mixed("accent", "dock", 0.30)))
    made.setColor(QPalette.ColorRole.HighlightedText, QColor(theme.colour("text")))
    faint = QColor(theme.colour("text3"))
    for role in (
        QPalette.ColorRole.WindowText,
        QPalette.ColorRole.Text,
        QPalette.ColorRole.ButtonText,
    ):
        made.setColor(QPalette.ColorGroup.Disabled, role, faint)
    return made


_PALETTE_ROLES = {
    QPalette.ColorRole.Window: "window",
    QPalette.ColorRole.WindowText: "text",
    QPalette.ColorRole.Base: "dock",
    QPalette.ColorRole.Text: "text",
    QPalette.ColorRole.Button: "field",
    QPalette.ColorRole.ButtonText: "text",
    QPalette.ColorRole.BrightText: "error",
    QPalette.ColorRole.ToolTipBase: "field",
    QPalette.ColorRole.ToolTipText: "text",
    QPalette.ColorRole.PlaceholderText: "text3",
    QPalette.ColorRole.Link: "accent",
    QPalette.ColorRole.LinkVisited: "accent",
    QPalette.ColorRole.Accent: "accent",
    QPalette.ColorRole.Light: "hover",
    QPalette.ColorRole.Midlight: "field",
    QPalette.ColorRole.Mid: "hairline",
    QPalette.ColorRole.Dark: "outline",
    QPalette.ColorRole.Shadow: "shadow",
}
