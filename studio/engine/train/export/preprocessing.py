"""What files say of how raw samples become a model's input, and doing what they say.

Programs normalise by themselves. Models of other tools and plain weights take normalised input:
their files state factor and summand of each input, exactly, beside names of classes and the way
pictures are resampled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import FormatError, quoted
from studio.engine.formats.safe_json import parse_json

if TYPE_CHECKING:
    from studio.engine.train.project.task import Task

Array: TypeAlias = npt.NDArray[np.generic]

NORMALIZATION = "input_normalization"
"""Fact with ``{input: {"scale": […], "shift": […]}}``: a raw value x becomes x · scale + shift."""
_LARGEST = 3e38


def stated_facts(task: Task) -> dict[str, str]:
    """The facts of a task as files carry them, with the numbers of its normalisation.

    Scale and shift are of the last axis of an input: one number for each channel or column. An
    input that is not normalised is not mentioned.
    """
    found = {
        facts.name: {"scale": _short(source.scale), "shift": _short(source.shift)}
        for source, facts in zip(task.spec.inputs, task.all_inputs, strict=True)
        if source.scale
    }
    return {**task.facts, **({NORMALIZATION: json.dumps(found)} if found else {})}


def _short(values: Sequence[float]) -> list[float]:
    """Numbers with no more digits than tell one float32 from the next."""
    return [float(str(np.float32(value))) for value in values]


def normalized(
    facts: Mapping[str, str],
    names: Sequence[str],
    rows: Sequence[Array],
    dtypes: Sequence[np.dtype[np.generic]],
) -> list[Array]:
    """Raw samples as a model takes them that its file says these facts of.

    Args:
        facts: what the file says.
        names: inputs of the model, in order.
        rows: one raw array [samples, …, c] per input.
        dtypes: what the model takes at each input.

    Raises:
        FormatError: what the file says of an input is no normalisation, or does not fit it.
    """
    stated = _stated(facts)
    made: list[Array] = []
    for name, values, dtype in zip(names, rows, dtypes, strict=True):
        if name not in stated:
            made.append(values.astype(dtype))
            continue
        scale, shift = (_numbers(stated[name], key, name, values) for key in ("scale", "shift"))
        made.append((values.astype(np.float32) * scale + shift).astype(dtype))
    return made


def _stated(facts: Mapping[str, str]) -> Mapping[str, object]:
    """What is said of each input; empty where nothing is."""
    found = parse_json(facts.get(NORMALIZATION, "{}").encode("utf-8"), NORMALIZATION)
    if not isinstance(found, dict):
        raise FormatError("what the file says of its normalisation is damaged", who=NORMALIZATION)
    return found


def _numbers(stated: object, key: str, name: str, values: Array) -> npt.NDArray[np.float32]:
    """One number for each index of the last axis, or one for all."""
    found = stated.get(key) if isinstance(stated, dict) else None
    width = values.shape[-1] if values.ndim > 1 else 1
    if (
        not isinstance(found, list)
        or len(found) not in (1, width)
        or not all(type(each) in (int, float) and abs(each) < _LARGEST for each in found)
    ):
        raise FormatError(
            f"the {key} of the input {quoted(name)} must be {width} finite numbers",
            who=NORMALIZATION,
        )
    return np.array(found, np.float32)
