"""What a network's parameters hold before training."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.renamed import moved
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.named_parameters import named_parameters
from studio.engine.runtime.free_memory import require_memory

Array: TypeAlias = npt.NDArray[np.generic]
Weights: TypeAlias = dict[str, Array]

__getattr__ = moved(__name__)


def initial_weights(graph: LayerGraph, seed: int) -> Weights:
    """What all parameters hold before training, as stored; the same as on a device."""
    named = named_parameters(graph)
    require_memory(sum(4 * math.prod(each.parameter.shape) for each in named), "making all weights")
    return {
        each.name: each.parameter.init.values(each.parameter.shape, seed, each.stream, each.name)
        for each in named
    }
