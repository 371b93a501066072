"""A tensor view over an array that rests."""

from __future__ import annotations

import numpy as np

from studio.engine.core.tensor import Role, Tensor
from studio.session.core import entities
from studio.session.live.sources import HeldWeights
from studio.session.tensor_view.pointing import LinkedCursor
from studio.session.tensor_view.tensor_view import TensorViewModel
from tests.session.live.bench import Studio


def showing(
    studio: Studio,
    array: np.ndarray,
    *,
    role: Role = Role.ACTIVATION,
    picks: LinkedCursor | None = None,
    name: str = "t",
    size: tuple[float, float] = (200.0, 160.0),
) -> TensorViewModel:
    """A view of an array that rests."""
    studio.live.rest_on(HeldWeights("a test", lambda: {name: array}))
    tensor = Tensor(0, name, array.shape, role=role)
    view = TensorViewModel(studio.live, studio.tasks, lambda _: tensor, picks)
    view.set_size(*size)
    view.set_active(True)
    view.show(entities.tensor(name))
    studio.until(lambda: view.frame is not None)
    return view


def is_settled(view: TensorViewModel) -> bool:
    """Whether the picture is that of the present layout."""
    frame, sheet_layout = view.frame, view.sheet_layout
    return (
        frame is not None
        and frame.tile is not None
        and sheet_layout is not None
        and frame.tile.sheet == sheet_layout.sheet
        and frame.place == view.pointing.index
    )


def settled(studio: Studio, view: TensorViewModel) -> None:
    """Wait until the picture is that of the present layout."""
    studio.until(lambda: is_settled(view))
