"""The outline: all layers in the order they run, as an ordinary tree that any reader can read."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QBrush, QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from studio.session.compile.selection import Selection
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.document.cards.lines import TIMES, shape_label
from studio.session.document.change import Change
from studio.session.document.document import Document
from studio.session.document.finding.outline import Outline, OutlineRow, accessible_text, outline
from studio.session.studio import Studio
from studio.widgets import binding, contexts, icons, theme
from studio.widgets.frames.empty_state import EmptyState
from studio.widgets.frames.frame import PaneFrame
from studio.widgets.menus import menu_of

OUTLINE = "outline"
_ID = Qt.ItemDataRole.UserRole
_NAME, _TYPE, _SHAPE, _PARAMETERS = range(4)
_PADDING, _LEAST_TYPE, _READABLE_TYPE = 16, 40, 64
_MOST_SHAPES = 2
_MENU = (
    "graph.edit_options", "graph.rename", "graph.duplicate", "graph.place_again",
    "graph.own_layer", None, "graph.bypass", "graph.freeze", "graph.mark_output",
    None, "graph.enter_block", "graph.group", "graph.dissolve",
    None, "graph.delete",
)  # fmt: skip


class OutlinePane(PaneFrame):
    """Layers in running order with shape, parameters and condition; selects and is selected.

    Args:
        studio: the models of the window.
        parent: owner.
    """

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(linkable=True, parent=parent)
        self.setObjectName("outline_pane")
        self._studio = studio
        self._rows: dict[str, QTreeWidgetItem] = {}
        self._aside: set[str] = set()
        self._following = False
        self._folded: set[str] = set()
        self._heard: list[binding.Delivery] = []
        self.tree = QTreeWidget(self)
        self._set_up_tree()
        self.set_body(self.tree)
        self._nothing = EmptyState(
            "outline", "No layers yet", "The layers on the canvas are listed here.",
            ("Add a layer", lambda: studio.actions.trigger("canvas.quick_add")), parent=self,
        )  # fmt: skip
        binding.connect(self, studio.document_replaced, self._replaced)
        binding.connect(self, studio.bus.selected, self._selected)
        binding.connect(self, studio.bus.hovered, self._hovered)
        binding.connect(self, theme.changed, self._show)
        self._refresh = binding.refresh(self, self._show, studio.culprit.changed, rate=20)
        self._replaced(studio.document)

    def _set_up_tree(self) -> None:
        tree = self.tree
        tree.setObjectName("outline_tree")
        tree.setAccessibleName("Layers in execution order")
        tree.setHeaderLabels(["Layer", "Type", "Output", "Parameters"])
        tree.setRootIsDecorated(False)
        tree.setUniformRowHeights(True)
        tree.setIconSize(QSize(14, 14))
        tree.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        tree.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        tree.setMouseTracking(True)
        tree.viewport().installEventFilter(self)
        tree.installEventFilter(self)
        tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        tree.customContextMenuRequested.connect(self._menu)
        tree.itemSelectionChanged.connect(self._chosen)
        tree.itemEntered.connect(self._entered)
        tree.itemDoubleClicked.connect(self._reveal)
        tree.setExpandsOnDoubleClick(False)
        tree.itemCollapsed.connect(self._fold)
        tree.itemExpanded.connect(self._unfold)
        header = tree.header()
        # Names are never cut for the sake of the other columns, which can be scrolled to.
        for column in (_NAME, _PARAMETERS):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        for column in (_TYPE, _SHAPE):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
        contexts.register("table", tree)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.tree.viewport() and event.type() == QEvent.Type.Leave:
            self._studio.bus.hover(None, OUTLINE)
        elif watched is self.tree.viewport() and event.type() == QEvent.Type.Resize:
            self._fit_columns()
        elif (
            watched is self.tree
            and isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
            and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        ):
            self._reveal(self.tree.currentItem())
            return True
        return False

    # -- showing --------------------------------------------------------------------------------

    def _replaced(self, document: Document) -> None:
        for heard in self._heard:
            heard.stop()
        self._heard = [
            binding.connect(self, document.changed, self._changed),
            binding.connect(self, document.report_changed, self._refresh.hear),
        ]
        self._show()

    def _changed(self, change: Change) -> None:
        if not change.only_places:
            self._refresh.hear()

    def _show(self) -> None:
        document = self._studio.document
        found = outline(document.state, self._studio.culprit.report)
        ids = [row.id for row in (*found.running, *found.aside)]
        self.show_empty(None if ids else self._nothing)
        if ids != list(self._rows) or not self._same_groups(found):
            self._rebuild(found)
        for row in (*found.running, *found.aside):
            self._fill(self._rows[row.id], row)
        self._fit_columns()
        self._selected(self._studio.bus.selection, "")
        used, left = (
            sum(not row.is_block for row in rows) for rows in (found.running, found.aside)
        )
        self.set_note(f"{used} of {used + left} used" if left else "")

    def _fit_columns(self) -> None:
        """Cut types, or leave them to the icons, where that keeps numbers in sight.

        A number is seen whole or not at all: 46 of 4640 would be another number.
        """
        header, metrics = self.tree.header(), self.tree.fontMetrics()
        header.setSectionHidden(_TYPE, False)
        header.resizeSections(QHeaderView.ResizeMode.ResizeToContents)
        texts = [self.tree.headerItem().text(_TYPE), *(i.text(_TYPE) for i in self._rows.values())]
        wanted = max(metrics.horizontalAdvance(text) for text in texts) + _PADDING
        shape, parameters = header.sectionSize(_SHAPE), header.sectionSize(_PARAMETERS)
        room = self.tree.viewport().width() - header.sectionSize(_NAME) - shape
        if room - parameters >= min(wanted, _READABLE_TYPE):
            header.resizeSection(_TYPE, min(wanted, room - parameters))
            return
        types = min(wanted, room) if room >= _LEAST_TYPE else 0
        header.setSectionHidden(_TYPE, not types)
        if types:
            header.resizeSection(_TYPE, types)
        # What is left would show the beginning of the next column.
        header.resizeSection(_SHAPE, max(shape, shape + room - types))

    def _same_groups(self, found: Outline) -> bool:
        return {row.id for row in found.aside} == self._aside and all(
            self._id_of(self._rows[row.id].parent()) == row.parent
            for row in (*found.running, *found.aside)
        )

    def _rebuild(self, found: Outline) -> None:
        self._following = True
        self.tree.clear()
        blocks = [row.id for row in (*found.running, *found.aside) if row.is_block]
        self.tree.setRootIsDecorated(bool(blocks))
        self._rows = {}
        self._aside = {row.id for row in found.aside}
        for row in found.running:
            item = QTreeWidgetItem(self._rows.get(row.parent, self.tree))
            item.setData(_NAME, _ID, row.id)
            self._rows[row.id] = item
        if found.aside:
            heading = QTreeWidgetItem(self.tree, ["Not part of the network"])
            heading.setFlags(Qt.ItemFlag.ItemIsEnabled)
            heading.setFirstColumnSpanned(True)
            heading.setForeground(_NAME, QBrush(theme.colour("text3")))
            for row in found.aside:
                item = QTreeWidgetItem(self._rows.get(row.parent, heading))
                item.setData(_NAME, _ID, row.id)
                self._rows[row.id] = item
            heading.setExpanded(True)
        for block in blocks:
            self._rows[block].setExpanded(block not in self._folded)
        self._following = False

    def _fold(self, item: QTreeWidgetItem) -> None:
        self._folded.add(self._id_of(item))

    def _unfold(self, item: QTreeWidgetItem) -> None:
        self._folded.discard(self._id_of(item))

    def _fill(self, item: QTreeWidgetItem, row: OutlineRow) -> None:
        state, report = self._studio.document.state, self._studio.culprit.report
        item.setData(_NAME, _ID, row.id)
        item.setText(_NAME, f"{row.name} {TIMES}{row.uses}" if row.uses else row.name)
        item.setText(_TYPE, row.type_name)
        item.setToolTip(_TYPE, row.type_name)
        shapes = [shape_label(shape) for shape in row.shapes]
        item.setText(_SHAPE, _shapes_text(shapes))
        several = [f"Output {number}: {shape}" for number, shape in enumerate(shapes)]
        item.setToolTip(_SHAPE, "\n".join(several) if len(shapes) > 1 else "")
        item.setText(_PARAMETERS, row.parameters_text)
        item.setTextAlignment(_PARAMETERS, Qt.AlignmentFlag.AlignRight)
        family = f"family.{row.family}"
        if row.condition in ("ok", "unreached"):
            # Qt takes the colour of what is on for an item whose children are seen.
            item.setIcon(_NAME, icons.icon(f"family-{row.family}", family, family))
        else:
            role = {"error": "error", "warning": "warning"}.get(row.condition, "text3")
            item.setIcon(_NAME, icons.icon(row.condition, role, role))
        for column in (_TYPE, _SHAPE, _PARAMETERS):
            item.setForeground(column, QBrush(theme.colour("text2")))
        item.setToolTip(_NAME, row.message or row.name)
        said = accessible_text(state, report, row.id)
        item.setData(_NAME, Qt.ItemDataRole.AccessibleTextRole, said)

    # -- the selection --------------------------------------------------------------------------

    def _selected(self, _selection: Selection, source: str) -> None:
        if source == OUTLINE or self.pinned:
            return
        self._following = True
        selection = self._studio.bus.drawn
        chosen = set(selection.of_kind("node"))
        for node_id, item in self._rows.items():
            item.setSelected(node_id in chosen)
        primary = selection.primary
        item_ = None if primary is None else self._rows.get(primary.key)
        if item_ is not None and primary is not None and primary.kind == "node":
            self.tree.selectionModel().setCurrentIndex(
                self.tree.indexFromItem(item_),
                self.tree.selectionModel().SelectionFlag.NoUpdate,
            )
            self._bring_into_sight(item_)
        self._following = False

    def _bring_into_sight(self, item: QTreeWidgetItem) -> None:
        area = self.tree.visualItemRect(item)
        if not self.tree.viewport().rect().contains(area):
            self.tree.scrollToItem(item, QAbstractItemView.ScrollHint.PositionAtCenter)

    def _chosen(self) -> None:
        if self._following:
            return
        chosen = [entities.node(node_id) for node_id, i in self._rows.items() if i.isSelected()]
        current = self._id_of(self.tree.currentItem())
        primary = entities.node(current) if current else None
        self._studio.bus.select(chosen, primary, OUTLINE)

    def _hovered(self, entity: Entity | None, _source: str) -> None:
        """Mark the layer the pointer is over in another view."""
        mark = theme.colour("hover")
        for node_id, item in self._rows.items():
            lit = entity is not None and entity.kind == "node" and entity.key == node_id
            brush = QBrush(mark) if lit else QBrush()
            if item.background(_NAME) != brush:
                for column in range(4):
                    item.setBackground(column, brush)

    def _entered(self, item: QTreeWidgetItem, _column: int) -> None:
        node_id = self._id_of(item)
        self._studio.bus.hover(entities.node(node_id) if node_id else None, OUTLINE)

    def _reveal(self, item: QTreeWidgetItem | None, _column: int = 0) -> None:
        node_id = self._id_of(item)
        if node_id:
            self._studio.bus.reveal(entities.node(node_id), OUTLINE)

    def _id_of(self, item: QTreeWidgetItem | None) -> str:
        found = None if item is None else item.data(_NAME, _ID)
        return found if isinstance(found, str) else ""

    def _menu(self, at: QPoint) -> None:
        if self._studio.bus.selection.entities:
            menu = menu_of(self._studio.actions, _MENU, self.tree)
            menu.popup(self.tree.viewport().mapToGlobal(at))


def _shapes_text(shapes: Sequence[str]) -> str:
    """The shapes of a layer's outputs; of many the first, and how many more there are."""
    return " · ".join(shapes) if len(shapes) <= _MOST_SHAPES else f"{shapes[0]} +{len(shapes) - 1}"
