"""Weights in files: Keras' layout and names, as safetensors or ``.npz``."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import CheckpointError, FormatError, quoted
from studio.engine.formats import safetensors
from studio.engine.formats.byte_source import open_source
from studio.engine.formats.limits import DEFAULT_LIMITS
from studio.engine.formats.npz import load_npz
from studio.engine.layers.graph import LayerGraph
from studio.engine.train.checkpoint import FORMAT as CHECKPOINT
from studio.engine.train.checkpoint import Checkpoint
from studio.engine.train.task import Task
from studio.engine.train.weights import stored_weights

Array: TypeAlias = npt.NDArray[np.generic]

FORMAT = "glassbox-weights"


def weights_metadata(task: Task) -> dict[str, str]:
    """What a weights file says about itself, as text."""
    return {"format": FORMAT, "name": task.name, **task.facts}


def load_weights(path: Path | str, graph: LayerGraph) -> dict[str, Array]:
    """Weights as stored for a graph, from safetensors (weights or checkpoint) or ``.npz``.

    What the file is, is decided by its content.

    Raises:
        FormatError: the file is damaged.
        CheckpointError, ShapeError: it does not fit the graph.
    """
    who = str(path)
    with open_source(path, DEFAULT_LIMITS, "weights") as opened:
        start = opened.read(min(9, opened.size))
    if start[:2] != b"PK" and start[8:] != b"{":
        # Behind the length of its header a safetensors file goes on with that header, an object.
        raise FormatError("expected weights as .safetensors or .npz, got neither", who=who)
    if start[:2] == b"PK":
        found = load_npz(path)
    else:
        found, metadata = safetensors.load(path)
        if metadata.get("format") == CHECKPOINT:
            tensors = Checkpoint.load(path).tensors
            return _finite({name: tensors[name] for name in tensors}, who)
    return _finite(stored_weights(graph, found, who), who)


def _finite(weights: dict[str, Array], who: str) -> dict[str, Array]:
    for name, values in weights.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise CheckpointError(
                f"{quoted(name)} holds a value that is no finite number",
                who=who,
                hint="the training that made it went astray; use an earlier checkpoint",
            )
    return weights
