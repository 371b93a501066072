"""What the window itself gives to data: its pane in front, and dialogs that ask for files.

What they need is loaded when it is first wanted, so that the window opens sooner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studio.ui.panes.data.attaching import Attaching
    from studio.ui.shell.window import MainWindow


class DataOffer:
    """Brings the data pane to the front, and asks for files.

    Args:
        window: dialogs stand in front of it.
    """

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._attaching: Attaching | None = None

    def choose(self) -> None:
        """Show the data pane and its menu of sources."""
        from studio.ui.panes.data.pane import DataPane

        pane = self._window.docks.show("data").ensure()
        if isinstance(pane, DataPane):
            pane.open_menu()

    def ask_file(self) -> None:
        """Ask for a data file."""
        self._dialogs().ask_file()

    def ask_folder(self) -> None:
        """Ask for a folder of pictures."""
        self._dialogs().ask_folder()

    def _dialogs(self) -> Attaching:
        if self._attaching is None:
            from studio.ui.panes.data.attaching import Attaching

            self._attaching = Attaching(self._window.studio, self._window)
        return self._attaching
