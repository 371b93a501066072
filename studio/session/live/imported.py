"""The imported weights that a training will begin with, shown before its first step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import StudioError
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.layers.named_parameters import named_parameters
from studio.engine.train.loop.starting import Beginning, beginning_of, imported_run
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.session.document.document import Document
from studio.session.live.sources import Resting, initial

Array: TypeAlias = npt.NDArray[np.generic]
_Stamp: TypeAlias = tuple[Path, int, int]

FRESH = "initial weights, nothing imported fits"
"""Said of a parameter that a change of its layer left without imported weights."""
_PARTLY = "imported weights, some layers fresh"


class ImportedFiles:
    """The weights imported last, read once for all the edits of a network.

    Args:
        document: whose runs they lie in.
    """

    def __init__(self, document: Callable[[], Document]) -> None:
        self._document = document
        self._held: tuple[_Stamp, Mapping[str, Array]] | None = None

    def beginning(self, task: Task | None) -> Resting | None:
        """What a network begins with: imported weights where its settings say so, else fresh ones.

        None without a network.
        """
        document = self._document()
        if task is None or task.settings.begin_with != "imported" or document.path is None:
            return None if task is None else initial(task)
        try:
            run = imported_run(document.project())
            path = run.best_result()
            stamp = None if path is None else _stamp(path)
        except (StudioError, OSError):
            # The training says what is wrong, in full; until then it begins with nothing else.
            return initial(task)
        return initial(task) if stamp is None else ImportedWeights(task, run, stamp, self)

    def read(self, stamp: _Stamp) -> Mapping[str, Array]:
        """The tensors of a file; StudioError where it is damaged."""
        held = self._held
        if held is None or held[0] != stamp:
            held = self._held = (stamp, Checkpoint.load(stamp[0]).tensors)
        return held[1]


class ImportedWeights(Resting):
    """The weights of an import for a network as it is now.

    Args:
        task: the network, and the seed of what is fresh.
        run: holds them.
        stamp: their file as it was found.
        files: reads it.
    """

    def __init__(self, task: Task, run: RunFolder, stamp: _Stamp, files: ImportedFiles) -> None:
        source = str(run.summary().get("source") or run.name)
        super().__init__(f"imported from {source}")
        self.partly = _PARTLY
        self._task = task
        self._run = run
        self._stamp = stamp
        self._files = files
        self._found: Beginning | None = None

    @property
    def key(self) -> str:
        """Changes with the file, and with every name and shape that decides what fits."""
        shapes = [(e.name, e.parameter.shape) for e in named_parameters(self._task.graph)]
        text = repr((self._stamp, self._task.settings.seed, shapes))
        return f"imported {sha256(text.encode()).hexdigest()}"

    def label_of(self, name: str) -> str:
        """Where a tensor comes from: the import, or nothing of it fits."""
        found = self._found
        return FRESH if found is not None and name in found.fresh else self.label

    def read(self, name: str, *, grad: bool = False) -> Array | None:
        """A tensor as stored; None for gradients and all that is no parameter.

        Raises:
            StudioError: the file is damaged.
        """
        if grad:
            return None
        if self._found is None:
            task, found = self._task, self._files.read(self._stamp)
            self._found = beginning_of(task.graph, task.settings.seed, self._run, found)
        return self._found.weights.get(name)

    def taken(self, name: str) -> Array | None:
        """A tensor that was imported; None for one that begins fresh."""
        values = self.read(name)
        return None if self._found is None or name in self._found.fresh else values


def _stamp(path: Path) -> _Stamp:
    state = path.stat()
    return path, state.st_mtime_ns, state.st_size
