"""Questions that have to be asked before something is lost; the window goes on while they wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QMessageBox, QWidget

Kind: TypeAlias = Literal["accept", "destroy", "cancel"]

_ROLES = {
    "accept": QMessageBox.ButtonRole.AcceptRole,
    "destroy": QMessageBox.ButtonRole.DestructiveRole,
    "cancel": QMessageBox.ButtonRole.RejectRole,
}


class Answer(NamedTuple):
    """One answer the user may give.

    Attributes:
        name: what the one who asked knows it by.
        text: what the button says, a verb.
        kind: whether it goes on, loses something, or leaves everything as it is.
    """

    name: str
    text: str
    kind: Kind = "accept"


def ask(
    parent: QWidget,
    question: str,
    explanation: str,
    answers: Sequence[Answer],
    answered: Callable[[str], object],
) -> QMessageBox:
    """Ask, and call back with the name of the answer; Esc and closing give the cancelling one.

    Args:
        parent: the window.
        question: one sentence.
        explanation: what each answer means.
        answers: the first is what Enter gives.
        answered: hears the answer; called once.
    """
    box = QMessageBox(parent)
    box.setObjectName("question")
    box.setIcon(QMessageBox.Icon.Question)
    box.setWindowTitle(question)
    box.setText(question)
    box.setInformativeText(explanation)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    names: dict[QAbstractButton, str] = {}
    for place, answer in enumerate(answers):
        button = box.addButton(answer.text, _ROLES[answer.kind])
        button.setObjectName(f"answer.{answer.name}")
        names[button] = answer.name
        if place == 0:
            box.setDefaultButton(button)
            button.setProperty("primary", True)
        if answer.kind == "cancel":
            box.setEscapeButton(button)
    refused = next((a.name for a in answers if a.kind == "cancel"), answers[-1].name)

    def finished(_result: int) -> None:
        clicked = box.clickedButton()
        answered(names.get(clicked, refused) if clicked is not None else refused)

    box.finished.connect(finished)
    box.open()
    return box
