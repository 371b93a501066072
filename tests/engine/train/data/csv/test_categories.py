"""Columns of categories become one-hot columns or an index by a list that stays the same."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import DataError, StudioError
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.input_columns import (
    MAX_ONE_HOT,
    MAX_TEXT,
    InputColumn,
    columns_from_json,
)
from studio.engine.train.data.predict_input import InputSpec, RawInputs, read_inputs
from studio.engine.train.data.references import open_dataset
from studio.engine.train.data.source_files import DataLimits

TABLE = (
    "rooms,town,kind\n3,Bern,a\n2,Basel,b\n4, Bern ,a\n1,Genève,b\n5,\"Biel, Bienne\",a\n"
    "6,東京,b\n7,Bern\xa0,a\n"
)  # fmt: skip


def load(path: Path, **options: Any) -> Dataset:
    return open_dataset({"source": "csv", "path": path.name, **options}, path.parent)


@pytest.fixture
def towns(tmp_path: Path) -> Path:
    path = tmp_path / "towns.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def one_hot(path: Path, column: str, names: list[str]) -> np.ndarray:
    with path.open(newline="", encoding="utf-8") as stream:
        cells = [row[column].strip() for row in csv.DictReader(stream)]
    return np.array([[cell == name for name in names] for cell in cells], np.float32)


def test_a_category_column_becomes_one_hot_columns(towns: Path) -> None:
    data = load(towns, categories={"town": "one-hot"})
    names = ["Basel", "Bern", "Biel, Bienne", "Genève", "東京"]
    assert data.feature_names == ("rooms", *(f"town={name}" for name in names))
    assert np.array_equal(data.x[:, 1:], one_hot(towns, "town", names))
    assert data.x[:, 0].tolist() == [3, 2, 4, 1, 5, 6, 7]
    assert data.x.dtype == np.float32
    assert data.columns == (
        InputColumn("rooms"), InputColumn("town", "one-hot", tuple(names)),
    )  # fmt: skip
    assert not data.cleaning


def test_an_index_alone_is_whole_numbers_for_an_embedding(towns: Path) -> None:
    data = load(towns, drop=["rooms"], categories={"town": "index"})
    assert data.x.dtype == np.int32
    assert data.x[:, 0].tolist() == [1, 0, 1, 3, 2, 4, 1]
    mixed = load(towns, categories={"town": "index"})
    assert mixed.x.dtype == np.float32
    assert mixed.x[:, 1].tolist() == [1, 0, 1, 3, 2, 4, 1]


def test_a_stated_list_fixes_the_order_and_other_texts_are_refused_skipped_or_zeros(
    towns: Path,
) -> None:
    option = {"encoding": "one-hot", "values": ["Bern", "Basel"]}
    with pytest.raises(DataError, match=r"row 5, column 2 \('town'\): 'Genève' is none of the 2"):
        load(towns, categories={"town": option})
    data = load(towns, categories={"town": option}, bad_rows="skip")
    assert data.x[:, 1:].tolist() == [[1, 0], [0, 1], [1, 0], [1, 0]]
    assert [place.row for place in data.cleaning.places] == [5, 6, 7]
    data = load(towns, categories={"town": {**option, "unknown": "zeros"}})
    assert data.x[:, 1:].tolist() == one_hot(towns, "town", ["Bern", "Basel"]).tolist()
    assert data.cleaning.unknown == 3
    assert "3 cells with unknown categories became zeros: row 5 (town)" in data.summary()
    index = {"encoding": "index", "values": ["Bern", "Basel"], "unknown": "zeros"}
    data = load(towns, drop=["rooms"], categories={"town": index})
    assert data.x[:, 0].tolist() == [1, 2, 1, 0, 0, 0, 1]


def test_an_empty_cell_is_bad_unless_it_is_a_category(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,c,k\n1,x,u\n2,,v\n3,x,u\n4,y,v\n5,x,u\n6,x,v\n")
    with pytest.raises(DataError, match=r"row 3, column 2 \('c'\): the cell is empty"):
        load(path, categories={"c": "one-hot"})
    data = load(path, categories={"c": "one-hot"}, fill={"c": "most frequent"})
    assert data.x[:, 1].tolist() == [1, 1, 1, 0, 1, 1]
    assert data.cleaning.sentences == (
        "filled 1 cell of 'c' with the most frequent category of the training part, 'x'",
    )
    data = load(path, categories={"c": "one-hot"}, fill={"c": "=y"})
    assert data.x[:, 2].tolist() == [0, 1, 0, 1, 0, 0]
    data = load(path, categories={"c": {"values": ["", "x", "y"]}})
    assert data.x[:, 1].tolist() == [0, 1, 0, 0, 0, 0]
    with pytest.raises(DataError, match="gives 'z', which is none of its 2 categories"):
        load(path, categories={"c": "one-hot"}, fill={"c": "=z"})


def test_a_table_of_nothing_but_categories(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("c,d,k\nx,1,u\ny,2,v\nx,10,u\n")
    data = load(path, categories={"c": "one-hot", "d": "one-hot"})
    # Whole numbers are in the order of numbers.
    assert data.feature_names == ("c=x", "c=y", "d=1", "d=2", "d=10")
    assert data.x.tolist() == [[1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 0, 0, 1]]


def test_too_many_categories_are_refused_with_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = "".join(f"{i},t{i},{'uv'[i % 2]}\n" for i in range(100_000))
    path.write_text("a,c,k\n" + rows)
    with pytest.raises(DataError, match=f"'c' has too many categories: at most {MAX_ONE_HOT:,}"):
        load(path, categories={"c": "one-hot"})
    with pytest.raises(DataError, match=f"at most {DataLimits().classes:,} can be index"):
        load(path, categories={"c": "index"})


def test_a_text_is_no_category_when_it_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"c,k\n{'x' * MAX_TEXT},u\ny,v\n")
    assert load(path, categories={"c": "one-hot"}).x.shape == (2, 2)
    path.write_text(f"c,k\n{'x' * (MAX_TEXT + 1)},u\ny,v\n")
    with pytest.raises(DataError, match="text of 1,001 characters: a category has at most 1,000"):
        load(path, categories={"c": "one-hot"})


def test_exactly_the_limit_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for count, is_allowed in ((MAX_ONE_HOT, True), (MAX_ONE_HOT + 1, False)):
        path.write_text("c,k\n" + "".join(f"t{i},{'uv'[i % 2]}\n" for i in range(count)))
        if is_allowed:
            assert load(path, categories={"c": "one-hot"}).x.shape == (count, MAX_ONE_HOT)
        else:
            with pytest.raises(DataError, match="too many categories"):
                load(path, categories={"c": "one-hot"})


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("onehot", "encoding must be one of one-hot, index"),
        (3, "expected one-hot or index, or an object"),
        ({"values": ["a", " a "]}, "values 1 and 2 are the same category 'a'"),
        ({"values": ["a", 3]}, "values must be a list of texts"),
        ({"unknown": "ignore"}, "unknown must be one of refuse, zeros"),
        ({"value": []}, "unknown field 'value'"),
        ({"values": [f"t{i}" for i in range(MAX_ONE_HOT + 1)]}, "too many categories"),
    ],
)
def test_options_that_do_not_fit_are_named(towns: Path, option: object, message: str) -> None:
    with pytest.raises(StudioError, match=message):
        load(towns, categories={"town": option})
    with pytest.raises(DataError, match="option categories names 'kind', which is no feature"):
        load(towns, categories={"kind": "one-hot"})


def test_a_column_of_empty_cells_has_no_category(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,c,k\n1,,u\n2,,v\n")
    with pytest.raises(DataError, match="every cell is empty"):
        load(path, categories={"c": "one-hot"}, fill={"c": "most frequent"})
    with pytest.raises(DataError, match="no row is left: all 2 rows"):
        load(path, categories={"c": "one-hot"}, bad_rows="skip")


def test_columns_come_back_from_plain_data() -> None:
    columns = (
        InputColumn("a"), InputColumn("b", "one-hot", ("x", "")),
        InputColumn("c", "index", ("é",), "zeros"),
    )  # fmt: skip
    assert columns_from_json([each.to_json() for each in columns]) == columns
    for wrong in (3, [3], [{"name": 1}], [{"name": "a", "encoding": "other"}]):
        with pytest.raises(DataError):
            columns_from_json(wrong)


def predicted(path: Path, data: Dataset, text: str) -> RawInputs:
    path.write_text(text, encoding="utf-8")
    shape, dtype = data.sample_shape, DType.of(data.x.dtype)
    names = data.feature_names
    return read_inputs([path], InputSpec(shape, dtype, None, names, columns=data.columns))


def test_new_rows_are_read_by_the_list_of_the_training(towns: Path, tmp_path: Path) -> None:
    data = load(towns, categories={"town": "one-hot"})
    new = tmp_path / "new.csv"
    # Columns in another order, the label too, and categories that do not all occur.
    found = predicted(new, data, "kind,town,rooms\na,Genève,3\nb,Bern,2\n")
    assert found.values.tolist() == [[3, 0, 0, 0, 1, 0], [2, 0, 1, 0, 0, 0]]
    assert found.notes == ()
    # Without a header the columns come in their order.
    found = predicted(new, data, "1,Basel\n2,東京\n")
    assert found.values.tolist() == [[1, 1, 0, 0, 0, 0], [2, 0, 0, 0, 0, 1]]
    with pytest.raises(DataError, match=r"row 3, column 2 \('town'\): 'Zug' is none of the 5"):
        predicted(new, data, "rooms,town\n1,Bern\n2,Zug\n")
    with pytest.raises(DataError, match="no column 'town'"):
        predicted(new, data, "rooms,city\n1,Bern\n2,Zug\n")


def test_unknown_categories_of_new_rows_are_zeros_where_asked_for(
    towns: Path, tmp_path: Path
) -> None:
    data = load(towns, categories={"town": {"unknown": "zeros"}})
    found = predicted(tmp_path / "new.csv", data, "rooms,town\n1,Bern\n2,Zug\n3,Zug\n")
    assert found.values[:, 1:].sum(axis=1).tolist() == [1, 0, 0]
    assert found.notes == (
        "2 cells with unknown categories became zeros: row 3 (town), row 4 (town)",
    )


def test_columns_for_several_inputs_have_categories(towns: Path, tmp_path: Path) -> None:
    data = open_dataset(
        {
            "source": "columns", "path": towns.name, "categories": {"town": "index"},
            "inputs": {"place": {"columns": "town", "normalization": "none"}, "rooms": "rooms"},
            "targets": {"kind": "kind"},
        },
        tmp_path,
    )  # fmt: skip
    # Rules of columns that go to no input wait for them; other names are refused.
    reference = {
        "source": "columns",
        "path": towns.name,
        "inputs": {"rooms": "rooms"},
        "targets": {"kind": "kind"},
    }
    waiting = open_dataset({**reference, "categories": {"town": "index"}}, tmp_path)
    assert waiting.x.tolist() == [[3], [2], [4], [1], [5], [6], [7]]
    with pytest.raises(DataError, match="no column 'city'"):
        open_dataset({**reference, "categories": {"city": "index"}}, tmp_path)
    place, rooms = data.inputs
    assert place.values.dtype == np.int32
    assert place.values[:, 0].tolist() == [1, 0, 1, 3, 2, 4, 1]
    assert place.columns[0].categories[0] == "Basel"
    assert rooms.values.dtype == np.float32
    assert rooms.columns == ()


@pytest.mark.parametrize("kind", ["standard", "unit", "symmetric"])
def test_categories_are_not_normalised_and_numbers_are(towns: Path, kind: Any) -> None:
    given = load(towns, categories={"town": "one-hot"}).all_inputs()[0]
    found = given.normalization_for(kind, given.values).apply(given.values)
    assert np.array_equal(found[:, 1:], given.values[:, 1:])
    plain = load(towns, drop=["town"]).all_inputs()[0]
    wanted = plain.normalization_for(kind, plain.values).apply(plain.values)
    assert np.array_equal(found[:, :1], wanted)
    assert not np.array_equal(wanted, plain.values)
    index = load(towns, drop=["rooms"], categories={"town": "index"}).all_inputs()[0]
    assert index.normalization_for(kind, index.values).kind == "none"
