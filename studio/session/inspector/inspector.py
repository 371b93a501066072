"""What the inspector shows and changes: options of the selected layers, or settings of all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from studio.engine.core.kinds import FamilyKinds, Kind
from studio.engine.core.options import Option, Plain, number
from studio.engine.core.signal import Signal
from studio.engine.layers.layer import Layer
from studio.engine.optim.losses import Loss
from studio.engine.train.settings import TrainingSettings
from studio.session.compile.compilation import Compilation
from studio.session.compile.selection import Selection, SelectionBus
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.core.option_rows import Row, joined_rows, row_of
from studio.session.document.cards.lines import CardLine, kept_lines
from studio.session.document.document import Document
from studio.session.document.edits.blocks import rename_block
from studio.session.document.edits.layers import bypass, freeze, rename, set_option, set_preview
from studio.session.document.edits.outputs import (
    NO_LOSS,
    OUTPUT_OPTIONS,
    OutputOption,
    output_setting,
    set_output_training,
)
from studio.session.document.edits.sections import (
    set_name,
    set_notes,
    set_training,
    training_of,
)
from studio.session.document.edits.sharing import give_own_layer
from studio.session.document.flow import flow_of, upstream
from studio.session.document.layer_types import is_known, layer_at
from studio.session.document.report import Fix, TargetFacts
from studio.session.document.resolve import output_names
from studio.session.document.state import CanvasNode, DocumentState, PreviewMode
from studio.session.inspector.facts import (
    BlockFacts,
    GraphFacts,
    Inside,
    NodeFacts,
    block_facts,
    graph_facts,
    inside_facts,
    node_facts,
)
from studio.session.inspector.sections import OptionGroup


class InspectorModel:
    """Follows the selection and the document.

    Args:
        bus: says what is selected.
        compilation: gives costs, and the layer behind an instruction or tensor.
    """

    def __init__(
        self, document: Callable[[], Document], bus: SelectionBus, compilation: Compilation
    ) -> None:
        self.selection_changed: Signal[[]] = Signal()
        self._document = document
        self._bus = bus
        self._compilation = compilation
        self._pinned = False
        self._ids: tuple[str, ...] = ()
        bus.selected.connect(self._selected)
        # The pane may be opened when something is selected already.
        self._selected(bus.selection, "")

    @property
    def document(self) -> Document:
        """The document."""
        return self._document()

    @property
    def nodes(self) -> tuple[CanvasNode, ...]:
        """The layers whose options are shown; none for the settings of all."""
        found = (self.document.state.nodes.get(i) for i in self._ids)
        return tuple(node for node in found if node is not None and node.is_layer)

    @property
    def blocks(self) -> tuple[CanvasNode, ...]:
        """The blocks among what is shown."""
        found = (self.document.state.nodes.get(i) for i in self._ids)
        return tuple(node for node in found if node is not None and node.is_block)

    @property
    def has_selection(self) -> bool:
        """Whether anything is selected, such as a block."""
        return any(i in self.document.state.nodes for i in self._ids)

    def set_pinned(self, on: bool) -> None:
        """Keep the layers shown now, or follow the selection again."""
        self._pinned = on
        if not on:
            self._selected(self._bus.selection, "")

    def show(self, ids: Iterable[str]) -> None:
        """Show these layers."""
        found = tuple(ids)
        if found != self._ids:
            self._ids = found
            self.selection_changed.emit()

    def _selected(self, selection: Selection, _source: str) -> None:
        if not self._pinned:
            self.show(self._nodes_of(selection.entities))

    def _nodes_of(self, chosen: tuple[Entity, ...]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for entity in chosen:
            if entity.kind == "node":
                found[entity.key] = None
            elif entity.kind != "wire":
                related = self._compilation.provenance.related(entity, "node")
                found.update((each.key, None) for each in related)
        return tuple(found)

    # -- layers ---------------------------------------------------------------------------------

    def rows(self) -> tuple[Row, ...]:
        """The options of the layers shown, or those they have in common."""
        known = [node for node in self.nodes if is_known(node.type_name)]
        return joined_rows([_rows_of(self.document.state, node) for node in known])

    def kept(self) -> tuple[CardLine, ...]:
        """The options of the only layer shown, where it is of a plugin that is not loaded."""
        nodes = self.nodes
        if len(nodes) != 1 or is_known(nodes[0].type_name):
            return ()
        return kept_lines(nodes[0])

    def facts(self) -> NodeFacts | None:
        """What is known of the only layer shown."""
        nodes = self.nodes
        if len(nodes) != 1:
            return None
        return node_facts(self.document, self._compilation, nodes[0])

    def block_facts(self) -> tuple[BlockFacts, ...]:
        """What is known of each block shown."""
        return tuple(block_facts(self.document, block) for block in self.blocks)

    def inside(self) -> Inside:
        """What the blocks shown hold together."""
        return inside_facts(self.document, self.blocks)

    def set_value(self, name: str, value: Plain, merge_key: str = "") -> None:
        """Set an option of all layers shown; one undo step.

        ``None`` sets an optional option to none, and takes the default of any other. Raises
        StudioError, the layer's own sentence, where one of them refuses; nothing changes then.
        """
        self._each(
            f"Change {self._label(name)}",
            lambda state, node: set_option(state, node.id, name, value),
            merge_key,
        )

    def _label(self, name: str) -> str:
        return str(layer_at(self.nodes[0]).form_option(name).label.lower())

    def reset(self, name: str) -> None:
        """Take the default of an option again."""
        self._each(f"Reset {self._label(name)}", lambda state, node: _without(state, node, name))

    def rename(self, name: str) -> None:
        """Give the only layer shown another name; StudioError where it is wrong or taken."""
        nodes = self.nodes
        if len(nodes) == 1 and name != nodes[0].name:
            self._apply("Rename", rename(self.document.state, nodes[0].id, name))

    def rename_block(self, name: str) -> None:
        """Give the only block shown another name; StudioError where it is wrong or taken."""
        blocks = self.blocks
        if len(blocks) == 1 and name != blocks[0].name:
            made = rename_block(self.document.state, blocks[0].id, name)
            self._apply(f"Rename {blocks[0].name} to {name.strip()}", made)

    def select_blocks(self) -> None:
        """Select the blocks shown, which may be pinned, so that actions are about them."""
        self._bus.select([entities.node(block.id) for block in self.blocks], source="inspector")

    def set_frozen(self, on: bool) -> None:
        """Keep the parameters of the layers as they are in training, or train them."""
        ids = [node.id for node in self.nodes]
        self._apply("Freeze" if on else "Unfreeze", freeze(self.document.state, ids, on))

    def set_bypassed(self, on: bool) -> None:
        """Let data pass the layers unchanged, or not; StudioError where that does not fit."""
        ids = [node.id for node in self.nodes]
        self._apply("Bypass" if on else "Stop bypassing", bypass(self.document.state, ids, on))

    def own_layer(self) -> None:
        """Give the only layer shown its own weights, where it shares them."""
        node = self.nodes[0]
        state = give_own_layer(self.document.state, node.id)
        self._apply(f"Stop sharing parameters of {node.name}", state)

    def go_to(self, node_id: str) -> None:
        """Select a layer, such as another use of the one shown."""
        self._bus.select([entities.node(node_id)], source="inspector")

    def set_preview(self, mode: PreviewMode) -> None:
        """Choose what the layers show of their output."""
        ids = [node.id for node in self.nodes]
        self._apply("Change preview", set_preview(self.document.state, ids, mode))

    def take_fix(self, fix: Fix) -> None:
        """Carry out a repair; one undo step."""
        self._apply(fix.text, fix.apply(self.document.state))

    def _each(
        self,
        text: str,
        edit: Callable[[DocumentState, CanvasNode], DocumentState],
        merge_key: str = "",
    ) -> None:
        state = self.document.state
        for node in self.nodes:
            if not node.shares or node.shares not in self._ids:
                state = edit(state, node)
        self._apply(text, state, merge_key)

    # -- settings of all ------------------------------------------------------------------------

    def graph_facts(self) -> GraphFacts:
        """Totals of the network."""
        return graph_facts(self.document, self._compilation)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the network's outputs."""
        return output_names(self.document.state)

    def training_rows(self) -> tuple[Row, ...]:
        """The training settings; those given by output only where there is one output."""
        settings, outputs = training_of(self.document.state), self.outputs
        found = []
        for option in TrainingSettings.form_options():
            name, value = option.name, option.plain(settings.option_values[option.name])
            if name in OUTPUT_OPTIONS and len(outputs) > 1:
                continue
            if name == "loss_weights" and value is None:
                continue
            if name in _OF_ONE and outputs:
                value = output_setting(settings, outputs[0], name)
                value = None if value == NO_LOSS else value
            found.append(row_of(option, value))
        return tuple(found)

    def output_groups(self) -> tuple[OptionGroup, ...]:
        """The training settings of each output; none where there is only one."""
        names = self.outputs
        if len(names) < 2:
            return ()
        return tuple(OptionGroup(name, self._output_rows(name), f"Output {name}") for name in names)

    def class_names(self, output: str) -> tuple[str, ...]:
        """Classes of an output's targets; empty where it has none, or they are not known."""
        target = self._target(output)
        return () if target is None else target.class_names

    def _output_rows(self, output: str) -> tuple[Row, ...]:
        settings, target = training_of(self.document.state), self._target(output)
        found = []
        for name in OUTPUT_OPTIONS:
            value = output_setting(settings, output, name)
            if name == "class_weights" and value is None and target and not target.classes:
                continue
            option = _OF_OUTPUT.get(name) or TrainingSettings.option(name)
            found.append(row_of(option, value))
        return tuple(found)

    def _target(self, output: str) -> TargetFacts | None:
        facts = self.document.data_facts
        return None if facts is None else facts.under(self.document.state.data).target_of(output)

    def set_training(self, name: str, value: Plain, merge_key: str = "") -> None:
        """Change a training setting; one undo step. StudioError where it is refused."""
        option = TrainingSettings.option(name)
        chosen = option.plain_default if value is None and not option.optional else value
        state = set_training(self.document.state, {name: chosen})
        self._apply(f"Change {option.label.lower()}", state, merge_key)

    def reset_training(self, name: str) -> None:
        """Take the default of a training setting again."""
        option = TrainingSettings.option(name)
        state = set_training(self.document.state, {name: option.plain_default})
        self._apply(f"Reset {option.label.lower()}", state)

    def set_output_training(
        self, output: str, name: str, value: Plain, merge_key: str = ""
    ) -> None:
        """Change a training setting of one output; one undo step. StudioError where refused."""
        self._apply(
            f"Change {_output_label(name)} of {output}",
            self._with_output(output, name, value),
            f"{output}/{merge_key}" if merge_key else "",
        )

    def reset_output_training(self, output: str, name: str) -> None:
        """Take the default of a training setting of one output again."""
        text = f"Reset {_output_label(name)} of {output}"
        self._apply(text, self._with_output(output, name, None))

    def _with_output(self, output: str, name: str, value: Plain) -> DocumentState:
        targets = {each: self._target(each) for each in self.outputs}
        known = [each for each, target in targets.items() if target is None or target.classes]
        return set_output_training(self.document.state, output, {name: value}, known)

    def set_notes(self, text: str) -> None:
        """Change the notes of the project; what is typed without a pause is one step."""
        self._apply("Edit notes", set_notes(self.document.state, text), "notes")

    def set_project_name(self, name: str) -> None:
        """Give the project another name."""
        self._apply("Rename project", set_name(self.document.state, name))

    def _apply(self, text: str, state: DocumentState, merge_key: str = "") -> None:
        self.document.apply(text, state, merge_key)


_OF_ONE: tuple[OutputOption, ...] = ("loss", "metrics", "weighted_metrics", "class_weights")

_OF_OUTPUT: Mapping[str, Option[Any]] = {
    "loss": replace(
        TrainingSettings.option("loss"),
        doc="Loss of this output; chosen by the data if not set.",
        kinds=FamilyKinds(
            Loss, none="by the data",
            off=Kind(NO_LOSS, "None", "No loss trains this output; it is still predicted."),
        ),
    ),
    "loss_weights": number(
        "Factor of this output's loss in the total.", 1.0, label="Loss weight",
        effect="A larger one makes training fit this output better.",
    ).named("loss_weights"),
}  # fmt: skip
"""Settings as they are for one output of several, where that is not as for all."""


def _output_label(name: str) -> str:
    option = _OF_OUTPUT.get(name) or TrainingSettings.option(name)
    return option.label.lower()


def _rows_of(state: DocumentState, node: CanvasNode) -> tuple[Row, ...]:
    layer = layer_at(node)
    rows = []
    for option, value in layer.form_values():
        if option.name in layer.layer_options:
            fitting = _layers_to_name(state, node, layer, option.name)
            option = _naming(option, (*fitting, *([str(value)] if value not in fitting else [])))
        rows.append(row_of(option, value))
    return tuple(rows)


def _layers_to_name(
    state: DocumentState, node: CanvasNode, layer: Layer, option: str
) -> tuple[str, ...]:
    """Names of the layers before a layer that its option may hold: those that fit, or any kind."""
    flow, before = flow_of(state), upstream(state, node.sources)
    others = [
        state.nodes[i] for i in flow.order
        if i in before and state.nodes[i].is_layer and is_known(state.nodes[i].type_name)
    ]  # fmt: skip
    shapes = tuple(found.sample for found in flow.types(node.inputs))
    for given in (shapes, ()):
        names = [o.name for o in others if layer.may_name(option, layer_at(o), *given)]
        if names:
            return tuple(dict.fromkeys(names))
    return ()


@lru_cache(maxsize=256)
def _naming(option: Option[Any], names: tuple[str, ...]) -> Option[Any]:
    """An option that holds a layer's name, as a choice of these names."""
    return replace(option, choices=names, verbatim=True)


def _without(state: DocumentState, node: CanvasNode, name: str) -> DocumentState:
    """The layer with the default of an option; one without a default keeps what it has."""
    option = layer_at(node).form_option(name)
    return state if option.required else set_option(state, node.id, name, option.plain_default)
