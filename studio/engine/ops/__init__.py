"""Operations at once: tensors, gradients and everything an experiment at the prompt needs.

``from studio.engine import ops``. Every operation of the table (``operations``) is a
function here; what is typed runs on the device chosen by ``backend`` when somebody reads it.
`tensor` and `variable` bring numbers in, ``numpy()`` takes them out.
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
        raise AttributeError(f"studio.engine.ops has no {name!r}")
    # The next look finds it without this.
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*_WHERE, *OPERATIONS})
