"""What this program is, and its pages to read."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import PySide6
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QVBoxLayout

import studio as package
from studio.widgets import theme

if TYPE_CHECKING:
    from studio.ui.shell.window import MainWindow


@cache
def pages() -> Path | None:
    """The folder of the documentation, where it came along."""
    beside = Path(package.__file__).resolve().parent
    found = (beside / "docs", beside.parent / "docs")
    return next((folder for folder in found if (folder / "commands.md").is_file()), None)


def page(name: str) -> Path | None:
    """One page, where the documentation came along."""
    folder = pages()
    path = None if folder is None else folder / f"{name}.md"
    return path if path is not None and path.is_file() else None


def facts(window: MainWindow) -> list[tuple[str, str]]:
    """What somebody who helps will ask for."""
    places, trainer = window.studio.places, window.studio.training.trainer
    device = "" if trainer is None else trainer.network.backend.device
    return [
        ("Version", package.__version__),
        ("Python", platform.python_version()),
        ("Qt", PySide6.__version__),
        ("System", platform.platform()),
        ("Training on", device or "nothing was trained yet"),
        ("Preferences", str(places.config)),
        ("Unsaved work", str(places.state)),
    ]


def show(window: MainWindow) -> QDialog:
    """Open the box; the window goes on working beside it."""
    for before in window.findChildren(QDialog, "about"):
        before.close()
    box = QDialog(window)
    box.setObjectName("about")
    box.setWindowTitle("About Glassbox")
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    column = QVBoxLayout(box)
    column.setContentsMargins(24, 24, 24, 16)
    column.setSpacing(12)
    name = QLabel("Glassbox", box)
    name.setFont(theme.font("large"))
    column.addWidget(name)
    column.addWidget(QLabel("A studio for networks you can see through.", box))
    text = QLabel("\n".join(f"{label}: {value}" for label, value in facts(window)), box)
    text.setObjectName("about_facts")
    text.setProperty("role", "soft")
    text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    column.addWidget(text)
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, box)
    buttons.rejected.connect(box.reject)
    column.addWidget(buttons)
    box.show()
    box.activateWindow()
    return box
