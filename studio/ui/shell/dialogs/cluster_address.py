"""Asks for the address of the cluster to train on, and shows in the menu which one it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.session.core.action_table import Action, ActionTable
from studio.session.training.place import TrainingPlace
from studio.widgets import binding, theme

if TYPE_CHECKING:
    from studio.ui.shell.window import MainWindow

MENU = "Train/Train on"
COMPUTER, CLUSTER = "train.on_computer", "train.on_cluster"
_UNDER_WAY = "a training is running"
_ASKED = "Cluster…"
_WIDTH = 420


class ClusterAddress(QDialog):
    """Asks for an address until it is one, or no more.

    Args:
        place: hears the address; what it refuses stands in the dialog.
        window: the main window.
    """

    def __init__(self, place: TrainingPlace, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("cluster_address")
        self.setWindowTitle("Train on a cluster")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._place = place
        heading = QLabel("Address of the Dask scheduler", self)
        heading.setFont(theme.font("title"))
        self.field = QLineEdit(place.remembered, self)
        self.field.setObjectName("address")
        self.field.setAccessibleName("Address of the Dask scheduler")
        self.field.setPlaceholderText("tls://host:8786")
        self.field.selectAll()
        heading.setBuddy(self.field)
        about = QLabel(
            "The project and its data are sent to the cluster when you train. The run arrives here "
            "while it grows; if the connection is lost, the training goes on there.", self,
        )  # fmt: skip
        about.setProperty("role", "soft")
        self.refusal = QLabel(self)
        self.refusal.setObjectName("refusal")
        self.refusal.setProperty("role", "error")
        self.refusal.setTextFormat(Qt.TextFormat.PlainText)
        for label in (about, self.refusal):
            label.setWordWrap(True)
            # A label that wraps has a height only for a width.
            label.setFixedWidth(_WIDTH)
        self.refusal.hide()
        buttons = QDialogButtonBox(self)
        use = buttons.addButton("Train there", QDialogButtonBox.ButtonRole.AcceptRole)
        use.setObjectName("use")
        use.setProperty("primary", True)
        use.setDefault(True)
        buttons.addButton("Cancel", QDialogButtonBox.ButtonRole.RejectRole).setObjectName("cancel")
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self.field.textEdited.connect(self.refusal.hide)
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 24, 24, 16)
        column.setSpacing(12)
        for widget in (heading, self.field, about, self.refusal, buttons):
            column.addWidget(widget)
        column.setSizeConstraint(QLayout.SizeConstraint.SetFixedSize)

    def accept(self) -> None:
        """Close where the address is one; say else why it is not."""
        try:
            self._place.use_cluster(self.field.text())
        except StudioError as error:
            hint = f"{error.hint[:1].upper()}{error.hint[1:]}" if error.hint else ""
            message = f"{error.message[:1].upper()}{error.message[1:]}"
            self.refusal.setText("\n".join(filter(None, (f"{message}.", hint))))
            self.refusal.show()
            self.field.setFocus()
            return
        super().accept()


def choose(window: MainWindow) -> None:
    """Train on the cluster that is remembered; ask which, where none is or it is in use already."""
    place = window.studio.training.place
    if place.remembered and not place.address:
        place.use_cluster(place.remembered)
    else:
        ClusterAddress(place, window).open()


class PlaceInMenu(QObject):
    """Keeps the menu showing where trainings go.

    Args:
        window: the main window, whose child it is.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._place = window.studio.training.place
        self._actions = window.studio.actions
        self._action = window.actions_of_window[CLUSTER]
        binding.connect(self, self._place.changed, self.show)
        self.show()

    def show(self) -> None:
        """Name the cluster that is remembered, and check what is in force."""
        known = self._place.remembered
        self._action.setText(f"Cluster at {known}" if known else _ASKED)
        self._actions.refresh(COMPUTER, CLUSTER)


def _why_not(window: MainWindow) -> str:
    return _UNDER_WAY if window.studio.training.is_busy else ""


ACTIONS: ActionTable[MainWindow] = ActionTable(
    42,
    Action(
        COMPUTER, "This computer", "Train on this computer, from the next training on.",
        menu=MENU, aliases=("local", "train here"), group="place",
        run=lambda window: window.studio.training.place.use_this_computer(),
        enabled=_why_not,
        checked=lambda window: not window.studio.training.place.address,
    ),
    Action(
        CLUSTER, _ASKED,
        "Train on a Dask cluster, from the next training on; again, to choose another one.",
        menu=MENU, aliases=("dask", "remote", "scheduler", "train elsewhere"), group="place",
        run=choose, enabled=_why_not,
        checked=lambda window: bool(window.studio.training.place.address),
    ),
)  # fmt: skip
"""The actions that choose where to train."""
