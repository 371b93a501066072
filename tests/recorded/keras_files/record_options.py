"""Records which options the classes of an old Keras take; files for Keras may say no others.

Run from the root of the repository by an interpreter that has Keras 3.0.5 and JAX:

    python -m tests.recorded.keras_files.record_options
"""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"

import keras

TARGET_FILE = Path(__file__).parent / "options.json"

FAMILIES = ("layers", "initializers", "regularizers", "optimizers", "losses", "metrics")


def options(cls: type) -> list[str]:
    """Names of all arguments of a class and of its bases."""
    found: set[str] = set()
    for base in cls.__mro__:
        if base is not object and "__init__" in vars(base):
            found |= set(inspect.signature(base.__init__).parameters)
    return sorted(found - {"self", "args", "kwargs"})


def classes(module: object) -> dict[str, list[str]]:
    """The classes of a module with their options."""
    return {name: options(each) for name, each in vars(module).items() if inspect.isclass(each)}


if __name__ == "__main__":
    recorded = {family: classes(getattr(keras, family)) for family in FAMILIES}
    recorded["optimizers.schedules"] = classes(keras.optimizers.schedules)
    document = {"keras": keras.__version__, "options": recorded}
    text = json.dumps(document, separators=(",", ":"), sort_keys=True)
    TARGET_FILE.write_text(text.replace('],"', '],\n"') + "\n", encoding="utf-8")
