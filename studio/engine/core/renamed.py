"""Names that have changed: the old ones work for one release, with a warning."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Mapping

RENAMED: Mapping[str, str] = {
    "Layer.ends_in_softmax": "Layer.ending",
    "Layer.transposed": "Parameter.public",
    "Loss.cross_entropy": "Loss.function",
    "Model.compile(optimizer, loss, metrics, loss_weights)":
        "Model.compile(optimizer, loss, loss_weights, metrics)",
    "studio.engine.optim.optimizers.Rule": "studio.engine.optim.optimizers.UpdateRule",
    "studio.engine.train.checkpoint.Checkpoint": "studio.engine.formats.checkpoint.Checkpoint",
    "studio.engine.train.checkpoint.Position": "studio.engine.formats.checkpoint.Position",
    "studio.engine.train.export.importing.IMPORT_FORMATS":
        "studio.engine.train.importing.weights.IMPORT_FORMATS",
    "studio.engine.train.export.importing.import_weights":
        "studio.engine.train.importing.weights.import_weights",
    "studio.engine.train.settings.CALLBACKS": "ProjectCallback.members",
    "studio.engine.train.step_log.read_steps": "studio.engine.train.runs.step_log.read_steps",
    "studio.engine.train.weight_files.load_weights": "studio.engine.interop.reading.load_weights",
    "studio.engine.train.weights.public_weights":
        "studio.engine.layers.named_parameters.public_weights",
    "studio.engine.train.weights.stored_weights":
        "studio.engine.layers.named_parameters.stored_weights",
}  # fmt: skip
"""What to write instead of each old name. Names that a release had go with the one after it."""


def warn(old: str) -> None:
    """Emit a DeprecationWarning for an old name, at the caller's caller."""
    warnings.warn(
        f"{old} is now {RENAMED[old]}; the old name will be removed in the next release",
        DeprecationWarning,
        stacklevel=3,
    )


def moved(module: str) -> Callable[[str], object]:
    """A ``__getattr__`` for a module whose names have moved, by the table."""

    def get(name: str) -> object:
        old = f"{module}.{name}"
        if old not in RENAMED:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn(old)
        place, _, new = RENAMED[old].rpartition(".")
        found: object = getattr(importlib.import_module(place), new)
        return found

    return get
