"""The About box: versions, the device and where files are kept."""

from __future__ import annotations

import platform

import PySide6
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QVBoxLayout, QWidget

import studio as package
from studio.session.studio import Studio
from studio.widgets import theme


def facts(studio: Studio) -> list[tuple[str, str]]:
    """What a report of a fault should name, as labels and values."""
    places, trainer = studio.dirs, studio.training.trainer
    device = "" if trainer is None else trainer.network.backend.device
    return [
        ("Version", package.__version__),
        ("Python", platform.python_version()),
        ("Qt", PySide6.__version__),
        ("System", platform.platform()),
        ("Training device", device or "none yet"),
        ("Preferences", str(places.config)),
        ("Unsaved work", str(places.state)),
    ]


def show(window: QWidget, studio: Studio) -> QDialog:
    """Open the box, which is not modal."""
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
    column.addWidget(QLabel("Build, train and inspect neural networks.", box))
    text = QLabel("\n".join(f"{label}: {value}" for label, value in facts(studio)), box)
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
