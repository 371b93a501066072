"""Start Glassbox as ``glassbox`` or ``python -m studio``: the commands, and the window they open.

Qt is loaded only when a window is opened, and after a look at whether that can be.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from studio.cli.app import main as run_command


class _Window:
    """The studio's window, as commands see it."""

    def why_not(self) -> tuple[str, str]:
        from studio.ui.shell.start.preflight import check_window

        found = check_window()
        return found.problem, found.hint

    def open(
        self, project: Path | None, *, reset_layout: bool, safe: bool, theme: str, scale: int
    ) -> int:
        from studio.ui.shell.start.app import run
        from studio.ui.shell.start.launch import LaunchOptions

        return run(LaunchOptions(project, reset_layout, safe, theme, scale))

    def demo(self, out: Path, *, close: bool, backend: str, seed: int | None) -> int:
        from studio.ui.shell.start.app import run
        from studio.ui.shell.start.launch import DemoOptions, LaunchOptions

        return run(LaunchOptions(demo=DemoOptions(out, close, backend, seed)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, or open the window without one; returns the exit code."""
    if not sys.warnoptions:
        # They name lines of our source; what is wrong with the user's work is said in errors.
        warnings.simplefilter("ignore")
    return run_command(arguments, _Window())


if __name__ == "__main__":
    sys.exit(main())
