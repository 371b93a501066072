"""Bad tables get one clear sentence with file, row and column."""

from dataclasses import replace
from pathlib import Path

import pytest

from studio.engine.core.errors import DataError
from studio.engine.train.data.csv.table import CsvOptions, load_csv
from studio.engine.train.data.source_files import DEFAULT_LIMITS


def refuse(tmp_path: Path, content: bytes, options: CsvOptions = CsvOptions()) -> str:  # noqa: B008
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    limits = replace(DEFAULT_LIMITS, columns=50, row_chars=2000)
    with pytest.raises(DataError) as caught:
        load_csv(path, options, limits)
    assert caught.value.who == "bad.csv"
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 400
    return str(caught.value)


HEAD = b"width,height,kind\n1,2,a\n"


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"", ["empty"]),
        (b"\n\n\n", ["no rows"]),
        (b"a,b,c\n", ["no rows of data"]),
        (b"just one column\n1\n", ["at least two columns"]),
        (HEAD + b"3,x,b\n", ["row 3", "column 2", "'height'", "'x'"]),
        (HEAD + b"3,,b\n", ["row 3", "column 2", "'height'", "empty"]),
        (HEAD + b"3,nan,b\n", ["row 3", "column 2", "'height'", "finite", "missing value"]),
        (HEAD + b"3,?,b\n", ["row 3", "column 2", "'?'", "missing value"]),
        (HEAD + b"inf,4,b\n", ["row 3", "column 1", "'width'", "finite"]),
        (HEAD + b"3,1e39,b\n", ["row 3", "column 2", "finite number within float32"]),
        (HEAD + b"3,1_0,b\n", ["row 3", "column 2", "'1_0'"]),
        (HEAD + b'"3,5",4,b\n', ["row 3", "column 1", "decimals with a point"]),
        (HEAD + b"3,4\n", ["row 3", "expected 3 cells", "got 2"]),
        (HEAD + b"3,4,b,5\n", ["row 3", "expected 3 cells", "got 4"]),
        (HEAD + b"3,4,\n", ["row 3", "column 3", "'kind'", "label is missing"]),
        (HEAD + b'3,"4,b\n5,6,c\n', ["row 3", "malformed", "quote"]),
        (HEAD + b'3,"4"5,b\n', ["row 3", "malformed"]),
        (HEAD + b"3,4,\xff\n", ["row 3", "UTF-8", "0xff"]),
        (HEAD + b"3,4,\0\n", ["row 3", "not a text file"]),
        ("a,b\n1,x\n".encode("utf-16"), ["UTF-16"]),
        (b"a,b,a\n1,2,x\n", ["columns 1 and 3", "same name", "'a'"]),
        (HEAD + b"3,4,a\n", ["at least two classes", "'kind'"]),
        (HEAD + b"3," + b"9" * 3000 + b",b\n", ["row 3", "longer than 2000"]),
        (b"," * 100 + b"x\n", ["row 1", "too many columns", "101"]),
        (HEAD + b'"' + b"\n" * 3000, ["longer than 2000"]),
    ],
)
def test_bad_table_is_named(tmp_path: Path, content: bytes, parts: list[str]) -> None:
    message = refuse(tmp_path, content)
    for part in ["bad.csv", *parts]:
        assert part in message


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (CsvOptions(label="colour"), ["'colour'", "'width', 'height', 'kind'"]),
        (CsvOptions(label=7), ["position 7", "3 columns"]),
        (CsvOptions(drop=("depth",)), ["'depth'"]),
        (CsvOptions(label="kind", drop=("kind",)), ["named twice, or also dropped"]),
        (CsvOptions(label="kind", drop=("width", "height")), ["no columns are left"]),
        (CsvOptions(label="kind", class_names=("b", "c")), ["row 2", "'a'", "2 stated classes"]),
        (CsvOptions(label="kind", task="regression"), ["row 2", "column 3", "'kind'", "'a'"]),
        (CsvOptions(label="kind", shape=(2, 3)), ["[2, 3, 1] has 6", "2 feature columns"]),
    ],
)
def test_options_that_do_not_fit_are_named(
    tmp_path: Path, options: CsvOptions, parts: list[str]
) -> None:
    message = refuse(tmp_path, HEAD + b"3,4,b\n", options)
    for part in parts:
        assert part in message


def test_slip_in_a_regression_column_is_not_taken_for_a_class(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i}.5\n" for i in range(40)) + "40,4O.5\n"
    message = refuse(tmp_path, b"a,price\n" + rows.encode())
    for part in ("row 42", "column 2", "'price'", "'4O.5'"):
        assert part in message


def test_row_numbers_count_lines_through_quoted_line_ends_and_blanks(tmp_path: Path) -> None:
    message = refuse(tmp_path, b'a,b\n1,"x\ny"\n\n2,z\nq,w\n')
    assert "row 6" in message


def test_missing_file_folder_and_pipe_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        load_csv(tmp_path / "none.csv")
    with pytest.raises(DataError, match="regular file, got a folder"):
        load_csv(tmp_path)


def test_cell_is_shown_short_and_without_control_characters(tmp_path: Path) -> None:
    message = refuse(tmp_path, HEAD + b"3,\x1b[31m" + b"z" * 500 + b",b\n")
    assert "\x1b" not in message
    assert len(message) < 300
