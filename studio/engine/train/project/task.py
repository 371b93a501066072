"""What is to be trained: network, objective, data parts and settings, before any device."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from studio.engine.compiler.lower import Metrics
from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import DataError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.tensor import Shape
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.layer import Layer, shape_text
from studio.engine.optim.losses import Loss, OutputSpec
from studio.engine.optim.metrics import Accuracy
from studio.engine.train.data.batches import class_weights
from studio.engine.train.data.dataset import Dataset, InputArray, TargetArray
from studio.engine.train.data.normalization import Normalization, make_normalization
from studio.engine.train.data.samples import Samples, weight_shapes
from studio.engine.train.data.splitting import (
    random_split_indices,
    stratified_split_indices,
    tail_split_indices,
)
from studio.engine.train.project.plugin_use import check_complete
from studio.engine.train.project.project import Project
from studio.engine.train.settings import ClassWeights, TrainingSettings

T = TypeVar("T")


@dataclass(frozen=True)
class InputFacts:
    """What reading a user's files needs to know of the raw input.

    Attributes:
        kind: ``images``, ``table`` or ``points``; empty for arrays.
        value_range: lowest and highest raw value, where the data states them.
        feature_names: columns of a table, or empty.
        name: the input of the network; empty where the data has only one, whatever its name.
        array: name of its array in the data's file; empty where there is only one.
    """

    kind: str = ""
    value_range: tuple[float, float] | None = None
    feature_names: tuple[str, ...] = ()
    name: str = ""
    array: str = ""


@dataclass(frozen=True)
class OutputFacts:
    """What is known of the targets of an output.

    Attributes:
        name: the output; empty where the data has only one, whatever its name.
        class_names: names of the classes, empty for numbers.
    """

    name: str = ""
    class_names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Task:
    """Everything decided before a device is opened.

    Attributes:
        name: the project's or model's name.
        graph: the network, checked.
        settings: how it is trained.
        spec: what its programs are fed with.
        losses: one loss for each output.
        metrics: metrics reported, for every output or by output name.
        loss_weights: factor of each output's loss, empty for 1 each.
        training: samples to train on; None where there is no data.
        validation: samples measured after each epoch, if any.
        test: samples held out, if any.
        class_names: names of the classes, empty for regression and for several outputs.
        data_hash: SHA-256 of the data set, empty without.
        inputs: facts of the data of each input, in the network's order; empty without data.
        outputs: facts of the targets of each output, in the network's order; empty without data.
    """

    name: str
    graph: LayerGraph
    settings: TrainingSettings
    spec: DataSpec
    losses: tuple[Loss, ...] = ()
    metrics: Metrics = ()
    loss_weights: tuple[float, ...] = ()
    training: Samples | None = None
    validation: Samples | None = None
    test: Samples | None = None
    class_names: tuple[str, ...] = ()
    data_hash: str = ""
    input_facts: InputFacts = InputFacts()
    facts: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[InputFacts, ...] = ()
    outputs: tuple[OutputFacts, ...] = ()

    @classmethod
    def of_project(cls, project: Project, dataset: Dataset | None = None) -> Task:
        """Open and split the project's data and fit loss, metrics and normalisation to it.

        Args:
            project: network, settings and where the data is.
            dataset: that data, where it is open already.

        Raises:
            StudioError: what graph, data reference or loaders find wrong.
        """
        graph, settings = project.graph, project.training
        check_complete(graph, settings)
        graph.check()
        if project.data is None:
            return cls(project.name, graph, settings, DataSpec(_plain_sources(graph)))
        if dataset is None:
            dataset = project.data.open(project.folder)
        who, names = project.name, graph.output_names()
        given = [each.name for each in dataset.all_inputs()]
        places = _places(_input_names(graph), given, "input", who)
        given = [each.name for each in dataset.all_targets()]
        ends = _places(names, given, "output", who)
        kept, held = dataset.parts(project.data.test_fraction, project.data.split_seed)
        kept, validation = _validation_part(settings, project.data.split_seed, kept, held)
        inputs = [kept.all_inputs()[place] for place in places]
        targets = [kept.all_targets()[place] for place in ends]
        default = project.data.normalization
        norms = [
            make_normalization(each.normalization or default, each.values, each.value_range)
            for each in inputs
        ]
        classes = tuple(each.class_names for each in targets)
        losses, metrics, loss_weights = _objective(graph, settings, [bool(c) for c in classes])
        facts, test = _facts(dataset, inputs, norms, targets), _samples(held, places, ends)
        training = _samples(kept, places, ends)
        _check_weights(graph, training)
        spec = DataSpec(
            tuple(map(_input_source, inputs, norms)),
            tuple(map(_target_source, targets)),
            augment=project.data.augment,
            class_weights=_class_tables(settings, targets, names),
            sample_weights=weight_shapes(training),
            meta=facts,
        )
        measured: Samples | None = test
        if validation is not held:
            measured = None if validation is None else _samples(validation, places, ends)
        return cls(
            project.name,
            graph,
            settings,
            spec,
            losses,
            metrics,
            loss_weights,
            training,
            measured,
            test,
            classes[0] if len(classes) == 1 else (),
            dataset.sha256,
            InputFacts(inputs[0].kind, inputs[0].value_range, dataset.feature_names),
            facts,
            tuple(map(_input_facts, inputs)),
            tuple(OutputFacts(each.name, each.class_names) for each in targets),
        )

    def with_network(self, project: Project) -> Task:
        """The task of a project that has the same data, divided in the same way.

        Only what network and settings decide is rebuilt, so that an edit costs no copy of data.
        """
        graph, settings = project.graph, project.training
        check_complete(graph, settings)
        graph.check()
        if self.training is None:
            spec = DataSpec(_plain_sources(graph))
            return replace(self, name=project.name, graph=graph, settings=settings, spec=spec)
        given = [each.name for each in self.inputs] or [""]
        places = _places(_input_names(graph), given, "input", project.name)
        given = [each.name for each in self.outputs] or [""]
        ends = _places(graph.output_names(), given, "output", project.name)
        changed = self._in_order(places, ends)
        _check_weights(graph, changed.training_samples())
        classes = [bool(each.class_names) for each in changed.outputs]
        losses, metrics, factors = _objective(graph, settings, classes)
        return replace(
            changed, name=project.name, graph=graph, settings=settings, losses=losses,
            metrics=metrics, loss_weights=factors,
        )  # fmt: skip

    def _in_order(self, places: tuple[int, ...], ends: tuple[int, ...]) -> Task:
        """The same data with inputs and targets in another order."""
        if places == tuple(range(len(places))) and ends == tuple(range(len(ends))):
            return self
        spec, weights = self.spec, self.spec.class_weights

        def ordered(part: Samples | None) -> Samples | None:
            if part is None:
                return None
            inputs = tuple(part.inputs[i] for i in places)
            targets = tuple(part.targets[i] for i in ends)
            return Samples(inputs, targets, _in_order_of(part.weights, ends))

        test = ordered(self.test)
        return replace(
            self,
            spec=replace(
                spec,
                inputs=tuple(spec.inputs[i] for i in places),
                targets=tuple(spec.targets[i] for i in ends),
                class_weights=tuple(weights[i] for i in ends) if weights else (),
                sample_weights=_in_order_of(spec.sample_weights, ends),
            ),
            training=ordered(self.training),
            validation=test if self.validation is self.test else ordered(self.validation),
            test=test,
            input_facts=self.inputs[places[0]],
            inputs=tuple(self.inputs[i] for i in places),
            outputs=tuple(self.outputs[i] for i in ends),
        )

    def with_settings(self, **changes: object) -> Task:
        """A copy with some training settings changed that do not move data (epochs, seed …)."""
        return replace(self, settings=self.settings.replace(**changes))

    def training_samples(self) -> Samples:
        """The samples to train on; DataError without any."""
        if self.training is None:
            raise DataError(
                "there is no data to train on", who=self.name, hint="choose data for the project"
            )
        return self.training

    @property
    def batch_rows(self) -> int:
        """Rows of a full step: the batch size, at most the samples there are to train on."""
        size = self.settings.batch_size
        return size if self.training is None else min(size, len(self.training))

    @property
    def parameter_count(self) -> int:
        """Numbers the network saves: parameters and running statistics."""
        return self.graph.parameter_count()

    @property
    def data_summary(self) -> str:
        """How many samples each part has, in a few words."""
        parts = [
            f"{len(part):,} {name}"
            for part, name in (
                (self.training, "to train"),
                (self.validation if self.validation is not self.test else None, "to validate"),
                (self.test, "to test"),
            )
            if part is not None
        ]
        return ", ".join(parts) or "no data"

    @property
    def is_by_name(self) -> bool:
        """Whether the data has arrays by the names of inputs and outputs."""
        return any(each.name for each in self.inputs)

    @property
    def all_inputs(self) -> tuple[InputFacts, ...]:
        """Facts of each input of the network with its name, also where there is no data."""
        names = _input_names(self.graph)
        found = self.inputs
        if len(names) == 1:
            array = self.inputs[0].array if self.inputs else ""
            found = (replace(self.input_facts, array=array),)
        facts = found or (InputFacts(),) * len(names)
        return tuple(replace(each, name=name) for name, each in zip(names, facts, strict=True))

    @property
    def all_outputs(self) -> tuple[OutputFacts, ...]:
        """Facts of each output of the network with its name, also where there is no data."""
        names = self.graph.output_names()
        facts = self.outputs or (OutputFacts("", self.class_names),) * len(names)
        return tuple(replace(each, name=name) for name, each in zip(names, facts, strict=True))

    @property
    def has_objective(self) -> bool:
        """Whether there is a loss to train or evaluate by."""
        return bool(self.losses)


def _plain_sources(graph: LayerGraph) -> tuple[Source, ...]:
    """What each input takes, where nothing else is known of the data."""
    types = graph.types()
    found = (types[Port(node.id)] for node in graph.inputs)
    return tuple(Source(each.sample, each.dtype) for each in found)


def _samples(dataset: Dataset, places: Sequence[int], ends: Sequence[int]) -> Samples:
    """A data set as samples, inputs and targets in the order of the network's."""
    inputs, targets = dataset.all_inputs(), dataset.all_targets()
    by_name = {each.name: each.values for each in dataset.weights}
    weights = tuple(by_name.get(targets[i].name) for i in ends) if by_name else ()
    return Samples(
        tuple(inputs[i].values for i in places),
        tuple(targets[i].y for i in ends),
        (by_name[""],) if "" in by_name else weights,
    )


def _in_order_of(each: tuple[T, ...], ends: Sequence[int]) -> tuple[T, ...]:
    """What there is for each output, in another order; what is for all of them stays."""
    return tuple(each[i] for i in ends) if len(each) == len(ends) else each


def _check_weights(graph: LayerGraph, samples: Samples) -> None:
    """DataError where sample weights have positions that the output they are for has not."""
    types = graph.types()
    for index, weights in enumerate(samples.weights):
        if weights is None:
            continue
        of_one = slice(index, index + 1) if len(samples.weights) > 1 else slice(None)
        names = graph.output_names()[of_one]
        for name, port in zip(names, graph.outputs[of_one], strict=True):
            shape = types[port].sample[:-1]
            if weights.shape[1:] != shape[: weights.ndim - 1]:
                raise DataError(
                    f"expected a weight for each sample{' or position' if shape else ''} of the "
                    f"output {quoted(name)} {shape_text(types[port].sample)}, got an array "
                    f"{list(weights.shape)}",
                    who="sample weights",
                )


def fitting_loss(layer: Layer, shape: Shape, classification: bool) -> Loss:
    """The loss for a last layer whose output has a shape: the first that suits.

    Squared error for numbers. For classes cross-entropy: binary where there is one output, and on
    logits where the last layer does not make shares of its own.
    """
    ending = OutputSpec(shape, layer.ending(len(shape) + 1), classification)
    suited = (cls.suited(ending) for cls in Loss.members.values() if issubclass(cls, Loss))
    return next(loss for loss in suited if loss is not None)


def _objective(
    graph: LayerGraph, settings: TrainingSettings, classes: Sequence[bool]
) -> tuple[tuple[Loss, ...], Metrics, tuple[float, ...]]:
    """Losses, metrics and loss weights as the settings say, or as they follow from the data.

    Args:
        graph: the network.
        settings: what was chosen, for all outputs or by output name.
        classes: for each output whether its targets are classes.
    """
    names, types = graph.output_names(), graph.types()
    settings.require_outputs(names)
    losses, metrics = [], {}
    for name, port, is_classes in zip(names, graph.outputs, classes, strict=True):
        layer = graph.node(port.node).layer
        chosen = settings.loss_of(name)
        losses.append(chosen or fitting_loss(layer, types[port].sample, is_classes))
        own = settings.metrics_of(name)
        metrics[name] = ((Accuracy(),) if is_classes else ()) if own is None else own
    weights = settings.loss_weights or {}
    factors = tuple(weights.get(name, 1.0) for name in names) if weights else ()
    return tuple(losses), metrics if len(names) > 1 else metrics[names[0]], factors


def _places(wanted: Sequence[str], names: Sequence[str], side: str, who: str) -> tuple[int, ...]:
    """Where the array of each input or output stands among those of the data.

    Args:
        wanted: names of the network's inputs or outputs.
        names: names of the data's arrays; one empty name where there is only one of either.
        side: ``input`` or ``output``, for errors.
        who: the project.
    """
    if tuple(names) == ("",):
        if len(wanted) == 1:
            return (0,)
        raise DataError(
            f"the data has arrays for one {side}, the network has {len(wanted)}: "
            f"{', '.join(wanted)}",
            who=who,
            hint="give each an array of its own: source arrays, with inputs and targets by name",
        )
    for name in names:
        if name not in wanted:
            raise DataError(
                f"the data has an array for {quoted(name)}, which is no {side} of the network",
                who=who,
                hint=did_you_mean(name, wanted, f"the network has {', '.join(wanted)}"),
            )
    missing = next((name for name in wanted if name not in names), None)
    if missing is not None:
        raise DataError(
            f"the data has no array for the {side} {quoted(missing)}", who=who,
            hint=f"the data has arrays for {', '.join(names)}",
        )  # fmt: skip
    return tuple(list(names).index(name) for name in wanted)


def _input_names(graph: LayerGraph) -> tuple[str, ...]:
    return tuple(node.layer.name for node in graph.inputs)


def _validation_part(
    settings: TrainingSettings, seed: int, kept: Dataset, held: Dataset
) -> tuple[Dataset, Dataset | None]:
    """The part that stays for training, and what each epoch is measured on."""
    if settings.validation in ("none", "held-out"):
        return kept, held if settings.validation == "held-out" else None
    fraction = settings.validation_fraction
    if settings.validation == "tail":
        parts = tail_split_indices(len(kept), fraction)
    elif kept.has_class_each:
        parts = stratified_split_indices(kept.y.astype(np.int32), fraction, seed)
    else:
        parts = random_split_indices(len(kept), fraction, seed)
    return kept.subset(parts[0]), kept.subset(parts[1])


def _input_facts(array: InputArray) -> InputFacts:
    return InputFacts(array.kind, array.value_range, array.feature_names, array.name, array.array)


def _input_source(array: InputArray, norm: Normalization) -> Source:
    dtype, shape = DType.of(array.values.dtype), tuple(array.values.shape[1:])
    if norm.kind == "none":
        return Source(shape, dtype)
    scale = tuple(float(v) for v in norm.scale)
    return Source(shape, dtype, scale, tuple(float(v) for v in norm.shift))


def _target_source(target: TargetArray) -> Source:
    y = target.y
    return Source(tuple(y.shape[1:]), DType.of(y.dtype), classes=len(target.class_names))


def class_table(
    choice: ClassWeights | None, labels: object, names: tuple[str, ...]
) -> tuple[float, ...]:
    """The weight of each class, empty where none are wanted; see `batches.class_weights`."""
    if choice is None:
        return ()
    found = np.asarray(labels, np.int32)
    if choice != "balanced":
        every = np.arange(len(names), dtype=np.int32)
        return tuple(float(w) for w in class_weights(_by_name(choice, names), every, names))
    weights = class_weights("balanced", found, names)
    table = np.ones(len(names))
    table[found] = weights
    return tuple(float(w) for w in table)


def _by_name(choice: ClassWeights, names: tuple[str, ...]) -> Mapping[str | int, float]:
    """Class names as given; numbers in text, as JSON keys are, stand for indices."""
    table = choice if isinstance(choice, Mapping) else {}
    return {
        int(key) if isinstance(key, str) and key not in names and key.isdecimal() else key: weight
        for key, weight in table.items()
    }


def _class_tables(
    settings: TrainingSettings, targets: Sequence[TargetArray], names: Sequence[str]
) -> tuple[tuple[float, ...], ...]:
    """For each output the weight of each class; empty where no class weights are wanted."""
    if settings.class_weights is None:
        return ()
    tables = []
    for target, name in zip(targets, names, strict=True):
        choice = settings.class_weights_of(name)
        several = len(targets) > 1
        if several and isinstance(choice, Mapping) and choice is settings.class_weights:
            raise DataError("class weights by class need the output they are for",
                            who="class_weights", hint=f'write {{"{name}": {{…}}}}')  # fmt: skip
        is_for_all = several and choice is settings.class_weights
        if choice is not None and not target.class_names and not is_for_all:
            raise DataError("class weights need classes: the data has numbers as targets",
                            who="class_weights")  # fmt: skip
        found = class_table(choice, target.y, target.class_names) if target.class_names else ()
        tables.append(found)
    return tuple(tables) if any(tables) else ()


def _facts(
    dataset: Dataset, inputs: Sequence[InputArray], norms: Sequence[Normalization],
    targets: Sequence[TargetArray],
) -> dict[str, str]:  # fmt: skip
    """What travels with exported programs, as text."""
    kinds = {each.name: norm.kind for each, norm in zip(inputs, norms, strict=True)}
    facts = {
        "data_sha256": dataset.sha256,
        "data_name": dataset.name,
        "input_kind": inputs[0].kind,
        "normalization": norms[0].kind if len(norms) == 1 else json.dumps(kinds, sort_keys=True),
    }
    classes = {each.name: each.class_names for each in targets}
    if len(targets) > 1:
        facts["output_class_names"] = json.dumps(classes, ensure_ascii=False, sort_keys=True)
    elif targets[0].class_names:
        facts["class_names"] = json.dumps(targets[0].class_names, ensure_ascii=False)
    if dataset.feature_names:
        facts["feature_names"] = json.dumps(dataset.feature_names, ensure_ascii=False)
    if len(inputs) == 1 and inputs[0].value_range is not None:
        facts["value_range"] = json.dumps(inputs[0].value_range)
    if dataset.attribution:
        facts["attribution"] = dataset.attribution
    return facts
