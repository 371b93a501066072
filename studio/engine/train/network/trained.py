"""A network with weights: metrics on samples, outputs for raw rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.closing import Closing
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import DataError, FormatError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.layers.lengths import Lengths
from studio.engine.runtime.backend import Backend
from studio.engine.train.data.predict_input import (
    InputSpec,
    RawInputs,
    read_inputs,
    read_named_inputs,
)
from studio.engine.train.data.samples import Samples
from studio.engine.train.data.stored_rows import SampleArray
from studio.engine.train.network.evaluation import Evaluator
from studio.engine.train.network.inference import Inference
from studio.engine.train.network.network import Network
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.runs.weights_origin import WeightsChoice, WeightsOrigin, origin_of_run

Array: TypeAlias = npt.NDArray[np.generic]


class Trained(Closing):
    """Evaluates and predicts with the weights a network holds; a context manager.

    Args:
        network: holds the weights.
        owned: whether closing this closes the network.
        checkpoint: the checkpoint of these weights, if there is one.
        origin: where they come from, if that is known.
    """

    def __init__(
        self,
        network: Network,
        *,
        owned: bool = False,
        checkpoint: Checkpoint | None = None,
        origin: WeightsOrigin | None = None,
    ) -> None:
        self.network = network
        self.checkpoint = checkpoint
        self.origin = origin
        self.task = network.task
        self._owned = owned
        self._evaluator: Evaluator | None = None
        self._inferences: dict[Lengths, Inference] = {}
        self._masks: dict[Lengths, Inference] = {}
        network.lengths_dropped.connect(self._drop)

    @classmethod
    def of_weights(cls, task: Task, backend: Backend, weights: Mapping[str, Array]) -> Trained:
        """A network with weights by tensor name, as stored; CheckpointError if they do not fit."""
        network = Network(task, backend)
        try:
            network.write(weights, mode="infer", who=task.name)
        except BaseException:
            network.close()
            raise
        return cls(network, owned=True)

    @classmethod
    def of_checkpoint(cls, task: Task, path: Path | str, backend: Backend) -> Trained:
        """A network with the weights of a checkpoint file."""
        found = Checkpoint.load(path)
        made = cls.of_weights(task, backend, found.tensors)
        made.checkpoint = found
        return made

    @classmethod
    def of_run(
        cls,
        run: RunFolder,
        backend: Backend,
        task: Task | None = None,
        weights: WeightsChoice = "last",
    ) -> Trained:
        """The result of a recorded run; ``task`` is made from its settings unless given.

        Raises:
            DataError: it has no such weights.
            FormatError: its files are damaged.
        """
        made = task or Task.of_project(run.project())
        while True:
            origin = origin_of_run(run, weights)
            path = origin.checkpoint
            try:
                found = cls.of_checkpoint(made, str(path), backend)
            except FormatError:
                # A running training removes old checkpoints after it has written a newer one.
                if path is not None and path.is_file():
                    raise
                continue
            found.origin = origin
            return found

    def for_lengths(self, lengths: Mapping[str, object]) -> Trained:
        """The same weights in a network of its own that has these lengths, to be closed by itself.

        Args:
            lengths: by the name of each input with unknown lengths a number, or one for each.

        Raises:
            ShapeError: a name or number is wrong, or a layer cannot work with these lengths.
        """
        task = self.task.only_for(lengths)
        made = Trained.of_weights(task, self.network.backend, self.weights())
        made.checkpoint, made.origin = self.checkpoint, self.origin
        return made

    def weights(self) -> dict[str, Array]:
        """Parameters and running statistics by tensor name, as stored."""
        return self.network.read(mode="infer")

    def evaluate(self, samples: Samples | None = None) -> dict[str, float]:
        """Loss and metrics on samples; on the test part unless told. DataError without any."""
        chosen = samples or self.task.test
        if chosen is None:
            raise DataError("there is no test part to measure", who=self.task.name)
        if not self.task.has_objective:
            raise DataError("a loss is needed to evaluate", who=self.task.name)
        if self._evaluator is None:
            self._evaluator = Evaluator(self.network)
        return self._evaluator.evaluate(chosen)

    def predict(
        self, rows: Array | list[Array], progress: Callable[[int, int], None] | None = None
    ) -> Array:
        """Outputs [rows, …] for raw rows [rows, …] of the input's own type; any number of rows."""
        return self.predict_all(list(rows) if isinstance(rows, list) else [rows], progress)[0]

    def predict_all(
        self,
        inputs: Sequence[SampleArray],
        progress: Callable[[int, int], None] | None = None,
        most_rows: int | None = None,
    ) -> list[Array]:
        """Every output of a network, for one array per input; see `Inference.run`.

        Unknown lengths are those of the arrays. ShapeError where arrays do not fit the network.
        """
        lengths = self._use_lengths_of(inputs)
        if lengths not in self._inferences:
            program = self.network.program("infer", lengths)
            made = Inference(self.network.backend, program, self.network.session)
            self._inferences[lengths] = made
        return self._inferences[lengths].run(inputs, progress, most_rows)

    def predict_masks(self, inputs: Sequence[SampleArray]) -> list[Array | None]:
        """For each output which positions count, bool [rows, …]; None where it has no mask.

        Inputs are those of `predict_all`.
        """
        network, lengths = self.network, self._use_lengths_of(inputs)
        graph = network.programs.task(lengths).graph
        masked = graph.masks()
        if masked.keys().isdisjoint(graph.outputs):
            return [None] * len(graph.outputs)
        if lengths not in self._masks:
            program = network.program("masks", lengths)
            self._masks[lengths] = Inference(network.backend, program, network.session)
        found = iter(self._masks[lengths].run(inputs))
        return [next(found) if port in masked else None for port in graph.outputs]

    def input_spec(self, key: str = "", place: int = 0) -> InputSpec:
        """What `read_inputs` needs to turn a user's files into rows for an input.

        Args:
            key: array to take from an ``.npz``; empty for the one called as the input.
            place: of the input.
        """
        source, facts = self.task.spec.inputs[place], self.task.all_inputs[place]
        graph = self.task.open_graph
        return InputSpec(
            source.shape,
            DType(source.dtype),
            facts.value_range,
            facts.feature_names,
            key,
            tuple(name for name in (facts.name, facts.array) if name),
            None if graph is None else graph.input_shapes[facts.name],
            facts.columns,
        )

    def read_files(
        self, paths: Sequence[Path], notes: list[str] | None = None
    ) -> tuple[list[Array], tuple[str, ...]]:
        """One array per input for `predict_all` from a user's files, and a name for each row.

        ``notes`` gets what was decided about them, one sentence each. Raises what `read_inputs`
        and `read_named_inputs` raise.
        """
        facts = self.task.all_inputs
        if len(facts) == 1:
            read = self.read_input(paths)
            if notes is not None:
                notes += read.notes
            return [read.values], read.names
        specs = {each.name: self.input_spec(each.array, place) for place, each in enumerate(facts)}
        return read_named_inputs(paths, specs, notes=notes)

    def read_input(self, paths: Sequence[Path], place: int = 0) -> RawInputs:
        """Rows for one input from a user's files, by its place; raises what `read_inputs` raises.

        Of an ``.npz`` the array called as the input or as its array in the data is taken.
        """
        return read_inputs(paths, self.input_spec(place=place))

    def close(self) -> None:
        """Give back what this made."""
        for lengths in {*self._inferences, *self._masks}:
            self._drop(lengths)
        self._evaluator = None
        if self._owned:
            self.network.close()

    def _use_lengths_of(self, inputs: Sequence[SampleArray]) -> Lengths:
        """The unknown lengths of arrays, which now count as used."""
        lengths = self.task.lengths_of([tuple(each.shape[1:]) for each in inputs])
        self.network.use(lengths)
        return lengths

    def _drop(self, lengths: Lengths) -> None:
        """Give up what runs for lengths."""
        for made in (self._inferences, self._masks):
            found = made.pop(lengths, None)
            if found is not None:
                found.close()
