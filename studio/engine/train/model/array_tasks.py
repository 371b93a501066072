"""Tasks made from a compiled model and the arrays it is fitted to or measured on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from studio.engine.compiler.lower import Objective
from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.core.errors import DataError
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.lengths import Lengths
from studio.engine.optim.optimizers import Optimizer
from studio.engine.train.data.samples import (
    Batch,
    MixedSamples,
    Samples,
    filled_weight,
    of_one_type,
    weight_shapes,
)
from studio.engine.train.model.mixed_lengths import (
    Chosen,
    are_batches,
    groups_of,
    listed_batches,
    single_samples,
)
from studio.engine.train.model.model_data import (
    class_factors,
    input_arrays,
    sources_of,
    tail_split,
    target_arrays,
    target_sources,
    weight_arrays,
)
from studio.engine.train.project.sample_facts import SampleFacts
from studio.engine.train.project.task import Task, bound_to, open_graph_of
from studio.engine.train.settings import TrainingSettings


@dataclass(frozen=True)
class ArrayTasks:
    """Makes tasks from arrays for a network, what it was compiled with, and what its data is like.

    Attributes:
        name: of the model.
        graph: the network.
        optimizer: how it is trained.
        objective: what its outputs are compared by.
        seed: of initial weights, order, dropout and augmentation.
        sources: form and normalisation of inputs where data has settled them, else empty.
        facts: text that travels with exports.
    """

    name: str
    graph: LayerGraph
    optimizer: Optimizer
    objective: Objective
    seed: int
    sources: tuple[Source, ...]
    facts: Mapping[str, str]

    def samples(self, x: object, y: object, weights: object = None) -> Samples:
        """What a user hands over as samples; DataError or ShapeError where that does not fit.

        Where the network has unknown lengths, ``x`` may also be batches, each of one length, or
        single samples in a list; these become `MixedSamples`.
        """
        if are_batches(x, y):
            return self._of_batches(x)
        if y is None:
            raise DataError("targets (y) are missing", who=self.name)
        single = single_samples(x, self.graph)
        if single is None:
            return self._of_arrays(x, y, weights)
        count, outputs = len(single[0]), len(self.graph.outputs)
        parts = []
        for indices in groups_of(single, self.graph).values():
            own = Chosen(indices, count, outputs)
            inputs = [np.stack([each[i] for i in indices]) for each in single]
            parts.append(self._of_arrays(inputs, own.of(y, "y"), own.of(weights, "sample_weight")))
        return _mixed(of_one_type(parts))

    def _of_batches(self, x: object) -> Samples:
        """Batches as samples that are always taken together."""
        made: dict[Lengths, list[Samples]] = {}
        batches: list[tuple[Lengths, int]] = []
        listed = [self._of_arrays(*batch) for batch in listed_batches(x, self.name)]
        for found in of_one_type(listed):
            own = made.setdefault(self._lengths_of(found), [])
            batches.append((self._lengths_of(found), len(own)))
            own.append(found)
        places = list(made)
        firsts = {key: [0, *accumulate(map(len, own))] for key, own in made.items()}
        return _mixed(
            (_joined(own) for own in made.values()),
            tuple(
                Batch(places.index(key), firsts[key][number], len(made[key][number]))
                for key, number in batches
            ),
        )

    def _lengths_of(self, samples: Samples) -> Lengths:
        return self.graph.lengths_of([tuple(each.shape[1:]) for each in samples.inputs])

    def _of_arrays(self, x: object, y: object, weights: object = None) -> Samples:
        inputs = input_arrays(x, self.graph, self.sources)
        graph = bound_to(self.graph, [tuple(each.shape[1:]) for each in inputs])
        targets = target_arrays(y, graph, self.objective.losses)
        return Samples(inputs, targets, weight_arrays(weights, graph, len(inputs[0])))

    def training(
        self,
        samples: Samples,
        batch_size: int,
        epochs: int,
        validation_split: float,
        validation_data: Sequence[object] | None,
        class_weight: Mapping[int, float] | None,
        shuffle: bool,
    ) -> Task:
        """The task of fitting to samples; the arguments are those of `Model.fit`."""
        validation: Samples | None = None
        if validation_data is not None:
            if are_batches(validation_data, None):
                validation_data = (validation_data, None)
            if not isinstance(validation_data, list | tuple) or len(validation_data) not in (2, 3):
                raise DataError("validation_data: expected (x, y) or (x, y, weights)",
                                who=self.name)  # fmt: skip
            validation = self.samples(*validation_data)
        elif validation_split:
            samples, validation = tail_split(samples, validation_split)
        made = self.task(samples, batch_size, validation, class_weight)
        return made.with_settings(epochs=epochs, shuffle=shuffle)

    def task(
        self,
        samples: Samples,
        batch_size: int,
        validation: Samples | None = None,
        class_weight: Mapping[int, float] | None = None,
    ) -> Task:
        """The task of one epoch on samples, in their order."""
        settings = TrainingSettings(
            epochs=1, batch_size=batch_size, seed=self.seed, shuffle=False,
            optimizer=self.optimizer,
        )  # fmt: skip
        sources = sources_of(samples.inputs)
        if self.sources:
            pairs = zip(self.sources, sources, strict=True)
            sources = tuple(replace(own, shape=given.shape) for own, given in pairs)
        graph = bound_to(self.graph, [source.shape for source in sources])
        shapes, outputs = weight_shapes(samples, validation), graph.types()
        weights = zip(shapes, graph.outputs, strict=False)
        spec = DataSpec(
            sources,
            target_sources(samples.targets),
            class_weights=class_factors(class_weight, self.graph, samples),
            # Those of validation may have another length.
            sample_weights=tuple(
                None if shape is None else outputs[port].sample[: len(shape)]
                for shape, port in weights
            ),
            meta=dict(self.facts),
        )
        found, names = self.objective, self.graph.output_names()
        return Task(
            self.name,
            graph,
            settings,
            spec,
            found.losses,
            dict(zip(names, found.metrics, strict=True)),
            found.weights,
            samples,
            validation,
            facts=self.facts,
            weighted_metrics=dict(zip(names, found.weighted, strict=True)),
            open_graph=open_graph_of(self.graph),
        )


def task_without_data(
    name: str,
    graph: LayerGraph,
    optimizer: Optimizer,
    objective: Objective | None,
    samples: SampleFacts,
    lengths: Mapping[str, object] | None,
) -> Task:
    """What a model is, for files that hold it: nothing is trained or measured with it.

    Args:
        name: of the model.
        graph: the network.
        optimizer: how it is trained.
        objective: what its outputs are compared by; None where it was not compiled.
        samples: what is known of its samples.
        lengths: numbers for the unknown lengths of inputs, by their names.

    Raises:
        ShapeError: ``lengths`` does not fit the network.
    """
    bound = graph.bound(graph.lengths_named(lengths or {}))
    settings = TrainingSettings(optimizer=optimizer)
    task = Task.without_data(name, bound, settings, samples)
    task = replace(task, open_graph=open_graph_of(graph))
    if objective is None:
        return task
    names = graph.output_names()
    return replace(
        task,
        losses=objective.losses,
        metrics=dict(zip(names, objective.metrics, strict=True)),
        loss_weights=objective.weights,
        weighted_metrics=dict(zip(names, objective.weighted, strict=True)),
    )


def _mixed(parts: Iterable[Samples], batches: tuple[Batch, ...] = ()) -> MixedSamples:
    first, *others = parts
    return MixedSamples(first.inputs, first.targets, first.weights, tuple(others), batches)


def _joined(batches: Sequence[Samples]) -> Samples:
    """Samples of one length that came in several batches; DataError where these differ."""
    shapes = weight_shapes(*batches)
    batches = [
        replace(
            each,
            weights=tuple(
                None if shape is None else filled_weight(each, index, shape)
                for index, shape in enumerate(shapes)
            ),
        )
        for each in batches
    ]
    columns = [[*each.inputs, *each.targets, *each.weights] for each in batches]
    forms = [[None if a is None else (a.shape[1:], a.dtype) for a in own] for own in columns]
    for number, form in enumerate(forms):
        if form != forms[0]:
            raise DataError(
                f"expected batches of equal form for a length: number {number} differs from the "
                "first",
                who="data",
            )
    joined = [
        None if each[0] is None else np.concatenate(each) for each in zip(*columns, strict=True)
    ]
    ends = len(batches[0].inputs), len(batches[0].inputs) + len(batches[0].targets)
    inputs = tuple(each for each in joined[: ends[0]] if each is not None)
    return Samples(inputs, tuple(joined[ends[0] : ends[1]]), tuple(joined[ends[1] :]))
