"""The inspector of layers: head, options, behaviour, shapes and cost."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from studio.engine.core.errors import StudioError
from studio.engine.core.tensor import Shape
from studio.engine.layers.layer import shape_text
from studio.session.document.state import PREVIEW_MODES
from studio.session.inspector.facts import PASSES, NodeFacts
from studio.session.inspector.inspector import InspectorModel
from studio.session.inspector.sections import layer_sections
from studio.ui.panes.inspector.node_head import NodeHead, SharedUses
from studio.ui.panes.inspector.sections_view import SectionsView
from studio.widgets import icons, numbers, theme
from studio.widgets.forms.editor import choice_box
from studio.widgets.forms.facts import Fact, Facts
from studio.widgets.forms.form import LABEL_WIDTH, Varying
from studio.widgets.forms.section import Section
from studio.widgets.in_sight import bring_into_sight_soon

_TIP = Qt.ItemDataRole.ToolTipRole
_FREEZE = "Exclude its parameters from training."
_PREVIEWS = {
    "off": "Show no preview.",
    "shape": "Show the shape of its output.",
    "thumbnail": "Show a small image of its output.",
    "full": "Show a large image of its output.",
}


class NodeView(QWidget):
    """Shows and changes the layers the model holds."""

    def __init__(
        self,
        inspector: InspectorModel,
        parent: QWidget | None = None,
        varying: Varying | None = None,
    ) -> None:
        super().__init__(parent)
        self._inspector = inspector
        self.head = NodeHead(inspector.rename, inspector.take_fix, self)
        self.sharing = SharedUses(inspector, self)
        self.options = SectionsView(inspector.set_value, inspector.reset, self, varying=varying)
        self.kept = Facts(self)
        self._kept = Section("Options, kept unchanged", self.kept, parent=self)
        self.facts = Facts(self)
        self._numbers = Section("Shape and cost", self.facts, parent=self)
        self._refusal = QLabel(self)
        self._refusal.setObjectName("behaviour_refusal")
        self._refusal.setProperty("role", "error")
        self._refusal.setFont(theme.font("small"))
        self._refusal.setWordWrap(True)
        self._refusal.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self.head)
        column.addWidget(self.sharing)
        column.addWidget(self.options)
        column.addWidget(self._kept)
        column.addWidget(Section("Behaviour", self._behaviour(), parent=self))
        column.addWidget(self._refusal)
        column.addWidget(self._numbers)
        self._ids: tuple[str, ...] = ()

    def refresh(self) -> None:
        """Show the layers as they are now."""
        nodes = self._inspector.nodes
        if not nodes:
            return
        ids = tuple(node.id for node in nodes)
        if ids != self._ids:
            self._ids = ids
            self._clear_error()
        self.options.show_sections(layer_sections(self._inspector.rows()))
        kept = self._inspector.kept()
        self.kept.show_facts([(line.label, line.value, line.value) for line in kept])
        self._kept.setVisible(bool(kept))
        facts = self._inspector.facts()
        if facts is not None:
            self.head.show_one(facts)
            self._show_numbers(facts)
        else:
            self.head.show_several(nodes)
        self.sharing.show_uses(facts)
        self._numbers.setVisible(facts is not None)
        self._show_flag(self.frozen, [node.frozen for node in nodes])
        nothing = facts is not None and facts.parameters == 0 and not nodes[0].frozen
        self.frozen.setEnabled(not nothing)
        self.frozen.setToolTip("It has no parameters." if nothing else _FREEZE)
        self._show_flag(self.bypassed, [node.bypassed for node in nodes])
        previews = {node.preview for node in nodes}
        self.preview.setCurrentIndex(
            self.preview.findData(nodes[0].preview) if len(previews) == 1 else -1
        )

    def _behaviour(self) -> QWidget:
        made = QWidget(self)
        self.frozen = QCheckBox("Freeze parameters", made)
        self.frozen.setObjectName("freeze")
        icons.keep(self.frozen, "frozen")
        self.frozen.clicked.connect(self._freeze)
        self.bypassed = QCheckBox("Bypass", made)
        self.bypassed.setObjectName("bypass")
        self.bypassed.setToolTip("Pass data through it unchanged.")
        icons.keep(self.bypassed, "bypass")
        self.bypassed.clicked.connect(self._bypass)
        self.preview = choice_box(made)
        self.preview.setObjectName("preview")
        self.preview.setAccessibleName("Preview on the canvas")
        self.preview.setToolTip("Preview of its output on the canvas.")
        for mode in PREVIEW_MODES:
            self.preview.addItem(mode, mode)
            self.preview.setItemData(self.preview.count() - 1, _PREVIEWS[mode], _TIP)
        self.preview.activated.connect(
            lambda index: self._inspector.set_preview(self.preview.itemData(index))
        )
        label = QLabel("Preview", made)
        label.setFixedWidth(LABEL_WIDTH)
        label.setProperty("role", "soft")
        line = QHBoxLayout()
        line.setSpacing(4)
        line.addWidget(label)
        line.addWidget(self.preview, 1)
        line.addSpacing(24)
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addWidget(self.frozen)
        column.addWidget(self.bypassed)
        column.addLayout(line)
        return made

    def _show_numbers(self, facts: NodeFacts) -> None:
        lines: list[Fact] = [
            ("in" if len(facts.inputs) == 1 else f"in {slot}", _shape(shape), f"from {name}")
            for slot, (name, shape) in enumerate(facts.inputs)
        ]
        lines.append(("out", _shape(facts.shape), "Shape of one sample of its output."))
        lines.append(_parameters(facts))
        for name in PASSES:
            cost = facts.costs.get(name)
            if cost is None:
                continue
            work = numbers.quantity(cost.flops, "FLOP")
            text = f"{work}, {numbers.memory(round(cost.nbytes))}"
            noun = "instruction" if cost.instructions == 1 else "instructions"
            tip = (
                f"{cost.instructions} {noun} for {facts.batch} samples: operations "
                "and bytes read and written, estimated from the instructions."
            )
            lines.append((name, text, tip))
        self.facts.show_facts(lines)
        self._numbers.set_note("older program" if facts.is_stale and facts.costs else "")

    def _freeze(self) -> None:
        self._try(lambda: self._inspector.set_frozen(self.frozen.isChecked()))

    def _bypass(self) -> None:
        self._try(lambda: self._inspector.set_bypassed(self.bypassed.isChecked()))

    def _try(self, change: Callable[[], None]) -> None:
        try:
            change()
            self._refusal.hide()
        except StudioError as error:
            text = f"{error.message}\n{error.hint}" if error.hint else error.message
            self._refusal.setText(text)
            self._refusal.show()
            bring_into_sight_soon(self._refusal)
            self.refresh()

    def _clear_error(self) -> None:
        self._refusal.hide()
        self.head.clear_error()
        self.options.clear_error()

    @staticmethod
    def _show_flag(box: QCheckBox, values: list[bool]) -> None:
        mixed = len(set(values)) > 1
        box.setTristate(mixed)
        box.setCheckState(
            Qt.CheckState.PartiallyChecked if mixed else
            Qt.CheckState.Checked if values[0] else Qt.CheckState.Unchecked
        )  # fmt: skip


def _shape(shape: Shape | None) -> str:
    return numbers.DASH if shape is None else shape_text(shape)


def _parameters(facts: NodeFacts) -> Fact:
    text = numbers.count(facts.parameters)
    if facts.trained is not None and facts.parameters and facts.trained != facts.parameters:
        text = f"{text} ({numbers.count(facts.trained)} trained)"
    return "parameters", text, "Numbers it owns; those that training changes."
