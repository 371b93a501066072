"""Problems of all parts in one list: order, walking, repairs."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from studio.engine.core.errors import BackendError, DataError
from studio.ui.models import entities
from studio.ui.models.problems import ProblemItem, ProblemList, of_graph
from studio.ui.models.selection import SelectionBus


@dataclass(frozen=True)
class Fix:
    text: str
    effect: str = ""


@dataclass(frozen=True)
class Reported:
    id: str
    severity: str
    node: str
    message: str
    hint: str = ""
    fixes: tuple[Fix, ...] = ()


RANK = Reported(
    "rank", "error", "n3", "Dense expects 2 dimensions, got 4", "", (Fix("Insert Flatten"),)
)
LOOSE = Reported("unreached", "warning", "n7", "its output goes nowhere")
NAMES = {"n3": "digit", "n7": "spare"}


@pytest.fixture
def bus() -> SelectionBus:
    return SelectionBus()


@pytest.fixture
def problems(bus: SelectionBus) -> ProblemList:
    return ProblemList(bus)


def items(*found: Reported) -> tuple[ProblemItem, ...]:
    return of_graph(found, NAMES, lambda fix: fix)


def test_errors_come_before_warnings_and_causes_before_consequences(
    problems: ProblemList,
) -> None:
    problems.provide_error("training", BackendError("no room", who="conv1"))
    problems.provide_error("data", DataError("row 7 has 3 columns, expected 5", who="iris.csv"))
    problems.provide("graph", items(LOOSE, RANK))
    assert [(p.severity, p.source) for p in problems.items] == [
        ("error", "graph"), ("error", "data"), ("error", "training"), ("warning", "graph"),
    ]  # fmt: skip
    assert (problems.errors, problems.warnings) == (3, 1)


def test_walking_goes_round_selects_and_shows(problems: ProblemList, bus: SelectionBus) -> None:
    shown: list[tuple[str, str]] = []

    def show(entity: entities.Entity, source: str) -> None:
        shown.append((entity.key, source))

    bus.revealed.connect(show)
    assert problems.next() is None
    problems.provide("graph", items(RANK, LOOSE))
    first = problems.next()
    assert first is not None
    assert first.place == "digit"
    assert bus.selection.primary == entities.node("n3")
    assert problems.next() == problems.current
    assert bus.selection.primary == entities.node("n7")
    assert problems.next() == first
    back = problems.previous()
    assert back is not None
    assert back.place == "spare"
    assert shown == [(key, "problems") for key in ("n3", "n7", "n3", "n7")]


def test_walking_back_begins_at_the_last(problems: ProblemList) -> None:
    problems.provide("graph", items(RANK, LOOSE))
    found = problems.previous()
    assert found is not None
    assert found.place == "spare"


def test_the_place_in_the_list_survives_an_edit_that_leaves_the_problem(
    problems: ProblemList,
) -> None:
    problems.provide("graph", items(RANK, LOOSE))
    problems.next()
    problems.next()
    problems.provide("graph", items(LOOSE))
    assert problems.current is not None
    assert problems.current.place == "spare"
    problems.provide("graph", items(RANK))
    assert problems.current is None


def test_the_same_problems_again_are_no_news(problems: ProblemList) -> None:
    heard: list[int] = []

    def count() -> None:
        heard.append(len(problems.items))

    problems.changed.connect(count)
    problems.provide("graph", items(RANK))
    problems.provide("graph", items(RANK))
    problems.provide("graph", ())
    problems.provide_error("compiler", None)
    assert heard == [1, 0]


def test_an_error_lies_in_the_layer_it_names(problems: ProblemList, bus: SelectionBus) -> None:
    error = BackendError("no room for 2 GiB", who="digit", hint="make the batch smaller")
    problems.provide_error("compiler", error, {"digit": "n3"})
    (item,) = problems.items
    assert item.entity == entities.node("n3")
    assert item.plain() == "error: digit: no room for 2 GiB\n  make the batch smaller"
    problems.provide_error("compiler", BackendError("the device is gone", who="OpenGL"))
    (item,) = problems.items
    assert item.entity is None
    problems.next()
    assert bus.selection.entities == ()


def test_a_repair_does_what_its_fix_does(problems: ProblemList) -> None:
    done: list[str] = []
    found = of_graph([RANK], NAMES, lambda fix: done.append(fix.text))
    problems.provide("graph", found)
    (item,) = problems.items
    (repair,) = item.repairs
    repair.apply()
    assert done == ["Insert Flatten"]
