"""Asks for the address of the cluster to train on, and shows in the menu which one it is."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.session.core.action_table import ActionRegistry
from studio.session.training.place import TrainingPlace
from studio.widgets import binding, theme

COMPUTER, CLUSTER = "train.on_computer", "train.on_cluster"
ASKED = "Cluster…"
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
        use = QPushButton("Train there", self)
        use.setObjectName("use")
        use.setProperty("primary", True)
        use.setDefault(True)
        buttons.addButton(use, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.addButton("Cancel", QDialogButtonBox.ButtonRole.RejectRole).setObjectName("cancel")
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self.field.textEdited.connect(lambda: self._say(""))
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
            self._say("\n".join(filter(None, (f"{message}.", hint))))
            self.field.setFocus()
            return
        super().accept()

    def _say(self, text: str) -> None:
        """Say below the field what is wrong with it, or that nothing is."""
        self.refusal.setText(text)
        self.refusal.setVisible(bool(text))
        self.field.setProperty("wrong", bool(text))
        self.field.style().unpolish(self.field)
        self.field.style().polish(self.field)


def choose(place: TrainingPlace, window: QWidget) -> None:
    """Train on the cluster that is remembered; ask which, where none is or it is in use already."""
    if place.remembered and not place.address:
        place.use_cluster(place.remembered)
    else:
        ClusterAddress(place, window).open()


class PlaceInMenu(QObject):
    """Keeps the menu showing where trainings go.

    Args:
        place: where that is.
        actions: have the entries of the menu.
        action: the entry of the cluster.
        window: the main window, whose child it is.
    """

    def __init__(
        self, place: TrainingPlace, actions: ActionRegistry, action: QAction, window: QWidget
    ) -> None:
        super().__init__(window)
        self._place = place
        self._actions = actions
        self._action = action
        binding.connect(self, self._place.changed, self.show)
        self.show()

    def show(self) -> None:
        """Name the cluster that is remembered, and check what is in force."""
        known = self._place.remembered
        self._action.setText(f"Cluster at {known}" if known else ASKED)
        self._actions.refresh(COMPUTER, CLUSTER)
