"""What can be done in a tensor view."""

from __future__ import annotations

from collections.abc import Callable

from studio.engine.core.errors import StudioError
from studio.ui.models.actions import ActionRegistry, ActionSpec, Context
from studio.ui.models.tensor_view import TensorViewModel

_CONTEXT: Context = "tensor"

ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec(
        "tensor.live", "Show last step", "Show the tensor as the last finished step left it.",
        menu="View/Tensor view", context=_CONTEXT, aliases=("live",), group="moment",
    ),
    ActionSpec(
        "tensor.after", "Show after selected instruction",
        "Show the tensor as it is behind the instruction that is selected in the listing.",
        menu="View/Tensor view", context=_CONTEXT, aliases=("moment", "step"), group="moment",
    ),
    ActionSpec(
        "tensor.hold", "Hold", "Keep what is shown while the training goes on, or let go.",
        keys=("H",), menu="View/Tensor view", context=_CONTEXT, aliases=("freeze", "snapshot"),
        checkable=True, group="moment",
    ),
    ActionSpec(
        "tensor.compare", "Compare with held",
        "Show the difference between the tensor now and what was held.",
        keys=("V",), menu="View/Tensor view", context=_CONTEXT, aliases=("difference", "change"),
        checkable=True, group="moment",
    ),
    ActionSpec(
        "tensor.fit_range", "Fit colours once",
        "Spread the colours over the values shown now, and leave them there.",
        keys=("W",), menu="View/Tensor view", context=_CONTEXT, aliases=("range", "contrast"),
        group="colours",
    ),
    ActionSpec(
        "tensor.follow_range", "Keep fitting colours",
        "Spread the colours over the values of every new picture.",
        menu="View/Tensor view", context=_CONTEXT, aliases=("range", "auto"), checkable=True,
        group="colours",
    ),
    ActionSpec(
        "tensor.colour", "Channels as colour",
        "Show three channels as red, green and blue instead of side by side.",
        menu="View/Tensor view", context=_CONTEXT, aliases=("rgb", "image"), checkable=True,
        group="colours",
    ),
    ActionSpec(
        "tensor.previous_slice", "Previous slice", "Go to the slice or page of tiles before.",
        keys=("PgUp",), menu="View/Tensor view", context=_CONTEXT, group="slices",
    ),
    ActionSpec(
        "tensor.next_slice", "Next slice", "Go to the next slice or page of tiles.",
        keys=("PgDown",), menu="View/Tensor view", context=_CONTEXT, group="slices",
    ),
    *(
        ActionSpec(
            f"tensor.channel_{number}", f"Channel {number}",
            f"Show channel {number} by itself.",
            keys=(str(number),), menu="View/Tensor view", context=_CONTEXT, group="slices",
        )
        for number in (1, 2, 3)
    ),
    ActionSpec(
        "tensor.channel_all", "All channels", "Show all channels again, and all tiles.",
        keys=("0",), menu="View/Tensor view", context=_CONTEXT, group="slices",
    ),
    ActionSpec(
        "tensor.go_to", "Go to index…", "Point at the element of an index that you type.",
        keys=("Ctrl+G",), menu="View/Tensor view", context=_CONTEXT, aliases=("find", "element"),
        group="pointing",
    ),
    *(
        ActionSpec(
            f"tensor.pick_{name}", f"Point {word}", f"Point at the element {word}.",
            keys=(name.capitalize(),), context=_CONTEXT, group="pointing",
        )
        for name, word in (
            ("left", "to the left"), ("right", "to the right"), ("up", "above"), ("down", "below"),
        )
    ),
    ActionSpec(
        "tensor.copy_value", "Copy value", "Copy the element pointed at, exactly as stored.",
        keys=("Ctrl+C",), menu="View/Tensor view", context=_CONTEXT, group="pointing",
    ),
)  # fmt: skip
"""The actions of the tensor view, in menu order."""

_STEPS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}

NO_PICTURE = "there is no picture yet"


def bind_view(
    actions: ActionRegistry,
    view: TensorViewModel,
    after: Callable[[], str],
    refused: Callable[[StudioError], object],
) -> None:
    """Carry out the actions that need no window on a view.

    Args:
        actions: the table.
        view: what they act on.
        after: stable key of the selected instruction, empty without one.
        refused: hears what a typed or chosen thing is refused with.
    """

    def why_no_picture() -> str:
        return "" if view.frame is not None else NO_PICTURE

    def look_after() -> None:
        try:
            view.look_after(after())
        except StudioError as error:
            refused(error)

    bind = actions.bind
    bind("tensor.live", view.look_live)
    bind("tensor.after", look_after, lambda: "" if after() else "no instruction is selected")
    bind("tensor.hold", view.hold, view.why_not_hold, lambda: view.mode == "held")
    bind("tensor.compare", view.compare, view.why_not_compare, lambda: view.comparing)
    bind("tensor.fit_range", view.fit_range, why_no_picture)
    bind(
        "tensor.follow_range", lambda: view.follow_range(not view.colours.follows), why_no_picture,
        lambda: view.colours.follows,
    )  # fmt: skip
    bind(
        "tensor.colour", lambda: view.set_colour(not view.look.colour),
        lambda: "" if can_be_colour(view) else "the last axis has no three channels",
        lambda: view.look.colour,
    )  # fmt: skip
    bind("tensor.previous_slice", lambda: view.turn(-1), why_no_picture)
    bind("tensor.next_slice", lambda: view.turn(1), why_no_picture)
    for number in (1, 2, 3):
        bind(f"tensor.channel_{number}", _channel(view, number - 1), why_no_picture)
    bind("tensor.channel_all", lambda: view.set_channel(None), why_no_picture)
    for name, (right, down) in _STEPS.items():
        bind(f"tensor.pick_{name}", _nudge(view, right, down), why_no_picture)


def can_be_colour(view: TensorViewModel) -> bool:
    """Whether the tensor has three channels at its end."""
    shape = view.shape
    return shape is not None and len(shape) >= 3 and shape[-1] == 3


def _channel(view: TensorViewModel, channel: int) -> Callable[[], None]:
    return lambda: view.set_channel(channel)


def _nudge(view: TensorViewModel, right: int, down: int) -> Callable[[], None]:
    return lambda: view.pointing.nudge(right, down)
