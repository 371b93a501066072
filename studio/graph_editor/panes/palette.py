"""The palette: every layer by family, found by typing, added by a double-click, Enter or a drag."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QFileSystemWatcher, QMimeData, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QDrag, QKeyEvent, QPainter, QPixmap, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QMenu,
    QTreeWidget,
    QTreeWidgetItem,
    QTreeWidgetItemIterator,
    QVBoxLayout,
    QWidget,
)

from studio.engine.core.errors import StudioError
from studio.engine.operations.table import LIBRARIES
from studio.graph_editor.editing.adding import (
    add_after_selection,
    add_block_after_selection,
    layer_data,
)
from studio.graph_editor.items.colours import CanvasColours
from studio.graph_editor.items.node_item import NodeItem
from studio.session.document.adding.palette import Group
from studio.session.document.adding.quick_add import Entry, no_match_text, operation_of
from studio.session.document.cards.card import NodeCard
from studio.session.document.edits.chains import NewLayer
from studio.session.document.layer_types import checked_config, starting_config
from studio.session.document.state import CanvasNode
from studio.session.studio import Studio
from studio.widgets import binding, contexts, icons, theme
from studio.widgets.frames.frame import PaneFrame
from studio.widgets.menus import own_keys

PALETTE = "palette"
_ENTRY = Qt.ItemDataRole.UserRole
_NAME, _STAR = 0, 1
_LIBRARIES = {"numpy": "NumPy", "keras": "Keras", "onnx": "ONNX", "tfjs": "TensorFlow.js"}


class PaletteTree(QTreeWidget):
    """The tree; its entries can be dragged onto the canvas."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("palette_tree")
        self.setAccessibleName("Layers")
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        self.setIndentation(14)
        self.setIconSize(QSize(16, 16))
        self.setUniformRowHeights(True)
        self.setDragEnabled(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self.setExpandsOnDoubleClick(False)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(_STAR, QHeaderView.ResizeMode.Fixed)
        header.resizeSection(_STAR, 28)

    def entry_of(self, item: QTreeWidgetItem | None) -> Entry | None:
        """The layer of a row; None for a heading."""
        found = None if item is None else item.data(_NAME, _ENTRY)
        return found if isinstance(found, Entry) else None

    def mimeData(self, items: list[QTreeWidgetItem]) -> QMimeData:  # type: ignore[override]
        entry = self.entry_of(items[0]) if items else None
        return QMimeData() if entry is None else layer_data(entry)

    def startDrag(self, supportedActions: Qt.DropAction) -> None:  # noqa: N803
        entry = self.entry_of(self.currentItem())
        if entry is None:
            return
        drag = QDrag(self)
        drag.setMimeData(layer_data(entry))
        picture = layer_picture(entry, self.devicePixelRatioF())
        drag.setPixmap(picture)
        size = picture.deviceIndependentSize()
        drag.setHotSpot(QPoint(int(size.width() / 2), 14))
        drag.exec(Qt.DropAction.CopyAction)


_OWN_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down, Qt.Key.Key_Escape)


class PalettePane(PaneFrame):
    """Search field and tree.

    Args:
        studio: the models of the window.
        parent: owner.
    """

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setObjectName("palette_pane")
        self._studio = studio
        self._palette = studio.palette
        # There are hundreds of operations: they are folded until somebody looks for them.
        self._closed = {
            each.key
            for group in self._palette.groups()
            if group.groups
            for each in (group, *group.groups)
        }
        body = QWidget(self)
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.field = QLineEdit(body)
        self.field.setObjectName("palette_search")
        self.field.setAccessibleName("Search the palette")
        self.field.setPlaceholderText("Search layers")
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(self._palette.search)
        self.field.installEventFilter(self)
        top = QVBoxLayout()
        top.setContentsMargins(8, 8, 8, 8)
        top.addWidget(self.field)
        column.addLayout(top)
        self.tree = PaletteTree(body)
        self.tree.itemDoubleClicked.connect(self._activated)
        self.tree.itemClicked.connect(self._clicked)
        self.tree.itemExpanded.connect(lambda item: self._closed.discard(_key(item)))
        self.tree.itemCollapsed.connect(lambda item: self._closed.add(_key(item)))
        self.tree.installEventFilter(self)
        self.tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.tree.customContextMenuRequested.connect(self._menu)
        column.addWidget(self.tree, 1)
        self.set_body(body)
        body.setFocusProxy(self.field)
        contexts.register("table", self.tree)
        # Another window, also of another process, may publish blocks and remove them.
        self._watcher = QFileSystemWatcher(self)
        self._watcher.directoryChanged.connect(self._reread)
        binding.connect(self, self._palette.changed, self._watch)
        binding.connect(self, self._palette.changed, self._show)
        binding.connect(self, theme.changed, self._recolour)
        self._show()

    def add(self, entry: Entry) -> None:
        """Add a layer or a published block after the selected layer."""
        try:
            if entry.block:
                add_block_after_selection(self._studio, entry, PALETTE)
                return
            add_after_selection(self._studio, NewLayer(entry.type_name, entry.config), PALETTE)
        except StudioError as error:
            self._studio.fail(error)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent):
            return False
        override = event.type() == QEvent.Type.ShortcutOverride
        if override and watched is self.field and event.key() in _OWN_KEYS:
            # Only its own keys: shortcuts of the window work during a search.
            event.accept()
        if event.type() != QEvent.Type.KeyPress:
            return False
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            return self._enter(from_field=watched is self.field)
        if watched is self.field and key == Qt.Key.Key_Down:
            self.tree.setFocus(Qt.FocusReason.TabFocusReason)
            return True
        if watched is self.field and key == Qt.Key.Key_Escape and self.field.text():
            self.field.clear()
            return True
        if watched is self.tree and key == Qt.Key.Key_Space:
            self._toggle_favourite(self.tree.currentItem())
            return True
        return False

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._reread()

    def _reread(self) -> None:
        """Show what is in the folder of published blocks now."""
        self._watch()
        for problem in self._palette.reread_blocks():
            self._studio.notify(problem, "warning")

    def _watch(self) -> None:
        """Hear of changes of the folder; while there is none, of the one it will be made in."""
        folder = self._palette.blocks_folder
        if folder is None:
            return
        wanted = next((str(p) for p in (folder, *folder.parents) if p.is_dir()), "")
        watched = self._watcher.directories()
        if [wanted] != watched:
            if watched:
                self._watcher.removePaths(watched)
            if wanted:
                self._watcher.addPath(wanted)

    def _menu(self, point: QPoint) -> None:
        """What can be done with a published block."""
        entry = self.tree.entry_of(self.tree.itemAt(point) or self.tree.currentItem())
        if entry is None or not entry.block:
            return
        menu = own_keys(QMenu(self.tree))
        menu.setObjectName("palette_menu")
        menu.aboutToHide.connect(menu.deleteLater)
        menu.addAction("Add to the canvas").triggered.connect(lambda: self.add(entry))
        menu.addAction("Remove from the palette").triggered.connect(lambda: self._remove(entry))
        menu.popup(self.tree.viewport().mapToGlobal(point))

    def _remove(self, entry: Entry) -> None:
        try:
            self._palette.remove_block(entry.title)
        except StudioError as error:
            self._studio.fail(error)
            return
        self._studio.notify(f"Removed the block {entry.title} from the palette")

    def _enter(self, *, from_field: bool) -> bool:
        entry = self.tree.entry_of(self.tree.currentItem())
        if entry is None and from_field:
            entry = self._first_found()
        if entry is None:
            return False
        self.add(entry)
        return True

    def _first_found(self) -> Entry | None:
        group = self.tree.topLevelItem(0)
        if group is None or not self._palette.query.strip() or not group.childCount():
            return None
        return self.tree.entry_of(group.child(0))

    def _activated(self, item: QTreeWidgetItem, column: int) -> None:
        entry = self.tree.entry_of(item)
        if entry is not None and column == _NAME:
            self.add(entry)

    def _clicked(self, item: QTreeWidgetItem, column: int) -> None:
        if self.tree.entry_of(item) is None:
            item.setExpanded(not item.isExpanded())
        elif column == _STAR:
            self._toggle_favourite(item)

    def _toggle_favourite(self, item: QTreeWidgetItem | None) -> None:
        entry = self.tree.entry_of(item)
        if entry is not None and entry.key:
            self._palette.set_favourite(entry.key, entry.key not in self._palette.favourites)

    def _show(self) -> None:
        kept = self.tree.entry_of(self.tree.currentItem())
        place = self.tree.verticalScrollBar().value()
        self.tree.clear()
        for group in self._palette.groups():
            self._add_group(self.tree, group)
        if not self.tree.topLevelItemCount() or self._nothing_found():
            self.tree.clear()
            row = QTreeWidgetItem(self.tree, [no_match_text(self._palette.query)])
            row.setFlags(Qt.ItemFlag.NoItemFlags)
            row.setFirstColumnSpanned(True)
        self._restore(kept, place)

    def _nothing_found(self) -> bool:
        return bool(self._palette.query.strip()) and not self._palette.groups()[0].entries

    def _add_group(self, above: QTreeWidget | QTreeWidgetItem, group: Group) -> None:
        heading = QTreeWidgetItem(above, [group.title])
        heading.setData(_NAME, Qt.ItemDataRole.UserRole + 1, group.key)
        heading.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)
        _colour_heading(heading)
        heading.setFont(_NAME, theme.font("small"))
        for entry in group.entries:
            self._add_row(heading, entry)
        for each in group.groups:
            self._add_group(heading, each)
        heading.setExpanded(group.key not in self._closed)

    def _add_row(self, heading: QTreeWidgetItem, entry: Entry) -> None:
        row = QTreeWidgetItem(heading, [entry.title])
        row.setData(_NAME, _ENTRY, entry)
        self._colour_row(row, entry)
        lines = [entry.title, entry.doc, "Drag it to the canvas, or press Enter"]
        if entry.family == "operation":
            lines.insert(2, _other_names(entry))
        row.setToolTip(_NAME, "\n".join(line for line in lines if line))
        if entry.key:
            marked = entry.key in self._palette.favourites
            row.setToolTip(_STAR, "Remove from favourites" if marked else "Add to favourites")
        said = f"{entry.title}, {entry.doc}"
        row.setData(_NAME, Qt.ItemDataRole.AccessibleTextRole, said)

    def _colour_row(self, row: QTreeWidgetItem, entry: Entry) -> None:
        row.setIcon(_NAME, icons.icon(f"family-{entry.family}", f"family.{entry.family}"))
        if entry.key:
            marked = entry.key in self._palette.favourites
            name = "star-full" if marked else "star"
            row.setIcon(_STAR, icons.icon(name, "accent" if marked else "hairline"))

    def _recolour(self) -> None:
        """Give the rows the colours of another theme; making them anew takes five times as long."""
        rows = QTreeWidgetItemIterator(self.tree)
        while (row := rows.value()) is not None:
            entry = self.tree.entry_of(row)
            if entry is not None:
                self._colour_row(row, entry)
            elif row.childCount():
                _colour_heading(row)
            rows += 1

    def _restore(self, kept: Entry | None, place: int) -> None:
        """Keep the current row and the scroll position over a change."""
        by_title = Qt.MatchFlag.MatchFixedString | Qt.MatchFlag.MatchRecursive
        for row in self.tree.findItems("" if kept is None else kept.title, by_title):
            if kept is not None and self.tree.entry_of(row) == kept:
                self.tree.setCurrentItem(row)
                break
        self.tree.verticalScrollBar().setValue(place)


def layer_picture(entry: Entry, ratio: float) -> QPixmap:
    """A layer at true size, as it is dragged."""
    node = CanvasNode("", "block", text=entry.title, collapsed=True)
    if not entry.block:
        config = checked_config(entry.type_name, starting_config(entry.type_name, entry.config))
        node = CanvasNode("", "layer", entry.type_name, config, collapsed=True)
    card = NodeCard(node, entry.title, entry.type_name, entry.family)
    item = NodeItem(card, CanvasColours(theme.current()))
    size = item.area.size()
    picture = QPixmap((size * ratio).toSize())
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setOpacity(0.85)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    item.paint_near(painter)
    painter.end()
    return picture


def _colour_heading(heading: QTreeWidgetItem) -> None:
    heading.setForeground(_NAME, theme.colour("text2"))


def _other_names(entry: Entry) -> str:
    """What other libraries call an operation."""
    aliases = operation_of(entry).aliases
    said = [f"{_LIBRARIES[name]}: {', '.join(aliases[name])}" for name in LIBRARIES
            if aliases.get(name)]  # fmt: skip
    return "\n".join(said)


def _key(item: QTreeWidgetItem) -> str:
    return str(item.data(_NAME, Qt.ItemDataRole.UserRole + 1))
