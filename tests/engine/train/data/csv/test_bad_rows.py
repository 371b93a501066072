"""Rows that cannot be read are left out or filled as the project says, as csv and NumPy say."""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from studio.engine.core.errors import DataError, StudioError
from studio.engine.core.philox import permutation
from studio.engine.train.data.cleaning import MOST_PLACES, SplitRule
from studio.engine.train.data.csv import lines as csv_lines
from studio.engine.train.data.dataset import Dataset
from studio.engine.train.data.references import open_dataset
from studio.engine.train.data.splitting import SPLIT_STREAM

Floats = npt.NDArray[np.float64]


def load(path: Path, split: SplitRule = SplitRule(), **options: Any) -> Dataset:  # noqa: B008
    return open_dataset({"source": "csv", "path": path.name, **options}, path.parent, split)


def number(cell: str) -> float:
    """A cell as a number, NaN for anything else; written apart from the loader."""
    try:
        found = float(cell)
    except ValueError:
        return math.nan
    return found if abs(found) < 3.4e38 and "_" not in cell else math.nan


def read(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(newline="", encoding="utf-8") as stream:
        rows = [[cell.strip() for cell in row] for row in csv.reader(stream)]
    return rows[0], rows[1:]


def write_dirty(path: Path, rows: int, seed: int) -> None:
    """A regression table with empty cells, words, NaN, infinities and rows of another width."""
    rng = np.random.default_rng(seed)
    bad = ["", "n/a", "nan", "inf", "-inf", "1_0", "1,5", "1e99", "zwölf"]
    lines = ["a,b,c,y"]
    for _ in range(rows):
        cells = [f"{value:.4f}" for value in rng.normal(size=4)]
        if rng.random() < 0.2:
            cells[rng.integers(4)] = f'"{bad[rng.integers(len(bad))]}"'
        if rng.random() < 0.05:
            cells = cells[: rng.integers(1, 4)]
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("piece", [200, 1 << 20])
def test_skipping_keeps_exactly_the_good_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, piece: int
) -> None:
    monkeypatch.setattr(csv_lines, "PIECE_BYTES", piece)
    path = tmp_path / "t.csv"
    write_dirty(path, 400, seed)
    rows = read(path)[1]
    good = [row for row in rows if len(row) == 4 and not any(map(math.isnan, map(number, row)))]
    data = load(path, bad_rows="skip", task="regression")
    wanted = np.array([[number(cell) for cell in row] for row in good], np.float32)
    assert np.array_equal(np.column_stack([data.x, data.y]), wanted)
    assert data.cleaning.skipped == len(rows) - len(good)
    bad_lines = [line for line, row in enumerate(rows, 2) if row not in good]
    assert [place.row for place in data.cleaning.places] == bad_lines
    assert f"skipped {len(bad_lines)} rows" in data.summary()


@pytest.mark.parametrize("rule", ["mean", "median", "most frequent"])
def test_filling_learns_from_the_training_part_alone(tmp_path: Path, rule: str) -> None:
    rng = np.random.default_rng(7)
    values = rng.integers(0, 9, 100).astype(np.float64)
    holes = rng.choice(100, 15, replace=False)
    path = tmp_path / "t.csv"
    path.write_text(
        "a,y\n" + "".join(f"{'' if i in holes else values[i]},{i * 0.5}\n" for i in range(100))
    )
    order = permutation(5, SPLIT_STREAM, 0, 100)
    training = order[: math.floor(100 * 0.7)]
    good = values[[i for i in training if i not in holes]]
    counts = [(list(good).count(value), -value) for value in set(good)]
    wanted = {
        "mean": good.mean(),
        "median": np.median(good),
        "most frequent": -max(counts)[1],
    }[rule]
    data = load(path, SplitRule(0.3, 5), fill={"a": rule}, task="regression")
    assert np.array_equal(data.x[holes, 0], np.full(15, wanted, np.float32))
    kept = [i for i in range(100) if i not in holes]
    assert np.array_equal(data.x[kept, 0], values[kept].astype(np.float32))
    assert data.cleaning.filled == 15
    assert [place.row for place in data.cleaning.places] == sorted(i + 2 for i in holes)
    # Other values in the held-out rows change nothing that is filled in.
    held = order[math.floor(100 * 0.7) :]
    changed = values.copy()
    changed[held] = 1000.0
    path.write_text(
        "a,y\n" + "".join(f"{'' if i in holes else changed[i]},{i * 0.5}\n" for i in range(100))
    )
    again = load(path, SplitRule(0.3, 5), fill={"a": rule}, task="regression")
    assert np.array_equal(again.x[holes], data.x[holes])


def test_filling_follows_the_split_by_class(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    kinds = ["u", "v", "v", "w"] * 20
    path.write_text("a,kind\n" + "".join(f"{i if i % 7 else 'x'},{k}\n"
                                          for i, k in enumerate(kinds)))  # fmt: skip
    data = load(path, SplitRule(0.25, 3), fill={"a": "mean"})
    holes = [i for i in range(80) if i % 7 == 0]
    # The rows of the training part, found by their good values.
    kept = data.split(0.25, 3)[0].x[:, 0]
    good = [value for value in kept if value in set(range(80)) and value % 7]
    assert len(good) < 80 - len(holes)
    assert np.array_equal(data.x[holes, 0], np.full(len(holes), np.mean(good), np.float32))


def test_a_given_value_and_skipping_go_together(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,k\n1,2,u\n,2,v\n3,x,u\n,y,v\n5,6,\n7,8,v\n9\n")
    data = load(path, bad_rows="skip", fill={"a": -1.5})
    assert data.x.tolist() == [[1, 2], [-1.5, 2], [7, 8]]
    assert [(p.row, p.column, p.what) for p in data.cleaning.places] == [
        (3, "a", "filled"), (4, "b", "skipped"), (5, "b", "skipped"), (6, "k", "skipped"),
        (8, "", "skipped"),
    ]  # fmt: skip
    assert data.cleaning.sentences == (
        "skipped 4 rows that cannot be read: row 4 (b), row 5 (b), row 6 (k), row 8",
        "filled 1 cell of 'a' with -1.5",
    )


def test_what_is_not_filled_is_still_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,k\n1,2,u\n,2,v\n3,x,u\n")
    with pytest.raises(DataError, match=r"row 4, column 2 \('b'\)"):
        load(path, fill={"a": "mean"})
    with pytest.raises(DataError, match=r"row 3, column 1 \('a'\).*empty"):
        load(path)


def test_a_class_that_only_bad_rows_have_is_none(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,k\n1,u\nx,w\n2,v\n3,u\n,w\n")
    data = load(path, bad_rows="skip")
    assert data.class_names == ("u", "v")
    assert data.y.tolist() == [0, 1, 0]


def test_labels_that_are_no_number_or_no_class_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{i},{i + 0.5}\n" for i in range(40)) + "40,about 3\n41,\n")
    data = load(path, bad_rows="skip")
    assert not data.class_names
    assert data.y[:, 0].tolist() == [i + 0.5 for i in range(40)]
    assert [(p.row, p.message) for p in data.cleaning.places] == [
        (42, "'about 3' cannot be a label here"), (43, "the label is missing"),
    ]  # fmt: skip
    path.write_text("a,k\n1,u\n2,v\n3,other\n4,u\n")
    data = load(path, bad_rows="skip", class_names=["u", "v"])
    assert data.y.tolist() == [0, 1, 0]
    assert data.x.tolist() == [[1], [2], [4]]


@pytest.mark.parametrize(
    "text",
    ["a,k\nx,u\ny,v\n", "a,k\n1,\n2,\n", "a,k\n1\n2\n3\n", "a,k\nnan,u\ninf,v\n"],
)
def test_a_table_of_which_nothing_is_left_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=r"no row is left: all \d rows would be skipped, the first"):
        load(path, bad_rows="skip")


def test_a_column_without_a_good_number_cannot_be_filled(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,k\n" + "?,1,u\n?,2,v\n" * 5)
    with pytest.raises(DataError, match="column 'a' has no number in the training part"):
        load(path, fill={"a": "mean"})
    assert load(path, fill={"a": 0}).x[:, 0].tolist() == [0.0] * 10


def test_all_are_counted_and_the_first_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,k\n1,u\n2,v\n" + "x,u\n" * 2000 + ",v\n" * 10)
    data = load(path, bad_rows="skip")
    assert data.cleaning.skipped == 2010
    assert [place.row for place in data.cleaning.places] == list(range(4, 4 + MOST_PLACES))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bad_rows": "ignore"}, "one of refuse, skip"),
        ({"fill": ["a"]}, "option fill must be an object"),
        ({"fill": {"a": "average"}}, "must be mean, median, most frequent"),
        ({"fill": {"a": True}}, "must be mean"),
        ({"fill": {"a": math.inf}}, "must be mean"),
        ({"fill": {"q": "mean"}}, "no column 'q'"),
        ({"fill": {"k": "mean"}}, "'k', which is no feature"),
        ({"fill": {"a": "=Bern"}}, "holds numbers, which cannot be filled"),
        ({"fill": {"a": 0}, "shape": [1, 2]}, "rows of pixels"),
    ],
)
def test_options_that_do_not_fit_are_named(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,k\n1,2,u\n3,4,v\n")
    with pytest.raises(StudioError, match=message):
        load(path, **options)


def test_rows_of_pixels_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,2,3,4,u\n1,2,x,4,v\n5,6,7,8,v\n")
    data = load(path, bad_rows="skip", shape=[2, 2])
    assert data.x.dtype == np.uint8
    assert data.x.reshape(2, 4).tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]


def test_columns_for_several_inputs_are_filled_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,k,p\n1,2,u,3\n,2,v,4\n3,4,u,x\n5,6,,7\n8,9,v,10\n")
    data = open_dataset(
        {
            "source": "columns", "path": "t.csv", "bad_rows": "skip", "fill": {"a": 0},
            "inputs": {"one": "a", "two": ["b", "a"]},
            "targets": {"kind": "k", "price": {"columns": "p", "task": "regression"}},
        },
        tmp_path,
    )  # fmt: skip
    assert [each.values.tolist() for each in data.inputs] == [
        [[1], [0], [8]], [[2, 1], [2, 0], [9, 8]],
    ]  # fmt: skip
    assert data.targets[0].y.tolist() == [0, 1, 1]
    assert data.targets[1].y.tolist() == [[3], [4], [10]]
    assert data.cleaning.skipped == 2
    assert data.cleaning.filled == 1
