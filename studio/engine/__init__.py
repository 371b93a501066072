"""The Glassbox engine: networks as instructions over tensors, without a window or a display.

The names here are all a Python user needs to build, train, measure, save and export a network;
``docs/library.md`` shows them at work. Layers, losses, metrics and optimisers carry Keras' names
and come from their registries, so a new class is a name here without an entry in this file.
Editors and type checkers read the names from ``__init__.pyi``, which a test writes.
"""

from __future__ import annotations

import importlib

_FAMILIES = {
    "Layer": "studio.engine.layers.layer",
    "Loss": "studio.engine.optim.losses",
    "Metric": "studio.engine.optim.metrics",
    "Optimizer": "studio.engine.optim.optimizers",
    "Schedule": "studio.engine.optim.schedules",
    "ProjectCallback": "studio.engine.train.callbacks.callback",
}
"""Bases whose members are names here; where two families share a name, the first family has it."""

_CALLBACKS = "studio.engine.train.callbacks"

_TRAIN = "studio.engine.train"
_PLACES: dict[str, tuple[str, ...]] = {
    **{module: (name,) for name, module in _FAMILIES.items()},
    f"{_TRAIN}.data.builtin": ("circles", "load_digits", "load_iris", "moons", "spirals"),
    f"{_TRAIN}.data.padding": ("pad_to_lengths",),
    f"{_TRAIN}.devices": ("open_backend",),
    f"{_TRAIN}.export.exporting": ("export_all", "export_file"),
    f"{_TRAIN}.loop.trainer": ("Trainer",),
    f"{_TRAIN}.model.import_model": ("import_model",),
    f"{_TRAIN}.model.model": ("Model",),
    f"{_TRAIN}.model.sequential": ("Sequential",),
    f"{_TRAIN}.network.execute": ("execute", "execute_all"),
    f"{_TRAIN}.network.trained": ("Trained",),
    f"{_TRAIN}.project.project": ("Project",),
    f"{_TRAIN}.project.task": ("Task",),
    f"{_TRAIN}.runs.run_folder": ("RunFolder",),
}
_WHERE = {name: module for module, names in _PLACES.items() for name in names}


def _record(name: str) -> object:
    """The layer, loss, metric, optimiser, schedule or callback of that name; None without one."""
    for base, module in _FAMILIES.items():
        found: object = getattr(importlib.import_module(module), base).members.get(name)
        if found is not None:
            return found
    return _callbacks().get(name)


def _callbacks() -> dict[str, object]:
    """Callbacks that only Python can name; any script may derive one, so no registry has them."""
    discovery = importlib.import_module("studio.engine.core.discovery")
    base = importlib.import_module(_FAMILIES["ProjectCallback"]).Callback
    return {
        name: value
        for module in discovery.import_modules(_CALLBACKS)
        for name, value in vars(importlib.import_module(module)).items()
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == module
    }


def _public_names() -> list[str]:
    families = (
        getattr(importlib.import_module(module), base).members for base, module in _FAMILIES.items()
    )
    records = {name for members in families for name in members}
    return sorted({*_WHERE, *records, *_callbacks()})


def __getattr__(name: str) -> object:
    """Load what is asked for, so that importing a part of the engine loads that part only."""
    if name == "Input":
        return importlib.import_module("studio.engine.layers.symbol").input_symbol
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    if name == "__all__":
        return _public_names()
    found = _record(name) if name[:1].isupper() else None
    if found is None:
        raise AttributeError(f"studio.engine has no {name!r}")
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_public_names()})
