"""One problem in the list: sign, place and sentence; unfolded also what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from studio.session.compile.problems import ProblemItem, Repair
from studio.widgets import icons, theme
from studio.widgets.labels.elided_button import ElidedButton
from studio.widgets.labels.elided_label import ElidedLabel

_INDENT = 24
_MOST_CHIPS = 3


@dataclass(frozen=True)
class Lead:
    """Where more of the same is listed.

    Attributes:
        text: of the button that leads there; says how many.
        tip: more about it.
        follow: leads there.
    """

    text: str
    tip: str
    follow: Callable[[], object]


class ProblemRow(QWidget):
    """A row of the list of problems.

    Args:
        problem: what is wrong.
        repair: carries out a repair.
        parent: the list.
        lead: where others that it stands for are listed.
    """

    def __init__(
        self,
        problem: ProblemItem,
        repair: Callable[[Repair], object],
        parent: QWidget,
        lead: Lead | None = None,
    ) -> None:
        super().__init__(parent)
        self._problem = problem
        self._repair = repair
        self._text = ElidedLabel(self)
        self._text.setProperty("role", "soft")
        self._text.set_text(problem.text)
        more = (problem.hint, problem.details)
        self._more = QLabel("\n".join((problem.text, *(line for line in more if line))), self)
        self._more.setTextFormat(Qt.TextFormat.PlainText)
        self._more.setWordWrap(True)
        self._more.setProperty("role", "soft")
        self._more.setContentsMargins(_INDENT, 0, 0, 0)
        self._chips_row = QWidget(self)
        self._chips = QVBoxLayout(self._chips_row)
        self._chips.setContentsMargins(_INDENT, 0, 0, 2)
        self._chips.setSpacing(4)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 4, 8, 4)
        column.setSpacing(4)
        column.addLayout(self._head())
        column.addWidget(self._more)
        column.addWidget(self._chips_row)
        self._more.hide()
        self._chips_row.hide()
        if lead is not None:
            column.addWidget(self._lead_button(lead))

    @property
    def chips(self) -> tuple[QPushButton, ...]:
        """The repairs on offer."""
        return tuple(self._chips_row.findChildren(QPushButton))

    @property
    def lead(self) -> ElidedButton | None:
        """The button that leads to where more of the same is listed."""
        return self.findChild(ElidedButton, "lead")

    def unfold(self, unfolded: bool) -> None:
        """Show all there is to say and the repairs, or only the sentence."""
        if unfolded and not self.chips:
            # Finding repairs takes time, so they are found when they are wanted.
            for repair in self._problem.repairs[:_MOST_CHIPS]:
                self._add_chip(repair)
        self._text.setVisible(not unfolded)
        self._more.setVisible(unfolded)
        self._chips_row.setVisible(unfolded and bool(self.chips))

    def height_for(self, width: int) -> int:
        """How high it is at a width."""
        layout = self.layout()
        if layout is None:
            return theme.ROW
        layout.invalidate()
        layout.activate()
        # While no sentence is wrapped, the width makes no difference.
        wraps = layout.hasHeightForWidth()
        height = layout.heightForWidth(width) if wraps else layout.sizeHint().height()
        return max(theme.ROW, height)

    def _head(self) -> QHBoxLayout:
        problem = self._problem
        sign = QLabel(self)
        sign.setPixmap(icons.icon(problem.severity, problem.severity).pixmap(QSize(16, 16)))
        sign.setAccessibleName(problem.severity)
        place = QLabel(problem.place or problem.source, self)
        place.setTextFormat(Qt.TextFormat.PlainText)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(sign)
        head.addWidget(place)
        head.addWidget(self._text, 1)
        head.addStretch(0)
        return head

    def _lead_button(self, lead: Lead) -> QPushButton:
        """In sight whether the row is unfolded or not: one row stands for all of them."""
        button = ElidedButton(lead.text, lead.tip, self)
        button.setObjectName("lead")
        button.clicked.connect(lead.follow)
        return button

    def _add_chip(self, repair: Repair) -> None:
        chip = QPushButton(repair.text, self._chips_row)
        chip.setObjectName("repair")
        chip.setToolTip(repair.effect)
        icons.keep(chip, "fix", "accent")
        chip.clicked.connect(lambda: self._repair(repair))
        effect = ElidedLabel(self._chips_row)
        effect.setProperty("role", "soft")
        effect.set_text(repair.effect)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(chip)
        line.addWidget(effect, 1)
        self._chips.addLayout(line)
