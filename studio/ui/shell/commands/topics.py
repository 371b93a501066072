"""What somebody who presses F1 wants to read: about what is selected, else about the pane."""

from __future__ import annotations

import inspect
from typing import NamedTuple

from studio.engine.isa.manual import entry, markdown
from studio.engine.layers.catalog import layer_class
from studio.session.core.option_rows import tip
from studio.session.document.layer_types import is_known
from studio.session.studio import Studio
from studio.ui.shell.docks.panes import PaneSpec


class Topic(NamedTuple):
    """Something to read.

    Attributes:
        title: what it is about.
        text: Markdown; empty where a page is meant.
        page: name of a page.
    """

    title: str
    text: str = ""
    page: str = ""


def topic_of(studio: Studio, pane: PaneSpec | None) -> Topic:
    """What to read.

    Args:
        studio: the models.
        pane: the one that has the keyboard; None for the canvas.
    """
    primary = studio.bus.selection.primary
    found: Topic | None = None
    if primary is not None and primary.kind == "instruction":
        found = _instruction(studio, primary.key)
    elif primary is not None and primary.kind == "node":
        found = _layer(studio, primary.key)
    return found or _about(pane)


def _about(pane: PaneSpec | None) -> Topic:
    if pane is not None and pane.page.startswith("#"):
        return Topic(pane.title, pane.page)
    return Topic("", page="guide" if pane is None else pane.page)


def _instruction(studio: Studio, key: str) -> Topic | None:
    shown = studio.compilation.shown
    index = None if shown is None else shown.provenance.index_of(key)
    if shown is None or index is None:
        return None
    mnemonic = list(shown.program)[index].mnemonic
    return Topic(mnemonic, markdown(entry(mnemonic)))


def _layer(studio: Studio, node_id: str) -> Topic | None:
    node = studio.document.state.nodes.get(node_id)
    if node is None or not is_known(node.type_name):
        return None
    layer = layer_class(node.type_name)
    lines = [
        f"# {node.type_name}",
        "",
        # The lines after the first are indented: as Markdown they would be code.
        inspect.cleandoc(layer.__doc__ or ""),
        "",
        "| option | meaning |",
        "|---|---|",
    ]
    for option in layer.form_options():
        meaning = tip(option).replace("\n", " ").replace("|", "\\|")
        lines.append(f"| {option.label} | {meaning} |")
    return Topic(node.type_name, "\n".join(lines))
