"""Everything the studio can do, found by a few letters; what was used last comes first."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtWidgets import QWidget

from studio.engine.core.errors import StudioError
from studio.engine.formats.atomic import write_atomic
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.safe_json import load_json
from studio.session.core.action_table import ActionRegistry, AnyAction, Context
from studio.ui.shell.commands import fuzzy
from studio.ui.shell.commands.finder import Finder, Found
from studio.widgets.keys import shown_keys

_LOG = logging.getLogger(__name__)
_LIMITS = Limits(file_bytes=MIB, json_bytes=MIB, json_depth=3, json_values=1000)
_MOST = 40
_RECENT_BONUS = 12.0
_ALIAS_COST = 3.0
PLACES: dict[Context, str] = {
    "canvas": "on the canvas", "listing": "in the listing", "table": "in tables",
    "plot": "in plots", "tensor": "in the tensor view", "window": "",
}  # fmt: skip
"""Where the keys of a context work; empty for everywhere."""


class CommandHistory:
    """Which commands were used last.

    Args:
        path: the file it is kept in; None keeps it for this session only.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._ids: list[str] = _read(path)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of actions, the last one first."""
        return tuple(self._ids)

    def note(self, action_id: str) -> None:
        """A command was used."""
        self._ids = [action_id, *(each for each in self._ids if each != action_id)][:_MOST]
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(self._path, (json.dumps(self._ids) + "\n").encode())
            except (OSError, StudioError) as error:
                _LOG.warning("the history of commands is not kept: %s", error)


def search_commands(
    registry: ActionRegistry, history: CommandHistory, typed: str
) -> Sequence[Found]:
    """The actions that fit what was typed, best first; recent ones first where nothing was."""
    recent = {action_id: place for place, action_id in enumerate(history.ids)}
    ranked: list[tuple[float, str, Found]] = []
    for spec in registry:
        fit = _fit(typed, spec)
        if fit is None:
            continue
        score = fit.score
        if spec.id in recent:
            score += _RECENT_BONUS * (1 - recent[spec.id] / _MOST)
        ranked.append((-score, spec.text.casefold(), _line(registry, history, spec, fit)))
    return [found for _, _, found in sorted(ranked, key=lambda each: each[:2])]


def _fit(typed: str, spec: AnyAction) -> fuzzy.Match | None:
    """How well an action fits by its text, else by its menu and text, else by another name."""
    direct = fuzzy.match(typed, spec.text)
    if not typed.strip():
        return fuzzy.Match(0.0)
    if direct is not None:
        same = len(fuzzy.folded(spec.text)) == len(spec.text)
        return fuzzy.Match(direct.score, direct.places if same else ())
    others = [f"{spec.menu.replace('/', ' ')} {spec.text}", *spec.aliases, spec.id]
    found = [fit for fit in (fuzzy.match(typed, other) for other in others) if fit is not None]
    if not found:
        return None
    return fuzzy.Match(max(fit.score for fit in found) - _ALIAS_COST)


def _line(
    registry: ActionRegistry, history: CommandHistory, spec: AnyAction, fit: fuzzy.Match
) -> Found:
    def act() -> None:
        history.note(spec.id)
        registry.trigger(spec.id)

    place = spec.menu.replace("/", " \u203a ") or PLACES[spec.context]
    icon = spec.icon
    if spec.checkable and registry.is_checked(spec.id):
        icon = "check"
    return Found(
        spec.text,
        act,
        place,
        shown_keys(spec.keys[0]) if spec.keys else "",
        registry.why_not(spec.id),
        icon,
        fit.places,
        spec.tip,
    )


def show(window: QWidget, registry: ActionRegistry, history: CommandHistory) -> Finder:
    """Open the palette over the window."""
    finder = Finder(
        lambda typed: search_commands(registry, history, typed),
        "Type a command",
        "Command palette",
        window,
    )
    finder.open_over(window)
    return finder


def _read(path: Path | None) -> list[str]:
    if path is None or not path.is_file():
        return []
    try:
        given = load_json(path, _LIMITS)
    except StudioError as error:
        _LOG.warning("the history of commands is lost: %s", error)
        return []
    return (
        [each for each in given if isinstance(each, str)][:_MOST] if isinstance(given, list) else []
    )
