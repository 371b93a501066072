"""Networks in Python with Keras' words: compile, fit, evaluate, predict, save and load."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.lower import Objective, objective_of
from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.core import renamed
from studio.engine.core.closing import Closing
from studio.engine.core.errors import DataError, ParameterError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.interop.file_format import Exportable, format_for
from studio.engine.interop.reading import load_weights
from studio.engine.interop.safetensors import Safetensors
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.layer import Layer
from studio.engine.layers.named_parameters import public_weights, weights_from_list
from studio.engine.layers.summary import summarize
from studio.engine.layers.symbol import Symbol, graph_of, replay
from studio.engine.optim.optimizers import Optimizer
from studio.engine.runtime.backend import Backend
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.callbacks.epoch_lines import EpochLines
from studio.engine.train.callbacks.history import History
from studio.engine.train.devices import Opened, open_backend
from studio.engine.train.export.exporting import Export, export_file
from studio.engine.train.loop.starting import beginning_of, is_imported
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.model.array_tasks import ArrayTasks, task_without_data
from studio.engine.train.model.keras_arguments import (
    Verbose,
    are_metrics,
    batch_rows,
    is_told,
    loss_weights_of,
    metrics_by_output,
    metrics_for_all,
    objective_settings,
    refuse_unsupported,
    values_in_order,
)
from studio.engine.train.model.mixed_lengths import groups_of, in_order, single_samples
from studio.engine.train.model.model_data import (
    are_alike,
    input_arrays,
    sources_of,
)
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.blocks import blocks_of, nested_of
from studio.engine.train.project.project import Project
from studio.engine.train.project.sample_facts import NOTHING_STATED, SampleFacts
from studio.engine.train.project.task import Task, bound_to, open_graph_of
from studio.engine.train.runs.run_folder import latest_run
from studio.engine.train.settings import TrainingSettings
from studio.engine.train.weights import initial_weights

Array: TypeAlias = npt.NDArray[np.generic]
WEIGHTS_SUFFIX = ".weights.safetensors"


class Model(Closing):
    """A network between inputs and outputs.

    Its weights live on the host between calls; a device is opened on first use and kept until
    `close` (the model is a context manager).

    Args:
        inputs: what `Input` gave, or a list of them.
        outputs: what layers gave, or a list of them.
        name: name of the model.
        backend: ``auto``, ``gl`` or ``cpu``.
        seed: of initial weights, order, dropout and augmentation.
    """

    def __init__(
        self,
        inputs: Symbol | Sequence[Symbol],
        outputs: Symbol | Sequence[Symbol],
        name: str = "model",
        *,
        backend: str = "auto",
        seed: int = 0,
    ) -> None:
        self._begin(graph_of(_listed(inputs), _listed(outputs), name), backend, seed)

    def _begin(self, graph: LayerGraph, backend: str, seed: int) -> None:
        self.graph = graph
        self.name = graph.name
        self.seed = seed
        self.project: Project | None = None
        self._choice = backend
        self._opened: Opened | None = None
        self._weights: dict[str, Array] | None = None
        self._state: Checkpoint | None = None
        self._optimizer: Optimizer = Optimizer.resolve("adam")
        self._objective: Objective | None = None
        self._sources: tuple[Source, ...] = ()
        self._facts: Mapping[str, str] = {}
        self._samples = NOTHING_STATED
        self._task: Task | None = None
        self._used: tuple[tuple[Source, ...], Trained] | None = None

    @classmethod
    def of_graph(cls, graph: LayerGraph, *, backend: str = "auto", seed: int = 0) -> Model:
        """A model of a graph made elsewhere."""
        graph.check()
        made = Model.__new__(Model)
        made._begin(graph, backend, seed)
        return made

    @classmethod
    def load(cls, path: Path | str, *, backend: str = "auto") -> Model:
        """The model of a project, compiled as the project says, with its data.

        Weights come from the file `save` wrote beside it, else from its last run, else they are
        fresh. Of imported ones it takes what fits the network as it is now. Raises what
        `Project.load` and the data's loaders raise.
        """
        project = Project.load(path)
        made = cls.of_graph(project.graph, backend=backend, seed=project.training.seed)
        made.project = project
        made.graph.nested = nested_of(project.blocks)
        task = Task.of_project(project)
        made._optimizer = project.training.optimizer
        made._know(project.samples if project.data is None else NOTHING_STATED)
        if task.has_objective:
            made._objective = task.objective()
            made._sources, made._facts, made._task = task.spec.inputs, task.facts, task
        else:
            _compile_as(made, project.training)
        made._weights = _saved_weights(Path(path), project)
        return made

    def __call__(self, inputs: Symbol | Sequence[Symbol]) -> Symbol | list[Symbol]:
        """The model used as a layer of another one, its layers shared."""
        outputs = replay(self.graph, _listed(inputs))
        return outputs[0] if len(outputs) == 1 else list(outputs)

    # -- structure ------------------------------------------------------------------------------

    @property
    def class_names(self) -> dict[str, tuple[str, ...]]:
        """Names of the classes by output, from the data or the file it was read from."""
        return _class_names(self._task, self._samples, self.graph)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Every layer once, in order of first use."""
        return self.graph.layers()

    def get_layer(self, name: str) -> Layer:
        """The layer of that name; GraphError when there is none."""
        return self.graph.layer(name)

    def count_params(self) -> int:
        """Numbers the network saves: parameters and running statistics."""
        return summarize(self.graph).total

    def summary(
        self, print_fn: Callable[[str], object] | None = None, *, expand_nested: bool = True
    ) -> str:
        """The table of layers as text, handed to ``print_fn`` too where one is given.

        Models called inside this one have a line of their own, with their layers indented below;
        with ``expand_nested=False``, Keras' default, those layers are left out.
        """
        text = summarize(self.graph).text(expand_nested=expand_nested)
        if print_fn is not None:
            print_fn(text)
        return text

    def get_weights(self) -> list[Array]:
        """Parameters and running statistics in Keras' order and layout."""
        return list(public_weights(self.graph, self._stored()).values())

    def set_weights(self, weights: Sequence[Array]) -> None:
        """Take weights in Keras' order and layout; CheckpointError or ShapeError if they differ."""
        self._take(weights_from_list(self.graph, weights, self.name))

    # -- training -------------------------------------------------------------------------------

    def compile(
        self,
        optimizer: object = "rmsprop",
        loss: object = None,
        loss_weights: object = None,
        metrics: object = None,
        weighted_metrics: object = None,
        **others: object,
    ) -> None:
        """Choose how it is trained and measured, with Keras' arguments in Keras' order.

        Losses, metrics and optimisers are names, instances or their JSON forms. For several outputs
        ``loss``, ``loss_weights`` and ``metrics`` are lists in the order of the outputs, or objects
        by output name. An output whose loss is None or left out is trained by none, and needs no
        targets. ``weighted_metrics`` count sample and class weights. Slots of an optimiser before
        are dropped. Other arguments of Keras, such as ``run_eagerly``, are refused by name.

        Raises:
            ParameterError: an unknown loss, metric, optimiser or argument.
            CompileError: no output has a loss, or a name is no output's.
        """
        refuse_unsupported("compile", others)
        if loss is None:
            raise ParameterError("loss: expected a loss, got none", who=self.name)
        names = self.graph.output_names()
        if are_metrics(loss_weights):
            renamed.warn("Model.compile(optimizer, loss, metrics, loss_weights)")
            chosen, weights = metrics_for_all(loss_weights, names), loss_weights_of(metrics)
        else:
            chosen, weights = metrics_by_output(metrics, names), loss_weights_of(loss_weights)
        weighted = metrics_by_output(weighted_metrics, names, "weighted_metrics")
        objective = objective_of(names, loss, chosen, weights, weighted)
        self._optimizer = Optimizer.resolve(optimizer)
        self._objective = objective
        self._state = self._task = None

    def fit(
        self,
        x: object = None,
        y: object = None,
        batch_size: int | None = None,
        epochs: int = 1,
        verbose: Verbose = 0,
        callbacks: Sequence[Callback] | None = None,
        validation_split: float = 0.0,
        validation_data: Sequence[object] | None = None,
        shuffle: bool = True,
        class_weight: Mapping[int, float] | None = None,
        sample_weight: object = None,
        initial_epoch: int = 0,
        **others: object,
    ) -> History:
        """Train, and return the record of all epochs (``history.history`` as in Keras).

        The arguments are Keras', in Keras' order; those of Keras that are missing here are refused
        by name. For several inputs or outputs ``x``, ``y`` and ``sample_weight`` are lists in
        order, or objects by name. One array of sample weights counts for all outputs.
        ``validation_split`` sets the last share of the samples aside before they are shuffled.
        Where a length of the network is unknown, ``x`` may be a list of samples of different
        lengths, or without ``y`` batches (x, y) or (x, y, weights) of one length each: a list, an
        iterator, which is read to its end first, or an object with a length, as Keras'
        ``PyDataset``. Their rows stay together; only the order of batches is shuffled.
        Without ``x`` a model loaded from a project trains on the project's data and settings.
        ``verbose`` of 1 or 2 writes a line per epoch to standard error.

        Raises:
            StudioError: arrays, options or the training itself are at fault.
        """
        refuse_unsupported("fit", others)
        if x is None:
            task = self._project_task()
        else:
            arrays = self._arrays()
            task = arrays.training(
                arrays.samples(x, y, sample_weight), batch_rows(batch_size), epochs,
                validation_split, validation_data, class_weight, shuffle,
            )  # fmt: skip
        self._drop_use()
        told = [*(callbacks or ()), *([EpochLines()] if is_told(verbose) else ())]
        with Trainer(task, self._device(), callbacks=told, initial_epoch=initial_epoch) as trainer:
            trainer.begin_with(self._stored(), self._state)
            trainer.run()
            self._weights = trainer.read_weights()
            self._state = trainer.checkpoint()
            return trainer.history

    def evaluate(
        self,
        x: object = None,
        y: object = None,
        batch_size: int | None = None,
        verbose: Verbose = 0,
        sample_weight: object = None,
        steps: None = None,
        callbacks: None = None,
        return_dict: bool = False,
        **others: object,
    ) -> float | list[float] | dict[str, float]:
        """Loss and metrics; a number, a list, or with ``return_dict`` by name.

        The list is in Keras' order: the loss, for several outputs the loss of each, then the
        metrics (for several outputs in the order of their names). Without ``x`` a model loaded from
        a project is measured on the project's test part. ``verbose`` writes a line to standard
        error.
        """
        refuse_unsupported("evaluate", {"steps": steps, "callbacks": callbacks, **others})
        if x is None:
            task = self._project_task()
            samples = task.test
            if samples is None:
                raise DataError("there is no test part to measure", who=self.name)
        else:
            arrays = self._arrays()
            samples = arrays.samples(x, y, sample_weight)
            task = arrays.task(samples, batch_rows(batch_size))
        with Trained.of_weights(task, self._device(), self._stored()) as trained:
            found = trained.evaluate(samples)
        if is_told(verbose):
            EpochLines().write("evaluate", found)
        if return_dict:
            return dict(sorted(found.items()))
        values = values_in_order(found, self.graph.output_names())
        return values[0] if len(values) == 1 else values

    def predict(
        self,
        x: object,
        batch_size: int | None = None,
        verbose: Verbose = 0,
        **others: object,
    ) -> Array | list[Any]:
        """Outputs for any number of rows; a list where the network has several outputs.

        Where a length of the network is unknown, arrays may have another one at every call, and
        ``x`` may be a list of samples of different lengths. What an output gives for these is one
        array where their answers have one shape, else a list with an answer for each. Rows run in
        batches of at most ``batch_size``, chosen by Glassbox unless given. ``verbose`` writes a
        line to standard error.
        """
        refuse_unsupported("predict", others)
        most = None if batch_size is None else batch_rows(batch_size)
        single = single_samples(x, self.graph)
        if single is None:
            found: list[Array | list[Array]] = [*self._outputs(x, most)]
        else:
            groups = groups_of(single, self.graph).values()
            parts = ((own, [np.stack([each[i] for i in own]) for each in single]) for own in groups)
            found = in_order((own, self._outputs(rows, most)) for own, rows in parts)
        if is_told(verbose):
            EpochLines().write("predict", {"rows": len(found[0])})
        return found[0] if len(found) == 1 else found

    def _outputs(self, x: object, most: int | None) -> list[Array]:
        """Every output for arrays of one length, in batches of at most ``most`` rows."""
        arrays = input_arrays(x, self.graph, self._sources)
        sources = self._sources or sources_of(arrays)
        if self._used is None or not are_alike(self._used[0], sources, self.graph):
            self._drop_use()
            if self._task is None:
                spec = DataSpec(_of_shapes(sources, sources_of(arrays)), meta=dict(self._facts))
            else:
                spec = self._task.spec
            graph = bound_to(self.graph, [source.shape for source in spec.inputs])
            task = Task(
                self.name, graph, TrainingSettings(), spec, facts=self._facts,
                open_graph=open_graph_of(self.graph),
            )  # fmt: skip
            self._used = (sources, Trained.of_weights(task, self._device(), self._stored()))
        return self._used[1].predict_all(list(arrays), most_rows=most)

    # -- files ----------------------------------------------------------------------------------

    def save(self, path: Path | str) -> Path:
        """Write a project that the studio opens, and the weights beside it.

        Raises FormatError where that fails.
        """
        target = Path(path).with_suffix(".glassbox")
        training = self.project.training if self.project is not None else TrainingSettings()
        if self._objective is not None and self._task is None:
            chosen = objective_settings(self.graph.output_names(), self._objective)
            training = training.replace(optimizer=self._optimizer, seed=self.seed, **chosen)
        blocks = blocks_of(self.graph)
        made = self.project or Project(self.name, self.graph, blocks=blocks, samples=self._samples)
        self.project, made.training = made, training
        made.save(target)
        self.save_weights(target.with_suffix(WEIGHTS_SUFFIX))
        return target

    def export(
        self,
        path: Path | str,
        format: str | None = None,  # noqa: A002 - Keras' name.
        lengths: Mapping[str, object] | None = None,
    ) -> Export:
        """Write the model to a file of another format, such as ``.keras``, and check the file.

        The check, by a process of its own, is that of ``glassbox export``. How the model was
        compiled, and the state of its optimiser, go along where the format holds them.

        Args:
            path: file to write; its folder must exist.
            format: name of the format; by default that of the path's ending.
            lengths: numbers for the unknown lengths of inputs, by their names. A program has them;
                a network for Keras keeps its unknown lengths, and is checked with these.

        Raises:
            ParameterError: an unknown format or ending.
            StudioError: the format cannot say something in the model; it is named.
            FormatError: the file cannot be written, or is found to be another model.
        """
        chosen = format_for(Path(path)).name if format is None else format
        task = self._task or task_without_data(
            self.name, self.graph, self._optimizer, self._objective, self._samples, lengths,
        )  # fmt: skip
        with Trained.of_weights(task, self._device(), self._stored()) as trained:
            trained.checkpoint = self._state
            return export_file(trained, chosen, path, lengths=lengths if self._task else None)

    def save_weights(self, path: Path | str) -> None:
        """Write the weights as safetensors, in Keras' layout."""
        model = Exportable(self.name, self.graph, self._stored(), self._facts)
        Safetensors().write(model, Path(path))

    def load_weights(self, path: Path | str) -> None:
        """Take weights from a file of any format that holds weights, such as ``.safetensors``."""
        self._take(load_weights(path, self.graph))

    def close(self) -> None:
        """Release the device; the weights stay, and a later call opens it again."""
        self._drop_use()
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    # -- inside ---------------------------------------------------------------------------------

    def _know(self, samples: SampleFacts) -> None:
        """Take what a file says of samples: it counts while there is no data."""
        self._samples, self._facts = samples, samples.texts(self.graph)
        self._sources = samples.scaled_sources(self.graph)

    def _stored(self) -> dict[str, Array]:
        if self._weights is None:
            self._weights = dict(initial_weights(self.graph, self.seed))
        return self._weights

    def _take(self, weights: dict[str, Array]) -> None:
        self._drop_use()
        self._weights = weights

    def _device(self) -> Backend:
        if self._opened is None:
            self._opened = open_backend(self._choice)
        return self._opened.backend

    def _drop_use(self) -> None:
        if self._used is not None:
            self._used[1].close()
            self._used = None

    def _arrays(self) -> ArrayTasks:
        return ArrayTasks(
            self.name, self.graph, self._optimizer, self._compiled(), self.seed, self._sources,
            self._facts,
        )  # fmt: skip

    def _compiled(self) -> Objective:
        if self._objective is None:
            raise ParameterError("compile the model before training or measuring it", who=self.name)
        return self._objective

    def _project_task(self) -> Task:
        if self._task is None or self.project is None:
            raise DataError(
                "there is no data: give x and y", who=self.name,
                hint="only a model loaded from a project with data has its own",
            )  # fmt: skip
        return self._task


def _class_names(
    task: Task | None, samples: SampleFacts, graph: LayerGraph
) -> dict[str, tuple[str, ...]]:
    """Names of classes by output: those of a project's data, else those that a file states."""
    if task is not None:
        return {each.name: each.class_names for each in task.all_outputs if each.class_names}
    found = zip(graph.output_names(), samples.class_names(graph), strict=True)
    return {name: classes for name, classes in found if classes}


def _compile_as(model: Model, training: TrainingSettings) -> None:
    """Compile a model as a project without data says, where each output's loss is settled."""
    names = model.graph.output_names()
    if not all(training.loss_of(name) or training.has_no_loss(name) for name in names):
        return
    metrics = {name: training.metrics_of(name) for name in names}
    weighted = {name: training.weighted_metrics_of(name) for name in names}
    model.compile(training.optimizer, training.loss, training.loss_weights, metrics, weighted)


def _saved_weights(path: Path, project: Project) -> dict[str, Array] | None:
    """The weights that `Model.save` wrote beside a project, else those of its last run.

    Of imported ones, which a training begins with, a network that was changed since takes what
    fits; a warning says what is fresh.
    """
    beside = path.with_suffix(WEIGHTS_SUFFIX)
    run = None if beside.is_file() else latest_run(project)
    found = beside if run is None else run.best_result()
    if found is None or not found.is_file():
        return None
    if run is None or project.training.begin_with != "imported" or not is_imported(run):
        return load_weights(found, project.graph)
    tensors = Checkpoint.load(found).tensors
    begun = beginning_of(project.graph, project.training.seed, run, tensors)
    if begun.fresh:
        warnings.warn(f"{project.name}: {begun.sentence}", stacklevel=3)
    return dict(begun.weights)


def _of_shapes(sources: Sequence[Source], given: Sequence[Source]) -> tuple[Source, ...]:
    """Sources with the shapes of the arrays that are given: a length may be another one."""
    pairs = zip(sources, given, strict=True)
    return tuple(replace(own, shape=each.shape) for own, each in pairs)


def _listed(symbols: Symbol | Sequence[Symbol]) -> list[Symbol]:
    found = list(symbols) if isinstance(symbols, list | tuple) else [symbols]
    if not found or not all(isinstance(each, Symbol) for each in found):
        raise ParameterError(
            "expected the output of Input or a layer", who="model",
            hint="start with Input(shape) and call each layer on the output of the "
                 "previous one",
        )  # fmt: skip
    return [each for each in found if isinstance(each, Symbol)]
