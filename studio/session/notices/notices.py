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
        severity: how much it matters; errors stay until they are seen or settled.
        details: what to do about it, or more about it.
        action: a word for a button and what it does; None once it no longer applies.
        about: what it is about, so that it can be settled; parts are joined by dots, the widest
            first, as in ``document.save``.
        in_log: the log has it already, with more details.
        when: seconds since the epoch; of the last time, where it was said more than once.
        times: how often it was said before it was seen.
        seen: the user has seen it, or it is settled.
    """

    text: str
    severity: Severity = "info"
    details: str = ""
    action: NoticeAction | None = None
    about: str = ""
    in_log: bool = False
    when: float = field(default_factory=time.time)
    times: int = 1
    seen: bool = False

    def is_about(self, about: str) -> bool:
        """Whether it is about this, or about a part of it."""
        return self.about == about or self.about.startswith(f"{about}.")

    def says_the_same(self, other: Notice) -> bool:
        """Whether it reads as another one and is about the same."""
        return (self.text, self.severity, self.details, self.about) == (
            other.text, other.severity, other.details, other.about,
        )  # fmt: skip


class Notices:
    """The notices of this session, newest last."""

    def __init__(self) -> None:
        self.added: Signal[[Notice]] = Signal()
        """A notice was said, for the first time or again."""
        self.changed: Signal[[]] = Signal()
        self._kept: deque[Notice] = deque(maxlen=MOST)

    def add(
        self,
        text: str,
        severity: Severity = "info",
        action: NoticeAction | None = None,
        details: str = "",
        *,
        about: str = "",
        in_log: bool = False,
    ) -> Notice:
        """Tell the user something; a repetition of an unseen notice raises its count."""
        notice = Notice(text, severity, details, action, about, in_log)
        before = next((n for n in self._kept if not n.seen and n.says_the_same(notice)), None)
        if before is not None:
            self._kept.remove(before)
            before.times += 1
            before.when, before.action = notice.when, notice.action
            notice = before
        self._kept.append(notice)
        self.added.emit(notice)
        self.changed.emit()
        return notice

    def add_error(
        self, error: StudioError, action: NoticeAction | None = None, about: str = ""
    ) -> Notice:
        """Tell the user what went wrong, and what to do about it."""
        text = f"{error.who}: {error.message}" if error.who else error.message
        details = "\n".join(part for part in (error.hint, error.origin) if part)
        in_log = isinstance(error, InternalError)
        return self.add(text, "error", action, details, about=about, in_log=in_log)

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

    def settle(self, *about: str) -> None:
        """Mark notices about these as seen, and drop their actions: their causes are gone."""
        found = [
            notice
            for notice in self._kept
            if any(map(notice.is_about, about)) and not (notice.seen and notice.action is None)
        ]
        for notice in found:
            notice.seen, notice.action = True, None
        if found:
            self.changed.emit()
