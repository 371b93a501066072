"""The inspector of blocks: name, what is inside, ports and their shapes, linked copies."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from studio.engine.layers.layer import shape_text
from studio.session.inspector.facts import BlockPort, Inside
from studio.session.inspector.inspector import InspectorModel
from studio.ui.panes.inspector.node_head import NodeHead
from studio.widgets import numbers
from studio.widgets.forms.facts import Fact, Facts
from studio.widgets.forms.section import Section

_SHARED = " Its weights are shared with layers outside."


class BlockView(QWidget):
    """Shows the blocks the model holds, and renames a single one.

    Args:
        inspector: the model of the blocks shown.
        act: does an action of the canvas, by its id, to the blocks shown.
        parent: the widget it stands in.
    """

    def __init__(
        self,
        inspector: InspectorModel,
        act: Callable[[str], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._inspector = inspector
        self._act = act
        self._ids: tuple[str, ...] = ()
        self.head = NodeHead(inspector.rename_block, inspector.take_fix, self, what="block")
        self.enter = self._button("Open", "Show the layers inside.", "graph.enter_block")
        self.dissolve = self._button(
            "Dissolve", "Put the layers in its place; the network stays the same.", "graph.dissolve"
        )
        self.copies = QLabel(self)
        self.copies.setObjectName("block_copies")
        self.copies.setWordWrap(True)
        self.copies.setTextFormat(Qt.TextFormat.PlainText)
        self.unlink = self._button(
            "Unlink", "Change it without its linked copies from now on.", "graph.unlink"
        )
        self.facts = Facts(self)
        self.ports = Facts(self)
        self._ports = Section("Ports", self.ports, parent=self)
        buttons = QHBoxLayout()
        buttons.setSpacing(4)
        buttons.addWidget(self.enter, 1)
        buttons.addWidget(self.dissolve, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.head)
        column.addLayout(buttons)
        column.addWidget(self.copies)
        column.addWidget(self.unlink)
        column.addWidget(Section("Inside", self.facts, parent=self))
        column.addWidget(self._ports)

    def refresh(self) -> None:
        """Show the blocks as they are now."""
        facts = self._inspector.block_facts()
        if not facts:
            return
        ids = tuple(each.node.id for each in facts)
        if ids != self._ids:
            self._ids = ids
            self.head.clear_error()
        one = facts[0] if len(facts) == 1 else None
        if one is not None:
            self.head.show_block(one)
        else:
            self.head.show_blocks([each.node for each in facts])
        self.enter.setEnabled(one is not None)
        linked = any(each.copies > 1 for each in facts)
        self.copies.setVisible(linked and one is not None)
        self.unlink.setVisible(linked)
        if one is not None:
            weights = (
                " Its weights are shared with layers outside." if one.has_shared_weights else ""
            )
            self.copies.setText(
                f"One of {one.copies} linked copies: "
                f"what is changed in one changes in all.{weights}"
            )
        self.facts.show_facts(_inside(self._inspector.inside()))
        sides = () if one is None else (("in", one.inputs), ("out", one.outputs))
        ports = [_port(f"{side} {n}", p) for side, found in sides for n, p in enumerate(found, 1)]
        self.ports.show_facts(ports)
        self._ports.setVisible(bool(ports))

    def _button(self, text: str, tip: str, action: str) -> QPushButton:
        made = QPushButton(text, self)
        made.setObjectName(f"block_{text.lower()}")
        made.setAccessibleName(f"{text} the block")
        made.setToolTip(tip)
        made.clicked.connect(lambda: self._act(action))
        return made


def _port(place: str, port: BlockPort) -> Fact:
    shape = numbers.DASH if port.shape is None else shape_text(port.shape)
    tip = "Shape of one sample." if port.is_connected else "Nothing is connected to it."
    return place, f"{port.name}  {shape}", tip


def _inside(facts: Inside) -> list[Fact]:
    text = str(facts.layers)
    if facts.uses != facts.layers:
        text = f"{text} (used {facts.uses} times)"
    return [
        ("layers", text, "Layers inside, also in blocks inside; a shared layer counts once."),
        ("parameters", numbers.count(facts.parameters),
         "Numbers these layers own; those of a shared layer count once."),
    ]  # fmt: skip
