"""A file or folder is recognised by content and name, and the loaders read what was recognised."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studio.engine.core.errors import DataError, FormatError
from studio.engine.train.data.references import open_dataset
from studio.session.data.recognition import (
    moved_reference,
    recognise,
    recognise_pair,
    stored_path,
)
from tests.session.data.files import write_idx, write_pictures, write_table


def opened(path: Path, base: Path) -> tuple[dict[str, object], tuple[int, ...], int]:
    found = recognise(path, base)
    dataset = open_dataset(found.reference, base)
    return found.reference, dataset.x.shape, len(dataset.class_names)


def test_a_table_leaves_text_columns_out_and_says_so(tmp_path: Path) -> None:
    path = write_table(tmp_path)
    found = recognise(path, tmp_path)
    assert found.reference == {"source": "csv", "path": "houses.csv", "drop": ["id", "town"]}
    assert found.notes == ("text columns left out: id, town",)
    assert opened(path, tmp_path)[1:] == ((60, 2), 2)


def test_a_column_called_like_a_label_is_taken_wherever_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("label,a,b\nx,1,2\ny,3,4\nx,5,6\n")
    assert recognise(path, tmp_path).reference["label"] == "label"
    assert opened(path, tmp_path)[1:] == ((3, 2), 2)


def test_a_table_without_a_telling_name_is_recognised_by_content(tmp_path: Path) -> None:
    path = tmp_path / "measurements.dat2"
    path.write_text("1;2;0\n3;4;1\n5;6;0\n")
    assert opened(path, tmp_path)[1] == (3, 2)


def test_arrays_are_recognised_by_content_and_find_their_partner(tmp_path: Path) -> None:
    x, y = np.zeros((5, 3), np.float32), np.arange(5) % 2
    np.savez(tmp_path / "both.bin", x=x, y=y)
    (tmp_path / "both.bin.npz").rename(tmp_path / "both.bin")
    assert recognise(tmp_path / "both.bin", tmp_path).reference["source"] == "npz"
    np.save(tmp_path / "train_images.npy", x)
    np.save(tmp_path / "train_labels.npy", y)
    for name in ("train_images.npy", "train_labels.npy"):
        reference, shape, _ = opened(tmp_path / name, tmp_path)
        assert (reference["x"], reference["y"]) == ("train_images.npy", "train_labels.npy")
        assert shape == (5, 3)
    np.save(tmp_path / "lonely.npy", x)
    with pytest.raises(DataError, match="samples and labels"):
        recognise(tmp_path / "lonely.npy", tmp_path)


def test_a_damaged_array_is_not_said_to_hold_one(tmp_path: Path) -> None:
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY broken")
    with pytest.raises(FormatError) as refused:
        recognise(tmp_path / "broken.npy", tmp_path)
    assert "holds one array" not in str(refused.value)
    assert "broken.npy" in str(refused.value)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_idx_files_are_recognised_by_content(tmp_path: Path, packed: bool) -> None:
    images = np.random.default_rng(0).integers(0, 255, (4, 5, 6))
    ending = ".gz" if packed else ""
    one = write_idx(tmp_path / f"letters-images-idx3-ubyte{ending}", images, packed)
    other = write_idx(tmp_path / f"letters-labels-idx1-ubyte{ending}", np.arange(4) % 2, packed)
    for path in (one, other):
        assert opened(path, tmp_path)[1:] == ((4, 5, 6, 1), 2)


def test_an_idx_training_file_brings_the_test_part_beside_it(tmp_path: Path) -> None:
    for part, count in (("train", 6), ("t10k", 3)):
        write_idx(tmp_path / f"{part}-images-idx3-ubyte", np.zeros((count, 4, 4)))
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte", np.arange(count) % 2)
    found = recognise(tmp_path / "train-images-idx3-ubyte", tmp_path)
    assert found.reference == {"source": "idx", "path": "."}
    held = open_dataset(found.reference, tmp_path).held_out
    assert held is not None
    assert len(held) == 3


def test_a_folder_of_class_folders_is_found_below_one_wrapping_folder(tmp_path: Path) -> None:
    write_pictures(tmp_path / "pets" / "pets")
    reference, shape, classes = opened(tmp_path / "pets", tmp_path)
    assert reference == {"source": "images", "path": "pets/pets"}
    assert (shape, classes) == ((12, 12, 10, 3), 2)


def test_what_is_no_data_set_is_refused_with_what_would_be_one(tmp_path: Path) -> None:
    Image.new("L", (4, 4)).save(tmp_path / "one.png")
    (tmp_path / "p.glassbox").write_text("{}")
    (tmp_path / "blob").write_bytes(b"\x01\x02\x00\xff" * 40)
    flat = tmp_path / "flat"
    flat.mkdir()
    Image.new("L", (4, 4)).save(flat / "one.png")
    for name, words in (
        ("one.png", "one image"),
        ("p.glassbox", "a project"),
        ("blob", "is not supported"),
        ("flat", "not sorted into class folders"),
    ):
        with pytest.raises(DataError, match=words) as caught:
            recognise(tmp_path / name)
        assert caught.value.hint


def test_paths_inside_the_project_are_relative_and_survive_a_move(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    (home / "data").mkdir(parents=True)
    other.mkdir()
    path = write_table(home / "data")
    assert stored_path(path, home) == "data/houses.csv"
    assert stored_path(path, other) == str(path)
    assert stored_path(path, None) == str(path)
    reference = recognise(path, home).reference
    moved = moved_reference(reference, home, other)
    assert open_dataset(moved, other).sha256 == open_dataset(reference, home).sha256
    assert moved_reference(moved, other, home) == reference


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("kind", ["npy", "fortran", "one-hot", "idx", "gzip"])
def test_two_files_are_samples_and_labels_in_any_order(
    tmp_path: Path, kind: str, swapped: bool
) -> None:
    samples = np.random.default_rng(0).integers(0, 255, (6, 4, 5)).astype(np.uint8)
    labels = np.arange(6) % 3
    if kind in ("idx", "gzip"):
        packed = kind == "gzip"
        one = write_idx(tmp_path / "first", samples, packed)
        other = write_idx(tmp_path / "second", labels, packed)
    else:
        one, other = tmp_path / "first.npy", tmp_path / "the-labels.npy"
        flat = samples.reshape(6, 20)
        np.save(one, np.asfortranarray(flat) if kind == "fortran" else flat)
        np.save(other, np.eye(3)[labels] if kind == "one-hot" else labels)
    found = recognise_pair(*((other, one) if swapped else (one, other)), tmp_path)
    dataset = open_dataset(found.reference, tmp_path)
    np.testing.assert_array_equal(dataset.x.reshape(6, 20), samples.reshape(6, 20))
    np.testing.assert_array_equal(dataset.y, labels)


def test_two_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    table = write_table(tmp_path)
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    with pytest.raises(DataError, match="two files together"):
        recognise_pair(table, tmp_path / "x.npy", tmp_path)
    with pytest.raises(DataError):
        recognise_pair(tmp_path / "x.npy", tmp_path / "gone.npy", tmp_path)


def test_two_arrays_of_unusual_names_are_told_apart(tmp_path: Path) -> None:
    np.savez(tmp_path / "odd.npz", answers=np.arange(5) % 2, table=np.ones((5, 3), np.float32))
    reference, shape, classes = opened(tmp_path / "odd.npz", tmp_path)
    assert (reference["x_key"], reference["y_key"]) == ("table", "answers")
    assert (shape, classes) == ((5, 3), 2)
    np.savez(tmp_path / "usual.npz", x=np.ones((5, 3)), y=np.arange(5) % 2)
    assert "x_key" not in recognise(tmp_path / "usual.npz", tmp_path).reference
    (tmp_path / "damaged.npz").write_bytes(b"PK\x03\x04 and nothing more")
    assert recognise(tmp_path / "damaged.npz", tmp_path).reference["source"] == "npz"


@pytest.mark.parametrize(
    ("kinds", "label"), [(("dot", "ring"), None), ((), "y")], ids=["classes last", "numbers last"]
)
def test_a_last_column_of_classes_goes_before_numbers_called_y(
    tmp_path: Path, kinds: tuple[str, ...], label: str | None
) -> None:
    last = [kinds[i % 2] if kinds else str(i * 0.5) for i in range(40)]
    rows = "".join(f"{i * 0.1:.1f},{i * 0.3:.1f},{cell}\n" for i, cell in enumerate(last))
    (tmp_path / "points.csv").write_text(f"x,y,kind\n{rows}", "utf-8")
    found = recognise(tmp_path / "points.csv")
    assert found.reference.get("label") == label
    assert "drop" not in found.reference
    assert any(f"label: column {label or 'kind'!r}" in n for n in found.notes)


def test_few_classes_called_y_stay_the_label_beside_a_text_at_the_end(tmp_path: Path) -> None:
    rows = "".join(f"{i * 0.1:.1f},{i % 2},{'ab'[i % 2]}\n" for i in range(40))
    (tmp_path / "points.csv").write_text(f"x,y,kind\n{rows}", "utf-8")
    assert recognise(tmp_path / "points.csv").reference["label"] == "y"
