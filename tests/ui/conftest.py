"""Tests of widgets run on a display of their own, with guards against what they leave behind."""

from pathlib import Path

import pytest

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

WHOLE_WINDOW = {"window", "another", "person", "start"}
"""Fixtures that open the whole window or start the studio."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what opens the whole window as slow: each takes a second or two."""
    here = Path(__file__).parent
    for item in items:
        names = item.fixturenames if isinstance(item, pytest.Function) else ()
        if here in item.path.parents and not WHOLE_WINDOW.isdisjoint(names):
            item.add_marker("slow")
