"""How instructions of pictures run: one invocation an element, of the result or of a gradient.

The gradient of looking images up goes through all places of an image in each of its cells where
these are few; else through the places that lie in front of a cell, which a sort has put together.
"""

from __future__ import annotations

from studio.engine.gl.kernels.sorting import Macros, sorted_runs
from studio.engine.gl.kernels.specs import (
    BoundInstruction,
    DispatchSpec,
    Variant,
    value_gradient,
    value_kernel,
)

_SIMPLE_WORK = {True: 1 << 18, False: 1 << 27}
"""Places that all elements together go through, up to which no sort is worth while."""
_MANY_PLACES = 1 << 11
"""Places of an image that take an invocation of a GPU longer than a sort."""


def _by_grid(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    return (DispatchSpec("grads_sample_grid_dgrid", "dgrid"),) if op.wants("grid") else ()


def _grads_sample_grid(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    by_x = (DispatchSpec("grads_sample_grid_dx", "dx"),) if op.wants("x") else ()
    return (*by_x, *_by_grid(op))


def _has_many_places(op: BoundInstruction) -> bool:
    """Whether a sort of the places costs less than going through all of them everywhere."""
    _, high, wide, _ = op.shape("grid")
    software, places = op.caps.is_software, high * wide
    if not software and places > _MANY_PLACES:
        return True
    return places * op.numel("x") > _SIMPLE_WORK[software]


def _grads_sample_grid_sorted(op: BoundInstruction) -> tuple[DispatchSpec, ...]:
    if not op.wants("x"):
        return _by_grid(op)
    _, rows, columns, channels = op.shape("x")
    n, high, wide, _ = op.shape("grid")
    sides = 1 if op.ins.value("method") == "nearest" else 2
    sizes: Macros = {"HEIGHT": rows, "WIDTH": columns}
    inner: Macros = {**sizes, "CHANNELS": max(channels, 1), "SIDES": sides}
    # One cell more each way: a place before the first cell still weighs that one.
    keys = n * (rows + 1) * (columns + 1)
    return (
        *sorted_runs(
            n * high * wide,
            keys,
            sides * sides * channels,
            DispatchSpec("sample_keys", defines={**sizes, "PLACES": max(high * wide, 1)}),
            DispatchSpec("sample_chunks", defines=inner),
            DispatchSpec("grads_sample_grid_runs", "dx", defines=inner),
        ),
        *_by_grid(op),
    )


VARIANTS: dict[str, tuple[Variant, ...]] = {
    "RESIZE": value_kernel("resize"),
    "GRADS_RESIZE": value_gradient("grads_resize"),
    "SAMPLE_GRID": value_kernel("sample_grid"),
    "GRADS_SAMPLE_GRID": (
        Variant("simple", _grads_sample_grid),
        Variant("sorted", _grads_sample_grid_sorted, _has_many_places, software=1, hardware=1),
    ),
}
