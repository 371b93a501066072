"""Problems of all parts in one list: order, walking, repairs, and those of a real document."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from studio.engine.core.errors import BackendError, DataError
from studio.session.actions.problems import ACTIONS
from studio.session.compile.problems import ProblemItem, ProblemList, Repair
from studio.session.compile.selection import SelectionBus
from studio.session.core import entities
from studio.session.core.action_table import ActionRegistry
from studio.session.document.document import Document
from studio.session.document.edits.layers import add_layer, set_option
from studio.session.document.edits.removal import delete
from studio.session.document.report import Fix, Problem, Report
from tests.ui.stand_ins import shows

RANK = ProblemItem(
    "graph:rank:n3", "error", "graph", "Dense expects 2 dimensions, got 4", "", "digit",
    entities.node("n3"),
)  # fmt: skip
LOOSE = ProblemItem(
    "graph:loose:n7", "warning", "graph", "its output goes nowhere", "", "spare",
    entities.node("n7"),
)  # fmt: skip


@pytest.fixture
def bus() -> SelectionBus:
    return SelectionBus()


@pytest.fixture
def problems(bus: SelectionBus) -> ProblemList:
    return ProblemList(bus)


def test_errors_come_before_warnings_and_causes_before_consequences(
    problems: ProblemList,
) -> None:
    problems.provide_error("training", BackendError("no room", who="conv1"))
    problems.provide_error("data", DataError("row 7 has 3 columns, expected 5", who="iris.csv"))
    problems.provide("graph", (LOOSE, RANK))
    assert [(p.severity, p.source) for p in problems.items] == [
        ("error", "graph"), ("error", "data"), ("error", "training"), ("warning", "graph"),
    ]  # fmt: skip
    assert (problems.errors, problems.warnings) == (3, 1)


def test_what_two_parts_say_of_one_place_is_listed_once(problems: ProblemList) -> None:
    missing = DataError("there is no file houses.csv", who="houses.csv")
    problems.provide_error("data", missing)
    problems.provide_error("training", missing)
    assert [item.source for item in problems.items] == ["data"]
    assert problems.errors == 1
    problems.provide_error("data", None)
    assert [item.source for item in problems.items] == ["training"]
    problems.provide_error("data", DataError("there is no file prices.csv", who="prices.csv"))
    assert problems.errors == 2


def test_walking_goes_round_selects_and_shows(problems: ProblemList, bus: SelectionBus) -> None:
    shown: list[tuple[str, str]] = []

    def show(entity: entities.Entity, source: str) -> None:
        shown.append((entity.key, source))

    bus.revealed.connect(show)
    assert problems.next() is None
    problems.provide("graph", (RANK, LOOSE))
    assert problems.next() == RANK
    assert bus.selection.primary == entities.node("n3")
    assert problems.next() == problems.current == LOOSE
    assert bus.selection.primary == entities.node("n7")
    assert problems.next() == RANK
    assert problems.previous() == LOOSE
    assert shown == [(key, "problems") for key in ("n3", "n7", "n3", "n7")]


def test_walking_back_begins_at_the_last(problems: ProblemList) -> None:
    problems.provide("graph", (RANK, LOOSE))
    assert problems.previous() == LOOSE


def test_the_place_in_the_list_survives_an_edit_that_leaves_the_problem(
    problems: ProblemList,
) -> None:
    problems.provide("graph", (RANK, LOOSE))
    problems.next()
    problems.next()
    problems.provide("graph", (LOOSE,))
    assert problems.current == LOOSE
    problems.provide("graph", (RANK,))
    assert problems.current is None


def test_the_same_problems_again_are_no_news(problems: ProblemList) -> None:
    heard: list[int] = []

    def count() -> None:
        heard.append(len(problems.items))

    problems.changed.connect(count)
    problems.provide("graph", (RANK,))
    problems.provide("graph", (RANK,))
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


def test_repairs_are_looked_for_once_and_only_when_asked(problems: ProblemList) -> None:
    looked: list[int] = []

    def look() -> tuple[Repair, ...]:
        looked.append(1)
        return (Repair("Insert Flatten", "784 inputs", lambda: None),)

    item = ProblemItem("a", "error", "graph", "wrong", find_repairs=look)
    problems.provide("graph", (item,))
    assert looked == []
    assert [r.text for r in problems.items[0].repairs] == ["Insert Flatten"]
    assert problems.items[0].repairs == item.repairs
    assert looked == [1]


def document() -> Document:
    """A small picture into a convolution that fits."""
    made = Document.new()
    state = add_layer(made.state, "Input", config={"shape": [8, 8, 1]})
    source = next(iter(state.nodes))
    options = {"filters": 4, "kernel_size": [3, 3]}
    made.apply("Build", add_layer(state, "Conv2D", after=source, config=options))
    return made


def test_a_real_documents_problems_are_listed_and_go_when_put_right(
    problems: ProblemList,
) -> None:
    made = document()
    problems.follow(made)
    assert problems.errors == 0
    conv = next(node for node in made.state.nodes.values() if node.type_name == "Conv2D")
    made.apply("Kernel", set_option(made.state, conv.id, "kernel_size", [9, 9]))
    (item,) = [p for p in problems.items if p.severity == "error"]
    assert item.entity == entities.node(conv.id)
    assert item.place == conv.name
    made.apply("Delete", delete(made.state, [conv.id]))
    assert all(p.entity != entities.node(conv.id) for p in problems.items)


def test_a_repair_is_one_step_of_the_document_that_can_be_undone(
    problems: ProblemList, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = document()
    conv = next(node for node in made.state.nodes.values() if node.type_name == "Conv2D")
    fix = Fix("Fewer filters", "2", lambda state: set_option(state, conv.id, "filters", 2))
    found = Problem("many", "error", conv.id, "too many filters", search=lambda _: (fix,))
    monkeypatch.setattr(Document, "report", property(lambda _: Report(problems=(found,))))
    problems.follow(made)
    (item,) = problems.items
    before = made.state
    (repair,) = item.repairs
    assert (repair.text, repair.effect) == ("Fewer filters", "2")
    repair.apply()
    assert made.state.node(conv.id).config["filters"] == 2
    assert made.history.undo_text == "Fewer filters"
    made.undo()
    assert made.state == before


def test_another_document_takes_the_place_of_the_first(problems: ProblemList) -> None:
    first, second = document(), document()
    conv = next(node for node in first.state.nodes.values() if node.type_name == "Conv2D")
    problems.follow(first)
    problems.follow(second)
    first.apply("Kernel", set_option(first.state, conv.id, "kernel_size", [9, 9]))
    assert problems.errors == 0


def test_walking_to_a_problem_that_is_nowhere_on_the_canvas_shows_the_list(
    problems: ProblemList, bus: SelectionBus
) -> None:
    actions, shown = ActionRegistry(), []
    actions.attach(shows("pane.problems", shown), None)
    actions.attach(ACTIONS, SimpleNamespace(actions=actions, problems=problems))
    problems.provide("graph", (RANK,))
    assert actions.trigger("problems.next")
    assert bus.selection.primary == RANK.entity
    assert not shown
    problems.provide("graph", ())
    problems.provide_error("training", BackendError("no room", who="GPU"))
    for _ in range(2):
        assert actions.trigger("problems.next")
    assert shown == ["pane.problems"]
