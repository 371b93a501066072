"""The style sheet of plain widgets, made from the theme's roles."""

from __future__ import annotations

from studio.session.core.theme import ROLES, Theme
from studio.widgets.icon_files import path_of

# Tips show what a user typed, so they are plain text, but for those of a widget that writes them
# as HTML itself and says so by its property ``richTips``.
_SHEET = """
QAbstractButton, QAbstractItemView, QComboBox, QGroupBox, QSlider, QTabBar { outline: 0; }
QMainWindow, QDialog { background: @window; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QMainWindow::separator { background: @window; width: 4px; height: 4px; }
QMainWindow::separator:hover { background: @accent; }
QToolTip { background: @field; color: @text; border: 1px solid @outline; padding: 4px 8px;
  qproperty-textFormat: PlainText; }
*[richTips="true"] > QToolTip { qproperty-textFormat: RichText; }

QMenuBar { background: @window; padding: 2px 4px; border: 0; }
QMenuBar::item { padding: 4px 8px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected, QMenuBar::item:pressed { background: @hover; }
QMenu { background: @dock; border: 1px solid @hairline; padding: 4px; }
QMenu::item { padding: 4px 24px 4px 8px; border-radius: 4px; min-height: 20px; }
QMenu::item:selected { background: @chosen; }
QMenu::item:disabled { color: @text3; }
QMenu::icon { padding-left: 8px; }
QMenu::separator { height: 1px; background: @hairline; margin: 4px 8px; }
QMenu::indicator { width: 16px; height: 16px; margin-left: 4px; }
QMenu::indicator:checked { image: url(%check.accent%); }
QMenu::right-arrow { image: url(%chevron-right.text2%); width: 12px; height: 12px; }

QToolBar { background: @dock; border: 0; spacing: 4px; padding: 4px 8px; }
QToolBar::separator { background: @hairline; width: 1px; margin: 4px 4px; }
#path_bar { padding: 0 8px; border-bottom: 1px solid @hairline; }
#search_button { background: @field; border: 1px solid @outline; color: @text2; padding: 0 8px; }
#search_button:hover { background: @hover; color: @text; }
#search_button:focus { border: 2px solid @accent; padding: 0 7px; }
QStatusBar { background: @dock; border-top: 1px solid @hairline; }
QStatusBar::item { border: 0; }

QToolButton { background: transparent; border: 2px solid transparent; border-radius: 4px;
  padding: 2px 4px; color: @text2; }
QToolButton:hover { background: @hover; color: @text; }
QToolButton:pressed, QToolButton:open { background: @chosen; }
QToolButton:checked { background: @chosen; color: @text; }
QToolButton:focus { border-color: @accent; }
QToolButton:disabled { color: @text3; }
QToolButton::menu-indicator { image: none; }

QPushButton { background: @field; color: @text; border: 1px solid @outline; border-radius: 4px;
  padding: 4px 12px; min-height: 18px; }
QPushButton:hover { background: @hover; }
QPushButton:pressed { background: @chosen; }
QPushButton:focus { border: 2px solid @accent; padding: 3px 11px; }
QPushButton:disabled { color: @text3; border-color: @hairline; background: @dock; }
QPushButton:checked { background: @chosen; border-color: @accent; }
QPushButton[primary="true"] { background: @accent; color: @on_accent; border-color: @accent; }
QPushButton[primary="true"]:hover { background: @accent_hover; border-color: @accent_hover; }
QPushButton[primary="true"]:focus { border: 2px solid @text; padding: 3px 11px; }
QPushButton[primary="true"]:disabled { background: @field; color: @text3;
  border-color: @hairline; }
QPushButton[flat="true"] { background: transparent; border-color: transparent; color: @accent; }
QPushButton[flat="true"]:hover { background: @hover; }
QPushButton[flat="true"]:focus { border: 2px solid @accent; }
QCommandLinkButton { color: @text; }

QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox, QComboBox { background: @field;
  color: @text; border: 1px solid @outline; border-radius: 4px; padding: 3px 6px;
  selection-background-color: @accent; selection-color: @on_accent; }
QLineEdit, QAbstractSpinBox, QComboBox { min-height: 20px; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QAbstractSpinBox:focus, QComboBox:focus
  { border: 2px solid @accent; padding: 2px 5px; }
QLineEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled { color: @text3;
  border-color: @hairline; background: @dock; }
QLineEdit[wrong="true"], QComboBox[wrong="true"], QAbstractSpinBox[wrong="true"]
  { border-color: @error; }
QLineEdit[readOnly="true"] { background: transparent; border-color: @hairline; }
QComboBox { combobox-popup: 0; }
QComboBox::drop-down { border: 0; width: 20px; }
QComboBox::down-arrow { image: url(%chevron-down.text2%); width: 12px; height: 12px; }
QComboBox QAbstractItemView { background: @dock; border: 1px solid @outline; padding: 4px;
  selection-background-color: @chosen; selection-color: @text; }
QAbstractSpinBox QLineEdit, QComboBox QLineEdit { border: 0; padding: 0 2px; min-height: 0;
  background: transparent; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { border: 0; width: 16px; }
QAbstractSpinBox::up-arrow { image: url(%chevron-up.text2%); width: 10px; height: 10px; }
QAbstractSpinBox::down-arrow { image: url(%chevron-down.text2%); width: 10px; height: 10px; }

QCheckBox, QRadioButton { spacing: 8px; padding: 2px; border: 2px solid transparent;
  border-radius: 4px; }
QCheckBox:focus, QRadioButton:focus { border-color: @accent; }
QCheckBox:disabled, QRadioButton:disabled { color: @text3; }
QCheckBox::indicator, QRadioButton::indicator { width: 14px; height: 14px;
  border: 1px solid @outline; background: @field; border-radius: 3px; }
QRadioButton::indicator { border-radius: 8px; }
QCheckBox::indicator:checked { background: @accent; border-color: @accent;
  image: url(%check.on_accent%); }
QCheckBox::indicator:indeterminate { background: @accent; border-color: @accent;
  image: url(%minus.on_accent%); }
QRadioButton::indicator:checked { background: @accent; border-color: @accent;
  image: url(%dot.on_accent%); }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { border-color: @hairline;
  background: @dock; }

QListView::indicator, QTreeView::indicator, QTableView::indicator { width: 14px; height: 14px;
  border: 1px solid @outline; background: @field; border-radius: 3px; }
QListView::indicator:checked, QTreeView::indicator:checked, QTableView::indicator:checked
  { background: @accent; border-color: @accent; image: url(%check.on_accent%); }

QGroupBox { border: 1px solid @hairline; border-radius: 6px; margin-top: 20px; padding: 8px; }
QGroupBox::title { subcontrol-origin: margin; left: 4px; color: @text2; }

QSlider:horizontal { min-height: 18px; }
QSlider::groove:horizontal { height: 4px; background: @hairline; border-radius: 2px; }
QSlider::sub-page:horizontal { background: @accent; border-radius: 2px; }
QSlider::handle:horizontal { width: 14px; height: 14px; margin: -6px 0; border-radius: 8px;
  background: @dock; border: 1px solid @outline; }
QSlider::handle:horizontal:hover { background: @hover; }
QSlider::handle:horizontal:focus { border: 2px solid @accent; }
QProgressBar { background: @field; border: 0; border-radius: 3px; min-height: 6px;
  max-height: 6px; }
QProgressBar::chunk { background: @accent; border-radius: 3px; }

QTabWidget::pane { border: 0; border-top: 1px solid @hairline; }
QTabBar { background: transparent; qproperty-drawBase: 0; }
QTabBar::tab { background: transparent; color: @text2; padding: 4px 12px; border: 0;
  border-bottom: 2px solid transparent; min-height: 18px; }
QTabBar::tab:hover { color: @text; background: @hover; }
QTabBar::tab:selected { color: @text; border-bottom-color: @accent; }
QTabBar::tab:focus { color: @accent; }
QMainWindow > QTabBar { background: @window; }
QMainWindow > QTabBar::tab:selected { background: @dock; border-bottom-color: transparent;
  border-top: 2px solid @accent; padding-top: 2px; }

QAbstractItemView { background: @dock; alternate-background-color: @stripe; border: 0;
  selection-background-color: @chosen; selection-color: @text; }
QTreeView::item, QListView::item { padding: 4px; border: 0; }
QTreeView::item:hover, QListView::item:hover, QTableView::item:hover { background: @hover; }
QTreeView::item:selected, QListView::item:selected, QTableView::item:selected
  { background: @chosen; color: @text; }
QTreeView::branch { background: transparent; }
QTreeView::branch:has-children:closed { image: url(%chevron-right.text2%); }
QTreeView::branch:has-children:open { image: url(%chevron-down.text2%); }
QTreeView[framed="true"], QTableView[framed="true"], QListView[framed="true"]
  { border: 1px solid @hairline; border-radius: 4px; }
QTableView { gridline-color: @hairline; }
QHeaderView { background: @dock; border: 0; }
QHeaderView::section { background: @dock; color: @text2; border: 0;
  border-bottom: 1px solid @hairline; padding: 3px 6px; }
QHeaderView::section:hover { background: @hover; color: @text; }
QTableCornerButton::section { background: @dock; border: 0; }

QScrollBar:vertical { background: transparent; width: 12px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 12px; margin: 0; }
QScrollBar::handle { background: @thumb; border-radius: 4px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 32px; }
QScrollBar::handle:horizontal { min-width: 32px; }
QScrollBar::handle:hover { background: @outline; }
QScrollBar::add-line, QScrollBar::sub-line, QScrollBar::add-page, QScrollBar::sub-page
  { background: transparent; width: 0; height: 0; border: 0; }
QAbstractScrollArea::corner { background: transparent; }
QScrollArea { background: transparent; border: 0; }

QDockWidget { color: @text; }
#dock_body { background: @dock; border: 0; }
#frame_header { background: @dock; border-bottom: 1px solid @hairline; }
#finder, #tasks_popup, #notices_popup { background: @dock; border: 1px solid @outline; }
#welcome, #welcome_body { background: @window; }
#card { background: @dock; border: 2px solid transparent; border-radius: 8px; padding: 0; }
#card:hover { background: @field; border-color: @hairline; }
#card:focus { border-color: @accent; }
#key_cap { background: @field; color: @text2; border: 1px solid @hairline; border-radius: 4px;
  padding: 1px 6px; }
#key_field:focus { border: 2px solid @accent; }
QFrame[panel="true"] { background: @dock; border: 0; border-radius: 6px; }
QLabel[role="faint"] { color: @text3; }
QLabel[role="soft"] { color: @text2; }
QLabel[role="strong"] { font-weight: bold; }
QLabel[role="error"] { color: @error; }
QLabel[role="warning"] { color: @warning; }
QLabel[role="ok"] { color: @ok; }
QWidget[line="true"] { background: @hairline; border: 0; }
"""


def of(theme: Theme) -> str:
    """The style sheet for a theme."""
    sheet = _SHEET
    for name, colour in _extra(theme).items():
        sheet = sheet.replace(f"@{name}", colour)
    # Longest first, so that ``@text2`` is not read as ``@text`` and a digit.
    for role in sorted(ROLES, key=len, reverse=True):
        sheet = sheet.replace(f"@{role}", theme.colour(role))
    while "%" in sheet:
        before, name, after = sheet.split("%", 2)
        shape, _, role = name.partition(".")
        sheet = before + path_of(shape, theme.colour(role)) + after
    return sheet


def _extra(theme: Theme) -> dict[str, str]:
    return {
        "chosen": theme.mixed("accent", "dock", 0.24),
        "accent_hover": theme.mixed("accent", "text", 0.85),
        "stripe": theme.mixed("field", "dock", 0.45),
        "thumb": theme.mixed("outline", "dock", 0.55),
    }
