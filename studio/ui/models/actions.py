"""Everything a user can do, as a table: menus, shortcuts, palette and key sheet come from it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal

_LOG = logging.getLogger(__name__)

Context: TypeAlias = Literal["window", "canvas", "listing", "table", "plot", "tensor"]

CONTEXTS: tuple[Context, ...] = get_args(Context)

Needs: TypeAlias = Literal["", "project", "sight"]

MENUS = ("File", "Edit", "View", "Graph", "Train", "Profile", "Help")
"""The menus, in order; ``View/Panes`` makes a sub-menu."""

UNAVAILABLE = "not available here"


@dataclass(frozen=True)
class ActionSpec:
    """What is known of an action before any window exists.

    Attributes:
        id: ``area.verb``, unique and stable: users' own shortcuts refer to it.
        text: what menus and the palette say, a verb first, in sentence case.
        tip: one sentence: what it does and when that is useful.
        keys: explicit key sequences, such as ``Ctrl+Shift+P``; the first is shown.
        menu: place in the menus, ``Graph`` or ``View/Panes``; empty for none.
        context: where the keys work: everywhere, or only in views of one kind.
        aliases: further words the palette finds it by.
        checkable: it is on or off.
        group: actions of one group stand together in a menu.
        needs: a project that is open, or one that is in sight, as keys of a context always do.
    """

    id: str
    text: str
    tip: str
    keys: tuple[str, ...] = ()
    menu: str = ""
    context: Context = "window"
    aliases: tuple[str, ...] = ()
    checkable: bool = False
    group: str = ""
    needs: Needs = ""


@dataclass
class _Binding:
    handler: Callable[[], object]
    enabled: Callable[[], str]
    checked: Callable[[], bool] | None


def _always() -> str:
    return ""


def _never_barred(_spec: ActionSpec) -> str:
    return ""


class ActionRegistry:
    """The actions of the studio and what they do at the moment.

    A part of the studio declares its actions once; whoever can carry one out binds a handler. An
    action without one is shown greyed.

    Args:
        failed: hears a StudioError a handler raised, to show it to the user.
        barred: why an action cannot be done whoever carries it out; asked before the handler is.
    """

    def __init__(
        self,
        failed: Callable[[StudioError], object] | None = None,
        barred: Callable[[ActionSpec], str] = _never_barred,
    ) -> None:
        self.changed: Signal[[str]] = Signal()
        self.about_to: Signal[[ActionSpec]] = Signal()
        self.triggered: Signal[[str]] = Signal()
        self._specs: dict[str, ActionSpec] = {}
        self._bindings: dict[str, _Binding] = {}
        self._barred = barred
        self.current = ""
        """The action being carried out; empty while none is."""
        self._failed = failed or (lambda error: _LOG.error("%s", error))

    def declare(self, specs: Iterable[ActionSpec]) -> None:
        """Add actions; ValueError for an id that is taken."""
        for spec in specs:
            if spec.id in self._specs:
                raise ValueError(f"action {spec.id!r} is declared twice")
            self._specs[spec.id] = spec

    def bind(
        self,
        action_id: str,
        handler: Callable[[], object],
        enabled: Callable[[], str] | None = None,
        checked: Callable[[], bool] | None = None,
    ) -> None:
        """Say what an action does.

        Args:
            action_id: a declared action; KeyError otherwise.
            handler: carries it out; may raise StudioError.
            enabled: why it cannot be done now, in a few words, or an empty text when it can.
            checked: for a checkable action, whether it is on.
        """
        if action_id not in self._specs:
            raise KeyError(f"no action {action_id!r} is declared")
        self._bindings[action_id] = _Binding(handler, enabled or _always, checked)
        self.changed.emit(action_id)

    def unbind(self, action_id: str) -> None:
        """Nobody can carry the action out any more."""
        if self._bindings.pop(action_id, None) is not None:
            self.changed.emit(action_id)

    def refresh(self, *action_ids: str) -> None:
        """Whether these actions are possible may have changed; without ids, any action."""
        for action_id in action_ids or tuple(self._specs):
            self.changed.emit(action_id)

    def __iter__(self) -> Iterator[ActionSpec]:
        return iter(tuple(self._specs.values()))

    def __contains__(self, action_id: object) -> bool:
        return action_id in self._specs

    def spec(self, action_id: str) -> ActionSpec:
        """The declaration; KeyError for an unknown id."""
        return self._specs[action_id]

    def why_not(self, action_id: str) -> str:
        """Why the action cannot be done now; empty when it can."""
        spec, found = self._specs.get(action_id), self._bindings.get(action_id)
        barred = "" if spec is None else self._barred(spec)
        return barred or (UNAVAILABLE if found is None else found.enabled())

    def is_checked(self, action_id: str) -> bool:
        """Whether a checkable action is on."""
        found = self._bindings.get(action_id)
        return found is not None and found.checked is not None and found.checked()

    def trigger(self, action_id: str) -> bool:
        """Do it, if it can be done; whether it was. ``about_to`` is emitted before."""
        found = self._bindings.get(action_id)
        if found is not None:
            self.about_to.emit(self._specs[action_id])
        if found is None or self.why_not(action_id):
            return False
        before, self.current = self.current, action_id
        try:
            found.handler()
        except StudioError as error:
            self._failed(error)
        finally:
            self.current = before
        self.triggered.emit(action_id)
        self.changed.emit(action_id)
        return True

    def conflicts(self) -> list[tuple[str, str, str]]:
        """Key sequences two actions claim in contexts that meet: (keys, action, action)."""
        found: list[tuple[str, str, str]] = []
        holders: dict[str, list[ActionSpec]] = {}
        for spec in self._specs.values():
            for keys in spec.keys:
                others = holders.setdefault(keys, [])
                found.extend((keys, o.id, spec.id) for o in others if _meet(spec, o))
                others.append(spec)
        return found


def _meet(one: ActionSpec, other: ActionSpec) -> bool:
    return "window" in (one.context, other.context) or one.context == other.context
