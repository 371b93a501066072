"""What the studio has to tell the user: short notices, kept until they were seen."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from studio.engine.core.errors import InternalError, StudioError
from studio.engine.core.signal import Signal

Severity: TypeAlias = Literal["info", "ok", "warning", "error"]
NoticeAction: TypeAlias = tuple[str, Callable[[], object]]

MOST = 200
"""Notices kept."""


@dataclass(eq=False)
class Notice:
    """One thing said to the user.

    Attributes:
        text: one sentence.
        severity: how much it matters; errors stay until they are seen.
        details: what to do about it, or more about it.
        action: a word for a button and what it does.
        when: seconds since the epoch.
        seen: the user has had it before the eyes.
        in_log: the log has it already, with more than is said here.
    """

    text: str
    severity: Severity = "info"
    details: str = ""
    action: NoticeAction | None = None
    when: float = field(default_factory=time.time)
    seen: bool = False
    in_log: bool = False


class Notices:
    """The notices of this session, newest last."""

    def __init__(self) -> None:
        self.added: Signal[[Notice]] = Signal()
        self.changed: Signal[[]] = Signal()
        self._kept: deque[Notice] = deque(maxlen=MOST)

    def add(
        self,
        text: str,
        severity: Severity = "info",
        action: NoticeAction | None = None,
        details: str = "",
        *,
        in_log: bool = False,
    ) -> Notice:
        """Tell the user something."""
        notice = Notice(text, severity, details, action, in_log=in_log)
        self._kept.append(notice)
        self.added.emit(notice)
        self.changed.emit()
        return notice

    def add_error(self, error: StudioError, action: NoticeAction | None = None) -> Notice:
        """Tell the user what went wrong, and what to do about it."""
        text = f"{error.who}: {error.message}" if error.who else error.message
        details = "\n".join(part for part in (error.hint, error.origin) if part)
        return self.add(text, "error", action, details, in_log=isinstance(error, InternalError))

    @property
    def all(self) -> tuple[Notice, ...]:
        """Every notice kept, oldest first."""
        return tuple(self._kept)

    @property
    def unseen(self) -> int:
        """How many the user has not seen."""
        return sum(not notice.seen for notice in self._kept)

    def see(self, *notices: Notice) -> None:
        """The user has seen these, or all of them."""
        for notice in notices or tuple(self._kept):
            notice.seen = True
        self.changed.emit()
