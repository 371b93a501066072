"""Arrays a Python user hands over, brought to the forms a task works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.compiler.lower_data import Source
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import DataError, ParameterError
from studio.engine.core.tensor import Shape
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.lengths import lengths_in
from studio.engine.optim.losses import Loss
from studio.engine.train.data.samples import Array, Samples, stored_array
from studio.engine.train.data.splitting import tail_split_indices
from studio.engine.train.data.stored_rows import SampleArray
from studio.engine.train.model.keras_arguments import arrays_by_name
from studio.engine.train.project.objective import class_table

Floats: TypeAlias = npt.NDArray[np.float32]


def input_arrays(
    values: object, graph: LayerGraph, sources: Sequence[Source] = ()
) -> tuple[Array, ...]:
    """One array [rows, …] per input, in a storage type.

    Args:
        values: an array, or a list of one per input.
        graph: whose inputs they are.
        sources: types the arrays must be brought to, where these are settled already.

    Raises:
        DataError: not as many arrays as inputs, or values that are no finite numbers.
        ShapeError: a sample has another shape than its input.
    """
    listed = arrays_by_name(values, [node.layer.name for node in graph.inputs], "x")
    nodes, types, shapes = graph.inputs, graph.types(), graph.input_shapes
    if len(listed) != len(nodes):
        raise DataError(f"expected {len(nodes)} input arrays, got {len(listed)}", who=graph.name)
    found: list[Array] = []
    for index, (value, node) in enumerate(zip(listed, nodes, strict=True)):
        array = stored_array(value, node.layer.name)
        wanted = types[Port(node.id)]
        lengths_in(shapes[node.layer.name], tuple(array.shape[1:]), node.layer.name)
        if wanted.dtype is DType.int32 and array.dtype.kind == "f":
            array = _converted(array, DType.int32, node.layer.name)
        if sources and array.dtype != sources[index].dtype.np:
            array = _converted(array, sources[index].dtype, node.layer.name)
        found.append(np.ascontiguousarray(array))
    return tuple(found)


def target_arrays(
    values: object, graph: LayerGraph, losses: Sequence[Loss | None]
) -> tuple[Array | None, ...]:
    """One array per output: indices [rows, …], or rows in the shape of the output.

    An output without a loss may have None, or be left out of an object or of the list.
    """
    names = graph.output_names()
    trained = [name for name, loss in zip(names, losses, strict=True) if loss is not None]
    free = set(names) - set(trained)
    listed = arrays_by_name(values, names, "y", free)
    if len(listed) == len(trained) < len(names):
        by_name = dict(zip(trained, listed, strict=True))
        listed = [by_name.get(name) for name in names]
    if len(listed) != len(names):
        raise DataError(f"expected {len(names)} target arrays, got {len(listed)}", who=graph.name)
    types = graph.types()
    found: list[Array | None] = []
    for name, value, port, loss in zip(names, listed, graph.outputs, losses, strict=True):
        if value is None and name in free:
            found.append(None)
            continue
        array = stored_array(value, "targets")
        shape = types[port].sample
        if array.ndim == 0:
            raise DataError("targets need one entry per sample", who="targets")
        whole = array.dtype.kind != "f"
        indices = loss is not None and loss.indices
        if indices and array.shape[1:] == (*shape[:-1], 1):
            array = array[..., 0]
        if indices and not whole and array.shape[1:] == shape[:-1]:
            array = _converted(array, DType.int32, "targets")
        if indices and array.dtype.kind != "f":
            _check_classes(array, shape[-1])
        if not whole and (*array.shape[1:], 1) == shape:
            array = array[..., np.newaxis]
        if array.shape[1:] == shape[:-1] and array.dtype == np.uint8:
            array = array.astype(np.int32)
        found.append(np.ascontiguousarray(array))
    return tuple(found)


def _check_classes(indices: Array, count: int) -> None:
    """DataError, naming the sample, for an index that is no output's."""
    found = indices.astype(np.int64)
    wrong = (found < 0) | (found >= count)
    if wrong.any():
        place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        raise DataError(
            f"expected class indices from 0 to {count - 1}, got {found[place]} for sample "
            f"{place[0]}",
            who="targets",
            hint="give the last layer one output per class, or count classes from 0",
        )


def weight_arrays(values: object, graph: LayerGraph, rows: int) -> tuple[Floats | None, ...]:
    """Weights of samples for all outputs or for each; empty where none are given.

    Args:
        values: an array for all outputs, or a list or object by output name with an array or None
            for each.
        graph: whose outputs they weigh.
        rows: how many samples there are.
    """
    if values is None:
        return ()
    names = graph.output_names()
    listed = arrays_by_name(values, names, "sample_weight")
    if len(listed) not in (1, len(names)):
        raise DataError(
            f"sample_weight: expected an array for each of {', '.join(names)}, got {len(listed)}",
            who="data",
        )
    shapes = [graph.types()[port].sample for port in graph.outputs]
    wanted = [shapes] if len(listed) == 1 else [[shape] for shape in shapes]
    pairs = zip(listed, wanted, strict=True)
    return tuple(None if each is None else _weight_array(each, rows, own) for each, own in pairs)


def _weight_array(values: object, rows: int, outputs: Sequence[Shape]) -> Floats:
    """One weight per sample, or per position of a sample where all ``outputs`` have these."""
    try:
        found = np.asarray(values, np.float32)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"sample_weight: expected an array of {rows} numbers, got {type(values).__name__} of "
            "something else",
            who="data",
        ) from error
    positions = found.shape[1:]
    fits = found.ndim > 0 and len(found) == rows
    fits &= all(positions == shape[:-1][: len(positions)] for shape in outputs)
    if not fits or not np.isfinite(found).all() or (found < 0).any():
        more = "".join(f", or [{rows}, {', '.join(map(str, s[:-1]))}]" for s in outputs if s[:-1])
        raise DataError(
            f"sample_weight: expected {rows} numbers of at least 0{more}, got an array "
            f"{list(found.shape)}",
            who="data",
        )
    return np.ascontiguousarray(found)


def tail_split(samples: Samples, fraction: float) -> tuple[Samples, Samples]:
    """The first part and the last ``fraction`` of the samples, as they are given (Keras)."""
    kept, held = tail_split_indices(len(samples), fraction)
    return samples.subset(kept), samples.subset(held)


def sources_of(arrays: Sequence[SampleArray]) -> tuple[Source, ...]:
    """What a program sees of some arrays."""
    return tuple(map(_source_of, arrays))


def target_sources(arrays: Sequence[Array | None]) -> tuple[Source | None, ...]:
    """What a program sees of targets; None for an output without any."""
    return tuple(None if array is None else _source_of(array) for array in arrays)


def _source_of(array: SampleArray) -> Source:
    return Source(tuple(array.shape[1:]), DType.of(array.dtype))


def are_alike(first: Sequence[Source], second: Sequence[Source], graph: LayerGraph) -> bool:
    """Whether arrays differ in nothing but the unknown lengths of a network, if at all."""
    if not graph.has_unknown_lengths:
        return first == second
    return [replace(each, shape=()) for each in first] == [replace(e, shape=()) for e in second]


def class_factors(
    table: Mapping[int, float] | None, graph: LayerGraph, samples: Samples
) -> tuple[tuple[float, ...], ...]:
    """For each output the factor of each class; 1 for a class the table leaves out (Keras)."""
    if table is None:
        return ()
    if len(graph.outputs) > 1:
        raise ParameterError(
            "class_weight: only for a network with one output, as in Keras", who=graph.name,
            hint="give sample_weight by output name",
        )  # fmt: skip
    width = graph.types()[graph.outputs[0]].sample[-1]
    names = tuple(str(index) for index in range(max(width, 2)))
    targets = samples.targets[0]
    labels = np.zeros(0, np.int32) if targets is None or targets.ndim > 1 else targets
    return (class_table({int(key): weight for key, weight in table.items()}, labels, names),)


def _converted(array: Array, dtype: DType, who: str) -> Array:
    """Values in another storage type; DataError where that would change one."""
    with np.errstate(invalid="ignore"):
        made = array.astype(dtype.np)
    if not np.array_equal(made.astype(np.float64), array.astype(np.float64)):
        raise DataError(
            f"expected values that {dtype.name} can hold, got {array.dtype.name}", who=who
        )
    return made
