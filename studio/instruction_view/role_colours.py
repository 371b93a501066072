"""The colour of each role of a tensor, the same in picture, legend and table."""

from __future__ import annotations

from PySide6.QtGui import QColor

from studio.session.listing.tensor_rows import TensorRole
from studio.widgets import theme

ROLE_COLOURS: dict[TensorRole, str] = {
    "activation": "series.0",
    "gradient": "series.1",
    "input": "series.2",
    "target": "series.5",
    "scratch": "series.7",
    "partial": "family.norm",
    "parameter": "series.3",
    "slot": "series.6",
    "state": "series.4",
    "data": "family.data",
    "constant": "text3",
    "step": "text3",
    "metric": "text3",
    "register": "hairline",
}


def role_colour(role: TensorRole, alpha: int = 255) -> QColor:
    """The colour of a role in the theme in force."""
    return theme.colour(ROLE_COLOURS[role], alpha)
