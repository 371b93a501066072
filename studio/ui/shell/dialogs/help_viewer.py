"""The pages of the documentation, read in a window of the studio."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QImage, QKeySequence, QShortcut, QTextDocument
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QTextBrowser,
    QWidget,
)

from studio.ui.shell.commands.topics import topic_of
from studio.ui.shell.dialogs import about

if TYPE_CHECKING:
    from studio.ui.shell.window import MainWindow

_PATH = Qt.ItemDataRole.UserRole
_PICTURE = 680
"""Width of the widest picture."""
_SIZE = QSize(1000, 720)
_FRAME = QSize(16, 48)
"""Room for what the system puts around a window."""


class HelpViewer(QDialog):
    """A list of pages and the one that is read.

    Args:
        folder: where the pages are; None where they did not come along.
        window: the main window, which goes on working beside it.
    """

    def __init__(self, folder: Path | None, window: MainWindow) -> None:
        super().__init__(window)
        self.setObjectName("help_viewer")
        self.setWindowTitle("Glassbox pages")
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
        # Who reads how to do a thing goes on doing it; only closing is of the page that is read.
        window.actions_of_window.serve(self, without="file.close")
        for keys in window.studio.actions["file.close"].keys:
            QShortcut(QKeySequence(keys), self).activated.connect(self.close)

    @property
    def title(self) -> str:
        """What is being read."""
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


def title_of(path: Path) -> str:
    """The heading of a page, or its name where it has none."""
    with path.open(encoding="utf-8") as page:
        for line in page:
            if line.startswith("# "):
                return line.removeprefix("# ").strip()
    return path.stem


def show(window: MainWindow, name: str) -> HelpViewer | None:
    """Open the viewer at a page; None where the documentation did not come along."""
    found = about.page(name)
    if found is None:
        return None
    viewer = _viewer(window)
    viewer.read(found)
    return viewer


def show_here(window: MainWindow) -> HelpViewer | None:
    """Open the viewer about what is selected, or about the pane that has the keyboard."""
    dock = window.docks.focused()
    topic = topic_of(window.studio, None if dock is None else dock.spec)
    if not topic.text:
        return show(window, topic.page)
    viewer = _viewer(window)
    viewer.read_text(topic.title, topic.text)
    return viewer


def _viewer(window: MainWindow) -> HelpViewer:
    viewer = window.findChild(HelpViewer) or HelpViewer(about.pages(), window)
    viewer.show()
    viewer.raise_()
    viewer.activateWindow()
    return viewer
