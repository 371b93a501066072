"""Tests of shared widgets run on a display of their own, with guards against what they leave."""

from tests.ui.fixtures import (
    dark,
    no_hanging_dialogs,
    nothing_left_behind,
    qapp_args,
    qtbot,
    scheduler,
    studio,
)

__all__ = [
    "dark",
    "no_hanging_dialogs",
    "nothing_left_behind",
    "qapp_args",
    "qtbot",
    "scheduler",
    "studio",
]
