"""More problems than the pane has room for, made as a person makes them."""

from __future__ import annotations

from PySide6.QtWidgets import QToolButton

from studio.ui.panes.problems.pane import ProblemsPane
from tests.ui.journeys.person import Person


def test_pasted_networks_list_every_problem_that_the_status_bar_counts(person: Person) -> None:
    studio = person.studio
    document = person.new_project()
    person.command("use digits")
    person.until(lambda: studio.data.status == "ready")
    person.point_at_canvas()
    person.add("input 8x8x1 > conv 16 3x3 > relu > pool 2 > dense 10")
    person.until(lambda: len(list(document().state.layers())) == 5)
    person.click(person.see(QToolButton, "fact.validity"))
    pane = person.until(lambda: person.sees(ProblemsPane, "problems_pane"))
    person.point_at_canvas()
    person.press("Ctrl+A", "Ctrl+C", *["Ctrl+V"] * 10)
    person.until(lambda: len(list(document().state.layers())) == 55)
    # The list of problems was opened empty; its first row leaves the keyboard where it is.
    assert person.canvas.hasFocus()
    person.until(lambda: studio.problems.errors > 8)
    wanted = studio.problems.errors
    person.until(lambda: pane.list.count() == len(studio.problems.items) >= wanted)
    assert pane.note.startswith(f"{wanted} errors")
    fact = person.see(QToolButton, "fact.validity")
    person.until(lambda: fact.text().strip() == f"{wanted} problems")
    assert [n.text for n in studio.notices.all if n.severity == "error"] == []
    assert all(pane.row_at(place).isVisibleTo(pane.list) for place in range(pane.list.count()))
