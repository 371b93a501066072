"""Checks of the network as a whole: where data enters, where it ends, what is left out."""

from __future__ import annotations

from collections.abc import Iterator

from studio.engine.train.plugin_use import missing_settings
from studio.graph_editor.model.edits.sections import training_of
from studio.graph_editor.model.layer_types import is_input, is_known
from studio.graph_editor.model.report import Problem
from studio.graph_editor.model.resolve import Resolved
from studio.graph_editor.model.state import DocumentState


def network_problems(state: DocumentState, resolved: Resolved) -> Iterator[Problem]:
    """What keeps the network from having an input and an output."""
    entries = [i for i in resolved.inputs if is_input(state.nodes[i])]
    if not entries:
        yield Problem(
            "network.no_input", "error", next(iter(roots(state, resolved)), ""),
            "the network needs an Input layer", "add an Input with the shape of one sample",
        )  # fmt: skip
    elif not resolved.outputs and resolved.ends:
        names = _listed([state.nodes[i].name for i in resolved.ends])
        yield Problem(
            "network.several_ends", "error", resolved.ends[-1],
            f"data ends at {names}, and none is marked as output",
            "mark the output, or join them",
        )  # fmt: skip
    elif not resolved.outputs:
        yield Problem(
            "network.no_layers", "error", entries[0], "nothing follows the input",
            "connect a layer to it",
        )  # fmt: skip


def left_out_problems(state: DocumentState, resolved: Resolved) -> Iterator[Problem]:
    """Layers wired to each other that no data reaches; single ones lie ready and are no problem."""
    if not resolved.outputs:
        return
    followers: dict[str, list[str]] = {}
    for node_id, sources in resolved.inputs.items():
        for source in sources:
            followers.setdefault(source, []).append(node_id)
    for root in roots(state, resolved):
        if root in resolved.reached or root not in followers:
            continue
        chain, waiting = [], [root]
        while waiting:
            at = waiting.pop(0)
            if at not in chain and at not in resolved.fed:
                chain.append(at)
                waiting += followers.get(at, ())
        if len(chain) > 1:
            names = _listed([state.nodes[i].name for i in chain])
            yield Problem(
                "link.unfed", "warning", root,
                f"no data comes in here, so {names} are left out",
                "connect it, or delete what is not needed", 0,
            )  # fmt: skip


def missing_problems(state: DocumentState) -> Iterator[Problem]:
    """What the training settings have of plugins that are not loaded."""
    found: dict[str, list[str]] = {}
    for each in missing_settings(training_of(state)):
        found.setdefault(str(each.home), []).append(type(each).__name__)
    for number, (plugin, names) in enumerate(found.items()):
        parts = _listed(names)
        verb = "is" if len(names) == 1 else "are"
        yield Problem(
            f"training.plugin.{number}", "error", "",
            f"{plugin} is not loaded; {parts} of the training settings {verb} part of it",
            "switch the plugin on in the preferences, or choose other settings",
        )  # fmt: skip


def roots(state: DocumentState, resolved: Resolved) -> list[str]:
    """Layers that nothing feeds and that are no inputs."""
    return [
        i
        for i, sources in resolved.inputs.items()
        if not sources and not is_input(state.nodes[i]) and is_known(state.nodes[i].type_name)
    ]


def _listed(names: list[str], most: int = 4) -> str:
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 2 else names)
