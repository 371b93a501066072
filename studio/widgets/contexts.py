"""Which widgets belong to a context of the action table, so that its keys work in them."""

from __future__ import annotations

import weakref

import shiboken6
from PySide6.QtWidgets import QWidget

from studio.engine.core.signal import Signal
from studio.session.core.action_table import Context

registered: Signal[[Context, QWidget]] = Signal()
"""Emitted when a widget joins a context."""

_members: dict[Context, weakref.WeakSet[QWidget]] = {}


def register(context: Context, widget: QWidget) -> None:
    """The keys of ``context`` work while ``widget`` or a child of it has the focus."""
    members = _members.setdefault(context, weakref.WeakSet())
    if widget not in members:
        members.add(widget)
        registered.emit(context, widget)


def members(context: Context) -> tuple[QWidget, ...]:
    """The widgets of a context that are alive."""
    return tuple(each for each in _members.get(context, ()) if shiboken6.isValid(each))


def context_of(widget: QWidget | None) -> Context:
    """The context of the nearest registered widget around one; ``window`` where there is none."""
    while widget is not None:
        for context, held in _members.items():
            if widget in held:
                return context
        widget = widget.parentWidget()
    return "window"
