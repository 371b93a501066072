"""Why an edit would do nothing to what is selected, in a few words; empty when it would."""

from __future__ import annotations

from collections.abc import Sequence

from studio.session.document.edits.sharing import why_not_again
from studio.session.document.layer_types import is_input
from studio.session.document.levels import wires_of
from studio.session.document.report import Report
from studio.session.document.state import CanvasNode, DocumentState

NOTHING = "nothing is selected"
NO_LAYER = "no layer is selected"
ONE_THING = "only one item is selected"
FEW_THINGS = "fewer than three items are selected"


def why_not_bypass(state: DocumentState, chosen: Sequence[str]) -> str:
    """Data passes a layer only where it has come to one."""
    layers = _layers(state, chosen)
    if not layers:
        return NO_LAYER
    entered = next((node for node in layers if is_input(node) and not node.bypassed), None)
    return "" if entered is None else f"{entered.name} is an input"


def why_not_freeze(state: DocumentState, chosen: Sequence[str], report: Report) -> str:
    """A layer without parameters has none to keep; one that is frozen can be thawed all the same.

    Where the number is not known, as where shapes do not fit, it may have some.
    """
    layers = _layers(state, chosen)
    if not layers:
        return NO_LAYER
    may = any(
        node.frozen or node.shares or node.bypassed or report.status(node.id).parameters != 0
        for node in layers
    )
    return "" if may else "the selection has no parameters"


def why_not_straighten(state: DocumentState, chosen: Sequence[str]) -> str:
    """It needs a wire between two of them; one alone moves to the height of what feeds it."""
    flowing = [state.nodes[i] for i in chosen if i in state.nodes and state.nodes[i].flows]
    if not flowing:
        return NO_LAYER if chosen else NOTHING
    if len(flowing) == 1:
        return "" if flowing[0].inputs else "the selection has no input wires"
    inside = {node.id for node in flowing}
    wired = any(source in inside for node in flowing for source in node.sources)
    return "" if wired else "no wires between the selected layers"


def why_not_align(chosen: Sequence[str]) -> str:
    """One thing is in line with itself."""
    if not chosen:
        return NOTHING
    return "" if len(chosen) > 1 else ONE_THING


def why_not_distribute(chosen: Sequence[str]) -> str:
    """Between two there is one space only."""
    if not chosen:
        return NOTHING
    return "" if len(chosen) > 2 else FEW_THINGS


def why_not_place_again(state: DocumentState, chosen: Sequence[str], report: Report) -> str:
    """One layer with weights to share; where their number is not known, it may have some."""
    layers = _layers(state, chosen)
    if not layers:
        return NO_LAYER
    last = layers[-1]
    refused = why_not_again(state, last.id)
    if refused or last.shares or last.bypassed:
        return refused
    return "" if report.status(last.id).parameters != 0 else f"{last.name} has no parameters"


def why_not_own_layer(state: DocumentState, chosen: Sequence[str]) -> str:
    """The layer chosen last has to share its parameters with another use."""
    layers = _layers(state, chosen)
    if not layers:
        return NO_LAYER
    last = layers[-1]
    return "" if state.uses_of(last.id) else "it does not share its parameters"


def why_not_drop_wires(state: DocumentState, chosen: Sequence[str], wires: int) -> str:
    """There has to be a wire.

    Args:
        state: of the document.
        chosen: ids of what is selected.
        wires: how many are selected themselves.
    """
    if wires:
        return ""
    if not chosen:
        return NOTHING
    return "" if wires_of(state, chosen) else "the selection has no wires"


def _layers(state: DocumentState, chosen: Sequence[str]) -> list[CanvasNode]:
    nodes = (state.nodes[i] for i in chosen if i in state.nodes)
    return [node for node in nodes if node.is_layer]
