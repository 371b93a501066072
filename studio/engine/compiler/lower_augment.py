"""Augmentation given as plain options, lowered to instructions keyed by sample and epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from studio.engine.core.configured import Configured
from studio.engine.core.errors import ParameterError
from studio.engine.core.options import flag, integer, number, pair
from studio.engine.core.tensor import Shape
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops import random


class Augmentation(Configured, family="augmentation"):
    """A random change of input pictures, drawn independently for each sample and epoch.

    Attributes:
        instruction: the instruction it is.
        random: whether it draws; one that does not is part of every mode, not of training only.
        moves: whether pixels go to other places, so that what is said of places has to follow.
        keeps_pixels: whether the pixels stay the same ones, none made up and none blended.
        role: name its random stream is made from.
    """

    instruction: ClassVar[type[Instruction]]
    random: ClassVar[bool] = True
    moves: ClassVar[bool] = False
    keeps_pixels: ClassVar[bool] = False
    role: ClassVar[str] = ""

    def attributes(self) -> dict[str, Any]:
        """Attributes of the instruction."""
        return dict(self.option_values)


class Flip(Augmentation, aliases=("flip",)):
    """Mirrors at random, left and right unless told otherwise."""

    instruction = random.AugmentFlip
    moves = keeps_pixels = True
    role = "flip"

    horizontal = flag("Mirror left and right.", True)
    vertical = flag("Mirror up and down.")

    def __init__(self, *args: object, **given: object) -> None:
        super().__init__(*args, **given)
        if not (self.horizontal or self.vertical):
            raise ParameterError("expected horizontal or vertical to be true", who=self.who)


class Shift(Augmentation, aliases=("shift",)):
    """Moves by whole cells at random."""

    instruction = random.AugmentShift
    moves = True
    role = "shift"

    rows = integer("Largest shift up or down, in pixels.", 1, low=0, high=1024)
    cols = integer("Largest shift left or right, in pixels.", 1, low=0, high=1024, label="Columns")
    fill = number("Fill value.", 0.0)


class PadCrop(Augmentation, aliases=("pad_crop",)):
    """Adds a border and cuts a random window of the old size: a shift by up to the border."""

    instruction = random.AugmentShift
    moves = True
    role = "pad_crop"

    padding = pair("Border above and below, left and right.", (4, 4), low=0)
    fill = number("Fill value of the border.", 0.0)

    def attributes(self) -> dict[str, Any]:
        """Those of the shift."""
        rows, cols = self.padding
        return {"rows": rows, "cols": cols, "fill": self.fill}


class Rotate(Augmentation, aliases=("rotate",)):
    """Turns about the centre at random, and enlarges."""

    instruction = random.AugmentRotate
    moves = True
    role = "rotate"

    degrees = number("Largest angle in either direction.", 15.0, low=0.0, high=180.0)
    zoom = number("Largest zoom.", 1.0, low=1.0, high=8.0)
    fill = number("Fill value.", 0.0)


class Noise(Augmentation, aliases=("noise",)):
    """Adds noise that is close to normal."""

    instruction = random.AugmentNoise
    role = "noise"

    deviation = number("Standard deviation.", 0.1, low=0.0)


class Standardize(Augmentation, aliases=("standardize",)):
    """Gives every picture the same range, or the same mean and deviation; in every mode."""

    instruction = random.AugmentStandardize
    random = False
    role = "standardize"

    low = number("Lower limit, or the new mean.", 0.0)
    high = number("Upper limit, or the new standard deviation.", 1.0)
    moments = flag("Use mean and standard deviation instead of limits.")


def image_inputs(shapes: Sequence[Shape]) -> tuple[int, ...]:
    """Places of the inputs that are augmented: of several those of [height, width, channels]."""
    found = tuple(place for place, shape in enumerate(shapes) if len(shape) == 3)
    return found if len(shapes) > 1 and found else (0,)


def moved_with(changes: Sequence[Augmentation], inputs: Sequence[Shape], shape: Shape) -> bool:
    """Whether targets or weights of a shape are of the places that augmentation moves.

    Args:
        changes: the augmentations.
        inputs: shapes of the inputs' samples.
        shape: of the targets or weights of one sample.
    """
    images = [inputs[place] for place in image_inputs(inputs)]
    of_places = len(shape) >= 2 and any(shape[:2] == image[:2] for image in images)
    return of_places and any(change.moves for change in changes)


def following_refusal(changes: Sequence[Augmentation]) -> str:
    """Why targets of places cannot follow these changes; empty where they can."""
    for change in changes:
        if change.moves and not change.keeps_pixels:
            return (
                f"{change.role} moves the pixels of images, and the targets of each pixel cannot "
                "follow it"
            )
    return ""
