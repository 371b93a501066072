"""Small weights: kernels as float16, or as int8 with a scale per output channel.

They are forms of files. What reads a file widens them to float32 again, and nothing computes with
int8. Only kernels become small (`is_kernel`): biases, the scales and shifts of normalisations and
running statistics are few, and stay float32. Along which axes the output channels of a kernel lie
is stated by its layer, in `Parameter.output_axes`: the first of a dense kernel [units, inputs], the
last of a convolution's [rows, columns, in, filters], the last two of a depthwise one's
[rows, columns, in, multiplier].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import DataError, ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.layer import Parameter
from studio.engine.layers.named_parameters import NamedParameter, named_parameters
from studio.engine.layers.weights import to_public

Array: TypeAlias = npt.NDArray[np.generic]
Floats: TypeAlias = npt.NDArray[np.float32]
WeightForm: TypeAlias = Literal["float32", "float16", "int8", "uint8", "uint16"]
WEIGHT_FORMS: tuple[WeightForm, ...] = get_args(WeightForm)
"""How the weights of a file may be stored; each format says which of these it has."""
CHANNEL_FORMS: tuple[WeightForm, ...] = ("float32", "float16", "int8")
"""Those that `narrow` makes; the others are whole numbers with one scale for a whole kernel."""

LARGEST = 127
"""The number that the largest weight of an output channel becomes in int8."""
_SMALLEST_SCALE = float(np.finfo(np.float32).tiny)
_LARGEST_SCALE = np.nextafter(np.finfo(np.float32).max / np.float32(LARGEST), np.float32(0))
"""Rounded up, the scale of the largest weight there is would lead beyond float32."""
_HALF_MAX = float(np.finfo(np.float16).max)


@dataclass(frozen=True)
class SmallWeight:
    """One kernel in its small form.

    A format that stores weights in another form makes a class of its own from this one.

    Attributes:
        values: int8 or float16, in the kernel's shape.
        scale: what each is to be multiplied with, float32: as long as ``values`` along the axes of
            the output channels, 1 long along all others; None for float16.
    """

    values: Array
    scale: Floats | None = None

    def widened(self) -> Floats:
        """The weights as float32."""
        wide = self.values.astype(np.float32)
        return wide if self.scale is None else np.asarray(wide * self.scale)


Narrow: TypeAlias = Callable[[str, Floats, tuple[int, ...], WeightForm], SmallWeight]
"""Makes a kernel small: its name, values and axes of output channels as stored, and the form."""


def weight_form(name: str) -> WeightForm:
    """The form of that name; ParameterError where there is none."""
    if name not in WEIGHT_FORMS:
        raise ParameterError(
            f"expected weights as one of {', '.join(WEIGHT_FORMS)}, got {quoted(name)}",
            who="export",
            hint=did_you_mean(name, WEIGHT_FORMS),
        )
    return name


def is_kernel(parameter: Parameter) -> bool:
    """Whether a parameter is one of those that become small."""
    return parameter.weight and not parameter.state and len(parameter.shape) > 1


def narrow(name: str, values: Floats, axes: tuple[int, ...], form: WeightForm) -> SmallWeight:
    """A kernel as float16, rounded to nearest even, or as int8.

    In int8 a channel's scale is max|w| / 127, and a weight becomes w / scale rounded to nearest
    even, which is off by at most half the scale. A channel of zeros has the scale 1. So
    has one so small that its scale is no normal float32 (largest weight below 1.5e-36): its weights
    become 0.

    Args:
        name: of the kernel, for messages.
        values: float32, as stored.
        axes: along which output channels lie.
        form: ``float16`` or ``int8``.

    Raises:
        DataError: a weight is no finite number, or too large for float16.
    """
    require_finite(name, values, form)
    if form == "float16":
        with np.errstate(over="ignore"):
            half = values.astype(np.float16)
        if not np.isfinite(half).all():
            raise DataError(
                f"the weights of {quoted(name)} reach {np.abs(values).max():.6g}, "
                f"float16 ends at {_HALF_MAX:.0f}",
                who="export",
                hint="export them as int8 or float32",
            )
        return SmallWeight(half)
    channels = {axis % values.ndim for axis in axes}
    others = tuple(axis for axis in range(values.ndim) if axis not in channels)
    wide = values.astype(np.float64)
    scale = (np.abs(wide).max(axis=others, keepdims=True, initial=0.0) / LARGEST).astype(np.float32)
    scale = np.minimum(scale, _LARGEST_SCALE)
    is_none = scale < _SMALLEST_SCALE
    scale[is_none] = 1.0
    numbers = np.rint(np.where(is_none, 0.0, wide) / scale).clip(-LARGEST, LARGEST)
    return SmallWeight(numbers.astype(np.int8), scale)


def require_finite(name: str, values: Floats, form: WeightForm) -> None:
    """DataError where a kernel that is to become small holds a number that is not finite."""
    if not np.isfinite(values).all():
        raise DataError(
            f"the weights of {quoted(name)} hold NaN or infinity, so they cannot be {form}",
            who="export",
            hint="the training diverged; export an earlier run",
        )


def narrowed(
    graph: LayerGraph, stored: Mapping[str, Array], form: WeightForm, narrow: Narrow = narrow
) -> dict[str, SmallWeight]:
    """All kernels of a network in their small form, by name and as stored.

    Args:
        graph: the network.
        stored: its weights by name, as stored.
        form: ``float16`` or ``int8``.
        narrow: makes one small.

    Raises:
        DataError: as `narrow` does; it names the kernel.
    """
    return {
        each.name: narrow(
            each.name, stored[each.name].astype(np.float32, copy=False),
            each.parameter.output_axes, form,
        )
        for each in named_parameters(graph)
        if is_kernel(each.parameter)
    }  # fmt: skip


def public_small(
    graph: LayerGraph, small: Mapping[str, SmallWeight]
) -> dict[str, tuple[Array, Array | None]]:
    """Values and scales of small kernels in Keras' layout, by name."""
    return {
        each.name: (
            to_public(each.layer, each.parameter, small[each.name].values),
            _public_scale(each, small[each.name]),
        )
        for each in named_parameters(graph)
        if each.name in small
    }


def _public_scale(named: NamedParameter, small: SmallWeight) -> Array | None:
    """Scales that broadcast to the kernel in Keras' layout."""
    if small.scale is None:
        return None
    form = named.layer.public_form(named.parameter)
    if form.shape is None:
        turned = small.scale.transpose(form.permutation) if form.permutation else small.scale
        return np.ascontiguousarray(turned)
    # Where the shape is another, axes are gathered again from the scale of every element.
    whole = np.broadcast_to(small.scale, small.values.shape)
    found = to_public(named.layer, named.parameter, whole)
    for axis in range(found.ndim):
        first = found.take([0], axis)
        if (found == first).all():
            found = first
    return found
