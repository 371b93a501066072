"""Pictures that cannot be read are left out where the project says so."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studio.engine.core.errors import DataError
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.references import open_dataset


def write(path: Path, value: int, size: tuple[int, int] = (4, 6)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full(size, value, np.uint8)).save(path)


def truncate(path: Path) -> None:
    """The header stays whole: only decoding shows that the rest is missing."""
    path.write_bytes(path.read_bytes()[:45])


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    for number in range(3):
        write(tmp_path / "pets" / "cat" / f"{number}.png", 10 + number)
        write(tmp_path / "pets" / "dog" / f"{number}.png", 20 + number)
    return tmp_path / "pets"


def load(root: Path, **options: object) -> Dataset:
    return open_dataset({"source": "images", "path": root.name, **options}, root.parent)


def test_unreadable_pictures_are_left_out_and_named(pets: Path) -> None:
    truncate(pets / "cat" / "1.png")
    (pets / "dog" / "0.png").write_bytes(b"no picture")
    (pets / "dog" / "9.png").write_bytes(b"")
    with pytest.raises(DataError, match="this is not a PNG"):
        load(pets)
    data = load(pets, bad_images="skip")
    assert data.x[:, 0, 0, 0].tolist() == [10, 12, 21, 22]
    assert data.y.tolist() == [0, 0, 1, 1]
    assert data.cleaning.skipped == 3
    places = [place.file for place in data.cleaning.places]
    assert places == ["pets/cat/1.png", "pets/dog/0.png", "pets/dog/9.png"]
    assert "skipped 3 images that cannot be read: pets/cat/1.png, pets/dog/0.png" in data.summary()


def test_what_is_left_out_decides_neither_size_nor_colour(pets: Path) -> None:
    for number in range(3, 9):
        write(pets / "cat" / f"{number}.png", 99, (9, 9))
        truncate(pets / "cat" / f"{number}.png")
    Image.fromarray(np.random.default_rng(1).integers(0, 255, (4, 6, 3), np.uint8)).save(
        pets / "dog" / "8.png"
    )
    truncate(pets / "dog" / "8.png")
    assert load(pets, bad_images="skip").sample_shape == (4, 6, 1)


def test_a_class_of_which_nothing_is_left_is_refused(pets: Path) -> None:
    for number in range(3):
        truncate(pets / "dog" / f"{number}.png")
    with pytest.raises(DataError, match="no image of class 'dog' can be read: all 3 would be"):
        load(pets, bad_images="skip")


def test_both_parts_of_a_divided_folder_are_counted(tmp_path: Path) -> None:
    for part in ("train", "test"):
        for kind in ("a", "b"):
            for number in range(2):
                write(tmp_path / "set" / part / kind / f"{number}.png", number)
    truncate(tmp_path / "set" / "train" / "a" / "0.png")
    truncate(tmp_path / "set" / "test" / "b" / "1.png")
    data = load(tmp_path / "set", bad_images="skip")
    assert len(data) == 3
    assert data.held_out is not None
    assert len(data.held_out) == 3
    assert data.cleaning.skipped == 2


def test_a_picture_and_its_mask_are_left_out_together(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / "cells" / "images" / f"{number}.png", 50 + number)
        write(tmp_path / "cells" / "masks" / f"{number}.png", number % 2)
    truncate(tmp_path / "cells" / "images" / "0.png")
    (tmp_path / "cells" / "masks" / "1.png").unlink()
    write(tmp_path / "cells" / "masks" / "2.png", 1, (3, 3))
    reference = {
        "source": "folders", "path": "cells", "inputs": {"picture": "images"},
        "targets": {"classes": "masks"},
    }  # fmt: skip
    with pytest.raises(DataError, match="no image of that name"):
        open_dataset(reference, tmp_path)
    data = open_dataset({**reference, "bad_images": "skip"}, tmp_path)
    assert data.inputs[0].values[:, 0, 0, 0].tolist() == [53, 54]
    assert data.targets[0].y[:, 0, 0].tolist() == [1, 0]
    assert data.cleaning.skipped == 3
    assert "skipped 3 samples" in data.summary()
    for number in (3, 4):
        truncate(tmp_path / "cells" / "images" / f"{number}.png")
    with pytest.raises(DataError, match="no sample is left"):
        open_dataset({**reference, "bad_images": "skip"}, tmp_path)
