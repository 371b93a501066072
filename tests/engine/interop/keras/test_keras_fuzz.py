"""Seeded fuzz of the networks in Keras' files: a mutant is read or refused in one sentence."""

from __future__ import annotations

import copy
import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest

from studio.engine.core.errors import StudioError
from studio.engine.interop.keras.dialects import model_from_json
from studio.engine.interop.keras.graph_in import graph_from_keras
from studio.engine.interop.keras.training_in import training_from_keras
from studio.engine.interop.keras.variables import keras_variables
from tests.recorded.keras.record_keras import unpacked

pytestmark = pytest.mark.slow

VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2, 3, 2**31, 10**18, 0.5, -1e300, 1e-300, "", "x", "Dense",
    "../../etc/passwd", "a\0b", "\u202e", "n" * 1000, [], {}, [None], [[]], [1, 2, 3], [-1],
    [None, 2**40, 2**40], {"class_name": "function", "config": "relu"},
    {"class_name": "__lambda__", "config": {"value": "x"}}, ["net", 0, 0],
    {"class_name": "__keras_tensor__", "config": {"keras_history": ["flatten", 0, 0]}},
]  # fmt: skip


@pytest.fixture(scope="module")
def documents() -> list[Any]:
    """Networks as Keras 3 and Keras 2 wrote them."""
    found = []
    for name, content in sorted(unpacked().items()):
        if name in ("2.21.0/net.keras", "3.0.5/line.keras", "3.15.1/net.keras"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                found.append(json.loads(archive.read("config.json")))
    return found


def places(document: Any) -> list[tuple[Any, Any]]:
    """Every place in a document: what it is in, and its key or number there."""
    found: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        part = waiting.pop()
        pairs = part.items() if isinstance(part, dict) else enumerate(part)
        for key, value in pairs:
            found.append((part, key))
            if isinstance(value, dict | list):
                waiting.append(value)
    return found


def mutant(document: Any, rng: np.random.Generator) -> Any:
    """One to three values replaced, taken away, doubled or exchanged."""
    made = copy.deepcopy(document)
    for _ in range(int(rng.integers(1, 4))):
        found = places(made)
        if not found:
            break
        holder, key = found[int(rng.integers(len(found)))]
        other, its_key = found[int(rng.integers(len(found)))]
        match int(rng.integers(6)):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case 2:
                holder[key] = copy.deepcopy(other[its_key])
            case 3 if isinstance(holder, dict):
                holder[f"{key}x"] = holder.pop(key)
            case _:
                holder[key] = copy.deepcopy(VALUES[int(rng.integers(len(VALUES)))])
    return made


def survive(documents: list[Any], count: int, seed: int) -> tuple[int, int]:
    """Read mutants; returns how many were read and how many were refused."""
    rng = np.random.default_rng(seed)
    read = refused = 0
    for _ in range(count):
        bad = mutant(documents[int(rng.integers(len(documents)))], rng)
        said = ""
        try:
            model = model_from_json(bad, "fuzz.keras", version="3.15.1")
            graph, layers = graph_from_keras(model)
            keras_variables(model, graph, {each.name: each.layer for each in layers})
        except StudioError as error:
            said = str(error)
        refused, read = refused + bool(said), read + (not said)
        assert not said or 10 < len(said) < 4500
        if said:
            continue
        config = bad.get("compile_config") if isinstance(bad, dict) else None
        _, left_out = training_from_keras(config, model, graph.output_names())
        assert all(len(each) < 1000 for each in left_out)
    return read, refused


def test_mutants_are_read_or_refused(documents: list[Any]) -> None:
    read, refused = survive(documents, 300, 1)
    assert read > 30
    assert refused > 100


@pytest.mark.peers
def test_more_mutants(documents: list[Any]) -> None:
    survive(documents, 4_000, 2)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(10))
def test_mutants_at_full_size(documents: list[Any], seed: int) -> None:
    survive(documents, 10_000, 100 + seed)
