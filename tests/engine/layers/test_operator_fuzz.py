"""Seeded fuzz of operators in project files: a layer with types, or refused in one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import StudioError
from studio.engine.core.tensor import BATCH, TensorType
from studio.engine.layers.graph import checked_types
from studio.engine.layers.graph_json import graph_from_json
from studio.engine.operations import OPERATIONS

VALUES = [
    0, 1, -1, 2, 7, 2**31 - 1, -(2**31), 2**40, 10**30, 0.0, 0.5, -1.5, 1e30, float("nan"),
    float("inf"), True, None, "", "x", "same", "int32", "float32", "none", [], [0], [1], [-1],
    [0, 1], [1, 0], [0, 0], [3, -1], [-1, 4], [1, 1, 1], [0, 1, 2], [-1, 2, 2], [2**31 - 1] * 2,
    [[0, 0], [1, 1]], [[0, 0], [1, 1], [2, 0]], [[1, 2], [3]], {}, {"a": 1}, [None], [1.5],
    "ij,jk->ik", "...i->...",
]  # fmt: skip
SAMPLES = [
    (), (1,), (3,), (4,), (2, 3), (4, 4), (1, 4), (4, 4, 3), (8, 8, 1), (2, 2, 2, 2),
    (2, 2, 2, 2, 2), (60_000, 60_000), (2**31 - 1,), (2**20, 2**10),
]  # fmt: skip
DTYPES = [DType.float32, DType.float32, DType.int32, DType.bool, DType.uint8]
NAMES = tuple(OPERATIONS)


def drawn(rng: np.random.Generator) -> tuple[dict[str, object], list[TensorType]]:
    """A configuration of any values, and types of inputs that often fit together."""

    def one(choices):
        return choices[int(rng.integers(len(choices)))]

    made = OPERATIONS[one(NAMES)]
    settings = {
        o.name: one(o.choices if o.choices and rng.random() < 0.7 else VALUES)
        for o in made.options
        if o.required or rng.random() < 0.5
    }
    constants = {o.name: one(VALUES) for o in made.operands if rng.random() < 0.25}
    config = {"name": "a", "operation": made.name, "settings": settings, "constants": constants}
    sample, dtype = one(SAMPLES), one(DTYPES)
    types = [
        TensorType(
            (BATCH, *(sample if rng.random() < 0.7 else one(SAMPLES))),
            dtype if rng.random() < 0.7 else one(DTYPES),
        )
        for _ in range(max(1, len(made.operands) - len(constants)))
    ]
    return config, types


def survive(count: int, seed: int) -> tuple[int, int]:
    rng = np.random.default_rng(seed)
    kept = refused = 0
    for _ in range(count):
        config, types = drawn(rng)
        node = {"id": "a", "type": "Operator", "config": config, "inputs": []}
        try:
            graph = graph_from_json({"name": "fuzz", "nodes": [node], "outputs": []})
            found = checked_types(graph.layer("a"), *types)
        except StudioError as error:
            said = str(error)
        else:
            said = ""
            assert all(each.is_batch for each in found), config
        assert not said or 10 < len(said) < 1000, config
        kept, refused = kept + (not said), refused + bool(said)
    return kept, refused


@pytest.mark.slow
def test_operators_of_any_values_are_layers_or_refused() -> None:
    kept, refused = survive(300, 18)
    assert min(kept, refused) > 30


@pytest.mark.peers
def test_more_operators_of_any_values_are_layers_or_refused() -> None:
    kept, refused = survive(4000, 1)
    assert min(kept, refused) > 400


@pytest.mark.full
def test_many_operators_of_any_values_are_layers_or_refused() -> None:
    kept, refused = survive(100_000, 2)
    assert min(kept, refused) > 10_000


def test_names_from_files_are_text_of_any_kind() -> None:
    hostile = [
        "", "(" * 5000, "-" * 5000 + "1", "add(" * 300, "a" * 200_000 + "(", "add(b=9**9**9)",
        "add(b=[" + "1," * 9000 + "])", "add(**{'b': 1})", "add(b=1, b=2)", "\0(",
        "add(b=\ud800)", "__import__('os')(x=1)", "add(b=" + "[" * 150 + "]" * 150 + ")",
    ]  # fmt: skip
    for text in hostile:
        node = {"id": "a", "type": "Operator", "config": {"operation": text}, "inputs": []}
        with pytest.raises(StudioError):
            graph_from_json({"name": "fuzz", "nodes": [node], "outputs": []})
