"""One image file to pixels: bounded before decoding, first frame, transparency on white."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from studio.engine.core.errors import DataError
from studio.engine.train.data.source_files import (
    DEFAULT_LIMITS,
    DataLimits,
    open_regular,
    reason_of,
)

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif")
"""File names that are taken for images; what a file really is, is decided by its content."""

RESIZE = "bilinear"
"""How pictures of another size are resampled: each new pixel from all it covers, to both sides."""

RESIZES: Mapping[str, Image.Resampling] = {
    RESIZE: Image.Resampling.BILINEAR,
    "nearest": Image.Resampling.NEAREST,
}
"""What exported files may state of it; pictures of data are resampled by the first."""

Pixels: TypeAlias = npt.NDArray[np.uint8]

Channels: TypeAlias = Literal[1, 3]

_FORMATS = ("PNG", "JPEG", "BMP", "GIF")
_MASK_MODES = ("1", "L", "P", "I", "I;16", "I;16L", "I;16B", "I;16N")
_GREY_MODES = ("1", "L", "LA", "La", "I", "F", "I;16", "I;16L", "I;16B", "I;16N")


@contextmanager
def _opened(path: Path, who: str, limits: DataLimits) -> Iterator[Image.Image]:
    """The image with its header read and its size checked; whatever fails inside is a DataError."""
    stream, size = open_regular(path, limits.image_bytes, who)
    with stream:
        # Asking for more than there is would reserve that much.
        content = stream.read(size)
    try:
        with warnings.catch_warnings():
            # A picture so large that Pillow warns is beyond our own cap as well.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = Image.open(BytesIO(content), formats=_FORMATS)
        with image:
            _check_size(image, who, limits)
            yield image
    except DataError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise DataError(
            f"the image is too large: at most {limits.image_pixels} pixels", who=who
        ) from None
    except UnidentifiedImageError:
        raise DataError("this is not a PNG, JPEG, BMP or GIF image", who=who) from None
    except Exception as error:
        # Decoders raise nearly anything on damaged input: SyntaxError, struct.error, IndexError …
        raise DataError(f"the image is damaged: {reason_of(error)}", who=who) from None


def _check_size(image: Image.Image, who: str, limits: DataLimits) -> None:
    if image.width * image.height > limits.image_pixels:
        raise DataError(
            f"the image is too large: at most {limits.image_pixels} pixels, got "
            f"{image.width}x{image.height}",
            who=who,
        )


def peek_image(
    path: Path, who: str = "", limits: DataLimits = DEFAULT_LIMITS
) -> tuple[tuple[int, int], Channels]:
    """Height and width, and 1 channel if it is grey or else 3, from the header alone.

    A picture marked as turned by its camera has its size after turning.

    Raises:
        DataError: it is no image, is damaged, or too large.
    """
    with _opened(path, who or path.name, limits) as image:
        # Asking a PNG for this would decode it; cameras write JPEG.
        turned = image.format == "JPEG" and image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        size = (image.width, image.height) if turned else (image.height, image.width)
        return size, 1 if image.mode in _GREY_MODES else 3


def decode_image(
    path: Path,
    channels: Channels,
    size: tuple[int, int] | None = None,
    who: str = "",
    limits: DataLimits = DEFAULT_LIMITS,
    resize: str = RESIZE,
) -> Pixels:
    """The pixels of an image file, uint8 [height, width, channels].

    The first frame counts; transparent parts show white; 16-bit grey keeps its upper eight bits;
    colour becomes grey by the luma of ITU-R 601; a picture of another size is resampled.

    Args:
        path: the file.
        channels: 1 for grey, 3 for red, green, blue.
        size: height and width, or None for its own.
        who: name for messages.
        limits: caps.
        resize: how another size is resampled, one of `RESIZES`.

    Raises:
        DataError: it is no image, is damaged, or too large.
    """
    with _opened(path, who or path.name, limits) as image:
        image.load()
        upright = ImageOps.exif_transpose(image)
        flat = _flatten(upright).convert("L" if channels == 1 else "RGB")
        if size is not None and (flat.height, flat.width) != size:
            flat = flat.resize((size[1], size[0]), RESIZES[resize])
        pixels = np.asarray(flat, dtype=np.uint8)
        return pixels.reshape(flat.height, flat.width, channels)


def decode_mask(
    path: Path, size: tuple[int, int], who: str = "", limits: DataLimits = DEFAULT_LIMITS
) -> npt.NDArray[np.int32]:
    """The pixels of a mask as class numbers, int32 [height, width].

    A palette's indices, grey levels, or 0 and 1 of a picture of two colours; a mask of another size
    takes the nearest pixel. Colours that are all grey count as grey levels.

    Args:
        path: the file.
        size: height and width.
        who: name for messages.
        limits: caps; also on the number of classes.

    Raises:
        DataError: it is no image, is damaged or too large, or its pixels are colours.
    """
    name = who or path.name
    with _opened(path, name, limits) as image:
        image.load()
        upright = ImageOps.exif_transpose(image)
        if upright.mode not in _MASK_MODES:
            upright = _grey_of(upright, name)
        if (upright.height, upright.width) != size:
            upright = upright.resize((size[1], size[0]), Image.Resampling.NEAREST)
        numbers = np.asarray(upright).astype(np.int64).reshape(size)
    if numbers.min() < 0 or numbers.max() >= limits.classes:
        raise DataError(
            f"a mask holds class numbers from 0 to {limits.classes - 1}: got "
            f"{numbers.min()} to {numbers.max()}",
            who=name,
        )
    return numbers.astype(np.int32)


def _grey_of(image: Image.Image, who: str) -> Image.Image:
    """A picture in colour whose pixels are all grey, as grey; DataError for another."""
    if image.mode in ("RGB", "RGBA", "LA"):
        channels = np.asarray(image.convert("RGB"))
        if (channels == channels[..., :1]).all():
            return Image.fromarray(np.ascontiguousarray(channels[..., 0]))
    raise DataError(
        f"a mask holds a class number at each pixel, this image holds colours ({image.mode})",
        who=who,
        hint="save masks as grey PNG, or with a palette",
    )


def _flatten(image: Image.Image) -> Image.Image:
    """The image in mode L or RGB, transparency laid on white."""
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        values = np.asarray(image).astype(np.float64)
        deep = image.mode != "F" and values.max() > 255
        return Image.fromarray(np.clip(values / 256 if deep else values, 0, 255).astype(np.uint8))
    if image.has_transparency_data:
        over = image.convert("RGBA")
        under = Image.new("RGBA", over.size, (255, 255, 255, 255))
        return Image.alpha_composite(under, over).convert("RGB")
    return image
