"""Tables of every usual form give the data set a person would expect."""

import io
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest

from studio.engine.train.data.csv import rows as csv_rows
from studio.engine.train.data.csv.table import CsvOptions, load_csv
from studio.engine.train.data.dataset import Dataset

IRISLIKE = "a,b,kind\n1,2,cat\n3.5,-4e1,dog\n.5,6,cat\n"


def load(tmp_path: Path, text: str | bytes, options: CsvOptions = CsvOptions()) -> Dataset:  # noqa: B008
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_csv(path, options)


@pytest.mark.parametrize(
    "text",
    [
        IRISLIKE,
        IRISLIKE.replace("\n", "\r\n"),
        IRISLIKE.replace("\n", "\r"),
        "\ufeff" + IRISLIKE,
        IRISLIKE.rstrip("\n"),
        IRISLIKE.replace(",", ";"),
        IRISLIKE.replace(",", "\t"),
        IRISLIKE.replace(",", "|"),
        IRISLIKE.replace(",", " , "),
        IRISLIKE.replace("\n", "\n\n"),
        IRISLIKE + ",,\n",
        '"a","b","kind"\n"1","2","cat"\n"3.5","-4e1","dog"\n".5","6","cat"\n',
    ],
)
def test_same_table_in_every_dialect(tmp_path: Path, text: str) -> None:
    data = load(tmp_path, text)
    assert data.x.tolist() == [[1, 2], [3.5, -40], [0.5, 6]]
    assert data.x.dtype == np.float32
    assert data.y.tolist() == [0, 1, 0]
    assert data.class_names == ("cat", "dog")
    assert data.feature_names == ("a", "b")


def test_table_without_header_is_recognised(tmp_path: Path) -> None:
    data = load(tmp_path, "1,2,cat\n3,4,dog\n")
    assert len(data) == 2
    assert data.feature_names == ("column 1", "column 2")


def test_header_of_numbers_counts_when_stated(tmp_path: Path) -> None:
    data = load(tmp_path, "0,1,2\n1,2,0\n3,4,1\n", CsvOptions(header=True))
    assert data.feature_names == ("0", "1")
    assert len(data) == 2


def test_header_with_numbers_counts_when_the_label_is_named(tmp_path: Path) -> None:
    data = load(tmp_path, "label,0,1\n7,1,2\n8,3,4\n", CsvOptions(label="label"))
    assert data.class_names == ("7", "8")
    assert data.x.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("label", ["kind", 0, -3])
def test_label_column_anywhere_by_name_or_position(tmp_path: Path, label: str | int) -> None:
    data = load(tmp_path, "kind,b,c\nx,1,2\ny,3,4\n", CsvOptions(label=label))
    assert data.y.tolist() == [0, 1]
    assert data.x.tolist() == [[1, 2], [3, 4]]


def test_quoted_cells_may_hold_delimiters_quotes_and_line_ends(tmp_path: Path) -> None:
    data = load(tmp_path, 'a,b\n1,"red, dark"\n2,"say ""hi"""\n3,"two\nlines"\n')
    assert data.class_names == ("red, dark", 'say "hi"', "two\nlines")


def test_whole_number_labels_sort_as_numbers(tmp_path: Path) -> None:
    data = load(tmp_path, "a,b\n1,10\n2,9\n3,9.0\n")
    assert data.class_names == ("9", "10")
    assert data.y.tolist() == [1, 0, 0]
    assert "taken as classes" in data.notes[0]


def test_real_labels_are_regression_targets(tmp_path: Path) -> None:
    data = load(tmp_path, "a,b\n1,0.5\n2,1.25\n")
    assert data.class_names == ()
    assert data.y.tolist() == [[0.5], [1.25]]
    assert data.y.dtype == np.float32


def test_task_overrides_the_guess(tmp_path: Path) -> None:
    assert load(tmp_path, "a,b\n1,0\n2,1\n", CsvOptions(task="regression")).y.shape == (2, 1)
    text = "a,b\n1,0.5\n2,1.25\n"
    assert load(tmp_path, text, CsvOptions(task="classes")).class_names == ("0.5", "1.25")


def test_several_target_columns(tmp_path: Path) -> None:
    data = load(tmp_path, "u,a,v\n1,2,3\n4,5,6\n", CsvOptions(label=("v", "u")))
    assert data.y.tolist() == [[3, 1], [6, 4]]
    assert data.x.tolist() == [[2], [5]]


def test_stated_classes_fix_the_order_and_dropped_columns_go(tmp_path: Path) -> None:
    options = CsvOptions(label="kind", class_names=("dog", "cat", "cow"), drop=("id",))
    data = load(tmp_path, "id,a,kind\nx1,1,cat\nx2,2,dog\n", options)
    assert data.y.tolist() == [1, 0]
    assert data.class_counts() == {"dog": 1, "cat": 1, "cow": 0}
    assert data.feature_names == ("a",)


def test_rows_of_pixels_become_uint8_images(tmp_path: Path) -> None:
    text = "label,p0,p1,p2,p3\n3,0,255,7,8\n4,1,2,3,4\n"
    data = load(tmp_path, text, CsvOptions(label="label", shape=(2, 2)))
    assert data.kind == "images"
    assert data.x.dtype == np.uint8
    assert data.x[0, :, :, 0].tolist() == [[0, 255], [7, 8]]
    assert data.value_range == (0.0, 255.0)


@pytest.mark.slow
def test_many_rows_over_several_blocks(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(3000, 100)).astype(np.float32)
    lines = [",".join(map(repr, row.tolist())) + f",{i % 3}" for i, row in enumerate(values)]
    data = load(tmp_path, "\n".join(lines))
    assert (data.x == values).all()
    assert data.y.tolist() == [i % 3 for i in range(3000)]


@pytest.mark.slow
def test_a_large_table_is_read_in_large_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that reads often keeps one that waits for the interpreter from ever getting it."""
    reads: list[int] = []

    class Counted(io.FileIO):
        def readinto(self, buffer: Any, /) -> int | None:
            reads.append(memoryview(buffer).nbytes)
            return super().readinto(buffer)

    def opened(path: Path, _cap: int) -> tuple[BinaryIO, int]:
        return io.BufferedReader(Counted(path)), path.stat().st_size

    path = tmp_path / "large.csv"
    values = np.arange(400_000, dtype=np.float32).reshape(-1, 4)
    rows = (f"{a:.1f},{b:.1f},{c:.1f},{d:.1f}" for a, b, c, d in values)
    path.write_text("\n".join(["a,b,c,d", *rows]))
    monkeypatch.setattr(csv_rows, "open_regular", opened)
    data = load_csv(path, CsvOptions(task="regression"))
    np.testing.assert_array_equal(data.x, values[:, :3])
    np.testing.assert_array_equal(data.y, values[:, 3:])
    # The first rows to find the separator, the blocks, and the end.
    assert len(reads) <= 4 + -(-path.stat().st_size // (1 << 20))
