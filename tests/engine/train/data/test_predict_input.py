"""What a user gives to predict becomes the model's input, or one clear sentence."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import StudioError
from studio.engine.train.data.predict_input import InputSpec, read_inputs, read_named_inputs

PICTURE = InputSpec((4, 5, 1), DType.uint8)
ROW = InputSpec((3,))
PIXELS = np.random.default_rng(0).integers(0, 256, (6, 4, 5)).astype(np.uint8)


@pytest.mark.parametrize(
    ("array", "rows"),
    [
        (PIXELS, 6),
        (PIXELS[..., None], 6),
        (PIXELS.reshape(6, 20), 6),
        (PIXELS[0], 1),
        (PIXELS[0, ..., None], 1),
        (PIXELS[0].ravel(), 1),
        (PIXELS.astype(np.float64), 6),
        (PIXELS.astype(np.int64), 6),
    ],
)
@pytest.mark.parametrize("archive", [False, True])
def test_arrays_in_every_usual_shape(
    tmp_path: Path,
    array: np.ndarray,
    rows: int,
    archive: bool,
) -> None:
    path = tmp_path / ("a.npz" if archive else "a.npy")
    if archive:
        np.savez(path, x=array, y=np.zeros(3))
    else:
        np.save(path, array)
    found = read_inputs([path], PICTURE)
    assert found.values.shape == (rows, 4, 5, 1)
    assert found.values.dtype == np.uint8
    assert (found.values[..., 0] == PIXELS[:rows]).all()
    assert len(found.names) == rows


def test_images_files_and_folders_one_row_each(tmp_path: Path) -> None:
    for name in ("b", "a"):
        Image.fromarray(PIXELS[ord(name) - ord("a")]).save(tmp_path / f"{name}.png")
    found = read_inputs([tmp_path], PICTURE)
    assert found.names == ("a.png", "b.png")
    assert (found.values[..., 0] == PIXELS[:2]).all()
    again = read_inputs([tmp_path / "b.png", tmp_path / "a.png"], PICTURE)
    assert (again.values[::-1] == found.values).all()
    colour = read_inputs([tmp_path / "a.png"], InputSpec((4, 5, 3), DType.float32))
    assert (colour.values[0, ..., 1] == PIXELS[0]).all()


def test_images_are_resampled_and_brought_to_the_raw_range(tmp_path: Path) -> None:
    Image.fromarray(np.full((30, 20), 255, np.uint8)).save(tmp_path / "a.png")
    spec = InputSpec((8, 8, 1), DType.uint8, value_range=(0.0, 16.0))
    found = read_inputs([tmp_path / "a.png"], spec)
    assert found.values.shape == (1, 8, 8, 1)
    assert found.values.dtype == np.uint8
    assert (found.values == 16).all()
    Image.fromarray(np.full((8, 8), 100, np.uint8)).save(tmp_path / "a.png")
    assert (read_inputs([tmp_path / "a.png"], spec).values == round(100 * 16 / 255)).all()
    real = InputSpec((8, 8), DType.float32, value_range=(-1.0, 1.0))
    np.testing.assert_allclose(
        read_inputs([tmp_path / "a.png"], real).values, -1 + 200 / 255, rtol=1e-6
    )


def test_tables_with_and_without_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2,3\n4,5,6\n")
    found = read_inputs([tmp_path / "a.csv"], ROW)
    assert found.values.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert found.names == ("a.csv:0", "a.csv:1")
    named = InputSpec((3,), feature_names=("c", "a", "b"))
    (tmp_path / "b.csv").write_text("kind;a;b;c\nx;1;2;3\n")
    assert read_inputs([tmp_path / "b.csv"], named).values.tolist() == [[3, 1, 2]]


def test_several_files_are_joined_in_order(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2,3\n")
    np.save(tmp_path / "b.npy", np.array([[4, 5, 6], [7, 8, 9]]))
    found = read_inputs([tmp_path / "b.npy", tmp_path / "a.csv"], ROW)
    assert found.values.tolist() == [[4, 5, 6], [7, 8, 9], [1, 2, 3]]
    assert found.names == ("b.npy:0", "b.npy:1", "a.csv")


@pytest.mark.parametrize(
    ("name", "content", "spec", "message"),
    [
        ("a.npy", np.ones((2, 4)), ROW, r"inputs must have shape \[rows, 3\]: got \[2, 4\]"),
        ("a.npy", np.full((1, 3), np.nan), ROW, r"sample 0, element \[0\]"),
        ("a.npy", np.array([["a", "b", "c"]]), ROW, "expected numbers"),
        ("a.npy", np.full((4, 5), 256), PICTURE, "whole number from 0 to 255: got 256"),
        ("a.npy", np.full((4, 5), -1), PICTURE, "got -1"),
        ("a.npy", np.full((4, 5), 0.5), PICTURE, "whole number"),
        ("a.npy", b"junk", ROW, "not a npy file"),
        ("a.npz", b"PKjunk", ROW, "not a complete zip"),
        ("a.csv", b"1,2\n", ROW, "row 1: expected 3 cells, one per input of the model, got 2"),
        ("a.csv", b"1,2,3\n4,5\n", ROW, "row 2: expected 3 cells"),
        ("a.csv", b"1,2,3\n4,x,6\n", ROW, r"row 2, column 2 .*'x'"),
        ("a.csv", b"a,b,c\n", ROW, "no rows of data"),
        ("a.csv", b"a,b\n1,2\n", InputSpec((2,), feature_names=("a", "z")), "no column 'z'"),
        ("a.png", b"junk", PICTURE, "not a PNG"),
        ("a.exe", b"MZ", ROW, r"expected .npy, .npz, .csv or an image, got a file called 'a.exe'"),
        ("a.csv", b"", ROW, "the file is empty"),
    ],
)
def test_bad_input_is_named(
    tmp_path: Path, name: str, content: object, spec: InputSpec, message: str
) -> None:
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)
    with pytest.raises(StudioError, match=message) as caught:
        read_inputs([path], spec)
    assert caught.value.who.startswith(name)
    assert "\n" not in caught.value.message


def test_image_for_a_model_of_rows_is_refused(tmp_path: Path) -> None:
    Image.fromarray(PIXELS[0]).save(tmp_path / "a.png")
    with pytest.raises(StudioError, match=r"shape \[3\], which are not images"):
        read_inputs([tmp_path / "a.png"], ROW)


def test_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudioError, match="no inputs"):
        read_inputs([], ROW)
    with pytest.raises(StudioError, match="holds no images"):
        read_inputs([tmp_path], ROW)
    with pytest.raises(StudioError, match="there is no file"):
        read_inputs([tmp_path / "none.npy"], ROW)


def test_a_table_has_the_columns_of_several_inputs(tmp_path: Path) -> None:
    path = tmp_path / "houses.csv"
    path.write_text("price,rooms,x,y\n100,3,1.5,2\n200,4,2.5,3\n")
    specs = {
        "place": InputSpec((2,), feature_names=("y", "x")),
        "house": InputSpec((1,), DType.int32, feature_names=("rooms",)),
    }
    (place, house), names = read_named_inputs([path], specs)
    np.testing.assert_array_equal(place, [[2, 1.5], [3, 2.5]])
    assert (house.dtype, house.ravel().tolist()) == (np.int32, [3, 4])
    assert names == ("houses.csv:0", "houses.csv:1")
    for text, words in (
        ("price,x,y\n1,2,3\n", "the first row names no column 'rooms', which the input 'house'"),
        ("1,2\n3,4\n", "the first row names no column 'y', which the input 'place' takes"),
        ("", "the file is empty"),
        ("rooms,x,y\n1,2,big\n", "row 2, column 3 ('y')"),
    ):
        path.write_text(text)
        with pytest.raises(StudioError) as caught:
            read_named_inputs([path], specs)
        assert words in str(caught.value)
    unnamed = {**specs, "rest": InputSpec((2,))}
    with pytest.raises(StudioError, match=r"expected one \.npz file with an array for each of"):
        read_named_inputs([path], unnamed)


def test_what_is_wrong_in_an_archive_is_said_by_array(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    np.savez(path, a=np.ones((2, 3)), b=np.full((2, 3), np.nan))
    with pytest.raises(StudioError) as caught:
        read_named_inputs([path], {"a": InputSpec((3,)), "b": InputSpec((3,))})
    assert "[rows.npz/b] sample 0" in str(caught.value)


def test_folders_of_images_feed_several_inputs_by_name(tmp_path: Path) -> None:
    specs = {"left": InputSpec((4, 5, 1), key="near"), "right": InputSpec((4, 5, 1))}
    for folder, shade in (("near", 10), ("right", 20)):
        (tmp_path / folder).mkdir()
        for name in ("b.png", "a.png"):
            Image.fromarray(np.full((4, 5), shade, np.uint8)).save(tmp_path / folder / name)
    (left, right), names = read_named_inputs([tmp_path], specs)
    assert ((left == 10).all(), (right == 20).all()) == (True, True)
    assert (left.shape, names) == ((2, 4, 5, 1), ("a.png", "b.png"))
    # A network with one input takes the folder of its data, too.
    only = InputSpec((4, 5, 1), names=("image", "near"))
    assert (read_inputs([tmp_path], only).values == 10).all()
    (tmp_path / "near" / "b.png").unlink()
    with pytest.raises(StudioError, match=r"each input needs an image of the same name.*'b'"):
        read_named_inputs([tmp_path], specs)
    with pytest.raises(StudioError, match="there is no folder 'top'"):
        read_named_inputs([tmp_path], {"top": specs["right"]})
