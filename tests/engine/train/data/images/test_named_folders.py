"""Folders of pictures and masks that go to inputs and outputs by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studio.engine.core.errors import StudioError
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.references import open_dataset

REFERENCE = {
    "source": "folders",
    "path": "cells",
    "inputs": {"picture": "images"},
    "targets": {"mask": "masks"},
}
COUNT, HEIGHT, WIDTH = 5, 6, 4


def write(folder: Path, masks: np.ndarray | None = None) -> np.ndarray:
    """Pictures and masks of `COUNT` samples; gives the class numbers."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 3, (COUNT, HEIGHT, WIDTH)) if masks is None else masks
    for name in ("images", "masks"):
        (folder / "cells" / name / "day").mkdir(parents=True)
    for place in range(COUNT):
        pixels = rng.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"cells/images/day/{place}.bmp")
        mask = numbers[place].astype(np.uint8)
        Image.fromarray(mask).save(folder / f"cells/masks/day/{place}.png")
    return numbers


def opened(folder: Path, changes: dict[str, object] | None = None) -> Dataset:
    return open_dataset({**REFERENCE, **(changes or {})}, folder)


def test_masks_are_class_numbers_at_each_pixel(tmp_path: Path) -> None:
    numbers = write(tmp_path)
    found = opened(tmp_path)
    assert found.inputs[0].values.shape == (COUNT, HEIGHT, WIDTH, 3)
    (mask,) = found.targets
    assert (mask.name, mask.class_names, mask.y.dtype) == ("mask", ("0", "1", "2"), np.int32)
    np.testing.assert_array_equal(mask.y, numbers)
    kept, held = found.parts(0.2, 0)
    assert (len(kept), len(held)) == (4, 1)
    named = {"mask": {"folder": "masks", "class_names": ["sky", "sea", "land", "sun"]}}
    assert opened(tmp_path, {"targets": named}).targets[0].class_names[3] == "sun"


@pytest.mark.parametrize("mode", ["P", "RGB", "I;16", "1"])
def test_masks_of_every_kind(tmp_path: Path, mode: str) -> None:
    numbers = write(tmp_path) % 2 if mode == "1" else write(tmp_path)
    for place in range(COUNT):
        grey = Image.fromarray(numbers[place].astype(np.uint8))
        if mode == "P":
            image = Image.fromarray(numbers[place].astype(np.uint8), mode="P")
            image.putpalette([0, 0, 0, 255, 0, 0, 0, 0, 255])
        elif mode == "I;16":
            image = Image.fromarray(numbers[place].astype(np.uint16))
        elif mode == "1":
            image = Image.fromarray(numbers[place].astype(bool))
        else:
            image = grey.convert("RGB")
        image.save(tmp_path / f"cells/masks/day/{place}.png")
    np.testing.assert_array_equal(opened(tmp_path).targets[0].y, numbers)


def test_black_and_white_masks_are_two_classes(tmp_path: Path) -> None:
    numbers = np.random.default_rng(1).integers(0, 2, (COUNT, HEIGHT, WIDTH)) * 255
    write(tmp_path, numbers)
    found = opened(tmp_path)
    np.testing.assert_array_equal(found.targets[0].y, numbers // 255)
    assert found.targets[0].class_names == ("0", "1")
    assert "0 and 255 are read as the classes 0 and 1" in found.notes[0]


def test_masks_of_another_size_take_the_nearest_pixel(tmp_path: Path) -> None:
    numbers = write(tmp_path)
    found = opened(tmp_path, {"size": [2 * HEIGHT, 2 * WIDTH]})
    wanted = numbers.repeat(2, axis=1).repeat(2, axis=2)
    np.testing.assert_array_equal(found.targets[0].y, wanted)
    assert found.inputs[0].values.shape[1:3] == (2 * HEIGHT, 2 * WIDTH)


def _another_size(folder: Path) -> None:
    Image.new("L", (9, 9)).save(folder / "masks/day/2.png")


def _without_one(folder: Path) -> None:
    (folder / "masks/day/3.png").unlink()


def _twice(folder: Path) -> None:
    Image.new("L", (WIDTH, HEIGHT)).save(folder / "masks/day/3.bmp")


def _in_colour(folder: Path) -> None:
    Image.new("RGB", (WIDTH, HEIGHT), (255, 0, 0)).save(folder / "masks/day/1.png")


def _damaged(folder: Path) -> None:
    path = folder / "masks/day/1.png"
    content = path.read_bytes()
    path.write_bytes(content[:44] + bytes(8) + content[52:])


def _empty(folder: Path) -> None:
    for path in (folder / "masks/day").iterdir():
        path.unlink()


@pytest.mark.parametrize(
    ("spoil", "changes", "words"),
    [
        (_another_size, {}, "[cells/masks/day/2.png] the mask has 9x9 pixels, its image"),
        (_without_one, {}, "3.bmp of folder 'images' has no image of that name in 'masks'"),
        (_twice, {}, "two images have the name 'day/3'"),
        (_in_colour, {}, "[cells/masks/day/1.png] a mask holds a class number at each pixel"),
        (_damaged, {}, "[cells/masks/day/1.png] the image is damaged"),
        (_empty, {}, "[cells/masks] there are no images"),
        (None, {"targets": {"mask": "mask"}}, "there is no folder 'mask': there are 'images'"),
        (
            None,
            {"targets": {"mask": {"folder": "masks", "class_names": ["a", "b"]}}},
            "the mask holds class 2, got names for 2 classes",
        ),
        (None, {"targets": {"mask": {"folder": "masks", "task": "regression"}}}, "class numbers"),
        (None, {"inputs": {"picture": "../cells/images"}}, "there is no folder"),
        (None, {"size": [3]}, "a height and a width"),
    ],
)
def test_what_does_not_fit_is_named(
    tmp_path: Path, spoil: object, changes: dict[str, object], words: str
) -> None:
    write(tmp_path)
    if callable(spoil):
        spoil(tmp_path / "cells")
    with pytest.raises(StudioError) as caught:
        opened(tmp_path, changes)
    assert words in str(caught.value)


def test_one_class_alone_is_refused(tmp_path: Path) -> None:
    write(tmp_path, np.zeros((COUNT, HEIGHT, WIDTH)))
    with pytest.raises(StudioError, match="every pixel is 0"):
        opened(tmp_path)
