"""What happened to a run, as its details tell it."""

from __future__ import annotations

import math

import pytest

from studio.engine.train.runs.marks import Mark, MarkKind
from studio.session.runs.records import history_of, parts_of


def marks(*found: tuple[MarkKind, int] | tuple[MarkKind, int, float]) -> list[Mark]:
    return [Mark(kind, step, 1000.0, *rest) for kind, step, *rest in found]


def told(found: list[Mark], *, is_training: bool = False) -> list[str]:
    return [line.split("  ")[-1] for line in history_of(found, is_training=is_training)]


@pytest.mark.parametrize(
    "found", [marks(), marks(("start", 0)), marks(("start", 0), ("finished", 1000))]
)
def test_a_run_trained_in_one_go_has_no_history(found: list[Mark]) -> None:
    assert history_of(found) == ()


def test_stops_continuations_and_rates_are_told_in_order() -> None:
    found = marks(
        ("start", 0), ("learning_rate", 1234, 0.01), ("learning_rate", 1300, math.nan),
        ("stopped", 1350), ("restart", 1350), ("finished", 2000),
    )  # fmt: skip
    assert parts_of(found) == 2
    assert told(found) == [
        "started",
        "learning rate 0.01 from step 1,235",
        "learning rate by the optimiser from step 1,301",
        "stopped after 1,350 steps",
        "continued after 1,350 steps",
        "finished after 2,000 steps",
    ]


def test_a_part_without_an_end_was_interrupted() -> None:
    found = marks(("start", 0), ("stopped", 1), ("restart", 1), ("restart", 1))
    assert told(found)[1:] == [
        "stopped after 1 step",
        "continued after 1 step",
        "continued after 1 step, interrupted before",
        "interrupted after",
    ]
    assert told(found, is_training=True)[-1] == "continued after 1 step, interrupted before"


def test_runs_recorded_before_ends_were_are_not_called_interrupted() -> None:
    assert told(marks(("start", 0), ("restart", 10))) == ["started", "continued after 10 steps"]
    assert history_of([Mark("start", 0, 1e300), Mark("stopped", 3, 1e300)])[0] == "?  started"
