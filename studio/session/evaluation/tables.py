"""A measurement as tables of comma-separated values: scores of classes, and every sample."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

import numpy as np

from studio.engine.train.network.measures import (
    Classification,
    Labels,
    Outcome,
    PositionClassification,
)
from studio.session.evaluation.results import Results

TableKind: TypeAlias = Literal["classes", "samples"]
Cells: TypeAlias = "Sequence[str | int | float]"

MOST_SHARES = 100
"""Classes up to which the share of each is written for every sample."""
MOST_NUMBERS = 100
"""Numbers of a sample that are written, the first ones."""


def tables_of(results: Results | None) -> tuple[TableKind, ...]:
    """Which tables there are of the output that is looked at."""
    outcome = None if results is None else results.outcome
    if outcome is None:
        return ()
    has_classes = isinstance(outcome, Classification | Labels)
    return ("classes", "samples") if has_classes else ("samples",)


def csv_of(results: Results, kind: TableKind) -> str:
    """A table with a heading; numbers have every digit."""
    outcome = results.outcome
    rows: Iterable[Cells] = ()
    if outcome is not None:
        rows = _samples(outcome) if kind == "samples" else _classes(outcome)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _classes(outcome: Outcome) -> Iterator[Cells]:
    if not isinstance(outcome, Classification | Labels):
        return
    yield ("class", "support", "predicted", "precision", "recall", "f1")
    for row in (*outcome.scores.rows(), *outcome.scores.means()):
        yield (row.name, row.support, row.predicted, row.precision, row.recall, row.f1)


def _samples(outcome: Outcome) -> Iterator[Cells]:
    if isinstance(outcome, PositionClassification):
        yield ("sample", "counts", "right", "confidence", "loss")
        counts = np.asarray(outcome.counts.any(axis=1))
        for n, columns in enumerate(
            zip(counts, outcome.right, outcome.confidence, outcome.losses, strict=True)
        ):
            yield (n, int(columns[0]), *map(float, columns[1:]))
    elif isinstance(outcome, Classification):
        yield from _classified(outcome)
    else:
        yield from _numbers(outcome)


def _classified(outcome: Classification) -> Iterator[Cells]:
    names = outcome.names
    shown = names if len(names) <= MOST_SHARES else ()
    titles = ("sample", "counts", "truth", "predicted", "right", "rank", "confidence", "loss")
    yield (*titles, *(f"share {name}" for name in shown))
    for n in range(len(outcome.truth)):
        truth, said = int(outcome.truth[n]), int(outcome.predicted[n])
        yield (
            n, int(outcome.counts[n]), names[truth], names[said], int(truth == said),
            int(outcome.ranks[n]) + 1, float(outcome.confidence[n]), float(outcome.losses[n]),
            *(float(share) for share in outcome.shares[n, : len(shown)]),
        )  # fmt: skip


def _numbers(outcome: Outcome) -> Iterator[Cells]:
    """Truth and prediction of each number; of labels whether they are said to be there, too."""
    width = min(MOST_NUMBERS, outcome.truth.shape[1])
    named = outcome.names if isinstance(outcome, Labels) else ()
    names = named[:width] or tuple(str(n) for n in range(width))
    kinds = ("truth", "output", "predicted") if named else ("truth", "predicted")
    yield ("sample", "counts", "loss", *(f"{kind} {name}" for name in names for kind in kinds))
    counts = np.asarray(outcome.counts.any(axis=1))
    for n in range(len(outcome.truth)):
        cells: list[int | float] = [n, int(counts[n]), float(outcome.losses[n])]
        for place in range(width):
            cells += [float(outcome.truth[n, place]), float(outcome.predicted[n, place])]
            if isinstance(outcome, Labels):
                cells.append(int(outcome.said[n, place]))
        yield cells
