"""The help window: pages of the documentation, layers and instructions."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QImage, QShortcut, QTextDocument
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QTextBrowser,
    QWidget,
)

import studio as package
from studio.engine.isa.manual import entry, markdown
from studio.session.core.option_rows import tip
from studio.session.document.layer_types import is_known, kind_text, layer_at
from studio.session.studio import Studio
from studio.ui.shell.commands.qt_actions import WindowActions
from studio.ui.shell.docks.panes import PaneSpec

_PATH = Qt.ItemDataRole.UserRole
_PICTURE = 680
"""Width of the widest picture."""
_SIZE = QSize(1000, 720)
_FRAME = QSize(16, 48)
"""Room for what the system puts around a window."""


class HelpViewer(QDialog):
    """A list of pages and the one that is read.

    Args:
        folder: where the pages are; None if they are not installed.
        actions: their keys work here too, but for that of *Close the project*, which closes this.
        window: the main window; this one is not modal.
    """

    def __init__(self, folder: Path | None, actions: WindowActions, window: QWidget) -> None:
        super().__init__(window)
        self.setObjectName("help_viewer")
        self.setWindowTitle("Glassbox help")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._title = ""
        self._pages = QListWidget(self)
        self._pages.setAccessibleName("Pages")
        self._pages.setFixedWidth(240)
        self._pages.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._pages.setTextElideMode(Qt.TextElideMode.ElideRight)
        self._text = _Page(folder, self)
        self._text.setAccessibleName("Text of the page")
        self._text.setOpenLinks(False)
        self._text.document().setDocumentMargin(24)
        self._text.anchorClicked.connect(self._follow)
        for path in sorted(folder.glob("*.md") if folder is not None else ()):
            item = QListWidgetItem(title_of(path), self._pages)
            item.setData(_PATH, str(path))
            item.setToolTip(item.text())
        # A list that comes to have the keyboard makes its first line the current one: only what
        # is selected has been asked for.
        self._pages.itemSelectionChanged.connect(self._chosen)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._pages)
        row.addWidget(self._text, 1)
        self.setFocusProxy(self._text)
        self._text.setFocus()
        self.resize(_SIZE.boundedTo(window.screen().availableSize() - _FRAME))
        actions.serve(self, without="file.close")
        for keys in actions["file.close"].shortcuts():
            QShortcut(keys, self).activated.connect(self.close)

    @property
    def title(self) -> str:
        return self._title

    def read(self, path: Path) -> bool:
        """Show a page; whether there is such a page."""
        for row in range(self._pages.count()):
            if Path(str(self._pages.item(row).data(_PATH))).name == path.name:
                self._pages.setCurrentRow(row)
                return True
        return False

    def read_text(self, title: str, text: str) -> None:
        """Show a text that is no page."""
        self._pages.setCurrentRow(-1)
        self._pages.clearSelection()
        self._text.setMarkdown(text)
        self._title = title

    def _chosen(self) -> None:
        for item in self._pages.selectedItems():
            text = Path(str(item.data(_PATH))).read_text(encoding="utf-8")
            self._text.setMarkdown(text)
            self._title = item.text()

    def _follow(self, url: QUrl) -> None:
        """Go to another page; the web opens in the browser."""
        if url.scheme() in ("http", "https"):
            QDesktopServices.openUrl(url)
        elif url.path():
            self.read(Path(url.path()))


class _Page(QTextBrowser):
    """A page with its pictures, made to fit.

    Args:
        folder: what the names of pictures count from.
        parent: the viewer.
    """

    def __init__(self, folder: Path | None, parent: QWidget) -> None:
        super().__init__(parent)
        self._folder = folder

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        url = QUrl(name)
        if kind != QTextDocument.ResourceType.ImageResource.value or self._folder is None:
            return super().loadResource(kind, url)
        image = QImage(str(self._folder / url.path()))
        # Pictures of the whole window are wider than the page, and the page would leave out some
        # of their pixels.
        ratio = self.devicePixelRatioF()
        if image.width() > _PICTURE * ratio:
            smooth = Qt.TransformationMode.SmoothTransformation
            image = image.scaledToWidth(round(_PICTURE * ratio), smooth)
        image.setDevicePixelRatio(max(1.0, image.width() / _PICTURE))
        return image


class Topic(NamedTuple):
    """Something to read.

    Attributes:
        title: what it is about.
        text: Markdown; empty where a page is meant.
        page: name of a page.
    """

    title: str
    text: str = ""
    page: str = ""


def topic_of(studio: Studio, pane: PaneSpec | None) -> Topic:
    """What to read.

    Args:
        studio: the models.
        pane: the one that has the keyboard; None for the canvas.
    """
    primary = studio.bus.selection.primary
    found: Topic | None = None
    if primary is not None and primary.kind == "instruction":
        found = _instruction(studio, primary.key)
    elif primary is not None and primary.kind == "node":
        found = _layer(studio, primary.key)
    return found or _about(pane)


def _about(pane: PaneSpec | None) -> Topic:
    if pane is not None and pane.page.startswith("#"):
        return Topic(pane.title, pane.page)
    return Topic("", page="guide" if pane is None else pane.page)


def _instruction(studio: Studio, key: str) -> Topic | None:
    shown = studio.compilation.shown
    index = None if shown is None else shown.provenance.index_of(key)
    if shown is None or index is None:
        return None
    mnemonic = list(shown.program)[index].mnemonic
    return Topic(mnemonic, markdown(entry(mnemonic)))


def _layer(studio: Studio, node_id: str) -> Topic | None:
    node = studio.document.state.nodes.get(node_id)
    if node is None or not is_known(node.type_name):
        return None
    layer = layer_at(node)
    title = kind_text(node)
    lines = [
        f"# {title}",
        "",
        layer.long_about(),
        "",
        "| option | meaning |",
        "|---|---|",
    ]
    for option, _ in layer.form_values():
        meaning = tip(option).replace("\n", " ").replace("|", "\\|")
        lines.append(f"| {option.label} | {meaning} |")
    return Topic(title, "\n".join(lines))


@cache
def pages() -> Path | None:
    """The folder of the documentation, where it came along."""
    beside = Path(package.__file__).resolve().parent
    found = (beside / "docs", beside.parent / "docs")
    return next((folder for folder in found if (folder / "commands.md").is_file()), None)


def page(name: str) -> Path | None:
    """One page, where the documentation came along."""
    folder = pages()
    path = None if folder is None else folder / f"{name}.md"
    return path if path is not None and path.is_file() else None


def title_of(path: Path) -> str:
    """The heading of a page, or its name where it has none."""
    with path.open(encoding="utf-8") as page:
        for line in page:
            if line.startswith("# "):
                return line.removeprefix("# ").strip()
    return path.stem


def show(name: str, actions: WindowActions, window: QWidget) -> HelpViewer | None:
    """Open the viewer at a page; None if the pages are not installed."""
    found = page(name)
    if found is None:
        return None
    viewer = _viewer(actions, window)
    viewer.read(found)
    return viewer


def show_topic(topic: Topic, actions: WindowActions, window: QWidget) -> HelpViewer | None:
    """Open the viewer at a text or page; None if the page is not installed."""
    if not topic.text:
        return show(topic.page, actions, window)
    viewer = _viewer(actions, window)
    viewer.read_text(topic.title, topic.text)
    return viewer


def _viewer(actions: WindowActions, window: QWidget) -> HelpViewer:
    viewer = window.findChild(HelpViewer) or HelpViewer(pages(), actions, window)
    viewer.show()
    viewer.raise_()
    viewer.activateWindow()
    return viewer
