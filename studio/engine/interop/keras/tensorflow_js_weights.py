"""Weights of TensorFlow.js models by name: which belongs to which parameter of a network here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import CheckpointError, quoted
from studio.engine.interop.imported import ImportedLayer
from studio.engine.interop.keras.variables import KerasVariable
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.layer import shape_text
from studio.engine.layers.named_parameters import stored_weights

Array: TypeAlias = npt.NDArray[np.generic]
_SHOWN = 3
"""Weights that a remark names."""


@dataclass
class NamedWeights:
    """What a file holds for a network.

    Attributes:
        weights: by tensor name, as stored here.
        names: of the weights in the file, by parameter.
        left_out: what else was in the file, one sentence each.
        remarks: what is worth knowing of the weights.
    """

    weights: dict[str, Array]
    names: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def weights_by_name(
    arrays: Mapping[str, Array],
    variables: Sequence[KerasVariable],
    graph: LayerGraph,
    layers: Sequence[ImportedLayer],
    who: str,
) -> NamedWeights:
    """The weights of a network from arrays in Keras' layout.

    As in TensorFlow.js, names are those of layer and weight; what stands between them, as the cell
    of a recurrent layer does, is skipped.

    Args:
        arrays: of the file, by name.
        variables: the weights the model has.
        graph: the network it is here.
        layers: what its layers became.
        who: the file, for errors.

    Raises:
        CheckpointError: a weight is missing, is of no float32, or fits no layer.
        ShapeError: a weight has another shape.
    """
    shortened = {_shortened(name): name for name in arrays}
    found = NamedWeights({})
    public: dict[str, Array] = {}
    used: dict[str, str] = {}
    for each in variables:
        name = next((n for n in _candidates(each, shortened) if n in arrays), None)
        if name is None:
            raise CheckpointError(
                f"there is no weight {quoted(each.old_name)}, {shape_text(each.shape)}", who=who
            )
        if name in used:
            raise CheckpointError(
                f"{quoted(name)} would be the weight of two layers, {quoted(used[name])} and "
                f"{quoted(each.parameter)}",
                who=who,
                hint="give layers of nested models names of their own and save it again",
            )
        values = arrays[name]
        if values.dtype != np.float32:
            raise CheckpointError(f"{quoted(name)} must be float32, got {values.dtype}", who=who)
        if tuple(values.shape) != tuple(each.shape):
            raise CheckpointError(
                f"{quoted(name)} has another shape than its layer: expected "
                f"{shape_text(each.shape)}, got {shape_text(values.shape)}",
                who=who,
            )
        used[name] = each.parameter
        found.names[each.parameter] = name
        public[each.parameter] = values
    unused = {each.name.rpartition("/")[2] for each in layers if not each.layer}
    for name in arrays:
        if name in used:
            continue
        if name.partition("/")[0] not in unused:
            raise CheckpointError(f"the weight {quoted(name)} fits no layer", who=who)
        found.left_out.append(f"a weight of a layer that no output needs: {name}")
    found.weights = stored_weights(graph, public, who)
    wild = [name for name in used if not np.isfinite(arrays[name]).all()]
    if wild:
        shown = ", ".join(wild[:_SHOWN]) + (" …" if len(wild) > _SHOWN else "")
        found.remarks.append(f"NaN or infinity in {shown}")
    return found


def _candidates(variable: KerasVariable, shortened: Mapping[str, str]) -> Iterator[str]:
    """Names a weight may have, the likeliest first."""
    yield variable.old_name
    yield variable.name
    for name in (variable.old_name, variable.name):
        if name in shortened:
            yield shortened[name]


def _shortened(name: str) -> str:
    """A name without the cell of its layer: ``lstm/lstm_cell/kernel`` is ``lstm/kernel``."""
    parts = name.split("/")
    return "/".join([*parts[:-2], parts[-1]]) if len(parts) > 2 else name
