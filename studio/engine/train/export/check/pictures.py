"""A picture of another size than the input's, resampled here and as an exported file says.

What a file states of resampling cannot be seen in its answers, since the samples of the data are
resampled already. So the process that checks it does to one picture what the file says, and the
pixels must be those that reading the data gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import FormatError
from studio.engine.formats.npy import load_npy, save_npy
from studio.engine.formats.safe_json import parse_json

if TYPE_CHECKING:
    from studio.engine.train.data.images.decode import Pixels

Array: TypeAlias = npt.NDArray[np.generic]

_COLOURS = {1: "L", 3: "RGB"}


def save_pictures(
    folder: Path, facts: Mapping[str, str], names: Sequence[str], rows: Sequence[Array]
) -> dict[str, list[int]]:
    """Write a picture for each input whose pictures are resampled.

    It is the first sample beside itself, cut to half as much again one way and a third the other.

    Args:
        folder: where to; files are named after the inputs' numbers.
        facts: of the network; ``resize`` says which inputs are resampled.
        names: of the inputs.
        rows: raw samples [samples, height, width, channels] of each.

    Returns:
        Shapes of the inputs that have a picture, by their numbers as text.
    """
    found: dict[str, list[int]] = {}
    for index, (name, values) in enumerate(zip(names, rows, strict=True)):
        is_picture = values.ndim == 4 and values.dtype == np.uint8 and values.shape[-1] in _COLOURS
        if not is_picture or not stated_resize(facts.get("resize"), name):
            continue
        # Only pictures need what reads them.
        from PIL import Image

        height, width, channels = shape = values.shape[1:]
        wide = np.tile(values[0], (2, 2, 1))[: height + height // 2, : width + width // 3 + 1]
        flat = wide[..., 0] if channels == 1 else wide
        Image.fromarray(np.ascontiguousarray(flat), _COLOURS[channels]).save(_place(folder, index))
        found[str(index)] = list(shape)
    return found


def picture_pixels(folder: Path, index: int, shape: Sequence[int], resize: str = "") -> Pixels:
    """The picture of an input in the input's shape; resampled as data is unless told otherwise."""
    from studio.engine.train.data.images.decode import RESIZE, decode_image

    height, width, channels = shape
    return decode_image(
        _place(folder, index), 1 if channels == 1 else 3, (height, width), resize=resize or RESIZE
    )


def stated_resize(text: str | None, name: str) -> str:
    """How a fact says that pictures of an input are resampled; empty where it does not.

    It is one word, or with several inputs an object with a word for each.
    """
    if not text or not text.startswith("{"):
        return text or ""
    try:
        found = parse_json(text.encode("utf-8"), "resize")
    except FormatError:
        return ""
    word = found.get(name) if isinstance(found, dict) else None
    return word if isinstance(word, str) else ""


def save_stated(
    folder: Path, file: int, text: str | None, names: Sequence[str], asked: object
) -> None:
    """Resample the pictures in a folder as an exported file says.

    Args:
        folder: where they are, and where the pixels are left.
        file: number of the exported file.
        text: what it says of resampling; nothing is done for what is not known.
        names: of the inputs.
        asked: shapes by inputs' numbers, as `save_pictures` gave them.
    """
    for key, shape in asked.items() if isinstance(asked, dict) else ():
        from studio.engine.train.data.images.decode import RESIZES

        resize = stated_resize(text, names[int(key)])
        if resize in RESIZES:
            pixels = picture_pixels(folder, int(key), shape, resize)
            save_npy(_stated(folder, file, int(key)), pixels)


def picture_differences(folder: Path, file: int, asked: Mapping[str, list[int]]) -> Iterator[str]:
    """What is wrong with pictures that were resampled as an exported file says."""
    for key, shape in asked.items():
        place = _stated(folder, file, int(key))
        if not place.exists():
            continue  # That it says nothing, or something unknown, is said elsewhere.
        found, expected = load_npy(place), picture_pixels(folder, int(key), shape)
        wrong = int(np.count_nonzero((found != expected).any(axis=-1)))
        if wrong:
            count = f"{wrong} of {expected.shape[0] * expected.shape[1]}"
            yield f"an image that is resampled as it says has {count} other pixels"


def _place(folder: Path, index: int) -> Path:
    return folder / f"picture-{index}.png"


def _stated(folder: Path, file: int, index: int) -> Path:
    return folder / f"picture-{file}-{index}.npy"
