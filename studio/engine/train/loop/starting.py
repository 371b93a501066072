"""Has a training begin with the weights imported last, where its settings ask for them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from studio.engine.core.errors import CheckpointError, DataError, FormatError, quoted
from studio.engine.core.tensor import Role
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.interop.file_format import Array
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.initializers import initial_values
from studio.engine.layers.named_parameters import named_parameters
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.runs.run_folder import RunFolder, list_runs
from studio.engine.train.weights import initial_weights

_NAMED = 3


def is_imported(run: RunFolder) -> bool:
    """Whether a run holds what was imported, not what a training left."""
    return run.summary().get("state") == "imported"


def imported_run(project: Project) -> RunFolder:
    """The newest run of a project that holds imported weights; DataError where there is none."""
    for run in reversed(list_runs(project)):
        if is_imported(run) and run.has_result:
            return run
    raise DataError(
        "training is to begin with imported weights, but none were imported",
        who=project.name,
        hint="import weights, or choose fresh ones in the training settings",
    )


@dataclass(frozen=True)
class Beginning:
    """What a network begins with that begins with imported weights.

    Attributes:
        weights: of every parameter, as stored.
        fresh: names of those that the import has nothing for, or of another shape.
        source: name of the file that was imported.
    """

    weights: Mapping[str, Array]
    fresh: tuple[str, ...]
    source: str

    @property
    def sentence(self) -> str:
        """What it begins with."""
        return _sentence(self.source, self.fresh, 0)


def beginning_of(
    graph: LayerGraph, seed: int, run: RunFolder, found: Mapping[str, Array]
) -> Beginning:
    """The weights of an import for a network, which may have been changed since.

    Args:
        graph: the network.
        seed: of the weights of parameters that are fresh.
        run: what was imported.
        found: its tensors, as stored.
    """
    taken = _taken(graph, found)
    names = [each.name for each in named_parameters(graph)]
    fresh = tuple(name for name in names if name not in taken)
    weights = initial_weights(graph, seed) if fresh else {}
    return Beginning({**weights, **taken}, fresh, _source(run))


def begin_as_set(trainer: Trainer, project: Project) -> str:
    """Begin with what the settings ask for: fresh weights, or those imported last.

    A parameter that the import has nothing for, or of another shape, begins fresh, as a new last
    layer does. The state of the optimiser comes along where it is of the same kind.

    Args:
        trainer: of the project, before `Trainer.run`.
        project: where its runs lie.

    Returns:
        What was done, as a sentence; empty for fresh weights.

    Raises:
        DataError: no weights were imported.
        CheckpointError: they fit no parameter of the network.
        FormatError: their file is damaged.
    """
    if trainer.task.settings.begin_with != "imported":
        return ""
    run = imported_run(project)
    path = run.best_result()
    if path is None:
        raise FormatError("its weights are not there any more", who=run.name)
    found, graph = Checkpoint.load(path), trainer.task.graph
    made = beginning_of(graph, trainer.task.settings.seed, run, found.tensors)
    taken = made.weights.keys() - set(made.fresh)
    if made.weights and not taken:
        raise CheckpointError(
            f"the weights imported from {quoted(made.source)} fit no parameter of this network",
            who=project.name,
            hint="begin with fresh weights, or undo the changes to the network",
        )
    state = _state(trainer, found, taken, run)
    trainer.begin_with(made.weights, state)
    steps = found.position.total_step if state is not None else 0
    return _sentence(made.source, made.fresh, steps)


def _taken(graph: LayerGraph, found: Mapping[str, Array]) -> dict[str, Array]:
    """The tensors that are parameters of a network, by name and shape."""
    return {
        each.name: found[each.name]
        for each in named_parameters(graph)
        if each.name in found and tuple(found[each.name].shape) == each.parameter.shape
    }


def _source(run: RunFolder) -> str:
    return str(run.summary().get("source") or run.name)


def _state(
    trainer: Trainer, found: Checkpoint, taken: Collection[str], run: RunFolder
) -> Checkpoint | None:
    """Slots for every parameter, fresh ones for what is new; None for another optimiser."""
    settings = trainer.task.settings
    if type(run.project().training.optimizer) is not type(settings.optimizer):
        return None
    slots = {}
    had = False
    for tensor in trainer.network.tensors("train", (Role.SLOT,)):
        values = found.tensors.get(tensor.name)
        owner = tensor.name.rpartition("/")[0]
        if values is not None and owner in taken and tuple(values.shape) == tensor.shape:
            had, slots[tensor.name] = True, values
        else:
            slots[tensor.name] = initial_values(tensor, settings.seed)
    # Plain SGD has no slots, only a count of steps.
    return replace(found, tensors=slots) if had or not slots else None


def _sentence(source: str, fresh: Sequence[str], steps: int) -> str:
    text = f"beginning with the weights of {source}"
    if steps:
        text += f", after {steps:,} steps"
    if fresh:
        named = ", ".join(fresh[:_NAMED]) + (", …" if len(fresh) > _NAMED else "")
        text += f"; {len(fresh)} parameter{'' if len(fresh) == 1 else 's'} fresh: {named}"
    return text
