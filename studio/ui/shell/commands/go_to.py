"""Goes to anything by its name: layers, tensors, instructions, metrics, runs, panes, commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtWidgets import QWidget

from studio.engine.core.errors import StudioError
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.studio import Studio
from studio.ui.shell.commands import fuzzy
from studio.ui.shell.commands.command_palette import CommandHistory, search_commands
from studio.ui.shell.commands.finder import Finder, Found
from studio.ui.shell.docks.panes import PaneSpec

SOURCE = "go_to"
COMMANDS = ">"
_MOST = 60


class Place(NamedTuple):
    """Something that can be gone to.

    Attributes:
        text: its name.
        detail: what kind it is.
        icon: name of its picture.
        entity: what is selected; None for a pane.
        pane: where it is shown; empty for the canvas.
        weight: how likely it is meant, other things being equal.
    """

    text: str
    detail: str
    icon: str
    entity: Entity | None
    pane: str
    weight: float = 0.0


def places(studio: Studio) -> Iterator[Place]:
    """Everything there is, likely things first."""
    for node in studio.document.state.layers():
        yield Place(node.name, node.type_name, "canvas", entities.node(node.id), "", 6.0)
    curves = studio.training.curves
    for metric in () if curves is None else curves.plots:
        yield Place(metric, "metric", "plots", entities.metric(metric), "plots", 4.0)
    shown = studio.compilation.shown
    if shown is None:
        return
    for tensor in shown.program.tensors.values():
        yield Place(
            tensor.name, "tensor", "tensor", entities.tensor(tensor.name), "tensor_map", 2.0
        )
    provenance = shown.provenance
    for key, alias in studio.annotations.found.aliases.items():
        if provenance.has_tensor(key):
            entity = entities.Entity("tensor", key)
            yield Place(alias, f"your name of {key}", "tensor", entity, "tensor_map", 3.0)
    for index, instruction in enumerate(shown.program):
        key = provenance.key_of(index)
        owner = ", ".join(name for name, _ in provenance.nodes_of(index))
        text = f"{index} {instruction.mnemonic}"
        yield Place(
            text, f"instruction of {owner}", "listing", entities.instruction(key), "listing"
        )


def search_places(
    studio: Studio, typed: str, go: Callable[[Place], object], more: Sequence[Place] = ()
) -> Sequence[Found]:
    """The places that fit what was typed, best first."""
    ranked: list[tuple[float, int, Place, tuple[int, ...]]] = []
    for order, place in enumerate((*places(studio), *more)):
        fit = fuzzy.match(typed, place.text)
        if fit is None:
            continue
        same = len(fuzzy.folded(place.text)) == len(place.text)
        ranked.append((-(fit.score + place.weight), order, place, fit.places if same else ()))
    ranked.sort(key=lambda each: each[:2])
    return [
        Found(place.text, partial(go, place), place.detail, icon=place.icon, places=found)
        for _, _, place, found in ranked[:_MOST]
    ]


def go_to(studio: Studio, place: Place, show_pane: Callable[[str], object]) -> None:
    """Select a thing and show where it is.

    Args:
        studio: the models.
        place: the thing.
        show_pane: shows the pane with this id; the canvas for an empty one.
    """
    show_pane(place.pane)
    if place.entity is not None:
        studio.bus.select((place.entity,), source=SOURCE)
        studio.bus.reveal(place.entity, SOURCE)


def show(
    window: QWidget,
    studio: Studio,
    history: CommandHistory,
    specs: Iterable[PaneSpec],
    show_pane: Callable[[str], object],
) -> Finder:
    """Open the search over the window; what begins with > is a command.

    Args:
        window: the main window.
        studio: the models.
        history: commands used last come first.
        specs: the panes that can be shown.
        show_pane: shows the pane with this id; the canvas for an empty one.
    """
    panes = [Place(spec.title, "pane", spec.icon, None, spec.id, 1.0) for spec in specs]
    recorded = [
        Place(name, "run", "runs", entities.run(name), "runs", 3.0) for name in _runs(studio)
    ]

    def go(place: Place) -> None:
        go_to(studio, place, show_pane)

    def search(typed: str) -> Sequence[Found]:
        if typed.startswith(COMMANDS):
            return search_commands(studio.actions, history, typed.removeprefix(COMMANDS))
        return search_places(studio, typed, go, (*recorded, *panes))

    finder = Finder(
        search,
        "Layer, tensor, instruction, run, metric or pane;  > for commands",
        "Go to anything",
        window,
    )
    finder.open_over(window)
    return finder


def _runs(studio: Studio) -> list[str]:
    """Names of the recorded runs, the newest first."""
    try:
        folder = studio.training.runs_path
        found = [path.name for path in folder.iterdir() if path.is_dir()]
    except (OSError, StudioError):
        return []
    return sorted(found, reverse=True)
