"""The Glassbox engine: networks as instructions over tensors, without a window or a display.

The names here are all a Python user needs to build, train, measure, save and export a network;
``docs/library.md`` shows them at work. Layers, losses, metrics and optimisers carry Keras' names.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studio.engine.layers.activation_layers import Activation, ReLU, Softmax
    from studio.engine.layers.convolution import Conv2D, DepthwiseConv2D
    from studio.engine.layers.dense import Dense
    from studio.engine.layers.dropout import Dropout
    from studio.engine.layers.merging import Add, Concatenate, Multiply
    from studio.engine.layers.normalization import BatchNormalization
    from studio.engine.layers.pooling import (
        AveragePooling2D,
        GlobalAveragePooling2D,
        MaxPooling2D,
    )
    from studio.engine.layers.rescaling import Rescaling
    from studio.engine.layers.shaping import Flatten, Reshape, ZeroPadding2D
    from studio.engine.layers.symbol import input_symbol as Input  # noqa: N812
    from studio.engine.optim.losses import (
        BinaryCrossentropy,
        CategoricalCrossentropy,
        MeanAbsoluteError,
        MeanSquaredError,
        SparseCategoricalCrossentropy,
    )
    from studio.engine.optim.metrics import (
        Accuracy,
        BinaryAccuracy,
        CategoricalAccuracy,
        SparseCategoricalAccuracy,
    )
    from studio.engine.optim.optimizers import (
        SGD,
        Adadelta,
        Adagrad,
        Adam,
        Adamax,
        AdamW,
        RMSprop,
    )
    from studio.engine.optim.schedules import (
        CosineDecay,
        CosineDecayRestarts,
        ExponentialDecay,
        InverseTimeDecay,
        PiecewiseConstantDecay,
        PolynomialDecay,
        StepDecay,
        WarmUp,
    )
    from studio.engine.train.callbacks.callback import Callback
    from studio.engine.train.callbacks.csv_logger import CSVLogger
    from studio.engine.train.callbacks.early_stopping import EarlyStopping
    from studio.engine.train.callbacks.history import History
    from studio.engine.train.callbacks.learning_rate import (
        LearningRateScheduler,
        ReduceLROnPlateau,
    )
    from studio.engine.train.data.bundled import load_digits, load_iris
    from studio.engine.train.data.toy import circles, moons, spirals
    from studio.engine.train.devices import open_backend
    from studio.engine.train.execute import execute
    from studio.engine.train.exporting import export_all, export_file
    from studio.engine.train.model import Model
    from studio.engine.train.project import Project
    from studio.engine.train.runs import RunFolder
    from studio.engine.train.sequential import Sequential
    from studio.engine.train.task import Task
    from studio.engine.train.trained import Trained
    from studio.engine.train.trainer import Trainer

_LAYERS, _TRAIN = "studio.engine.layers", "studio.engine.train"
_PLACES: dict[str, tuple[str, ...]] = {
    f"{_LAYERS}.activation_layers": ("Activation", "ReLU", "Softmax"),
    f"{_LAYERS}.convolution": ("Conv2D", "DepthwiseConv2D"),
    f"{_LAYERS}.dense": ("Dense",),
    f"{_LAYERS}.dropout": ("Dropout",),
    f"{_LAYERS}.merging": ("Add", "Concatenate", "Multiply"),
    f"{_LAYERS}.normalization": ("BatchNormalization",),
    f"{_LAYERS}.pooling": ("AveragePooling2D", "GlobalAveragePooling2D", "MaxPooling2D"),
    f"{_LAYERS}.rescaling": ("Rescaling",),
    f"{_LAYERS}.shaping": ("Flatten", "Reshape", "ZeroPadding2D"),
    "studio.engine.optim.optimizers": (
        "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "RMSprop",
    ),
    "studio.engine.optim.losses": (
        "BinaryCrossentropy", "CategoricalCrossentropy", "MeanAbsoluteError", "MeanSquaredError",
        "SparseCategoricalCrossentropy",
    ),
    "studio.engine.optim.metrics": (
        "Accuracy", "BinaryAccuracy", "CategoricalAccuracy", "SparseCategoricalAccuracy",
    ),
    "studio.engine.optim.schedules": (
        "CosineDecay", "CosineDecayRestarts", "ExponentialDecay", "InverseTimeDecay",
        "PiecewiseConstantDecay", "PolynomialDecay", "StepDecay", "WarmUp",
    ),
    f"{_TRAIN}.callbacks.callback": ("Callback",),
    f"{_TRAIN}.callbacks.csv_logger": ("CSVLogger",),
    f"{_TRAIN}.callbacks.early_stopping": ("EarlyStopping",),
    f"{_TRAIN}.callbacks.history": ("History",),
    f"{_TRAIN}.callbacks.learning_rate": ("LearningRateScheduler", "ReduceLROnPlateau"),
    f"{_TRAIN}.data.bundled": ("load_digits", "load_iris"),
    f"{_TRAIN}.data.toy": ("circles", "moons", "spirals"),
    f"{_TRAIN}.devices": ("open_backend",),
    f"{_TRAIN}.execute": ("execute",),
    f"{_TRAIN}.exporting": ("export_all", "export_file"),
    f"{_TRAIN}.model": ("Model",),
    f"{_TRAIN}.project": ("Project",),
    f"{_TRAIN}.runs": ("RunFolder",),
    f"{_TRAIN}.sequential": ("Sequential",),
    f"{_TRAIN}.task": ("Task",),
    f"{_TRAIN}.trained": ("Trained",),
    f"{_TRAIN}.trainer": ("Trainer",),
}  # fmt: skip
_WHERE = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "SGD",
    "Accuracy",
    "Activation",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Add",
    "AveragePooling2D",
    "BatchNormalization",
    "BinaryAccuracy",
    "BinaryCrossentropy",
    "CSVLogger",
    "Callback",
    "CategoricalAccuracy",
    "CategoricalCrossentropy",
    "Concatenate",
    "Conv2D",
    "CosineDecay",
    "CosineDecayRestarts",
    "Dense",
    "DepthwiseConv2D",
    "Dropout",
    "EarlyStopping",
    "ExponentialDecay",
    "Flatten",
    "GlobalAveragePooling2D",
    "History",
    "Input",
    "InverseTimeDecay",
    "LearningRateScheduler",
    "MaxPooling2D",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "Model",
    "Multiply",
    "PiecewiseConstantDecay",
    "PolynomialDecay",
    "Project",
    "RMSprop",
    "ReLU",
    "ReduceLROnPlateau",
    "Rescaling",
    "Reshape",
    "RunFolder",
    "Sequential",
    "Softmax",
    "SparseCategoricalAccuracy",
    "SparseCategoricalCrossentropy",
    "StepDecay",
    "Task",
    "Trained",
    "Trainer",
    "WarmUp",
    "ZeroPadding2D",
    "circles",
    "execute",
    "export_all",
    "export_file",
    "load_digits",
    "load_iris",
    "moons",
    "open_backend",
    "spirals",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Load what is asked for, so that importing a part of the engine loads that part only."""
    if name == "Input":
        return importlib.import_module("studio.engine.layers.symbol").input_symbol
    if name not in _WHERE:
        raise AttributeError(f"studio.engine has no {name!r}")
    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
