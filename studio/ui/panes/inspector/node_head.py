"""The head of the inspector: family, name to be changed, type, what is wrong, and other uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.session.document.cards.families import family_of
from studio.session.document.layer_types import kind_text
from studio.session.document.report import Fix
from studio.session.document.state import CanvasNode
from studio.session.inspector.facts import BlockFacts, NodeFacts, Use
from studio.session.inspector.inspector import InspectorModel
from studio.widgets import binding, icons, theme
from studio.widgets.forms.reverting_line import RevertingLine
from studio.widgets.in_sight import bring_into_sight
from studio.widgets.labels.elided_button import ElidedButton
from studio.widgets.labels.elided_label import ElidedLabel

_ICON = 20
_MOST_FIXES = 3
_NAMES = {
    "layer": "Layer name: letters, digits, dots, dashes, underscores.",
    "block": "Block name: up to 60 characters, no slash.",
}
_SIGNS = {"error": "error", "warning": "warning", "waiting": "waiting", "unreached": "unreached"}


class NodeHead(QWidget):
    """Says which layer is shown, and lets it be renamed.

    Args:
        rename: gives the layer another name; raises StudioError to refuse.
        repair: carries out a repair.
        parent: the widget it stands in.
        what: what it is the head of, ``layer`` or ``block``.
    """

    def __init__(
        self,
        rename: Callable[[str], None],
        repair: Callable[[Fix], None],
        parent: QWidget | None = None,
        what: str = "layer",
    ) -> None:
        super().__init__(parent)
        self._rename = rename
        self._family = "family-linear"
        self._picture = QLabel(self)
        self._picture.setFixedSize(_ICON, _ICON)
        self.name = RevertingLine(self)
        self.name.setObjectName(f"{what}_name")
        self.name.setAccessibleName(f"Name of the {what}")
        self.name.setToolTip(_NAMES[what])
        self.name.setFont(theme.font("title"))
        self.name.editingFinished.connect(self._finish)
        self._type = ElidedLabel(self)
        self._type.setObjectName(f"{what}_type")
        self._type.setProperty("role", "soft")
        self._about = QLabel(self)
        self._about.setObjectName(f"{what}_about")
        self._about.setProperty("role", "faint")
        self._about.setFont(theme.font("small"))
        self._about.setWordWrap(True)
        self._refusal = QLabel(self)
        self._refusal.setObjectName("name_refusal")
        self._refusal.setProperty("role", "error")
        self._refusal.setFont(theme.font("small"))
        self._refusal.setWordWrap(True)
        self._refusal.hide()
        self.trouble = Trouble(repair, self)
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self._picture)
        top.addWidget(self.name, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(top)
        for widget in (self._refusal, self._type, self._about, self.trouble):
            column.addWidget(widget)
        binding.connect(self, theme.changed, self._paint_icon)

    def show_one(self, facts: NodeFacts) -> None:
        """Show one layer."""
        node = facts.node
        self._show_family(node)
        self.name.show_text(node.name)
        self.name.setReadOnly(False)
        self._type.set_text(kind_text(node))
        self._about.setText(facts.about)
        self._about.show()
        self.trouble.show_condition(facts)

    def show_several(self, nodes: Sequence[CanvasNode]) -> None:
        """Show that several layers are edited at once."""
        self._show_family(nodes[0])
        self.name.show_text(f"{len(nodes)} layers")
        self.name.setReadOnly(True)
        kinds = list(dict.fromkeys(kind_text(node) for node in nodes))
        self._type.set_text(", ".join(kinds))
        self._about.hide()
        self._refusal.hide()
        self.trouble.hide()

    def show_block(self, facts: BlockFacts) -> None:
        """Show one block."""
        self._family = "family-block"
        self._paint_icon()
        self.name.show_text(facts.node.name)
        self.name.setReadOnly(False)
        self._type.set_text("nested model" if facts.node.model else "block")
        self._about.setText(facts.message)
        self._about.setVisible(bool(facts.message))

    def show_blocks(self, blocks: Sequence[CanvasNode]) -> None:
        """Show that several blocks are selected."""
        self._family = "family-block"
        self._paint_icon()
        self.name.show_text(f"{len(blocks)} blocks")
        self.name.setReadOnly(True)
        self._type.set_text(", ".join(block.name for block in blocks))
        self._about.hide()
        self._refusal.hide()

    def clear_error(self) -> None:
        """Say no more what was refused."""
        self._refusal.hide()

    def _show_family(self, node: CanvasNode) -> None:
        self._family = f"family-{family_of(node.type_name)}"
        self._paint_icon()

    def _paint_icon(self) -> None:
        role = self._family.replace("family-", "family.")
        self._picture.setPixmap(icons.icon(self._family, role).pixmap(QSize(_ICON, _ICON)))

    def _finish(self) -> None:
        if self.name.isReadOnly() or not self.name.is_changed:
            return
        try:
            self._rename(self.name.text())
            self.name.show_text(self.name.text().strip())
            self._refusal.hide()
        except StudioError as error:
            text = f"{error.message}\n{error.hint}" if error.hint else error.message
            self._refusal.setText(text)
            self._refusal.show()
            if not self.name.hasFocus():
                self.name.revert()


class Trouble(QFrame):
    """What is wrong with a layer, and repairs to choose from.

    Attributes:
        shown: what is wrong was shown or hidden.
    """

    shown = Signal()

    def __init__(self, repair: Callable[[Fix], None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("trouble")
        self._repair = repair
        self._sign = QLabel(self)
        self._sign.setObjectName("trouble_sign")
        self._sign.setFixedSize(16, 16)
        self._text = QLabel(self)
        self._text.setObjectName("trouble_text")
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._chips = QVBoxLayout()
        self._chips.setSpacing(4)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._text, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 4)
        column.setSpacing(4)
        column.addLayout(row)
        column.addLayout(self._chips)
        self._shown: tuple[object, ...] = ()
        self._signs = ("info", "text3")
        self._offered: list[QPushButton] = []
        binding.connect(self, theme.changed, self._paint_sign)
        self.hide()

    @property
    def buttons(self) -> tuple[QPushButton, ...]:
        """The repairs on offer."""
        return tuple(self._offered)

    def show_condition(self, facts: NodeFacts) -> None:
        """Show what is wrong with a layer, or nothing."""
        problem = facts.problem
        message = problem.message if problem is not None else facts.message
        self.setVisible(bool(message))
        if not message:
            self._shown = ()
            self.shown.emit()
            return
        severity = "warning" if problem is not None and problem.severity == "warning" else (
            facts.condition
        )  # fmt: skip
        role = severity if severity in ("error", "warning") else "text3"
        self._signs = (_SIGNS.get(severity, "info"), role)
        self._paint_sign()
        self._sign.setAccessibleName(severity)
        hint = problem.hint if problem is not None else ""
        text = message[:1].upper() + message[1:]
        self._text.setText(f"{text}.\n{hint[:1].upper()}{hint[1:]}." if hint else f"{text}.")
        fixes = () if problem is None else problem.fixes[:_MOST_FIXES]
        shown = (facts.node.id, *(fix.label for fix in fixes))
        if shown != self._shown:
            self._shown = shown
            self._show_fixes(fixes)
        self.shown.emit()

    @property
    def text(self) -> QLabel:
        """What is wrong."""
        return self._text

    @property
    def sign(self) -> tuple[str, str]:
        """The icon that stands for it, and its colour."""
        return self._signs

    def _paint_sign(self) -> None:
        name, role = self._signs
        self._sign.setPixmap(icons.icon(name, role).pixmap(QSize(16, 16)))

    def _show_fixes(self, fixes: Sequence[Fix]) -> None:
        for old in self._offered:
            self._chips.removeWidget(old)
            old.hide()
            old.deleteLater()
        self._offered = []
        for fix in fixes:
            button = ElidedButton(fix.text, fix.effect, self)
            button.setObjectName("fix")
            icons.keep(button, "fix", "accent")
            button.clicked.connect(lambda _=False, fix=fix: self._repair(fix))
            self._chips.addWidget(button)
            self._offered.append(button)


class SharedUses(QFrame):
    """Says how often a layer is used with one set of weights; hidden for a single use.

    Args:
        inspector: the model of the layer shown.
        parent: the widget it stands in.
    """

    def __init__(self, inspector: InspectorModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("shared_uses")
        self._inspector = inspector
        self._shown: tuple[object, ...] = ()
        self._text = QLabel(self)
        self._text.setObjectName("shared_text")
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._rows = QVBoxLayout()
        self._rows.setSpacing(2)
        self.buttons: list[QPushButton] = []
        self.detach = QPushButton("Use own weights", self)
        self.detach.setObjectName("own_weights")
        self.detach.setToolTip("Stop sharing: this use gets its own weights and a name of its own.")
        self.detach.clicked.connect(lambda: self._inspector.own_layer())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 4, 0, 4)
        column.setSpacing(4)
        column.addWidget(self._text)
        column.addLayout(self._rows)
        column.addWidget(self.detach)
        self.hide()

    def show_uses(self, facts: NodeFacts | None) -> None:
        """Show the uses of a layer; nothing for a single use, or for several layers."""
        uses = () if facts is None else facts.uses
        here = "" if facts is None else facts.node.id
        self.setVisible(bool(uses))
        has_weights = facts is not None and facts.has_shared_weights
        if (here, uses, has_weights) == self._shown:
            return
        self._shown = here, uses, has_weights
        what = "One set of weights" if has_weights else "One layer"
        self._text.setText(f"{what}, used {len(uses)} times:")
        for old in self.buttons:
            self._rows.removeWidget(old)
            old.hide()
            old.deleteLater()
        self.buttons = [self._row(number, use, here) for number, use in enumerate(uses, 1)]

    def _row(self, number: int, use: Use, here: str) -> QPushButton:
        text = f"{number}. {use.text}"
        is_here = use.id == here
        tip = "The use that is shown." if is_here else "Go to this use."
        button = ElidedButton(f"{text} (this one)" if is_here else text, tip, self)
        button.setObjectName("shared_use")
        button.setFont(theme.font("small"))
        button.setEnabled(not is_here)
        button.clicked.connect(lambda: self._inspector.go_to(use.id))
        self._rows.addWidget(button)
        return button


class TroubleBand(ElidedButton):
    """What is wrong, in one line at the edge of the pane while it is scrolled out of sight.

    A click scrolls to it.

    Args:
        trouble: what is wrong.
        area: what it stands in.
    """

    def __init__(self, trouble: Trouble, area: QScrollArea) -> None:
        super().__init__("", "", area)
        self.setObjectName("trouble_band")
        self.setAccessibleName("Scroll to what is wrong")
        # It would hand the keyboard on when it hides, and the area would scroll after it.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._trouble = trouble
        self._area = area
        # Before the next paint, when everything has its place.
        self._settling = QTimer(self)
        self._settling.setSingleShot(True)
        self._settling.timeout.connect(self._settle)
        self.clicked.connect(lambda: bring_into_sight(trouble.text))
        trouble.shown.connect(lambda: self._settling.start())
        area.verticalScrollBar().valueChanged.connect(lambda _value: self._settling.start())
        area.verticalScrollBar().rangeChanged.connect(lambda _low, _high: self._settling.start())
        area.viewport().installEventFilter(self)
        self.hide()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self._settling.start()
        return False

    def _settle(self) -> None:
        text, room = self._trouble.text, self._area.viewport().rect()
        place = QRect(text.mapTo(self._area.viewport(), QPoint(0, 0)), text.size())
        line = text.fontMetrics().lineSpacing()
        is_above, is_below = place.top() + line < 0, place.top() + line > room.bottom()
        self.setVisible(not self._trouble.isHidden() and (is_above or is_below))
        if self.isHidden():
            return
        name, role = self._trouble.sign
        self.setIcon(icons.icon(name, role))
        self.set_text(text.text().partition("\n")[0])
        top = 2 if is_above else room.height() - theme.ROW - 2
        self.setGeometry(4, top, room.width() - 8, theme.ROW)
        self.raise_()
