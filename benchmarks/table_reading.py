"""How fast tables are read, and in how much memory: with PyArrow, without it, and row by row.

    python -m benchmarks.table_reading --rows 2200000
    python -m benchmarks.table_reading --rows 2200000 --ways pyarrow,numpy

Every table is read in a process of its own. Rates are per second of the processor's time, so that
other programs on the machine do not count, and by the clock beside them; memory is what the process
holds at most beyond what it held before, over the bytes of the data set it makes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.timing import machine

WAYS = ("pyarrow", "numpy", "rows")


def numbers(rows: int) -> Iterator[str]:
    """Five columns of numbers with six decimals, the last a target."""
    yield "a,b,c,d,y\n"
    yield from _numeric(rows, 5)


def wide(rows: int) -> Iterator[str]:
    """Sixty columns of numbers, the last a target."""
    yield ",".join(f"c{i}" for i in range(60)) + "\n"
    yield from _numeric(rows // 12, 60)


def classes(rows: int) -> Iterator[str]:
    """Four columns of numbers and a class."""
    yield "a,b,c,d,kind\n"
    for line, number in zip(_numeric(rows, 4), _labels(rows), strict=True):
        yield f"{line[:-1]},kind {number}\n"


def quoted(rows: int) -> Iterator[str]:
    """Every cell in quotes, Windows line ends, a class."""
    yield '"a","b","c","d","kind"\r\n'
    for line, number in zip(_numeric(rows, 4), _labels(rows), strict=True):
        cells = line[:-1].replace(",", '","')
        yield f'"{cells}","kind {number}"\r\n'


def commas(rows: int) -> Iterator[str]:
    """A class whose text holds the delimiter, in quotes."""
    yield "a,b,c,d,kind\n"
    for line, number in zip(_numeric(rows, 4), _labels(rows), strict=True):
        yield f'{line[:-1]},"kind, {number}"\n'


def lines(rows: int) -> Iterator[str]:
    """A class whose text holds a line end and quotes, in quotes."""
    yield "a,b,c,d,kind\n"
    for line, number in zip(_numeric(rows, 4), _labels(rows), strict=True):
        yield f'{line[:-1]},"the ""kind""\n{number}"\n'


def pixels(rows: int) -> Iterator[str]:
    """Images of 28 by 28 pixels and a class, as MNIST is given as a table."""
    rng = np.random.default_rng(0)
    for _ in range(rows // 40):
        cells = rng.integers(0, 256, 784) * (rng.random(784) < 0.2)
        yield f"{rng.integers(10)}," + ",".join(map(str, cells.tolist())) + "\n"


TABLES: dict[str, tuple[Callable[[int], Iterator[str]], dict[str, object]]] = {
    "five numbers": (numbers, {"task": "regression"}),
    "sixty numbers": (wide, {"task": "regression"}),
    "numbers and a class": (classes, {}),
    "the same in quotes": (quoted, {}),
    "commas in quotes": (commas, {}),
    "lines, quotes in quotes": (lines, {}),
    "28 x 28 pixels": (pixels, {"label": 0, "shape": (28, 28), "task": "classes"}),
}


def _numeric(rows: int, columns: int) -> Iterator[str]:
    rng = np.random.default_rng(0)
    for begin in range(0, rows, 1000):
        for row in rng.normal(size=(min(1000, rows - begin), columns)).tolist():
            yield ",".join(f"{value:.6f}" for value in row) + "\n"


def _labels(rows: int) -> list[int]:
    return np.random.default_rng(1).integers(0, 5, rows).tolist()


def measure(path: Path, table: str, way: str) -> dict[str, float]:
    """Read a table once, in this process."""
    from studio.engine.train.data.csv import columns as csv_columns
    from studio.engine.train.data.csv import pieces as csv_pieces
    from studio.engine.train.data.csv.table import CsvOptions, load_csv

    if way == "pyarrow":
        # What the first table of a session waits for is not the table's.
        csv_pieces.arrow()
    elif way == "numpy":
        csv_pieces.arrow = lambda: None
    else:
        csv_columns.read_piece = lambda *_: None  # type: ignore[assignment]
    options = CsvOptions(**TABLES[table][1])  # type: ignore[arg-type]
    before = _peak()
    began, worked = time.perf_counter(), time.process_time()
    data = load_csv(path, options)
    seconds, work = time.perf_counter() - began, time.process_time() - worked
    result = data.x.nbytes + data.y.nbytes
    return {
        "rows": len(data.x),
        "seconds": seconds,
        "work": work,
        "memory": (_peak() - before) / result,
    }


def _peak() -> int:
    """Bytes this process held at most."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main() -> None:
    """Write the tables, read each in every way, print what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--child", nargs=3, metavar=("FILE", "TABLE", "WAY"))
    given = parser.parse_args()
    if given.child:
        path, table, way = given.child
        print(json.dumps(measure(Path(path), table, way)))
        return
    print(", ".join(machine().values()))
    heads = f"{'rows/s':>10} {'MB/s':>7} {'by the clock':>13} {'memory / result':>16}"
    print(f"{'table':<24} {'way':<8} {heads}")
    with tempfile.TemporaryDirectory() as folder:
        for table, (write, _) in TABLES.items():
            path = Path(folder) / "table.csv"
            with path.open("w", newline="") as file:
                file.writelines(write(given.rows))
            found: dict[str, list[dict[str, float]]] = {way: [] for way in given.ways.split(",")}
            for _ in range(given.repeat):
                for way in found:
                    words = [sys.executable, "-m", "benchmarks.table_reading", "--child"]
                    told = subprocess.run(
                        [*words, str(path), table, way], capture_output=True, check=True
                    )
                    found[way].append(json.loads(told.stdout))
            for way, runs in found.items():
                best = min(runs, key=lambda run: run["work"])
                megabytes = path.stat().st_size / best["work"] / 1e6
                rows = best["rows"] / best["work"]
                clock = max(run["rows"] / run["seconds"] for run in runs)
                memory = max(run["memory"] for run in runs)
                print(
                    f"{table:<24} {way:<8} {rows:>10,.0f} {megabytes:>7.1f} {clock:>13,.0f} "
                    f"{memory:>16.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
