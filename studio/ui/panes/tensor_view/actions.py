"""What can be done in a tensor view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.session.core.action_table import Action, ActionTable, Context

if TYPE_CHECKING:
    from studio.ui.panes.tensor_view.pane import TensorViewPane

_CONTEXT: Context = "tensor"
_NO_PICTURE = "there is no image yet"


def _why_no_picture(pane: TensorViewPane) -> str:
    return "" if pane.view.frame is not None else _NO_PICTURE


def _why_no_colour(pane: TensorViewPane) -> str:
    shape = pane.view.shape
    has_three = shape is not None and len(shape) >= 3 and shape[-1] == 3
    return "" if has_three else "the last axis does not have three channels"


def _why_not_point(pane: TensorViewPane) -> str:
    return "" if pane.view.shape is not None else _NO_PICTURE


def _why_no_value(pane: TensorViewPane) -> str:
    return "" if pane.view.pointing.value is not None else "no element is selected"


def _channel(number: int) -> Action[TensorViewPane]:
    return Action(
        f"tensor.channel_{number}", f"Channel {number}", f"Show only channel {number}.",
        keys=(str(number),), menu="View/Tensor view", context=_CONTEXT, group="slices",
        run=lambda pane: pane.view.set_channel(number - 1),
        enabled=_why_no_picture,
    )  # fmt: skip


def _nudge(name: str, word: str, right: int, down: int) -> Action[TensorViewPane]:
    return Action(
        f"tensor.pick_{name}", f"Move {word}", f"Select the element {word}.",
        keys=(name.capitalize(),), context=_CONTEXT, group="pointing",
        run=lambda pane: pane.view.pointing.nudge(right, down),
        enabled=_why_no_picture,
    )  # fmt: skip


ACTIONS: ActionTable[TensorViewPane] = ActionTable(
    80,
    Action(
        "tensor.live", "Show last step", "Show the tensor after the last completed step.",
        menu="View/Tensor view", context=_CONTEXT, aliases=("live",), group="moment",
        run=lambda pane: pane.view.look_live(),
    ),
    Action(
        "tensor.after", "Show after selected instruction",
        "Show the tensor after the instruction selected in the listing.",
        menu="View/Tensor view", context=_CONTEXT, aliases=("moment", "step"), group="moment",
        run=lambda pane: pane.view.look_after(pane.instruction()),
        enabled=lambda pane: "" if pane.instruction() else "no instruction is selected",
    ),
    Action(
        "tensor.hold", "Hold", "Hold the values shown while training continues, or "
                               "release them.",
        keys=("H",), menu="View/Tensor view", context=_CONTEXT, aliases=("freeze", "snapshot"),
        group="moment",
        run=lambda pane: pane.view.hold(), enabled=lambda pane: pane.view.why_not_hold(),
        checked=lambda pane: pane.view.mode == "held",
    ),
    Action(
        "tensor.compare", "Compare with held",
        "Show the difference between the current and the held tensor.",
        keys=("V",), menu="View/Tensor view", context=_CONTEXT, aliases=("difference", "change"),
        group="moment",
        run=lambda pane: pane.view.compare(), enabled=lambda pane: pane.view.why_not_compare(),
        checked=lambda pane: pane.view.comparing,
    ),
    Action(
        "tensor.fit_range", "Fit colours once",
        "Fit the colour range to the values shown now.",
        keys=("W",), menu="View/Tensor view", context=_CONTEXT, aliases=("range", "contrast"),
        group="colours",
        run=lambda pane: pane.view.fit_range(), enabled=_why_no_picture,
    ),
    Action(
        "tensor.follow_range", "Keep fitting colours",
        "Fit the colour range to every new image.",
        menu="View/Tensor view", context=_CONTEXT, aliases=("range", "auto"),
        group="colours",
        run=lambda pane: pane.view.follow_range(not pane.view.colours.follows),
        enabled=_why_no_picture,
        checked=lambda pane: pane.view.colours.follows,
    ),
    Action(
        "tensor.colour", "Channels as colour",
        "Show three channels as RGB instead of side by side.",
        menu="View/Tensor view", context=_CONTEXT, aliases=("rgb", "image"),
        group="colours",
        run=lambda pane: pane.view.set_colour(not pane.view.view_state.colour),
        enabled=_why_no_colour, checked=lambda pane: pane.view.view_state.colour,
    ),
    Action(
        "tensor.previous_slice", "Previous slice", "Go to the previous slice or page of tiles.",
        keys=("PgUp",), menu="View/Tensor view", context=_CONTEXT, group="slices",
        run=lambda pane: pane.view.turn(-1), enabled=_why_no_picture,
    ),
    Action(
        "tensor.next_slice", "Next slice", "Go to the next slice or page of tiles.",
        keys=("PgDown",), menu="View/Tensor view", context=_CONTEXT, group="slices",
        run=lambda pane: pane.view.turn(1), enabled=_why_no_picture,
    ),
    *map(_channel, (1, 2, 3)),
    Action(
        "tensor.channel_all", "All channels", "Show all channels and tiles.",
        keys=("0",), menu="View/Tensor view", context=_CONTEXT, group="slices",
        run=lambda pane: pane.view.set_channel(None), enabled=_why_no_picture,
    ),
    Action(
        "tensor.go_to", "Go to index…", "Select an element by its index.",
        keys=("Ctrl+G",), menu="View/Tensor view", context=_CONTEXT, aliases=("find", "element"),
        group="pointing",
        run=lambda pane: pane.ask_index(), enabled=_why_not_point,
    ),
    _nudge("left", "to the left", -1, 0),
    _nudge("right", "to the right", 1, 0),
    _nudge("up", "above", 0, -1),
    _nudge("down", "below", 0, 1),
    Action(
        "tensor.copy_value", "Copy value", "Copy the exact value of the selected element.",
        keys=("Ctrl+C",), menu="View/Tensor view", context=_CONTEXT, group="pointing",
        run=lambda pane: pane.copy_value(), enabled=_why_no_value,
    ),
)  # fmt: skip
"""The actions of the tensor view, in menu order."""
