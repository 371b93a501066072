"""Lists the uses of registers under the listing; pinned lists stay beside the latest one."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex
from PySide6.QtCore import Signal as QtSignal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.tensor import Ref
from studio.instruction_view.lights import entity_of, ref_of
from studio.session.core.entities import Entity
from studio.session.listing.labels import Labels
from studio.session.listing.rows import ProgramRows, Use
from studio.widgets import icons, theme
from studio.widgets.labels.tool_button import tool_button
from studio.widgets.record_table.columns import Column
from studio.widgets.record_table.model import RecordModel
from studio.widgets.record_table.views import RecordList

_LINES = 5


class UsesPanel(QWidget):
    """A tab for each register looked at.

    Args:
        parent: owner in Qt.
    """

    row_wanted = QtSignal(int)
    """A use was chosen: its row."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("listing.uses")
        self._rows: ProgramRows | None = None
        self._labels: Labels | None = None
        self._kept: list[Entity] = []
        self._latest: Entity | None = None
        self._tabs = QTabBar(self)
        self._tabs.setObjectName("listing.uses.tabs")
        self._tabs.setAccessibleName("Registers whose uses are listed")
        self._tabs.setExpanding(False)
        self._tabs.setUsesScrollButtons(True)
        self._uses: RecordModel[Use] = RecordModel((Column("use", "Use", self._text),))
        title = "Uses of the register"
        self._list = RecordList(self._uses, "listing.uses.list", title, self, context=None)
        self._list.setFont(theme.font("mono"))
        self._list.setVerticalScrollMode(RecordList.ScrollMode.ScrollPerItem)
        self._list.setFixedHeight(_LINES * theme.COMPACT_ROW + 4)
        close = tool_button("close", "listing.uses.close", "Close this list", self)
        head = QHBoxLayout()
        head.setContentsMargins(4, 0, 4, 0)
        head.addWidget(self._tabs, 1)
        head.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self._list)
        close.clicked.connect(self.close_current)
        self._tabs.currentChanged.connect(self._fill)
        self._list.clicked.connect(self._clicked)
        self._list.activated.connect(self._clicked)
        self.hide()

    @property
    def registers(self) -> tuple[Entity, ...]:
        """Tensors whose uses are listed: those pinned, then the latest."""
        latest = (self._latest,) if self._latest is not None else ()
        return (*self._kept, *latest)

    def use_rows(self, rows: ProgramRows | None, labels: Labels | None) -> None:
        """Program or labels are others: lists of tensors the program lacks are dropped."""
        self._rows, self._labels = rows, labels
        if rows is None:
            self._kept, self._latest = [], None
        else:
            self._kept = [e for e in self._kept if ref_of(rows, e) is not None]
            if self._latest is not None and ref_of(rows, self._latest) is None:
                self._latest = None
        self._show_tabs(self._tabs.currentIndex())

    def show_uses(self, ref: Ref) -> None:
        """List the uses of a register in place of those listed last."""
        if self._rows is None:
            return
        entity = entity_of(self._rows, ref)
        if entity not in self._kept:
            self._latest = entity
        self._show_tabs(self.registers.index(entity))

    def pin_uses(self, ref: Ref) -> None:
        """List the uses of a register and keep the list."""
        self.show_uses(ref)
        if self._latest is not None:
            self._kept.append(self._latest)
            self._latest = None
        self._show_tabs(self._tabs.currentIndex())

    def close_current(self) -> None:
        """Drop the list shown."""
        place = self._tabs.currentIndex()
        if 0 <= place < len(self._kept):
            del self._kept[place]
        else:
            self._latest = None
        self._show_tabs(place)

    def _show_tabs(self, place: int) -> None:
        rows, labels = self._rows, self._labels
        self._tabs.blockSignals(True)
        while self._tabs.count():
            self._tabs.removeTab(0)
        for entity in self.registers:
            ref = None if rows is None else ref_of(rows, entity)
            if rows is None or labels is None or ref is None:
                continue
            name = labels.names.get(ref, entity.key)
            tab = self._tabs.addTab(f"{ref} {name}: {len(rows.uses(ref))}")
            self._tabs.setTabToolTip(tab, f"Uses of {ref}, {entity.key}")
            if entity in self._kept:
                self._tabs.setTabIcon(tab, icons.icon("pinned"))
        self._tabs.setCurrentIndex(min(max(place, 0), self._tabs.count() - 1))
        self._tabs.blockSignals(False)
        self.setVisible(self._tabs.count() > 0)
        self._fill(self._tabs.currentIndex())

    def _fill(self, place: int) -> None:
        rows, registers = self._rows, self.registers
        is_listed = rows is not None and 0 <= place < len(registers)
        ref = ref_of(rows, registers[place]) if rows is not None and is_listed else None
        self._uses.take(() if rows is None or ref is None else rows.uses(ref))

    def _text(self, use: Use) -> str:
        if self._rows is None or self._labels is None:
            return ""
        owners = ", ".join(self._rows.named_owners(use.row))
        return f"{use.row:>5}  {use.how:<8} {self._labels.text(use.row)}   {owners}"

    def _clicked(self, index: QModelIndex) -> None:
        use = self._uses.record(index.row())
        if use is not None:
            self.row_wanted.emit(use.row)
