"""What an imported network answers, computed in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.lower import lower
from studio.engine.core.tensor import Ref
from studio.engine.layers.graph import LayerGraph
from tests.engine.oracle.interpreter import Interpreter

Array = npt.NDArray[np.generic]


def answers(
    graph: LayerGraph, weights: Mapping[str, Array], inputs: Sequence[Array]
) -> list[npt.NDArray[np.float64]]:
    """The outputs of a network for a batch of each of its inputs, in order."""
    program = lower(graph, "infer")
    machine = Interpreter(program, len(inputs[0]))
    given = {program.tensors[t].name: values for t, values in enumerate(inputs)}
    machine.run({**{name: np.asarray(w, np.float64) for name, w in weights.items()}, **given})
    return [np.asarray(machine.get(Ref(output))) for output in program.outputs]
