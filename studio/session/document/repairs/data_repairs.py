"""Repairs of what does not fit the data, the loss or the metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import prod

from studio.engine.core.options import Plain
from studio.engine.optim.losses import Loss
from studio.engine.train.project.task import fitting_loss
from studio.session.document.edits.chains import NewLayer
from studio.session.document.edits.layers import freeze, set_options
from studio.session.document.edits.sections import set_data, set_training, training_of
from studio.session.document.layer_types import layer_at
from studio.session.document.repairs.candidate import (
    OPTION,
    REBUILD,
    Broken,
    Candidate,
    append,
    insert,
    remove,
    set_option,
    shape_list,
)
from studio.session.document.resolve import resolve
from studio.session.document.state import CanvasNode, DocumentState, Wire


def input_shape_repairs(broken: Broken) -> Iterator[Candidate]:
    """The input is not as large as a sample."""
    facts = broken.facts
    shape = broken.flow.shape(broken.node.id)
    if facts is None or shape is None:
        return
    wanted = list(facts.sample_shape)
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
        wire, here = Wire(head.inputs[0], head.id, 0), head.id == node.id
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
    settings = training_of(broken.state)
    loss = settings.loss_of(broken.node.name)
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
    yield _training({"loss": None}, "Choose the loss by the data", _loss_text(broken), "follow")
    usual = type(_fitting(broken))
    for cls in Loss.members.values():
        if issubclass(cls, Loss) and cls is not usual and cls.takes_numbers():
            name = cls.__name__
            yield replace(
                _training({"loss": name}, f"Set the loss to {name}", cls.effect, "loss"),
                choice=name,
            )


def metrics_repairs(broken: Broken) -> Iterator[Candidate]:
    """A metric takes targets in another form than the loss."""
    own = "accuracy" if broken.facts is not None and broken.facts.classes else "the loss"
    yield _training(
        {"metrics": None},
        "Choose the metrics by the data",
        f"training reports {own}",
        "follow",
    )
    yield _training({"metrics": []}, "Remove the metrics", "training reports the loss", "remove")
    yield _training(
        {"metrics": None, "loss": None},
        "Choose loss and metrics by the data",
        _loss_text(broken),
        "follow",
    )


def class_weights_repairs(broken: Broken) -> Iterator[Candidate]:
    """There are no classes to weight."""
    del broken
    effect = "all samples have equal weight"
    yield _training({"class_weights": None}, "Remove the class weights", effect, "remove")


def outputs_repairs(broken: Broken) -> Iterator[Candidate]:
    """Losses, metrics or their weights are given for outputs that are not there."""
    settings, state = training_of(broken.state), broken.state
    names = {state.nodes[i].name for i in resolve(state).outputs}
    changes: dict[str, object] = {}
    for option in ("loss", "metrics", "loss_weights"):
        given = settings.option_values[option]
        if isinstance(given, Mapping):
            changes[option] = {k: v for k, v in given.items() if k in names} or None
    effect = "an output that nothing is given for follows the data"
    yield _training(changes, "Remove the settings of missing outputs", effect, "remove")


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
        for slot, source in enumerate(node.inputs):
            wire = Wire(source, node.id, slot)
            yield insert(wire, [NewLayer("Dense", {"units": width})])
        yield append(node, [NewLayer("Dense", {"units": width})])


def _width(broken: Broken) -> int:
    return 1 if broken.facts is None else broken.facts.classes or broken.facts.targets


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
    output = broken.node.name

    def apply(state: DocumentState) -> DocumentState:
        settings = training_of(state)
        loss = settings.loss_of(output)
        changed: Loss | None = None if loss is None else loss.replace(**values)
        if isinstance(settings.loss, Mapping):
            return set_training(state, {"loss": {**settings.loss, output: changed}})
        return set_training(state, {"loss": changed})

    name, value = next(iter(values.items()))
    text = f"Set {name} of the loss to {str(value).lower()}"
    effect = "the loss takes logits" if value else "the loss takes probabilities"
    return Candidate(text, apply, name, effect=effect)


def _training(changes: Mapping[str, object], text: str, effect: str, kind: str) -> Candidate:
    return Candidate(text, lambda state: set_training(state, changes), kind, effect=effect)


def _loss_text(broken: Broken) -> str:
    """The loss that follows from the data."""
    return f"the loss is {type(_fitting(broken)).__name__}"


def _fitting(broken: Broken) -> Loss:
    classes = broken.facts is not None and broken.facts.classes > 0
    shape = broken.flow.shape(broken.node.id) or ()
    return fitting_loss(broken.layer, shape, classes)
