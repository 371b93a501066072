"""A Keras model as plain data, whichever dialect it was written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from studio.engine.core.tensor import OpenShape

if TYPE_CHECKING:
    from studio.engine.formats.safe_json import JsonValue


class KerasTensor(NamedTuple):
    """An output of a call of a layer, as Keras' history of a tensor names it.

    Attributes:
        layer: name of the layer in the same model.
        call: which of its calls, counted from 0 within the model.
        output: which of the call's outputs.
    """

    layer: str
    call: int = 0
    output: int = 0


class KerasType(NamedTuple):
    """Shape, the batch included, with None for what may be any length, and dtype of a tensor."""

    shape: OpenShape
    dtype: str = "float32"


@dataclass(frozen=True)
class KerasLayer:
    """One layer of a model, with every call of it there.

    Attributes:
        class_name: Keras' class, such as ``Conv2D``; ``Functional`` or ``Sequential`` for a model.
        name: unique in its model.
        config: its options without name, ``trainable`` and dtype, as the file has them.
        trainable: whether it is trained.
        dtype: name of its dtype, ``float32`` for most.
        calls: what each call is given, in order; empty calls for an input.
        model: the nested model, where it is one.
        gives: what each call gives, one type for each output; only in models that are written.
        is_still: whether a call says that it is no training, whatever happens around it.
    """

    class_name: str
    name: str
    config: Mapping[str, JsonValue] = field(default_factory=dict)
    trainable: bool = True
    dtype: str = "float32"
    calls: tuple[tuple[KerasTensor, ...], ...] = ()
    model: KerasModel | None = None
    gives: tuple[tuple[KerasType, ...], ...] = ()
    is_still: bool = False


@dataclass(frozen=True)
class KerasModel:
    """A Functional or Sequential model.

    Attributes:
        name: of the model.
        layers: in the file's list order, by which the paths of its weights are counted.
        inputs: where data enters, in order.
        outputs: what it gives, in order.
        is_sequential: whether the file has it as a Sequential model; its calls are filled in then,
            and where it states no input layer one is put in front.
        is_old: whether Keras 2 or TensorFlow.js wrote it, where some words mean something else.
    """

    name: str
    layers: tuple[KerasLayer, ...]
    inputs: tuple[KerasTensor, ...]
    outputs: tuple[KerasTensor, ...]
    is_sequential: bool = False
    is_old: bool = False
