"""Tables whose columns go to several inputs and outputs by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import StudioError
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.references import open_dataset

REFERENCE = {
    "source": "columns",
    "path": "houses.csv",
    "inputs": {
        "place": {"columns": ["x", "y"], "normalization": "standard"},
        "house": {"columns": ["rooms"], "normalization": "none"},
    },
    "targets": {"price": "price", "kind": {"columns": "kind", "class_names": ["flat", "house"]}},
}
HEAD = "x,rooms,y,price,kind"
ROWS = ["1.5,3,2,100,flat", "2.5,4,0.25,220,house", "3,5,1,50.5,flat", "4,1,1,60,house"] * 3


def opened(
    folder: Path, rows: list[str] = ROWS, changes: dict[str, object] | None = None
) -> Dataset:
    (folder / "houses.csv").write_text("\n".join([HEAD, *rows]) + "\n")
    return open_dataset({**REFERENCE, **(changes or {})}, folder)


def test_columns_go_to_inputs_and_outputs(tmp_path: Path) -> None:
    found = opened(tmp_path)
    house, place = found.inputs
    assert (house.name, place.name) == ("house", "place")
    np.testing.assert_array_equal(place.values[:2], [[1.5, 2], [2.5, 0.25]])
    assert (place.values.dtype, place.normalization) == (np.float32, "standard")
    assert (house.values.dtype, house.values[:3].ravel().tolist()) == (np.int32, [3, 4, 5])
    assert place.feature_names == ("x", "y")
    kind, price = found.targets
    assert kind.class_names == ("flat", "house")
    assert kind.y[:4].tolist() == [0, 1, 0, 1]
    np.testing.assert_array_equal(price.y[:3, 0], [100, 220, 50.5])


def test_several_columns_are_numbers_and_may_be_those_of_an_input(tmp_path: Path) -> None:
    found = opened(tmp_path, changes={"targets": {"again": ["x", "y"], "kind": "kind"}})
    np.testing.assert_array_equal(found.targets[0].y, found.inputs[1].values)
    both = opened(tmp_path, changes={"targets": {"two": ["price", "rooms"]},
                                     "inputs": {"place": ["y", "x"]}})  # fmt: skip
    np.testing.assert_array_equal(both.targets[0].y[0], [100, 3])
    np.testing.assert_array_equal(both.inputs[0].values[0], [2, 1.5])


@pytest.mark.parametrize(
    ("changes", "rows", "words"),
    [
        ({"inputs": {}}, ROWS, "nothing is mapped to an input"),
        ({}, [*ROWS, "1,many,1,60,flat"], "leave a column of text out, or use it as classes"),
        ({}, [*ROWS, "1,,1,60,flat"], "fill it in, remove the row, or leave the column out"),
        ({"targets": {}}, ROWS, "nothing is mapped to an output"),
        ({"inputs": {"a": "none"}}, ROWS, "there is no column 'none'"),
        ({"inputs": {"a": []}}, ROWS, "a list of columns"),
        ({"inputs": {"a": ["x", "x"]}}, ROWS, "column 'x' goes to 'a' twice"),
        ({"inputs": {"a": {"columns": ["x"], "colour": 1}}}, ROWS, "unknown field 'colour'"),
        ({"inputs": {"a": "kind"}, "targets": {"b": "price"}}, ROWS, "expected a finite number"),
        ({"targets": {"a": "kind", "b": "kind"}}, ROWS, "goes to 'b' and to another output"),
        ({"targets": {"a": {"columns": "x", "task": "classes"}}}, ROWS, "to an input"),
        ({}, [*ROWS, "1,2,3,4"], "row 14"),
        ({}, [*ROWS, "nan,2,3,4,flat"], "row 14, column 1 ('x')"),
        ({}, [*ROWS, "1,2,3,4,"], "row 14, column 5 ('kind')"),
        ({}, [*ROWS, "1,2,3,4,tent"], "none of the 2 stated"),
        ({}, [], "no rows of data"),
        ({"path": "none.csv"}, ROWS, "none.csv"),
    ],
)
def test_what_does_not_fit_is_named(
    tmp_path: Path, changes: dict[str, object], rows: list[str], words: str
) -> None:
    with pytest.raises(StudioError) as caught:
        opened(tmp_path, rows, changes)
    assert words in str(caught.value)
