"""What is to be trained: network, objective, data parts and settings, before any device."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from studio.engine.compiler.lower import Metrics
from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import DataError
from studio.engine.core.tensor import Shape
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.layer import Layer
from studio.engine.optim.losses import Loss, OutputSpec
from studio.engine.optim.metrics import Accuracy
from studio.engine.train.data.batches import class_weights
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.normalization import Normalization, make_normalization
from studio.engine.train.data.samples import Samples
from studio.engine.train.data.splitting import (
    random_split_indices,
    stratified_split_indices,
    tail_split_indices,
)
from studio.engine.train.project.plugin_use import check_complete
from studio.engine.train.project.project import Project
from studio.engine.train.settings import ClassWeights, TrainingSettings


@dataclass(frozen=True)
class InputFacts:
    """What reading a user's files needs to know of the raw input.

    Attributes:
        kind: ``images``, ``table`` or ``points``; empty for arrays.
        value_range: lowest and highest raw value, where the data states them.
        feature_names: columns of a table, or empty.
    """

    kind: str = ""
    value_range: tuple[float, float] | None = None
    feature_names: tuple[str, ...] = ()


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
        class_names: names of the classes, empty for regression.
        data_hash: SHA-256 of the data set, empty without.
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
            inputs = _plain_sources(graph)
            return cls(project.name, graph, settings, DataSpec(inputs))
        if dataset is None:
            dataset = project.data.open(project.folder)
        _check_single(graph, project.name)
        kept, held = dataset.parts(project.data.test_fraction, project.data.split_seed)
        kept, validation = _validation_part(settings, project.data.split_seed, kept, held)
        norm = make_normalization(project.data.normalization, kept.x, kept.value_range)
        losses, metrics, loss_weights = _objective(graph, settings, (dataset.is_classification,))
        facts, test = _facts(dataset, norm), samples_of(held)
        spec = DataSpec(
            (_input_source(kept, norm),),
            (_target_source(kept),),
            augment=project.data.augment,
            class_weights=_class_table(settings.class_weights, kept),
            meta=facts,
        )
        return cls(
            project.name,
            graph,
            settings,
            spec,
            losses,
            metrics,
            loss_weights,
            samples_of(kept),
            test if validation is held else None if validation is None else samples_of(validation),
            test,
            dataset.class_names,
            dataset.sha256,
            InputFacts(dataset.kind, dataset.value_range, dataset.feature_names),
            facts,
        )

    def with_network(self, project: Project) -> Task:
        """The task of a project that has the same data, divided in the same way.

        Only what network and settings decide is rebuilt, so that an edit costs no copy of data.
        """
        graph, settings = project.graph, project.training
        check_complete(graph, settings)
        graph.check()
        changed = replace(self, name=project.name, graph=graph, settings=settings)
        if self.training is None:
            inputs = _plain_sources(graph)
            return replace(changed, spec=DataSpec(inputs))
        _check_single(graph, project.name)
        losses, metrics, factors = _objective(graph, settings, (bool(self.class_names),))
        return replace(changed, losses=losses, metrics=metrics, loss_weights=factors)

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
    def has_objective(self) -> bool:
        """Whether there is a loss to train or evaluate by."""
        return bool(self.losses)


def _plain_sources(graph: LayerGraph) -> tuple[Source, ...]:
    """What each input takes, where nothing else is known of the data."""
    types = graph.types()
    found = (types[Port(node.id)] for node in graph.inputs)
    return tuple(Source(each.sample, each.dtype) for each in found)


def samples_of(dataset: Dataset) -> Samples:
    """A data set as samples."""
    return Samples((dataset.x,), (dataset.y,))


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


def _check_single(graph: LayerGraph, who: str) -> None:
    counts = len(graph.inputs), len(graph.outputs)
    if counts != (1, 1):
        raise DataError(
            f"a data set feeds one input and one output, the network has {counts[0]} and "
            f"{counts[1]}",
            who=who,
            hint="train networks with several from Python, with one array for each",
        )


def _validation_part(
    settings: TrainingSettings, seed: int, kept: Dataset, held: Dataset
) -> tuple[Dataset, Dataset | None]:
    """The part that stays for training, and what each epoch is measured on."""
    if settings.validation in ("none", "held-out"):
        return kept, held if settings.validation == "held-out" else None
    fraction = settings.validation_fraction
    if settings.validation == "tail":
        parts = tail_split_indices(len(kept), fraction)
    elif kept.is_classification:
        parts = stratified_split_indices(kept.y.astype(np.int32), fraction, seed)
    else:
        parts = random_split_indices(len(kept), fraction, seed)
    return kept.subset(parts[0]), kept.subset(parts[1])


def _input_source(dataset: Dataset, norm: Normalization) -> Source:
    dtype = DType.of(dataset.x.dtype)
    if norm.kind == "none":
        return Source(dataset.sample_shape, dtype)
    scale = tuple(float(v) for v in norm.scale)
    return Source(dataset.sample_shape, dtype, scale, tuple(float(v) for v in norm.shift))


def _target_source(dataset: Dataset) -> Source:
    return Source(
        tuple(dataset.y.shape[1:]), DType.of(dataset.y.dtype), classes=len(dataset.class_names)
    )


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


def _class_table(choice: ClassWeights | None, dataset: Dataset) -> tuple[tuple[float, ...], ...]:
    if choice is not None and not dataset.is_classification:
        raise DataError("class weights need classes: the data has numbers as targets",
                        who="class_weights")  # fmt: skip
    if choice is None:
        return ()
    return (class_table(choice, dataset.y, dataset.class_names),)


def _facts(dataset: Dataset, norm: Normalization) -> dict[str, str]:
    """What travels with exported programs, as text."""
    facts = {
        "data_sha256": dataset.sha256,
        "data_name": dataset.name,
        "input_kind": dataset.kind,
        "normalization": norm.kind,
    }
    if dataset.class_names:
        facts["class_names"] = json.dumps(dataset.class_names, ensure_ascii=False)
    if dataset.feature_names:
        facts["feature_names"] = json.dumps(dataset.feature_names, ensure_ascii=False)
    if dataset.value_range is not None:
        facts["value_range"] = json.dumps(dataset.value_range)
    if dataset.attribution:
        facts["attribution"] = dataset.attribution
    return facts
