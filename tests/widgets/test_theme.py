"""The theme on the application: palette, style sheet, fonts, and switching while it is shown."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QFontInfo, QFontMetricsF, QPalette
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from studio.session.core.theme import PALETTES, ROLES, Theme
from studio.widgets import binding, icons, style_sheet, theme


@pytest.fixture
def window(qtbot: QtBot, dark: Theme) -> QWidget:
    made = QWidget()
    column = QVBoxLayout(made)
    for widget in (QLabel("text"), QPushButton("button")):
        column.addWidget(widget)
    qtbot.addWidget(made)
    with qtbot.waitExposed(made, timeout=60_000):
        made.show()
    return made


def test_switching_recolours_what_is_shown(qtbot: QtBot, window: QWidget, dark: Theme) -> None:
    def corner() -> str:
        return window.grab().toImage().pixelColor(1, 1).name().upper()

    assert corner() == PALETTES["dark"]["window"]
    dark.choose("light")
    assert corner() == PALETTES["light"]["window"]
    assert theme.colour("text").name().upper() == PALETTES["light"]["text"]
    assert window.palette().color(QPalette.ColorRole.WindowText) == theme.colour("text")


def test_views_hear_of_a_switch_after_the_colours_changed(qapp: QApplication, dark: Theme) -> None:
    seen: list[str] = []

    def hear() -> None:
        seen.append(theme.colour("window").name().upper())

    theme.changed.connect(hear)
    dark.choose("light")
    dark.choose("light")
    assert seen == [PALETTES["light"]["window"]]


@pytest.mark.slow
def test_a_theme_that_was_replaced_is_not_followed(qapp: QApplication, dark: Theme) -> None:
    other = Theme("light")
    theme.install(qapp, other)
    dark.choose("light")
    dark.choose("dark")
    assert theme.current() is other
    assert theme.colour("window").name().upper() == PALETTES["light"]["window"]


def test_style_sheet_leaves_no_name_open(qapp: QApplication) -> None:
    for mode in PALETTES:
        sheet = style_sheet.of(Theme(mode))
        assert "@" not in sheet
        assert "%" not in sheet
        assert sheet.count("{") == sheet.count("}")


@pytest.mark.slow
def test_unknown_roles_are_refused(qapp: QApplication) -> None:
    with pytest.raises(KeyError):
        theme.colour("chartreuse")
    assert theme.colour("accent", 40).alpha() == 40
    assert theme.colour("accent").alpha() == 255


def test_fonts_grow_with_their_kind_and_columns_of_digits_line_up(qapp: QApplication) -> None:
    sizes = [theme.font(kind).pointSizeF() for kind in ("small", "ui", "title", "large")]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 4
    assert QFontInfo(theme.font("mono")).fixedPitch()
    for kind in ("mono", "numbers"):
        metrics = QFontMetricsF(theme.font(kind))
        widths = {round(metrics.horizontalAdvance(digit * 8), 3) for digit in "0123456789"}
        assert len(widths) == 1


def test_reduced_motion_takes_no_time(qapp: QApplication) -> None:
    assert theme.duration(120) == 120
    theme.set_reduced_motion(True)
    try:
        assert theme.duration(120) == 0
    finally:
        theme.set_reduced_motion(False)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1, 2, 3])
def test_every_icon_is_drawn_in_its_colour_at_every_scale(
    qtbot: QtBot, dark: Theme, scale: int
) -> None:
    wanted = theme.colour("accent")
    for name in icons.names():
        image = icons.icon(name, "accent").pixmap(16 * scale, 16 * scale).toImage()
        assert image.width() == 16 * scale
        points = (image.pixelColor(x, y) for x in range(16 * scale) for y in range(16 * scale))
        drawn = [point for point in points if point.alpha() > 128]
        assert drawn, name
        for point in drawn:
            assert abs(point.red() - wanted.red()) <= 4, name
            assert abs(point.green() - wanted.green()) <= 4, name


def test_kept_icons_follow_the_theme(qtbot: QtBot, window: QWidget, dark: Theme) -> None:
    button = window.findChild(QPushButton)
    icons.keep(button, "play", "text")
    dark.choose("light")
    image = button.icon().pixmap(32, 32).toImage()
    assert image.pixelColor(15, 16).name().upper() == PALETTES["light"]["text"]
    with pytest.raises(KeyError):
        icons.keep(button, "no such icon")


def test_a_widget_can_repaint_itself_after_a_switch(qtbot: QtBot, dark: Theme) -> None:
    class Painted(QWidget):
        painted = 0

        def look(self) -> None:
            self.painted += 1

    widget = Painted()
    qtbot.addWidget(widget)
    binding.connect(widget, theme.changed, widget.look)
    dark.choose("light")
    assert widget.painted == 1


def test_all_roles_exist_as_colours(qapp: QApplication) -> None:
    assert all(theme.colour(role).isValid() for role in ROLES)


def test_a_box_of_choices_shows_all_of_them(qtbot: QtBot, window: QWidget) -> None:
    box = QComboBox(window)
    box.addItems([f"choice {number}" for number in range(7)])
    # The last is chosen: a popup laid over the box would put the first out of sight.
    box.setCurrentIndex(6)
    window.layout().addWidget(box)
    view = box.view()
    box.showPopup()
    qtbot.waitUntil(view.isVisible, timeout=60_000)
    whole = view.viewport().rect()
    for row in range(7):
        assert whole.contains(view.visualRect(view.model().index(row, 0))), row
    box.hidePopup()
