"""The path bar: what is selected, spelled as layer, instruction, tensor, kernel and time."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtCore import Signal as QtSignal
from PySide6.QtGui import QEnterEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget

from studio.engine.core.tensor import shape_text
from studio.instruction_view.path_bar.actions import ACTIONS
from studio.session.core import entities
from studio.session.core.entities import Entity, Kind
from studio.session.core.quantities import ms_text
from studio.session.document.change import Change
from studio.session.document.document import Document
from studio.session.document.levels import blocks_around
from studio.session.listing.kernels import size_text
from studio.widgets import binding, icons, theme
from studio.widgets.labels.elided_label import ElidedLabel

if TYPE_CHECKING:
    from studio.session.studio import Studio

SOURCE = "path_bar"

LEVELS: tuple[tuple[Kind, str, str], ...] = (
    ("node", "layer", "canvas"),
    ("instruction", "instruction", "listing"),
    ("tensor", "tensor", "tensor"),
    ("kernel", "kernel", "chip"),
)
"""Kind of the thing, word for it, and its icon."""

_LEAST_PART = 64

_PROMPT = "Select a layer, an instruction or a tensor to see it at every level"
_ELSEWHERE = "The selection is not part of this program"


class PathBar(QWidget):
    """One thing seen at four levels; every part can be pointed at and chosen.

    Args:
        studio: the models.
        parent: owner in Qt.
    """

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("path_bar")
        self.setAccessibleName("Path of the selection")
        self._studio = studio
        self._bus = studio.bus
        self._compilation = studio.compilation
        self._profiling = studio.profiling
        self._annotations = studio.annotations
        self._actions = studio.actions
        self._welcome_state = studio.welcome_state
        self._parts: dict[Kind, _Part] = {}
        self._time = QLabel(self)
        self._time.setObjectName("path_bar.time")
        self._time.setFont(theme.font("numbers"))
        self._prompt = ElidedLabel(self)
        self._prompt.setObjectName("path_bar.prompt")
        self._prompt.setProperty("role", "faint")
        self._note = QLabel("of the previous program", self)
        self._note.setObjectName("path_bar.note")
        self._note.setProperty("role", "soft")
        self._note.setContentsMargins(12, 0, 0, 0)
        self._chevrons: dict[Kind, QLabel] = {}
        self._build()
        studio.actions.attach(ACTIONS, self)
        binding.connect(self, studio.bus.path_changed, self._path_changed)
        binding.connect(self, studio.compilation.changed, self.refresh)
        binding.connect(self, studio.annotations.changed, self.refresh)
        binding.connect(self, studio.welcome_state.changed, self.refresh)
        binding.connect(self, studio.document_replaced, self._follow)
        binding.refresh(self, self._show_time, studio.profiling.changed, when_visible=True,
                        live="picture")  # fmt: skip
        self._heard: binding.Delivery | None = None
        self._follow(studio.document)

    def _build(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 8, 0)
        row.setSpacing(2)
        row.addWidget(self._prompt)
        for kind, word, icon in LEVELS:
            part = _Part(word, icon, self)
            part.entered.connect(partial(self._hover, kind))
            part.left.connect(partial(self._hover, None))
            part.clicked.connect(partial(self._choose, kind))
            if kind != "node":
                self._chevrons[kind] = self._chevron()
                row.addWidget(self._chevrons[kind])
            row.addWidget(part)
            self._parts[kind] = part
        self._last = self._chevron()
        row.addWidget(self._last)
        row.addWidget(self._time)
        row.addWidget(self._note)
        row.addStretch(1)
        self.setFixedHeight(theme.ROW)

    def _chevron(self) -> QLabel:
        label = QLabel("›", self)  # noqa: RUF001
        label.setProperty("role", "faint")
        label.setContentsMargins(4, 0, 4, 0)
        return label

    # -- what is shown --------------------------------------------------------------------------

    @property
    def texts(self) -> tuple[str, ...]:
        """What the bar says, part by part; empty while nothing is selected."""
        parts = [p.whole for p in self._parts.values() if not p.isHidden()]
        return (*parts, self._time.text()) if self._time.text() else tuple(parts)

    def part(self, kind: Kind) -> QToolButton:
        """The button of a level."""
        return self._parts[kind]

    def _follow(self, document: Document) -> None:
        """Spell the names of a document, and those that change in it."""
        if self._heard is not None:
            self._heard.stop()
        self._heard = binding.connect(self, document.changed, self._changed)
        self.refresh()

    def _changed(self, change: Change) -> None:
        if not change.only_places:
            self.refresh()

    def refresh(self) -> None:
        """Spell the path as it is now."""
        path = self._bus.path
        # On the welcome page there is nothing that could be selected, or seen to be.
        is_away = self._welcome_state.is_welcoming
        is_empty = is_away or all(each is None for each in path)
        # What only the training program has stays selected while the other one is shown.
        self._prompt.set_text(_ELSEWHERE if self._bus.selection.entities else _PROMPT)
        self._prompt.setVisible(is_empty and not is_away)
        for kind, part in self._parts.items():
            entity = path.at(kind)
            part.setVisible(not is_empty)
            if kind in self._chevrons:
                self._chevrons[kind].setVisible(not is_empty)
            part.say("" if entity is None else self._text(entity))
        # One that is being compiled is there in a moment; where none ever was, none was before.
        compiled = self._compilation
        is_before = compiled.result is not None and compiled.stop is not None
        self._note.setVisible(not is_empty and is_before)
        self._show_time()
        layout = self.layout()
        if layout is not None:
            # Each part is cut to the room it has among the others, not to the one it had.
            layout.activate()
        for part in self._parts.values():
            part.cut()
        self._actions.refresh(*(action.id for action in ACTIONS))

    def _show_time(self) -> None:
        """How long the instruction takes, as it was measured last."""
        time = self._time_text()
        self._time.setText(time)
        self._time.setVisible(bool(time))
        self._last.setVisible(bool(time))

    def _text(self, entity: Entity) -> str:
        provenance = self._compilation.provenance
        if entity.kind == "node":
            return self._layer_text(entity.key)
        if entity.kind == "instruction":
            row = provenance.index_of(entity.key)
            if row is None:
                return ""
            return f"#{row} {provenance.instruction_at(row).mnemonic}"
        if entity.kind == "tensor":
            name, grad = entities.tensor_name(entity)
            tensor = provenance.program.tensors.named(name)
            ref = tensor.ref.gradient if grad else tensor.ref
            alias = self._annotations.found.alias_of(entity.key)
            return f"{alias or ref} {shape_text(tensor.shape)}"
        return self._kernel_text(entity)

    def _layer_text(self, node_id: str) -> str:
        """A layer, block or port behind the blocks it stands in, the outermost first."""
        state, shown = self._studio.document.state, self._compilation.shown
        node = state.nodes.get(node_id)
        if node is not None:
            name = node.name
        else:
            name = node_id if shown is None else shown.rows.name_of(node_id)
        around = [state.nodes[i].name for i in reversed(blocks_around(state, node_id))]
        return " \u203a ".join((*around, name))

    def _kernel_text(self, entity: Entity) -> str:
        shown = self._compilation.shown
        key, number = entities.kernel_parts(entity)
        row = self._compilation.provenance.index_of(key)
        runs = () if shown is None or shown.kernels is None or row is None else (
            shown.kernels.of(row)
        )  # fmt: skip
        if number >= len(runs):
            return "kernel"
        run = runs[number]
        count = f" {number + 1} of {len(runs)}" if len(runs) > 1 else ""
        return f"{run.name}{count} {size_text(run)}".strip()

    def _time_text(self) -> str:
        line = None if self._welcome_state.is_welcoming else self._bus.path.instruction
        shown = self._compilation.shown
        row = None if line is None else self._compilation.provenance.index_of(line.key)
        if shown is None or row is None:
            return ""
        begin = shown.rows.group(row).first
        ms = self._profiling.times_ms(self._compilation.provenance).get(begin)
        return "" if ms is None else f"{ms_text(ms)} ms"

    def _path_changed(self, _path: object) -> None:
        self.refresh()

    # -- what the user does ---------------------------------------------------------------------

    def go(self, kind: Kind) -> None:
        """Select the same thing at a level and have every view show it."""
        entity = self._bus.path.at(kind)
        if entity is not None:
            self._bus.select((entity,), entity, SOURCE)
            self._bus.reveal(entity, SOURCE)

    def why_not(self, kind: Kind) -> str:
        """Why there is nothing to go to at a level; empty when there is."""
        if all(each is None for each in self._bus.path):
            return "nothing is selected"
        return "" if self._bus.path.at(kind) is not None else "the selection has none"

    def _choose(self, kind: Kind, _checked: bool = False) -> None:
        entity = self._bus.path.at(kind)
        if entity is not None:
            self._bus.select((entity,), entity, SOURCE)

    def _hover(self, kind: Kind | None) -> None:
        self._bus.hover(None if kind is None else self._bus.path.at(kind), SOURCE)


class _Part(QToolButton):
    """One level of the path."""

    entered = QtSignal()
    left = QtSignal()

    def __init__(self, word: str, icon: str, parent: QWidget) -> None:
        self._whole = ""
        super().__init__(parent)
        self._word = word
        self.setObjectName(f"path_bar.{word}")
        self.setAutoRaise(True)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(QSize(14, 14))
        self.setMinimumHeight(theme.HIT)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        if word != "layer":
            self.setFont(theme.font("mono"))
        icons.keep(self, icon)

    @property
    def whole(self) -> str:
        """The text, uncut."""
        return self._whole

    def say(self, text: str) -> None:
        """Show a thing; an empty text says that there is none at this level."""
        self._whole = text or f"no {self._word}"
        self.setEnabled(bool(text))
        self.setAccessibleName(f"{self._word}: {text}" if text else f"no {self._word}")
        self.setText(self._whole)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(self._beside() + self._wide(self._whole), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(min(_LEAST_PART, self.sizeHint().width()), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.cut()

    def cut(self) -> None:
        """A path gives way to a notice beside it."""
        # An advance is rounded, so that what just fits may seem not to.
        room = max(self.width(), self.minimumSizeHint().width()) - self._beside() + 1
        shown = self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideRight, room)
        if shown != self.text():
            self.setText(shown)
        tip = f"Select the {self._word}" if self.isEnabled() else ""
        said = f"{self._whole}\n{tip}".rstrip() if shown != self._whole else tip
        if said != self.toolTip():
            self.setToolTip(said)

    def _beside(self) -> int:
        """Pixels of all but the text."""
        return super().sizeHint().width() - self._wide(self.text())

    def _wide(self, text: str) -> int:
        # As Qt measures it: an ellipsis from another font is wider than its advance.
        return self.fontMetrics().size(Qt.TextFlag.TextShowMnemonic, text).width()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.entered.emit()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.left.emit()
