"""Operations at once: tensors, gradients and everything an experiment at the prompt needs.

``from studio.engine import ops``. Every operation of the table (``operations``) is a
function here; what is typed runs on the device chosen by ``backend`` when somebody reads it.
`tensor` and `variable` bring numbers in, ``numpy()`` takes them out. Editors and type checkers
read the functions from ``__init__.pyi``, which a test writes.
"""

from __future__ import annotations

import importlib
from typing import Any

from studio.engine.operations.table import OPERATIONS

_PLACES = {
    "creating": (
        "Variable",
        "Tensor",
        "tensor",
        "variable",
        "backend",
        "check",
        "close",
        "seed",
        "load",
        "save",
    ),
    "gradients": (
        "custom_grad",
        "grad",
        "grads",
        "value_and_grad",
        "value_and_grads",
        "variable_grads",
    ),
    "listings": ("Listing", "listing"),
    "measuring": ("profile", "time"),
    "scopes": ("dispose", "keep", "memory", "tidy"),
}
_WHERE = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _WHERE.get(name)
    if module is not None:
        found = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    elif name in OPERATIONS:
        found = importlib.import_module(f"{__name__}.table_functions").FUNCTIONS[name]
    else:
        raise AttributeError(f"studio.engine.ops has no {name!r}{_told_elsewhere(name)}")
    # The next look finds it without this.
    globals()[name] = found
    return found


def _told_elsewhere(name: str) -> str:
    """What is called so in another library, where it is here under another name."""
    found = () if name.startswith("_") else OPERATIONS.by_word.get(name.lower(), ())
    return f": here it is {' or '.join(repr(each.name) for each in found)}" if found else ""


def __dir__() -> list[str]:
    return sorted({*_WHERE, *OPERATIONS})
