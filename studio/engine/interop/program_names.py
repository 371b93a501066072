"""Names of a program's inputs and outputs, by which files and commands know them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from studio.engine.isa.program import Program
from studio.engine.layers.graph import free_name


def input_names(program: Program) -> tuple[str, ...]:
    """Names of a program's inputs: those of their layers."""
    return _stated(program, "input_names", program.inputs)


def output_names(program: Program) -> tuple[str, ...]:
    """Names of a program's outputs, as `LayerGraph.output_names` has them."""
    return _stated(program, "output_names", program.outputs)


def _stated(program: Program, key: str, ids: Sequence[int]) -> tuple[str, ...]:
    """The names a program states; else those of the tensors' layers."""
    try:
        stated = json.loads(program.meta.get(key, "null"))
    except ValueError:
        stated = None
    found = [each for each in stated if isinstance(each, str)] if isinstance(stated, list) else []
    is_whole = len(found) == len(set(found)) == len(ids)
    return tuple(found) if is_whole else _names_of(program, ids)


def _names_of(program: Program, ids: Sequence[int]) -> tuple[str, ...]:
    names: list[str] = []
    for tensor in (program.tensors[i] for i in ids):
        layer = tensor.name.rpartition("/")[0]
        names.append(free_name(layer or tensor.name, names))
    return tuple(names)
