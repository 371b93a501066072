"""What is to be trained: network, objective, data parts and settings, before any device."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from studio.engine.compiler.lower import Metrics, Objective, objective_of, require_loss
from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import DataError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.core.tensor import Shape
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.layer import shape_text
from studio.engine.layers.lengths import Lengths
from studio.engine.optim.losses import Loss
from studio.engine.train.data.cleaning import NOTHING_CLEANED, Cleaning
from studio.engine.train.data.dataset import Dataset, InputArray, TargetArray
from studio.engine.train.data.input_columns import InputColumn
from studio.engine.train.data.normalization import Normalization
from studio.engine.train.data.samples import Samples, weight_shapes
from studio.engine.train.data.splitting import (
    random_split_indices,
    stratified_split_indices,
    tail_split_indices,
)
from studio.engine.train.project.objective import TargetKind, class_tables, objective_fields
from studio.engine.train.project.plugin_use import check_complete
from studio.engine.train.project.project import Project
from studio.engine.train.project.sample_facts import (
    NO_FACTS,
    NOTHING_STATED,
    InputFacts,
    OutputFacts,
    SampleFacts,
)
from studio.engine.train.settings import TrainingSettings

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Task:
    """Everything decided before a device is opened.

    Attributes:
        name: the project's or model's name.
        graph: the network, checked; with the lengths of its data where it has unknown ones.
        settings: how it is trained.
        spec: what its programs are fed with.
        losses: one loss for each output; None for one that no loss trains.
        metrics: metrics reported, for every output or by output name.
        loss_weights: factor of each output's loss, empty for 1 each.
        weighted_metrics: as ``metrics``; they count sample and class weights.
        training: samples to train on; None where there is no data.
        validation: samples measured after each epoch, if any.
        test: samples held out, if any.
        class_names: names of the classes, empty for regression and for several outputs.
        data_hash: SHA-256 of the data set, empty without.
        inputs: facts of the data of each input, in the network's order.
        outputs: facts of the targets of each output, in the network's order.
        open_graph: the network as it is given, where it has unknown lengths; None otherwise.
        cleaning: what was left out of the data or filled in.
    """

    name: str
    graph: LayerGraph
    settings: TrainingSettings
    spec: DataSpec
    losses: tuple[Loss | None, ...] = ()
    metrics: Metrics = ()
    loss_weights: tuple[float, ...] = ()
    training: Samples | None = None
    validation: Samples | None = None
    test: Samples | None = None
    class_names: tuple[str, ...] = ()
    data_hash: str = ""
    input_facts: InputFacts = NO_FACTS
    facts: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[InputFacts, ...] = ()
    outputs: tuple[OutputFacts, ...] = ()
    weighted_metrics: Metrics = ()
    open_graph: LayerGraph | None = None
    cleaning: Cleaning = NOTHING_CLEANED

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
            return cls.without_data(project.name, graph, settings, project.samples)
        if dataset is None:
            dataset = project.data.open(project.folder)
        who, names = project.name, graph.output_names()
        given = [each.name for each in dataset.all_inputs()]
        places = _places(_input_names(graph), given, "input", who)
        given = [each.name for each in dataset.all_targets()]
        ends = _target_places(settings, names, given, who)
        kept, held = dataset.parts(project.data.test_fraction, project.data.split_seed)
        kept, validation = _validation_part(settings, project.data.split_seed, kept, held)
        inputs = [kept.all_inputs()[place] for place in places]
        own = kept.all_targets()
        targets = [None if place is None else own[place] for place in ends]
        default = project.data.normalization
        norms = [each.normalization_for(default, each.values) for each in inputs]
        outputs = tuple(map(_output_facts, targets))
        open_graph = open_graph_of(graph)
        graph = bound_to(graph, [each.values.shape[1:] for each in inputs])
        objective = objective_fields(graph, settings, _target_kinds(outputs, targets))
        facts, test = _facts(dataset, inputs, norms, targets), _samples(held, places, ends)
        training = _samples(kept, places, ends)
        _check_weights(graph, training)
        spec = DataSpec(
            tuple(map(_input_source, inputs, norms)),
            tuple(None if each is None else _target_source(each) for each in targets),
            augment=project.data.augment,
            class_weights=class_tables(settings, targets, names),
            sample_weights=weight_shapes(training),
            meta=facts,
            streams=training.stored_budget > 0,
        )
        measured: Samples | None = test
        if validation is not held:
            measured = None if validation is None else _samples(validation, places, ends)
        return cls(
            project.name,
            graph,
            settings,
            spec,
            training=training,
            validation=measured,
            test=test,
            class_names=outputs[0].class_names if len(outputs) == 1 else (),
            data_hash=dataset.sha256,
            input_facts=_facts_of_first(inputs[0], dataset.feature_names),
            facts=facts,
            inputs=tuple(map(_input_facts, inputs)),
            outputs=outputs,
            **objective,
            open_graph=open_graph,
            cleaning=dataset.cleaning,
        )

    @classmethod
    def without_data(
        cls,
        name: str,
        graph: LayerGraph,
        settings: TrainingSettings,
        samples: SampleFacts = NOTHING_STATED,
    ) -> Task:
        """The task of a checked network without data, with what is known of its samples."""
        facts, names = samples.texts(graph), samples.class_names(graph)
        inputs = samples.input_facts(graph)
        return cls(
            name,
            graph,
            settings,
            DataSpec(samples.sources(graph), meta=facts),
            class_names=names[0] if len(names) == 1 else (),
            input_facts=inputs[0] if inputs else NO_FACTS,
            facts=facts,
            inputs=inputs,
            outputs=tuple(OutputFacts("", each) for each in names),
            open_graph=open_graph_of(graph),
        )

    def with_network(self, project: Project) -> Task:
        """The task of a project that has the same data, divided in the same way.

        Only what network and settings decide is rebuilt, so that an edit costs no copy of data.
        """
        graph, settings = project.graph, project.training
        check_complete(graph, settings)
        graph.check()
        if self.training is None:
            return Task.without_data(project.name, graph, settings, project.samples)
        given = [each.name for each in self.inputs] or [""]
        places = _places(_input_names(graph), given, "input", project.name)
        known = [index for index, source in enumerate(self.spec.targets) if source is not None]
        given = [self.outputs[index].name for index in known] or [""]
        found = _target_places(settings, graph.output_names(), given, project.name)
        changed = self._in_order(places, tuple(None if at is None else known[at] for at in found))
        open_graph = open_graph_of(graph)
        graph = bound_to(graph, [source.shape for source in changed.spec.inputs])
        _check_weights(graph, changed.training_samples())
        objective = objective_fields(
            graph, settings, _target_kinds(changed.outputs, changed.spec.targets)
        )
        return replace(
            changed, name=project.name, graph=graph, settings=settings, open_graph=open_graph,
            **objective,
        )  # fmt: skip

    @property
    def lengths(self) -> Lengths:
        """The unknown lengths of the network as the task's programs have them; empty for none."""
        if self.open_graph is None or self.graph.has_unknown_lengths:
            return ()
        return self.open_graph.lengths_of(list(self.graph.fixed_shapes()))

    def lengths_of(self, shapes: Sequence[Shape]) -> Lengths:
        """The unknown lengths that samples of these shapes have; empty for those of the task.

        ShapeError, naming the input, where a shape does not fit.
        """
        if self.open_graph is None or len(shapes) != len(self.open_graph.inputs):
            return ()
        found = self.open_graph.lengths_of(shapes)
        return () if found == self.lengths else found

    def for_lengths(self, lengths: Lengths) -> Task:
        """The same task for other lengths: network, and what its programs are fed with.

        Raises what `LayerGraph.bound` raises.
        """
        if self.open_graph is None or lengths in ((), self.lengths):
            return self
        graph = self.open_graph.bound(lengths)
        spec, old, new = self.spec, self.graph.types(), graph.types()
        sources = zip(spec.inputs, graph.fixed_shapes(), strict=True)
        pairs = [(old[port].sample, new[port].sample) for port in graph.outputs]
        targets = zip(spec.targets, pairs, strict=False)
        weights = spec.sample_weights
        return replace(
            self,
            graph=graph,
            spec=replace(
                spec,
                inputs=tuple(replace(source, shape=shape) for source, shape in sources),
                targets=tuple(
                    None if each is None else replace(each, shape=_resized(each.shape, *pair))
                    for each, pair in targets
                ),
                sample_weights=tuple(
                    None if shape is None else _resized(shape, *pairs[index])
                    for index, shape in enumerate(weights)
                ),
                variant="x".join(map(str, lengths)),
            ),
        )

    def only_for(self, given: Mapping[str, object]) -> Task:
        """The task without data for lengths by the names of inputs, as exports and listings need.

        Raises what `LayerGraph.lengths_named` and `LayerGraph.bound` raise.
        """
        graph = self.open_graph or self.graph
        found = self.for_lengths(graph.lengths_named(given))
        return replace(
            found, spec=replace(found.spec, variant=""), training=None, validation=None, test=None,
            open_graph=None,
        )  # fmt: skip

    def _in_order(self, places: tuple[int, ...], ends: tuple[int | None, ...]) -> Task:
        """The same data with inputs and targets in another order; None for no targets."""
        same = tuple(range(len(self.spec.targets)))
        if places == tuple(range(len(places))) and ends == same:
            return self
        spec, tables = self.spec, self.spec.class_weights

        def ordered(part: Samples | None) -> Samples | None:
            if part is None:
                return None
            inputs = tuple(part.inputs[i] for i in places)
            targets = _in_order_of(part.targets, ends)
            weights = part.weights
            by_output = len(weights) == len(same)
            return Samples(inputs, targets, _in_order_of(weights, ends) if by_output else weights)

        test = ordered(self.test)
        return replace(
            self,
            spec=replace(
                spec,
                inputs=tuple(spec.inputs[i] for i in places),
                targets=_in_order_of(spec.targets, ends),
                class_weights=tuple(each or () for each in _in_order_of(tables, ends))
                if tables
                else (),
                sample_weights=_in_order_of(spec.sample_weights, ends)
                if len(spec.sample_weights) == len(same)
                else spec.sample_weights,
            ),
            training=ordered(self.training),
            validation=test if self.validation is self.test else ordered(self.validation),
            test=test,
            input_facts=self.inputs[places[0]],
            inputs=tuple(self.inputs[i] for i in places),
            outputs=tuple(OutputFacts() if i is None else self.outputs[i] for i in ends),
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
    def category_columns(self) -> tuple[InputColumn, ...]:
        """The columns of categories that inputs are made of."""
        every = (column for each in self.inputs for column in each.columns)
        return tuple(column for column in every if column.categories)

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
        return any(self.losses)

    def objective(self) -> Objective:
        """What the outputs are compared by; CompileError where no output has a loss."""
        return objective_of(
            self.graph.output_names(), list(self.losses), self.metrics, self.loss_weights,
            self.weighted_metrics,
        )  # fmt: skip

    def gives_logits(self, output: int) -> bool:
        """Whether an output, by its place, gives logits: its loss says so, else its ending."""
        loss = self.losses[output] if self.losses else None
        if loss is not None or not self.losses:
            return loss is not None and loss.takes_logits
        port = self.graph.outputs[output]
        rank = len(self.graph.types()[port].shape)
        return self.graph.node(port.node).layer.ending(rank) not in ("softmax", "sigmoid")

    def has_targets(self, output: int) -> bool:
        """Whether the data has targets for an output, by its place."""
        return output < len(self.spec.targets) and self.spec.targets[output] is not None


def open_graph_of(graph: LayerGraph) -> LayerGraph | None:
    """The graph where it has unknown lengths; else None."""
    return graph if graph.has_unknown_lengths else None


def bound_to(graph: LayerGraph, shapes: Sequence[Shape]) -> LayerGraph:
    """The graph with the lengths of samples of these shapes; itself where all are known."""
    return graph.bound(graph.lengths_of(shapes)) if graph.has_unknown_lengths else graph


def _resized(shape: Shape, old: Shape, new: Shape) -> Shape:
    """The shape of targets or weights of an output whose own goes from ``old`` to ``new``."""
    return new[: len(shape)] if shape == old[: len(shape)] else shape


def _samples(dataset: Dataset, places: Sequence[int], ends: Sequence[int | None]) -> Samples:
    """A data set as samples, inputs and targets in the order of the network's."""
    inputs, every = dataset.all_inputs(), dataset.all_targets()
    targets = [None if i is None else every[i] for i in ends]
    by_name = {each.name: each.values for each in dataset.weights}
    weights = tuple(None if t is None else by_name.get(t.name) for t in targets) if by_name else ()
    return Samples(
        tuple(inputs[i].values for i in places),
        tuple(None if t is None else t.y for t in targets),
        (by_name[""],) if "" in by_name else weights,
    )


def _in_order_of(each: tuple[T | None, ...], ends: Sequence[int | None]) -> tuple[T | None, ...]:
    """What there is for each output, in another order; None where it has none."""
    return tuple(None if i is None else each[i] for i in ends)


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


def _target_kinds(
    outputs: Sequence[OutputFacts], targets: Sequence[object]
) -> tuple[TargetKind, ...]:
    """Of what kind the targets of each output are."""
    return tuple(
        "none" if each is None else "classes" if facts.class_names else "numbers"
        for facts, each in zip(outputs, targets, strict=True)
    )


def _target_places(
    settings: TrainingSettings, outputs: Sequence[str], names: Sequence[str], who: str
) -> tuple[int | None, ...]:
    """Where the targets of each output stand among those of the data; see `_places`.

    An output without a loss may have none.
    """
    free = {name for name in outputs if settings.has_no_loss(name)}
    if tuple(names) == ("",):
        free &= set(outputs) if len(outputs) > 1 else set()
    else:
        free -= set(names)
    wanted = [name for name in outputs if name not in free]
    if not wanted:
        require_loss(outputs, [None] * len(outputs))
    places = dict(zip(wanted, _places(wanted, names, "output", who), strict=True))
    return tuple(places.get(name) for name in outputs)


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
    return InputFacts(
        array.kind, array.value_range, array.feature_names, array.name, array.array, array.columns
    )


def _facts_of_first(array: InputArray, names: tuple[str, ...]) -> InputFacts:
    """Facts of the only input, whatever its name."""
    return InputFacts(array.kind, array.value_range, names, columns=array.columns)


def _input_source(array: InputArray, norm: Normalization) -> Source:
    dtype, shape = DType.of(array.values.dtype), tuple(array.values.shape[1:])
    if norm.kind == "none":
        return Source(shape, dtype)
    scale = tuple(float(v) for v in norm.scale)
    return Source(shape, dtype, scale, tuple(float(v) for v in norm.shift))


def _output_facts(target: TargetArray | None) -> OutputFacts:
    return OutputFacts() if target is None else OutputFacts(target.name, target.class_names)


def _target_source(target: TargetArray) -> Source:
    y = target.y
    return Source(tuple(y.shape[1:]), DType.of(y.dtype), classes=len(target.class_names))


def _facts(
    dataset: Dataset, inputs: Sequence[InputArray], norms: Sequence[Normalization],
    targets: Sequence[TargetArray | None],
) -> dict[str, str]:  # fmt: skip
    """What travels with exported programs, as text."""
    kinds = {each.name: norm.kind for each, norm in zip(inputs, norms, strict=True)}
    facts = {
        "data_sha256": dataset.sha256,
        "data_name": dataset.name,
        "input_kind": inputs[0].kind,
        "normalization": norms[0].kind if len(norms) == 1 else json.dumps(kinds, sort_keys=True),
    }
    classes = {each.name: each.class_names for each in targets if each is not None}
    if len(targets) > 1:
        facts["output_class_names"] = json.dumps(classes, ensure_ascii=False, sort_keys=True)
    elif targets[0] is not None and targets[0].class_names:
        facts["class_names"] = json.dumps(targets[0].class_names, ensure_ascii=False)
    if dataset.feature_names:
        facts["feature_names"] = json.dumps(dataset.feature_names, ensure_ascii=False)
    columns = {each.name: [c.to_json() for c in each.columns] for each in inputs if each.columns}
    if columns:
        made = next(iter(columns.values())) if len(inputs) == 1 else columns
        facts["columns"] = json.dumps(made, ensure_ascii=False, sort_keys=True)
    if len(inputs) == 1 and inputs[0].value_range is not None:
        facts["value_range"] = json.dumps(inputs[0].value_range)
    resize = {each.name: each.resize for each in inputs if each.resize}
    if resize:
        facts["resize"] = (
            inputs[0].resize if len(inputs) == 1 else json.dumps(resize, sort_keys=True)
        )
    if dataset.attribution:
        facts["attribution"] = dataset.attribution
    return facts
