"""Classes for actions: menus, shortcuts, the command palette and the key sheet read tables of them.

The tables themselves are in `studio.session.actions`, and beside the panes that have actions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args

from studio.engine.core.errors import StudioError
from studio.engine.core.signal import Signal
from studio.session.core.user_keys import Keys, UserKeys

_LOG = logging.getLogger(__name__)

Context: TypeAlias = Literal["window", "canvas", "listing", "table", "plot", "tensor"]

CONTEXTS: tuple[Context, ...] = get_args(Context)

Needs: TypeAlias = Literal["", "project", "sight"]

MENUS = ("File", "Edit", "View", "Graph", "Train", "Profile", "Help")
"""The menus, in order; ``View/Panes`` makes a sub-menu."""

UNAVAILABLE = "not available here"


T = TypeVar("T")


def _possible(_target: object) -> str:
    return ""


def _never(_target: object) -> tuple[Signal[...], ...]:
    return ()


@dataclass(frozen=True)
class Action(Generic[T]):
    """One user action and the functions that perform it.

    Attributes:
        id: ``area.verb``, unique and stable: users' own shortcuts refer to it.
        text: what menus and the palette say, a verb first, in sentence case.
        tip: one sentence: what it does and when that is useful.
        keys: explicit key sequences, such as ``Ctrl+Shift+P``; the first is shown.
        menu: place in the menus, ``Graph`` or ``View/Panes``; empty for none.
        context: where the keys work: everywhere, or only in views of one kind.
        aliases: further words the palette finds it by.
        group: actions of one group stand together in a menu.
        needs: a project that is open, or one that is in sight, as keys of a context always do.
        icon: name of its icon, where one helps to find it.
        after: id of the action it stands behind, where that is in another table.
        run: does it to the target; may raise StudioError.
        enabled: why it cannot be done to the target now, in a few words; empty when it can.
        checked: whether it is on; None for an action that is neither on nor off.
    """

    id: str
    text: str
    tip: str
    keys: tuple[str, ...] = ()
    menu: str = ""
    context: Context = "window"
    _: KW_ONLY
    aliases: tuple[str, ...] = ()
    group: str = ""
    needs: Needs = ""
    icon: str = ""
    after: str = ""
    run: Callable[[T], object]
    enabled: Callable[[T], str] = _possible
    checked: Callable[[T], bool] | None = None

    @property
    def checkable(self) -> bool:
        """Whether it is on or off."""
        return self.checked is not None


AnyAction: TypeAlias = "Action[Any]"


class ActionTable(Generic[T]):
    """Actions on one kind of target, in menu order.

    A table stands in a module that imports no Qt, beside what its actions are done to, and is
    called ``ACTIONS`` there. Those of `studio.session.actions` are done to the studio and found
    there; those of a view are named in its row of `studio.ui.shell.docks.panes`.

    Args:
        order: tables with a lower number come first in menus and on the key sheet.
        changes: signals of a target after which other actions may be possible.
    """

    def __init__(
        self,
        order: int,
        *actions: Action[T],
        changes: Callable[[T], Iterable[Signal[...]]] = _never,
    ) -> None:
        self.order = order
        self.actions = actions
        self.changes = changes

    def __iter__(self) -> Iterator[Action[T]]:
        return iter(self.actions)


class _Attached(Generic[T]):
    """A target with the table whose actions are done to it.

    Args:
        refresh: called with ids of actions that may have become possible.
    """

    def __init__(self, table: ActionTable[T], target: T, refresh: Callable[..., None]) -> None:
        self.table = table
        self.target = target
        self._refresh = refresh
        for change in table.changes(target):
            change.connect(self.heard)

    def heard(self, *_args: object) -> None:
        """Ask again which actions are possible."""
        self._refresh(*(action.id for action in self.table))


class ActionRegistry:
    """The actions of the studio and their current targets.

    A table can be declared before there is anything its actions could be done to: they are shown
    greyed until it is attached to a target. An action found here has the keys that are in force.

    Args:
        failed: called with a StudioError that an action raised, to show it.
        barred: why an action cannot be done whatever its target; asked first.
        keys: the keys the user chose.
    """

    def __init__(
        self,
        failed: Callable[[StudioError], object] | None = None,
        barred: Callable[[AnyAction], str] = _possible,
        keys: UserKeys | None = None,
    ) -> None:
        self.keys = UserKeys() if keys is None else keys
        self.keys.changed.connect(self._rebound)
        self.changed: Signal[[str]] = Signal()
        self.about_to: Signal[[AnyAction]] = Signal()
        self.triggered: Signal[[str]] = Signal()
        self._tables: list[ActionTable[Any]] = []
        self._attached: dict[str, _Attached[Any]] = {}
        self._actions: dict[str, AnyAction] = {}
        self._declared: dict[str, AnyAction] = {}
        self._barred = barred
        self.current = ""
        """The action being carried out; empty while none is."""
        self._failed = failed or (lambda error: _LOG.error("%s", error))

    def declare(self, *tables: ActionTable[Any]) -> None:
        """Add tables; one that is there already stays.

        Raises:
            ValueError: an id is taken; then none of the tables is added.
        """
        added = [table for table in tables if table not in self._tables]
        ids = set(self._actions)
        for action in (action for table in added for action in table):
            if action.id in ids:
                raise ValueError(f"action {action.id!r} is declared twice")
            ids.add(action.id)
        self._tables += added
        self._declared = _in_order(self._tables)
        self._actions = _with_keys(self._declared, self.keys)

    def attach(self, table: ActionTable[T], target: T) -> None:
        """Let a table's actions be done to a target, in place of one attached before.

        Args:
            table: declared here where it is not yet.
            target: what ``run``, ``enabled`` and ``checked`` are called with.
        """
        self.declare(table)
        attached = _Attached(table, target, self.refresh)
        self._attached |= {action.id: attached for action in table}
        attached.heard()

    def refresh(self, *action_ids: str) -> None:
        """Whether these actions are possible may have changed; without ids, any action."""
        for action_id in action_ids or tuple(self._actions):
            self.changed.emit(action_id)

    def __iter__(self) -> Iterator[AnyAction]:
        return iter(tuple(self._actions.values()))

    def __contains__(self, action_id: object) -> bool:
        return action_id in self._actions

    def __getitem__(self, action_id: str) -> AnyAction:
        """The action of an id; KeyError for an unknown one."""
        return self._actions[action_id]

    def why_not(self, action_id: str) -> str:
        """Why the action cannot be done now; empty when it can."""
        action, attached = self._actions.get(action_id), self._attached.get(action_id)
        if action is None or attached is None:
            return ("" if action is None else self._barred(action)) or UNAVAILABLE
        return self._barred(action) or action.enabled(attached.target)

    def is_checked(self, action_id: str) -> bool:
        """Whether a checkable action is on."""
        action, attached = self._actions.get(action_id), self._attached.get(action_id)
        if action is None or attached is None or action.checked is None:
            return False
        return action.checked(attached.target)

    def trigger(self, action_id: str) -> bool:
        """Do it, if it can be done; whether it was. ``about_to`` is emitted before."""
        attached = self._attached.get(action_id)
        if attached is None:
            return False
        action = self._actions[action_id]
        self.about_to.emit(action)
        if self.why_not(action_id):
            return False
        before, self.current = self.current, action_id
        try:
            action.run(attached.target)
        except StudioError as error:
            self._failed(error)
        finally:
            self.current = before
        self.triggered.emit(action_id)
        self.changed.emit(action_id)
        return True

    def keys_at_first(self, action_id: str) -> Keys:
        """The keys an action came with."""
        return self._declared[action_id].keys

    def holders(self, keys: str, action_id: str) -> tuple[AnyAction, ...]:
        """The other actions that have a key sequence where an action would have it too."""
        wanted = self._actions[action_id]
        return tuple(
            each for each in self
            if each.id != action_id and keys in each.keys and _meet(each, wanted)
        )  # fmt: skip

    def _rebound(self) -> None:
        before, self._actions = self._actions, _with_keys(self._declared, self.keys)
        for action_id, action in self._actions.items():
            if action is not before[action_id] and action.keys != before[action_id].keys:
                self.changed.emit(action_id)

    def conflicts(self) -> list[tuple[str, str, str]]:
        """Key sequences two actions claim in contexts that meet: (keys, action, action)."""
        found: list[tuple[str, str, str]] = []
        holders: dict[str, list[AnyAction]] = {}
        for action in self:
            for keys in action.keys:
                others = holders.setdefault(keys, [])
                found.extend((keys, o.id, action.id) for o in others if _meet(action, o))
                others.append(action)
        return found


def _in_order(tables: Iterable[ActionTable[Any]]) -> dict[str, AnyAction]:
    """Every action by its id: by the order of the tables, each before those that name it."""
    every = [a for table in sorted(tables, key=lambda each: each.order) for a in table]
    behind: dict[str, list[AnyAction]] = {action.id: [] for action in every}
    found: dict[str, AnyAction] = {}

    def place(action: AnyAction) -> None:
        if action.id not in found:
            found[action.id] = action
            for other in behind[action.id]:
                place(other)

    for action in every:
        behind.get(action.after, []).append(action)
    for action in every:
        if action.after not in behind:
            place(action)
    # What is left names each other in a circle.
    for action in every:
        place(action)
    return found


def _with_keys(declared: Mapping[str, AnyAction], choices: UserKeys) -> dict[str, AnyAction]:
    """The actions with the keys in force; a key that was chosen for one is no other's by itself.

    Where a file gives the same key to several that meet, the first has it: with all of them, it
    would do nothing.
    """
    chosen = [
        (keys, action) for action in declared.values() for keys in choices.of(action.id) or ()
    ]

    def first(wanted: str, action: AnyAction) -> AnyAction:
        meeting = (other for keys, other in chosen if keys == wanted and _meet(action, other))
        return next(meeting, action)

    def in_force(action: AnyAction) -> Keys:
        own = choices.of(action.id)
        if own is not None:
            return tuple(keys for keys in own if first(keys, action) is action)
        taken = {keys for keys, other in chosen if _meet(action, other)}
        return tuple(keys for keys in action.keys if keys not in taken)

    found = {}
    for action_id, action in declared.items():
        keys = in_force(action) if len(choices) else action.keys
        found[action_id] = action if keys == action.keys else replace(action, keys=keys)
    return found


def _meet(one: AnyAction, other: AnyAction) -> bool:
    return "window" in (one.context, other.context) or one.context == other.context
