"""Folders of images: order, sizes, colour, transparency, and every kind of bad file by name."""

import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studio.engine.core.errors import DataError, EmptyDataError
from studio.engine.train.data.images.decode import decode_image
from studio.engine.train.data.images.folder import FolderOptions, load_image_folder
from studio.engine.train.data.source_files import DEFAULT_LIMITS
from studio.engine.train.data.stored_rows import StoredRows

RNG = np.random.default_rng(0)


def put(path: Path, pixels: np.ndarray, **options: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)
    return path


def grey(height: int = 4, width: int = 5) -> np.ndarray:
    return RNG.integers(0, 256, (height, width)).astype(np.uint8)


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    root = tmp_path / "pets"
    for name, count in (("dog", 3), ("cat", 2)):
        for i in range(count):
            put(root / name / f"{i}.png", grey())
    return root


def test_classes_and_files_are_taken_in_sorted_order(pets: Path) -> None:
    put(pets / "cat" / "deep" / "a.bmp", grey())
    (pets / "cat" / "notes.txt").write_text("hello")
    (pets / "cat" / ".hidden.png").write_bytes(b"junk")
    (pets / ".cache").mkdir()
    data = load_image_folder(pets)
    assert data.class_names == ("cat", "dog")
    assert data.y.tolist() == [0, 0, 0, 1, 1, 1]
    assert data.x.shape == (6, 4, 5, 1)
    assert data.notes == ("skipped 2 files that are not images",)
    paths = [pets / "cat" / "0.png", pets / "cat" / "1.png", pets / "cat" / "deep" / "a.bmp"]
    for sample, path in zip(data.x, paths, strict=False):
        assert (sample[..., 0] == np.asarray(Image.open(path))).all()


@pytest.mark.parametrize("place", ["", "cat"])
def test_a_project_and_its_runs_inside_are_no_class(pets: Path, place: str) -> None:
    before = load_image_folder(pets)
    run = pets / place / "pets.runs" / "2026-01-01_00-00-00"
    (run / "checkpoints").mkdir(parents=True)
    (run / "settings.json").write_text("{}")
    put(run / "picture.png", grey())
    found = load_image_folder(pets)
    assert (found.class_names, len(found.x)) == (("cat", "dog"), 5)
    assert found.sha256 == before.sha256
    assert found.notes == ()
    # Beside its project it is known even before the first run.
    (run / "settings.json").unlink()
    (pets / place / "pets.glassbox").write_text("{}")
    assert load_image_folder(pets).sha256 == before.sha256


def test_a_class_may_be_called_like_runs(pets: Path) -> None:
    put(pets / "home.runs" / "a.png", grey())
    assert load_image_folder(pets).class_names == ("cat", "dog", "home.runs")


def test_runs_beside_a_training_and_a_test_part_change_neither(pets: Path) -> None:
    for part in ("train", "test"):
        for name in ("cat", "dog"):
            put(pets.parent / "parts" / part / name / "0.png", grey())
    root = pets.parent / "parts"
    (root / "p.runs").mkdir()
    (root / "p.glassbox").write_text("{}")
    assert load_image_folder(root).held_out is not None


@pytest.mark.parametrize("suffix", ["png", "bmp", "gif"])
def test_lossless_formats_give_the_exact_pixels(tmp_path: Path, suffix: str) -> None:
    pixels = grey()
    found = decode_image(put(tmp_path / f"a.{suffix}", pixels), 1)
    assert (found[..., 0] == pixels).all()


def test_jpeg_gives_nearly_the_pixels(tmp_path: Path) -> None:
    pixels = np.full((16, 16, 3), (200, 30, 60), np.uint8)
    found = decode_image(put(tmp_path / "a.jpg", pixels, quality=95), 3)
    assert np.abs(found.astype(int) - pixels).max() < 6


def test_content_counts_not_the_name(tmp_path: Path) -> None:
    path = put(tmp_path / "a.png", grey())
    path.rename(tmp_path / "a.jpg")
    assert decode_image(tmp_path / "a.jpg", 1).shape == (4, 5, 1)


def test_one_colour_image_makes_all_colour_unless_stated(pets: Path) -> None:
    colour = RNG.integers(0, 256, (4, 5, 3)).astype(np.uint8)
    put(pets / "dog" / "z.png", colour)
    data = load_image_folder(pets)
    assert data.x.shape[3] == 3
    assert (data.x[-1] == colour).all()
    assert (data.x[0, ..., 0] == data.x[0, ..., 2]).all()
    flat = load_image_folder(pets, FolderOptions(color_mode="grayscale"))
    luma = colour.astype(float) @ [0.299, 0.587, 0.114]
    assert np.abs(flat.x[-1, ..., 0] - luma).max() <= 1


def test_transparency_shows_white(tmp_path: Path) -> None:
    pixels = np.zeros((1, 2, 4), np.uint8)
    pixels[0, 1, 3] = 255
    assert decode_image(put(tmp_path / "a.png", pixels), 1)[0, :, 0].tolist() == [255, 0]


def test_deep_grey_keeps_its_upper_bits(tmp_path: Path) -> None:
    pixels = np.array([[0, 256, 65535]], np.uint16)
    assert decode_image(put(tmp_path / "a.png", pixels), 1)[0, :, 0].tolist() == [0, 1, 255]


def test_photo_is_turned_as_its_camera_says(tmp_path: Path) -> None:
    image = Image.fromarray(np.zeros((2, 6), np.uint8))
    exif = image.getexif()
    exif[0x0112] = 6
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        image.save(tmp_path / name / "x.jpg", exif=exif)
    data = load_image_folder(tmp_path)
    assert data.x.shape == (2, 6, 2, 1)
    assert data.notes == ()


def test_commonest_size_wins_and_the_smaller_on_a_tie(pets: Path) -> None:
    put(pets / "cat" / "big.png", grey(9, 9))
    data = load_image_folder(pets)
    assert data.sample_shape == (4, 5, 1)
    assert data.notes == ("resampled 1 image to 4x5",)
    for i in range(4):
        put(pets / "cat" / f"big{i}.png", grey(9, 9))
    assert load_image_folder(pets).sample_shape == (4, 5, 1)
    put(pets / "cat" / "big4.png", grey(9, 9))
    assert load_image_folder(pets).sample_shape == (9, 9, 1)
    assert load_image_folder(pets, FolderOptions(size=(3, 2))).sample_shape == (3, 2, 1)


def test_train_and_test_folders_become_two_parts(tmp_path: Path) -> None:
    for part, count in (("train", 3), ("test", 2)):
        for name in ("a", "b"):
            for i in range(count):
                put(tmp_path / part / name / f"{i}.png", grey())
    put(tmp_path / "test" / "a" / "0.png", grey(8, 8))
    data = load_image_folder(tmp_path)
    assert len(data) == 6
    assert data.held_out is not None
    assert len(data.held_out) == 4
    assert data.held_out.sample_shape == (4, 5, 1)


def test_stated_classes_fix_the_order(pets: Path) -> None:
    data = load_image_folder(pets, FolderOptions(class_names=("dog", "cat", "cow")))
    assert data.class_counts() == {"dog": 3, "cat": 2, "cow": 0}
    with pytest.raises(DataError, match="'dog' is none of the stated classes"):
        load_image_folder(pets, FolderOptions(class_names=("cat",)))


def test_folders_without_classes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        load_image_folder(tmp_path / "none")
    put(tmp_path / "a.png", grey())
    with pytest.raises(DataError, match=r"one folder per class, at least two.*none"):
        load_image_folder(tmp_path)
    put(tmp_path / "one" / "a.png", grey())
    with pytest.raises(DataError, match="only 'one'"):
        load_image_folder(tmp_path)
    (tmp_path / "two").mkdir()
    with pytest.raises(EmptyDataError, match="two classes: only folder 'one' holds any"):
        load_image_folder(tmp_path)
    (tmp_path / "one" / "a.png").unlink()
    with pytest.raises(EmptyDataError, match="no images in this folder"):
        load_image_folder(tmp_path)
    put(tmp_path / "one" / "a.png", grey())
    put(tmp_path / "six" / "a.png", grey())
    with pytest.raises(DataError, match="'two' holds no images"):
        load_image_folder(tmp_path)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, data: bytes) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"hello", "not a PNG, JPEG, BMP or GIF"),
        (b"\x89PNG\r\n\x1a\n", "not a PNG|damaged"),
        (b"\xff\xd8\xff\xe0", "not a PNG|damaged"),
        (png(64, 64, RNG.bytes(65 * 64))[:2000], "damaged"),
        (png(4, 4, bytes(20)).replace(b"IDAT", b"IDAX"), "damaged|not a PNG"),
        (png(4, 4, b"\x09" * 20), "damaged"),
        (png(30_000, 30_000, bytes(100)), "too large"),
        (png(9_000, 9_000, bytes(100)), "too large"),
        (b"GIF89a" + b"\xff" * 7, "not a PNG|damaged|too large"),
        (b"II*\0" + bytes(100), "not a PNG, JPEG, BMP or GIF"),
    ],
)
def test_bad_image_is_named_by_its_path(pets: Path, content: bytes, message: str) -> None:
    (pets / "dog" / "bad.png").write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        load_image_folder(pets)
    assert caught.value.who == "pets/dog/bad.png"
    assert "\n" not in caught.value.message


def test_caps_hold_before_allocation(pets: Path) -> None:
    few = load_image_folder(pets, limits=replace(DEFAULT_LIMITS, array_bytes=99))
    assert isinstance(few.x, StoredRows), "more than an array may have stays in its files"
    with pytest.raises(DataError, match="too many images"):
        load_image_folder(pets, limits=replace(DEFAULT_LIMITS, images=4))
    with pytest.raises(DataError, match="too large: at most 19 pixels, got 5x4"):
        load_image_folder(pets, limits=replace(DEFAULT_LIMITS, image_pixels=19))
    with pytest.raises(DataError, match="the file is too large"):
        load_image_folder(pets, limits=replace(DEFAULT_LIMITS, image_bytes=10))
    with pytest.raises(DataError, match="too many class folders"):
        load_image_folder(pets, limits=replace(DEFAULT_LIMITS, classes=1))


def test_links_stay_inside_the_folder(pets: Path, tmp_path: Path) -> None:
    outside = put(tmp_path / "secret.png", grey())
    link = pets / "dog" / "link.png"
    try:
        link.symlink_to(pets / "cat" / "0.png")
    except OSError:
        pytest.skip("this system makes no symbolic links")
    assert len(load_image_folder(pets)) == 6
    link.unlink()
    link.symlink_to(outside)
    with pytest.raises(DataError, match="leaves the folder") as caught:
        load_image_folder(pets)
    assert caught.value.who == "pets/dog/link.png"
    link.unlink()
    (tmp_path / "elsewhere").mkdir()
    (pets / "emu").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    with pytest.raises(DataError, match="leaves the folder"):
        load_image_folder(pets)
