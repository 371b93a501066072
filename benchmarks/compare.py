"""Whether one checkout is slower than another: steps and operations in processes that take turns.

    python -m benchmarks.compare OLD NEW
    python -m benchmarks.compare OLD NEW --backend gl --works W2,W4 --bits --json table.json

OLD and NEW are folders of checkouts; neither needs to be installed, and either may lack rows the
other has. Each has one process. In every pair both run for ``--seconds``, the one that began last
time second, so that what drifts on a machine falls on both. Given is the median of the pairs'
ratios NEW / OLD and the interval that holds the true median in 95 of 100 cases. A row whose
interval is wider than ``--width`` is measured once more, its pairs joined with the first ones.

The step's memory is what the executable and the session hold, its samples aside; the peak is the
most that was held at once. With ``--bits`` both first train 200 steps from the same start, and all
that training keeps is compared bit by bit: parameters, slots, statistics, losses.

Ends with 1 where a row's median is above ``--most``, or one that both have cannot be run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np

from benchmarks.paired import Median, RowError, StepProcess, chosen_cores
from benchmarks.timing import machine, write_json
from benchmarks.workloads import WORKLOADS

LEAST_PAIRS = 15
BIT_STEPS = 200
"""Steps after which bits are compared; the ring of losses holds as many."""
WARM_SECONDS = 0.5
"""How long each runs before it is timed: a GPU that waited raises its clock meanwhile."""

Key: TypeAlias = tuple[str, int]
"""A row's work, and its batch or size."""
Kept: TypeAlias = Mapping[str, np.ndarray]


class Runner(Protocol):
    """What is asked of a checkout's process, see `paired.StepProcess`."""

    def rows(self) -> list[Key]:
        """Work and batch of all rows."""

    def open(self, work: str, batch: int) -> bool:
        """Prepare a row; whether its steps train."""

    def train(self, steps: int, file: Path) -> None:
        """Run steps, then write all that training keeps."""

    def warm(self, seconds: float) -> int:
        """Run for so long; how many steps make a block."""

    def measure(self, seconds: float, steps: int) -> float:
        """Milliseconds a step."""

    def close_row(self) -> tuple[float, float]:
        """Close the row; MiB of its step, and at most."""


@dataclass
class Compared:
    """One row.

    Attributes:
        work: which.
        batch: its batch or size.
        old_ms: milliseconds of each of OLD's stretches.
        new_ms: of NEW's, pair by pair.
        step_mib: of OLD's step and of NEW's.
        peak_mib: most that OLD held, and NEW.
        bits: what the comparison of bits found; empty where none was asked for.
        failed: why it could not be run.
    """

    work: str
    batch: int
    old_ms: list[float] = field(default_factory=list)
    new_ms: list[float] = field(default_factory=list)
    step_mib: tuple[float, float] = (0.0, 0.0)
    peak_mib: tuple[float, float] = (0.0, 0.0)
    bits: str = ""
    failed: str = ""

    @property
    def ratio(self) -> Median | None:
        """The median of NEW / OLD over the pairs."""
        pairs = zip(self.old_ms, self.new_ms, strict=True)
        return Median.of([new / old for old, new in pairs]) if self.old_ms else None

    def remarks(self, options: argparse.Namespace) -> list[str]:
        """What there is to say of the row, in single words."""
        if self.failed:
            return [self.failed]
        found = []
        ratio = self.ratio
        if ratio is not None:
            found += ["SLOWER"] if ratio.value > options.most else []
            found += ["repeated"] if len(self.old_ms) > options.pairs else []
            found += ["wide"] if _is_wide(ratio, options.width) else []
        # A buffer more or less is no difference; half a MiB of them is.
        found += ["more memory"] if self.step_mib[1] > self.step_mib[0] + 0.5 else []
        return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a row of a Markdown table as each ends, and write JSON if asked."""
    options = _options(arguments)
    if options.threads:
        os.sched_setaffinity(0, chosen_cores(options.threads))
    facts = {**machine(), "old": _named(options.old), "new": _named(options.new)}
    facts["new"] += ", in order" if options.in_order else ""
    facts["backend"] = options.backend + (" (software)" if options.software else "")
    print("\n".join(f"- {key}: {value}" for key, value in facts.items()) + "\n")
    with ExitStack() as stack:
        old, new = (
            stack.enter_context(
                StepProcess("glassbox", folder, backend=options.backend, threads=options.threads,
                            software=options.software, in_order=in_order)
            )
            for folder, in_order in ((options.old, False), (options.new, options.in_order))
        )  # fmt: skip
        found = compare(old, new, options, facts)
    failed = any(row.failed for row in found)
    slower = any(row.ratio is not None and row.ratio.value > options.most for row in found)
    return int(failed or slower)


def compare(
    old: Runner, new: Runner, options: argparse.Namespace, facts: Mapping[str, str]
) -> list[Compared]:
    """All rows wanted, each printed as it ends."""
    try:
        both = wanted_rows(old.rows(), new.rows(), options)
    except RowError as error:
        raise SystemExit(str(error)) from None
    heads = ("work", "batch", "old, ms", "new, ms", "new/old (95 %)", "step, MiB", "peak, MiB")
    print(f"| {' | '.join(heads)} | bits | remarks |")
    print("|---" * (len(heads) + 2) + "|", flush=True)
    found: list[Compared] = []
    for work, batch in both:
        row = Compared(work, batch)
        found.append(row)
        try:
            _measure(row, old, new, options)
        except RowError as error:
            row.failed = str(error)
        print(_line(row, options), flush=True)
        if options.json is not None:
            write_json(options.json, {"machine": dict(facts), "rows": [_plain(r) for r in found]})
    return found


def wanted_rows(old: list[Key], new: list[Key], options: argparse.Namespace) -> list[Key]:
    """Rows both have of the works asked for; those only one has are named.

    A word stands for all works that begin with it: ``W6`` for every ``W6 …``. Batches asked for
    take the place of the usual ones of whole networks.
    """
    batches = [int(batch) for batch in options.batches.split(",") if batch]
    ours, theirs = (_chosen(rows, options.works, batches) for rows in (new, old))
    for name, rows, others in (("OLD", ours, theirs), ("NEW", theirs, ours)):
        for work, batch in (row for row in rows if row not in others):
            print(f"{work} {batch}: {name} has no such row", file=sys.stderr)
    both = [row for row in ours if row in theirs]
    for word in options.works.split(","):
        if not _chosen(both, word, []):
            raise SystemExit(f"{word}: no such row is in both checkouts.")
    return both


def _chosen(rows: Sequence[Key], works: str, batches: Sequence[int]) -> list[Key]:
    found: list[Key] = []
    for word in works.split(","):
        for work, batch in rows:
            if word in (work, work.split()[0]):
                given = batches if work in WORKLOADS and batches else [batch]
                found += [(work, one) for one in given if (work, one) not in found]
    return found


def _measure(row: Compared, old: Runner, new: Runner, options: argparse.Namespace) -> None:
    runners = (old, new)
    try:
        trains = [runner.open(row.work, row.batch) for runner in runners]
        if options.bits and all(trains):
            row.bits = _compared_bits(old, new)
        if options.pairs:
            _measure_pairs(row, old, new, options)
    finally:
        held = [runner.close_row() for runner in runners]
    row.step_mib, row.peak_mib = zip(*held, strict=True)


def _measure_pairs(row: Compared, old: Runner, new: Runner, options: argparse.Namespace) -> None:
    steps = max(old.warm(WARM_SECONDS), 1)
    new.warm(WARM_SECONDS)
    while True:
        for _ in range(options.pairs):
            # Who was second is first now, and nothing happens in between.
            if len(row.old_ms) % 2 == 0:
                row.old_ms.append(old.measure(options.seconds, steps))
                row.new_ms.append(new.measure(options.seconds, steps))
            else:
                taken = new.measure(options.seconds, steps)
                row.old_ms.append(old.measure(options.seconds, steps))
                row.new_ms.append(taken)
        ratio = row.ratio
        repeated = len(row.old_ms) > options.pairs
        if repeated or ratio is None or not _is_wide(ratio, options.width):
            return


def _is_wide(ratio: Median, width: float) -> bool:
    return ratio.high - ratio.low > width


def _compared_bits(old: Runner, new: Runner) -> str:
    """What the comparison of two trainings of the same start found."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "old.npz", Path(folder) / "new.npz"]
        for runner, file in zip((old, new), files, strict=True):
            runner.train(BIT_STEPS, file)
        return difference(*(_loaded(file) for file in files))


def _loaded(file: Path) -> dict[str, np.ndarray]:
    with np.load(file, allow_pickle=False) as found:
        return {name.replace("|", "/"): found[name] for name in found.files}


def difference(old: Kept, new: Kept) -> str:
    """``same``, or the largest difference as a share of the largest number of its tensor.

    Tensors only one has are named; a NaN where the other has a number is the largest difference.
    """
    only = sorted(old.keys() ^ new.keys())
    said = [f"only in one: {', '.join(only)}"] if only else []
    worst, where = 0.0, ""
    for name in sorted(old.keys() & new.keys()):
        a, b = old[name], new[name]
        if a.shape != b.shape or a.dtype != b.dtype:
            said.append(f"{name} is {a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}")
        elif a.tobytes() != b.tobytes():
            share = _share(a.astype(np.float64), b.astype(np.float64))
            if share >= worst:
                worst, where = share, name
    if where:
        said.append(f"differ by up to {worst:.1e} ({where})")
    return "; ".join(said) or "same"


def _share(a: np.ndarray, b: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):
        apart = np.where(a == b, 0.0, np.abs(a - b))
    apart = np.where(np.isnan(a) & np.isnan(b), 0.0, apart)
    largest = np.abs(a[np.isfinite(a)]).max(initial=0.0)
    worst = float(apart.max(initial=0.0))
    if not np.isfinite(worst):
        return np.inf
    return worst / float(largest) if largest else worst


def _line(row: Compared, options: argparse.Namespace) -> str:
    cells = [row.work, str(row.batch)]
    ratio = row.ratio
    if ratio is None:
        cells += ["", "", ""]
    else:
        cells += [f"{statistics.median(ms):.4f}" for ms in (row.old_ms, row.new_ms)]
        cells.append(f"{ratio.value:.3f} ({ratio.low:.3f}-{ratio.high:.3f})")
    cells += [f"{old:.1f} → {new:.1f}" for old, new in (row.step_mib, row.peak_mib)]
    cells += [row.bits, ", ".join(row.remarks(options))]
    return f"| {' | '.join(cells)} |"


def _plain(row: Compared) -> dict[str, object]:
    ratio = row.ratio
    return asdict(row) | {"ratio": None if ratio is None else ratio._asdict()}


def _named(checkout: Path) -> str:
    """A checkout's folder and commit."""
    asked = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return checkout.name
    return f"{checkout.name} ({said})"


def _checkout(word: str) -> Path:
    folder = Path(word).resolve()
    for needed in ("studio/__init__.py", "benchmarks/ours.py"):
        if not (folder / needed).is_file():
            raise argparse.ArgumentTypeError(f"{word} is no checkout of Glassbox: no {needed}")
    return folder


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    add = parser.add_argument
    add("old", type=_checkout, metavar="OLD", help="the checkout that is compared with")
    add("new", type=_checkout, metavar="NEW", help="the checkout in question")
    add("--backend", choices=("cpu", "gl"), default="cpu")
    add("--software", action="store_true", help="OpenGL on the CPU")
    add("--in-order", action="store_true", help="NEW runs line after line, planned for memory")
    add("--works", default="W1,W2,W3,W4,W5,W6,W7", help="%(default)s where nothing else is said")
    add("--batches", default="", help="of whole networks, instead of the usual ones")
    add("--pairs", type=int, default=LEAST_PAIRS, help="at least 15, or 0 for no times at all")
    add("--seconds", type=float, default=0.5, help="of each stretch")
    add("--most", type=float, help="highest ratio that passes: 1.02 on a GPU, else 1.05")
    add("--width", type=float, help="of an interval that is not repeated: --most less 1")
    add("--threads", type=int, default=0, help="of the CPU, on as many cores; all where 0")
    add("--bits", action="store_true", help=f"compare {BIT_STEPS} steps bit by bit first")
    add("--json", type=Path, metavar="FILE", help="written anew as each row ends")
    options = parser.parse_args(arguments)
    if 0 < options.pairs < LEAST_PAIRS or options.pairs < 0:
        parser.error(f"--pairs: at least {LEAST_PAIRS}, or 0, got {options.pairs}")
    if (options.software or options.in_order) and options.backend != "gl":
        parser.error("--software and --in-order go with --backend gl")
    if options.most is None:
        options.most = 1.02 if options.backend == "gl" and not options.software else 1.05
    if options.width is None:
        options.width = options.most - 1
    return options


if __name__ == "__main__":
    raise SystemExit(main())
