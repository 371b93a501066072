"""Repairs of what does not fit the data, the loss or the metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod

from studio.engine.core.options import Plain
from studio.engine.optim.losses import Loss
from studio.engine.train.project.objective import fitting_loss
from studio.session.document.edits.chains import NewLayer
from studio.session.document.edits.layers import freeze, mark_output, set_options
from studio.session.document.edits.outputs import (
    Side,
    input_names,
    map_array,
    set_output_training,
    without_missing_outputs,
)
from studio.session.document.edits.sections import set_data, set_training, training_of
from studio.session.document.layer_types import layer_at
from studio.session.document.repairs.candidate import (
    OPTION,
    REBUILD,
    REMOVE,
    Broken,
    Candidate,
    append,
    insert,
    remove,
    set_option,
    shape_list,
)
from studio.session.document.resolve import output_names, resolve
from studio.session.document.state import CanvasNode, DocumentState


def input_shape_repairs(broken: Broken) -> Iterator[Candidate]:
    """The input is not as large as a sample."""
    facts = broken.facts
    shape = broken.flow.shape(broken.node.id)
    if facts is None or shape is None:
        return
    given = {each.name: each.shape for each in facts.inputs}
    wanted = list(given.get(broken.node.name) or facts.sample_shape)
    yield set_option(broken.node, {"shape": wanted})  # type: ignore[dict-item]
    if prod(wanted) == prod(shape):
        yield _reshaped_behind(broken.node, wanted, list(shape))


def augment_repairs(broken: Broken) -> Iterator[Candidate]:
    """Samples that are no pictures cannot be augmented."""
    del broken

    def apply(state: DocumentState) -> DocumentState:
        return state if state.data is None else set_data(state, state.data.without("augment"))

    yield Candidate("Remove the augmentation", apply, "augment", effect="samples stay unchanged")


def width_repairs(broken: Broken) -> Iterator[Candidate]:
    """The last layer gives more or fewer numbers than the data asks for."""
    width = _width(broken)
    for node in broken.path_up(broken.node.id):
        option = "units" if "units" in node.config else "filters"
        if option in node.config:
            values: dict[str, Plain] = {option: width}
            if width > 1 and node.config.get("activation") == "sigmoid":
                values["activation"] = "softmax"
            yield set_option(node, values, about=broken.node.id)
            break
    yield append(broken.node, [NewLayer("Dense", {"units": width})])


def rank_repairs(broken: Broken) -> Iterator[Candidate]:
    """The last layer gives a picture where a row of numbers is expected.

    What is usual comes first: Flatten keeps every number, pooling only the mean of each channel.
    """
    width = _width(broken)
    shape = broken.flow.shape(broken.node.id) or ()
    dense = NewLayer("Dense", {"units": width})
    flat, pool = NewLayer("Flatten", {}), NewLayer("GlobalAveragePooling2D", {})
    node = broken.node
    for head in _heads(broken):
        wire, here = broken.state.wires_into(head.id)[0], head.id == node.id
        where = "" if here else f" after {broken.state.nodes[wire.source].name}"
        yield insert(wire, [flat], where=where, about=head.id)
        yield insert(wire, [pool], where=where, about=head.id)
    if len(shape) == 3 and shape[2] == width:
        yield append(node, [pool])
    yield append(node, [flat, dense])
    if len(shape) == 3:
        yield append(node, [pool, dense])


def _heads(broken: Broken) -> list[CanvasNode]:
    """Dense layers at the end that work on a picture, the first of them first; else the last."""
    found = []
    for node in broken.path_up(broken.node.id):
        if len(node.inputs) != 1 or layer_at(node).category in ("convolution", "pooling"):
            break
        if "units" in node.config:
            found.append(node)
    return found[::-1] or [broken.node] * bool(broken.node.inputs)


def targets_repairs(broken: Broken) -> Iterator[Candidate]:
    """The last layer does not give as many numbers as are to be predicted."""
    shape = broken.flow.shape(broken.node.id) or ()
    yield from rank_repairs(broken) if len(shape) != 1 else width_repairs(broken)


def twice_repairs(broken: Broken) -> Iterator[Candidate]:
    """The function the loss applies is in the layer already."""
    yield _loss_option(broken, {"from_logits": False})
    yield from _without_function(broken)


def no_shares_repairs(broken: Broken) -> Iterator[Candidate]:
    """The loss expects shares and gets raw numbers."""
    yield _loss_option(broken, {"from_logits": True})
    loss = training_of(broken.state).loss_of(broken.output)
    function = "" if loss is None else loss.function
    if "activation" in broken.layer.option_values:
        yield set_option(broken.node, {"activation": function})
    yield append(broken.node, [NewLayer("Activation", {"activation": function})])


def softmax_of_one_repairs(broken: Broken) -> Iterator[Candidate]:
    """The softmax of a single number says nothing."""
    if "activation" in broken.layer.option_values:
        yield set_option(broken.node, {"activation": "sigmoid"})
    for node in broken.path_up(broken.node.id):
        if "units" in node.config:
            yield set_option(node, {"units": 2}, about=broken.node.id)
            break
    yield remove(broken.node)


def loss_repairs(broken: Broken) -> Iterator[Candidate]:
    """The loss needs classes, and the data has numbers."""
    text = f"Choose the loss{_of(broken)} by the data"
    yield _training(broken, {"loss": None}, text, _loss_text(broken), "follow")
    usual = type(_fitting(broken))
    for cls in Loss.members.values():
        if issubclass(cls, Loss) and cls is not usual and cls.takes_numbers():
            name = cls.__name__
            yield replace(
                _training(
                    broken,
                    {"loss": name},
                    f"Set the loss{_of(broken)} to {name}",
                    cls.effect,
                    "loss",
                ),
                choice=name,
            )


def metrics_repairs(broken: Broken) -> Iterator[Candidate]:
    """A metric takes targets in another form than the loss."""
    of = _of(broken)
    own = "accuracy" if broken.target is not None and broken.target.classes else "the loss"
    yield _training(
        broken,
        {"metrics": None},
        f"Choose the metrics{of} by the data",
        f"training reports {own}",
        "follow",
    )
    effect = "training reports the loss"
    yield _training(broken, {"metrics": []}, f"Remove the metrics{of}", effect, "remove")
    text = f"Remove the weighted metrics{of}"
    yield _training(broken, {"weighted_metrics": []}, text, "", "unweighted")
    yield _training(
        broken,
        {"metrics": None, "loss": None},
        f"Choose loss and metrics{of} by the data",
        _loss_text(broken),
        "follow",
    )


def class_weights_repairs(broken: Broken) -> Iterator[Candidate]:
    """There are no classes to weight."""
    effect = "all samples have equal weight"
    text = f"Remove the class weights{_of(broken)}"
    yield _training(broken, {"class_weights": None}, text, effect, "remove")


def class_weights_for_repairs(broken: Broken) -> Iterator[Candidate]:
    """Class weights by class are given for all of several outputs."""
    table, facts = training_of(broken.state).class_weights, broken.facts
    for name in output_names(broken.state):
        target = None if facts is None else facts.target_of(name)
        if target is None or not target.classes:
            continue
        yield Candidate(
            f"Use the class weights for {name}",
            lambda s, n=name: set_training(s, {"class_weights": {n: table}}),  # type: ignore[misc]
            "use",
            choice=name,
            effect="other outputs have equal weights",
        )
    effect = "all samples have equal weight"
    yield _training(broken, {"class_weights": None}, "Remove the class weights", effect, "remove")


def outputs_repairs(broken: Broken) -> Iterator[Candidate]:
    """Losses, metrics or their weights are given for outputs that are not there."""
    del broken
    yield Candidate(
        "Remove the settings of missing outputs",
        without_missing_outputs,
        "remove",
        effect="an output that nothing is given for follows the data",
    )


def no_target_array_repairs(broken: Broken) -> Iterator[Candidate]:
    """The data has no targets for an output."""
    output = broken.output
    known = () if broken.facts is None else broken.facts.outputs
    names = output_names(broken.state)
    for name in (each.name for each in known if each.name not in names):
        yield _mapped("targets", name, output)
    if len(names) > 1:
        yield Candidate(
            f"Stop {broken.node.name} being an output",
            partial(mark_output, source=broken.node.id, marked=False),
            "unmark",
            REMOVE,
        )


def no_input_array_repairs(broken: Broken) -> Iterator[Candidate]:
    """The data has no array for an input."""
    known = () if broken.facts is None else broken.facts.inputs
    names = input_names(broken.state)
    for name in (each.name for each in known if each.name not in names):
        yield _mapped("inputs", name, broken.node.name)


def unknown_output_repairs(broken: Broken) -> Iterator[Candidate]:
    """The data has targets for an output that is not there."""
    known = () if broken.facts is None else broken.facts.outputs
    yield from _left_out("targets", [e.name for e in known], output_names(broken.state))


def unknown_input_repairs(broken: Broken) -> Iterator[Candidate]:
    """The data has an array for an input that is not there."""
    known = () if broken.facts is None else broken.facts.inputs
    yield from _left_out("inputs", [e.name for e in known], input_names(broken.state))


def _mapped(side: Side, before: str, after: str) -> Candidate:
    return Candidate(
        f"Use the array of {before} for {after}",
        lambda state: map_array(state, side, before, after),
        "map",
        choice=before,
        effect=f"{after} has data",
    )


def _left_out(side: Side, known: Sequence[str], names: Sequence[str]) -> Iterator[Candidate]:
    unknown = [name for name in known if name not in names]

    def apply(state: DocumentState) -> DocumentState:
        for name in unknown:
            state = map_array(state, side, name, "")
        return state

    if len(unknown) < len(known):
        text = f"Leave out the array{'s'[: len(unknown) != 1]} of {', '.join(unknown)}"
        yield Candidate(text, apply, "leave out", effect="the file stays unchanged")


def train_again_repairs(broken: Broken) -> Iterator[Candidate]:
    """Nothing is trained: thaw what is frozen, or add something that learns."""
    frozen = [i for i in resolve(broken.state).inputs if broken.state.nodes[i].frozen]
    for node_id in reversed(frozen):
        yield Candidate(
            f"Train {broken.state.nodes[node_id].name} again",
            partial(freeze, node_ids=[node_id], frozen=False),
            "train one",
            OPTION,
            node_id,
            choice=node_id,
        )
    if len(frozen) > 1:
        yield Candidate(
            f"Train all {len(frozen)} frozen layers again",
            partial(freeze, node_ids=frozen, frozen=False),
            "train all",
        )
    if not frozen:
        width = _width(broken)
        node = broken.node
        for wire in broken.wires:
            yield insert(wire, [NewLayer("Dense", {"units": width})])
        yield append(node, [NewLayer("Dense", {"units": width})])


def _width(broken: Broken) -> int:
    return 1 if broken.target is None else broken.target.width


def _of(broken: Broken) -> str:
    """Which output is meant, where there are several."""
    several = len(output_names(broken.state)) > 1 and broken.output
    return f" of {broken.output}" if several else ""


def _reshaped_behind(entry: CanvasNode, wanted: list[int], shape: list[int]) -> Candidate:
    """The data's shape at the input, and a Reshape to what the layers behind expect."""

    def apply(state: DocumentState) -> DocumentState:
        state = set_options(state, entry.id, {"shape": wanted})
        for wire in state.wires_from(entry.id):
            layer = NewLayer("Reshape", {"target_shape": shape})
            state = insert(wire, [layer]).apply(state)
        return state

    text = f"Set shape of {entry.name} to {shape_list(wanted)} and insert Reshape to "
    return Candidate(text + shape_list(shape), apply, "Reshape", REBUILD)


def _without_function(broken: Broken) -> Iterator[Candidate]:
    """The layer without its softmax or sigmoid."""
    node = broken.node
    if layer_at(node).category == "activation":
        yield remove(node)
    elif "activation" in broken.layer.option_values:
        yield set_option(node, {"activation": "linear"})


def _loss_option(broken: Broken, values: Mapping[str, Plain]) -> Candidate:
    """Another option of the loss that was chosen."""
    output = broken.output

    def apply(state: DocumentState) -> DocumentState:
        loss = training_of(state).loss_of(output)
        changed: Loss | None = None if loss is None else loss.replace(**values)
        return set_output_training(state, output, {"loss": changed})

    name, value = next(iter(values.items()))
    text = f"Set {name} of the loss{_of(broken)} to {str(value).lower()}"
    effect = "the loss takes logits" if value else "the loss takes probabilities"
    return Candidate(text, apply, name, effect=effect)


def _training(
    broken: Broken, changes: Mapping[str, object], text: str, effect: str, kind: str
) -> Candidate:
    """Other settings of the output of the problem, or of all where it is at none."""
    output = broken.output

    def apply(state: DocumentState) -> DocumentState:
        if not output:
            return set_training(state, changes)
        return set_output_training(state, output, changes)

    return Candidate(text, apply, kind, effect=effect)


def _loss_text(broken: Broken) -> str:
    """The loss that follows from the data."""
    return f"the loss is {type(_fitting(broken)).__name__}"


def _fitting(broken: Broken) -> Loss:
    classes = broken.target is not None and broken.target.classes > 0
    shape = broken.flow.shape(broken.node.id) or ()
    return fitting_loss(broken.layer, shape, classes)
