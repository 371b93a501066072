"""Tables are read alike with PyArrow, without it, and row by row, whatever is in them."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from studio.engine.core.errors import DataError
from studio.engine.core.interruption import interrupted_by
from studio.engine.train.data.csv import columns as csv_columns
from studio.engine.train.data.csv import lines as csv_lines
from studio.engine.train.data.csv import pieces as csv_pieces
from studio.engine.train.data.csv.labels import RowLines
from studio.engine.train.data.csv.table import CsvOptions, load_csv
from studio.engine.train.data.source_files import DEFAULT_LIMITS

NUMBERS = ("1", "2", "0", "255", "-1", "0.5", "1e3", "1.25e-3", " 3 ", "\t4", "+5", ".5", "7.",
           "-0.0", "1", "2", "0", "3")  # fmt: skip
DIGITS = ("0", "0", "1", "7", "12", "007", "99", "255", "000", "999")
ODD = ("", "nan", "inf", "1e39", "1e400", "x", "1_0", "\u0663", "\xa01", "\x1c1", "1,5", "?", "-",
       "3.4028235677973366e38", "abc def", "\ufeff1", "\u00e9", "0x1", "1e-400", "\u2028", "  ",
       "1e", "True", "9" * 60, "a\0b", "a\x01b", '"a\x02"', "\x03", "1000", "a\"b")  # fmt: skip
TEXTS = ("a", "b", "cat", " a", "b ", "\u00e9", "0", "1", "1.0", "2", "x;y", "x|y", "kind_1",
         '"a, b"', '",;"', '" x|\ty "', '"a ""b"""', '"""a"', '""""', '"a\nb"', '"\r\n c"', '"\ra"',
         ' "a"', '  "b"', '"""\n,"')  # fmt: skip
QUOTED = ('"{}"', '"{}"', ' "{}"', '"{}" ', '""{}""', '"{}', '"{}","{}"', '"a""{}"', '"{},1"',
          '"{}\n2"', '"{}\r\n"', '"\n{}"', '"{}"x', 'x"{}"')  # fmt: skip


def table_of(seed: int) -> tuple[bytes, CsvOptions, dict[str, int]]:
    """A weird table, how it is to be read, and caps."""
    pick = random.Random(seed)
    width, rows = pick.choice([2, 3, 3, 4, 5, 20]), pick.choice([1, 2, 3, 5, 8, 30, 60])
    numbers = pick.choice([NUMBERS, NUMBERS, DIGITS])
    delimiter = pick.choice(",,,;\t|")
    quoting, oddness = pick.choice([0, 0, 0.05, 0.5, 1]), pick.choice([0, 0, 0, 0.01, 0.1])
    forms = pick.choice([QUOTED[:2], QUOTED[:2], QUOTED[:4], QUOTED])
    end = pick.choice(["\n", "\n", "\r\n", "\r"])
    has_text, ragged = pick.choice([False, True]), pick.choice([0, 0, 0, 0.02])
    blank = pick.choice([0, 0, 0.05, 0.3])
    lines = []
    if pick.random() < 0.7:
        heads = ["a", "b", "y", "z zz", '"q"', "", "c", *(f"c{i}" for i in range(20))]
        lines.append(delimiter.join(pick.sample(heads[: max(7, width)], width)))
    for _ in range(rows):
        cells = []
        for column in range(width):
            text = has_text and column == width - 1
            cell = pick.choice(ODD if pick.random() < oddness else TEXTS if text else numbers)
            if pick.random() < quoting:
                cell = pick.choice(forms).replace("{}", cell)
            cells.append(cell)
        if pick.random() < ragged:
            cells = cells[:-1] if pick.random() < 0.5 else [*cells, "1"]
        lines.append(delimiter.join(cells))
        if pick.random() < blank:
            lines.append(pick.choice(["", " ", delimiter * (width - 1), delimiter, "\t"]))
    text = "".join(
        line + (end if pick.random() < 0.98 else pick.choice(["\n", "\r", "\r\n"]))
        for line in lines
    )
    content = (text.rstrip("\r\n") if pick.random() < 0.3 else text).encode()
    if pick.random() < 0.1:
        content = b"\xef\xbb\xbf" + content
    if pick.random() < 0.02:
        at = pick.randrange(len(content) + 1)
        content = content[:at] + pick.choice([b"\xff", b"\xed\xa0\x80", b"\n\n"]) + content[at:]
    return content, CsvOptions(**_options(pick, width, delimiter)), _caps(pick)


def _options(pick: random.Random, width: int, delimiter: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if pick.random() < 0.3:
        found["delimiter"] = delimiter
    if pick.random() < 0.3:
        found["label"] = pick.choice([0, -1, 1, (0, 1)])
    if pick.random() < 0.4:
        found["task"] = pick.choice(["classes", "regression"])
    if pick.random() < 0.15:
        found["header"] = pick.choice([True, False])
    if pick.random() < 0.1:
        found["class_names"] = ("a", "b", "cat", "1")
    if pick.random() < 0.1:
        found["drop"] = (0,)
    if pick.random() < 0.2:
        found["shape"] = (1, width - 1)
    return found


def _caps(pick: random.Random) -> dict[str, int]:
    found = {}
    if pick.random() < 0.1:
        found["row_chars"] = pick.choice([10, 20, 40])
    if pick.random() < 0.1:
        found["classes"] = pick.choice([2, 3])
    return found


def outcome(path: Path, options: CsvOptions, caps: dict[str, int]) -> tuple[object, ...]:
    """All of what was read, or what was said against it."""
    try:
        found = load_csv(path, options, replace(DEFAULT_LIMITS, **caps))
    except DataError as error:
        return type(error), str(error)
    x, y = found.x, found.y
    return (x.dtype, x.shape, x.tobytes(), y.dtype, y.shape, y.tobytes(), found.class_names,
            found.feature_names, found.notes, found.kind, found.value_range)  # fmt: skip


def all_ways(path: Path, options: CsvOptions, caps: dict[str, int]) -> list[tuple[object, ...]]:
    """What comes out with PyArrow, without it, and where no piece is read at once."""
    with pytest.MonkeyPatch.context() as patch:
        found = [outcome(path, options, caps)]
        patch.setattr(csv_pieces, "arrow", lambda: None)
        found.append(outcome(path, options, caps))
        patch.setattr(csv_columns, "read_piece", lambda *_: None)
        found.append(outcome(path, options, caps))
    return found


def test_pyarrow_is_here_to_be_compared() -> None:
    assert csv_pieces.arrow() is not None


@pytest.mark.slow
@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32), piece=st.sampled_from([1 << 20, 64, 200]))
@example(seed=10, piece=64)
@example(seed=1007030, piece=200)
def test_all_ways_agree_on_weird_tables(tmp_path: Path, seed: int, piece: int) -> None:
    content, options, caps = table_of(seed)
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_lines, "PIECE_BYTES", piece)
        with_arrow, without, by_rows = all_ways(path, options, caps)
    assert with_arrow == by_rows
    assert without == by_rows


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b'"1","3",a\n"\xef\xbb\xbf1","4",b\n', {}),
        (b"1,2,a\n3,4,b\n" * 3 + b'"5\n",6,a\n' * 3 + b"7,x,b\n", {}),
        (b"x,y\n1,0.5\n2,1e39\n3,z\n", {"task": "regression"}),
        (b"x,y\n" + b"".join(b"1,%d.5\n" % i for i in range(300)), {}),
        (b"x,y\n" + b"".join(b"1,c%d\n" % i for i in range(300)), {"task": "classes"}),
        (b"x,y\n" + b"".join(b"1,%d\n" % i for i in range(300)), {"class_names": ("1", "2")}),
        (b"x,y\n" + b"1,2.5\n" * 200 + b"1,?\n", {"task": "regression"}),
    ],
)
def test_all_ways_agree(tmp_path: Path, content: bytes, options: dict[str, Any]) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    for caps in ({}, {"classes": 100}):
        first, *others = all_ways(path, CsvOptions(**options), caps)
        assert others == [first, first]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["pyarrow", "numpy"])
def test_only_the_part_with_the_fault_is_read_row_by_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    path = tmp_path / "table.csv"
    lines = [f"{i}.5,{i},0.25\n" for i in range(200_000)]
    lines[150_000] = "1.5,oops,0.25\n"
    path.write_text("a,b,y\n" + "".join(lines))
    if way == "numpy":
        monkeypatch.setattr(csv_pieces, "arrow", lambda: None)
    seen: list[int] = []
    plain = csv_columns.check_width

    def counted(row: Any, width: int, who: str) -> None:
        seen.append(row.line)
        plain(row, width, who)

    monkeypatch.setattr(csv_columns, "check_width", counted)
    with pytest.raises(DataError, match=r"row 150002, column 2 \('b'\): .* got 'oops'"):
        load_csv(path)
    assert seen[0] > 100_000
    assert len(seen) < 80_000


@pytest.mark.parametrize("arrow", [True, False])
@pytest.mark.parametrize(
    ("row", "label"),
    [
        ('{0}.5,"{0}","kind {1}"\r\n', "kind 1"),
        ('{0}.5,{0}, "kind, {1}"\n', "kind, 1"),
        ('{0}.5,{0},"the ""{1}"""\n', 'the "1"'),
        ('{0}.5,{0},"kind\r\n{1}"\n', "kind\r\n1"),
        ("{0},7," * 20 + "kind {1}\n", "kind 1"),
    ],
)
def test_usual_tables_need_neither_rows_nor_python_s_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arrow: bool, row: str, label: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes("".join(row.format(i % 1000, i % 3) for i in range(2_000)).encode())
    if not arrow:
        monkeypatch.setattr(csv_pieces, "arrow", lambda: None)
    monkeypatch.setattr(csv_lines, "PIECE_BYTES", 5_000)
    monkeypatch.setattr(csv_pieces, "_through_csv", lambda *_: pytest.fail("Python's reader"))
    taken: list[bool] = []
    read_piece = csv_columns.read_piece

    def watched(*given: Any) -> Any:
        taken.append((found := read_piece(*given)) is not None)
        return found

    monkeypatch.setattr(csv_columns, "read_piece", watched)
    found = load_csv(path, CsvOptions(header=False, task="classes"))
    assert len(taken) > 5
    assert all(taken)
    assert len(found.x) == 2_000
    assert found.class_names[1] == label
    assert found.y.tolist() == [i % 3 for i in range(2_000)]


@pytest.mark.slow
@given(
    parts=st.lists(
        st.lists(st.sampled_from([1, 1, 1, 2, 300, 70_000]), max_size=5) | st.integers(0, 5)
    )
)
def test_the_line_of_every_row_is_known(parts: list[list[int] | int]) -> None:
    known, expected, line = RowLines(), [], 2
    for part in parts:
        if isinstance(part, int):
            lines = list(range(line, line + part))
            known.extend(range(line, line + part))
            line += part
        else:
            lines = list(accumulate(part, initial=line))[:-1]
            known.extend(np.array(lines, np.int64))
            line += sum(part)
        expected += lines
    assert len(known) == len(expected)
    assert [known[row] for row in range(len(known))] == expected


def test_reading_can_be_given_up(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,y\n" + "1.5,2.5\n" * 1_000_000)
    asked: list[int] = []

    class GivenUpError(Exception):
        pass

    def check() -> None:
        asked.append(1)
        if len(asked) == 5:
            raise GivenUpError

    with interrupted_by(check), pytest.raises(GivenUpError):
        load_csv(path, CsvOptions(task="regression"))


MEASURE = """
import json, resource, sys
from pathlib import Path
import numpy as np
from studio.engine.train.data.csv import pieces as csv_pieces
from studio.engine.train.data.csv.table import CsvOptions, load_csv
if sys.argv[2] == "numpy":
    csv_pieces.arrow = lambda: None
csv_pieces.arrow()
small = Path(sys.argv[1]).with_name("small.csv")
small.write_text("a,b,c,d,y\\n" + "0.5,1.5,2.5,3.5,4.5\\n" * 100_000)
load_csv(small, CsvOptions(task="regression"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = load_csv(Path(sys.argv[1]), CsvOptions(task="regression"))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([len(data.x), (peak - before) * 1024 / (data.x.nbytes + data.y.nbytes)]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no such measure of memory")
@pytest.mark.parametrize("way", ["pyarrow", "numpy"])
def test_a_large_table_takes_at_most_three_times_its_result(tmp_path: Path, way: str) -> None:
    path = tmp_path / "large.csv"
    rng = np.random.default_rng(0)
    block = "".join(
        ",".join(f"{value:.6f}" for value in row) + "\n" for row in rng.normal(size=(20_000, 5))
    )
    with path.open("w") as file:
        file.write("a,b,c,d,y\n")
        for _ in range(75):
            file.write(block)
    words = [sys.executable, "-c", MEASURE, str(path), way]
    told = subprocess.run(words, capture_output=True, text=True, check=True)
    rows, times = json.loads(told.stdout)
    assert rows == 1_500_000
    assert times < 3
