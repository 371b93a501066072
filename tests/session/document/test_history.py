from __future__ import annotations

import pytest

from studio.session.document.edits.places import move
from studio.session.document.edits.sections import set_notes
from studio.session.document.history import History, step_bytes
from studio.session.document.state import DocumentState
from tests.session.document.networks import chain


@pytest.fixture
def history() -> History:
    return History(chain())


def notes(history: History, text: str, merge_key: str = "") -> bool:
    return history.push(f"Write {text}", set_notes(history.state, text), merge_key)


def test_undo_and_redo_go_through_the_states(history):
    first = history.state
    for text in "abc":
        notes(history, text)
    last = history.state
    assert history.texts == ("Write a", "Write b", "Write c")
    assert [history.undo() for _ in range(4)] == [True, True, True, False]
    assert history.state is first
    assert [history.redo() for _ in range(4)] == [True, True, True, False]
    assert history.state is last


def test_a_new_step_forgets_what_was_undone(history):
    for text in "abc":
        notes(history, text)
    history.undo()
    history.undo()
    notes(history, "d")
    assert history.texts == ("Write a", "Write d")
    assert not history.redo()


def test_a_step_that_changes_nothing_is_none(history):
    assert not history.push("Nothing", history.state)
    assert not history.push("Nothing", chain())
    assert history.steps == ()


def test_steps_with_one_key_merge_until_something_else_happens(history):
    for x in range(5):
        history.push("Move", move(history.state, {"dense": (x, 0.0)}), "drag")
    assert history.texts == ("Move",)
    notes(history, "a")
    history.push("Move", move(history.state, {"dense": (9.0, 9.0)}), "drag")
    assert history.texts == ("Move", "Write a", "Move")
    history.seal()
    history.push("Move", move(history.state, {"dense": (8.0, 8.0)}), "drag")
    assert len(history.steps) == 4


def test_steps_do_not_merge_across_an_undo(history):
    notes(history, "a", "typing")
    notes(history, "ab", "typing")
    history.undo()
    assert history.state.notes == ""
    notes(history, "b", "typing")
    notes(history, "", "typing")
    assert history.texts == ()
    notes(history, "c", "typing")
    assert history.texts == ("Write c",)


def test_merged_steps_that_end_where_they_began_are_no_step(history):
    place = history.state.nodes["dense"]
    history.push("Move", move(history.state, {"dense": (1.0, 1.0)}), "drag")
    history.push("Move", move(history.state, {"dense": (place.x, place.y)}), "drag")
    assert history.steps == ()


def test_a_gesture_is_one_step(history):
    history.begin_gesture("Drag")
    for x in range(5):
        history.push("Move", move(history.state, {"dense": (x, 0.0)}))
        notes(history, str(x))
    assert history.steps == ()
    assert history.is_gesture_open
    assert history.commit("Drag two things")
    assert history.texts == ("Drag two things",)
    assert not history.is_gesture_open
    history.undo()
    assert history.state == chain()


def test_undo_cancels_an_open_gesture_first(history):
    notes(history, "a")
    history.begin_gesture("Drag")
    notes(history, "b")
    assert history.undo_text == "Write b"
    assert history.undo()
    assert (history.state.notes, history.texts) == ("a", ("Write a",))
    assert history.undo()
    assert history.state.notes == ""


def test_a_gesture_without_effect_is_no_step(history):
    history.begin_gesture("Drag")
    notes(history, "b")
    notes(history, "")
    assert not history.commit()
    assert history.steps == ()


def test_a_second_gesture_ends_the_first(history):
    history.begin_gesture("One")
    notes(history, "a")
    history.begin_gesture("Two")
    notes(history, "b")
    history.commit()
    assert len(history.steps) == 2


def test_any_step_can_be_gone_to(history):
    for text in "abcd":
        notes(history, text)
    assert history.jump(1)
    assert (history.state.notes, history.redo_text) == ("a", "Write b")
    assert history.jump(4)
    assert history.state.notes == "d"
    assert history.jump(0)
    assert history.undo_text == ""
    assert not history.jump(5)


def test_clean_is_where_it_was_saved(history):
    assert history.is_clean
    notes(history, "a")
    assert not history.is_clean
    history.mark_clean()
    assert history.is_clean
    history.undo()
    assert not history.is_clean
    history.redo()
    assert history.is_clean


def test_the_oldest_steps_are_forgotten():
    history = History(chain(), limit=10)
    for number in range(25):
        notes(history, str(number))
    assert len(history.steps) == 10
    while history.undo():
        pass
    assert history.state.notes == "14"


def test_memory_bounds_the_steps():
    history = History(DocumentState(), limit_bytes=100_000)
    for number in range(50):
        notes(history, str(number) * 5000)
    assert 1 <= len(history.steps) < 50
    assert history.cost <= 100_000
    assert history.state.notes == "49" * 5000


def test_the_cost_of_a_step_is_what_it_does_not_share():
    state = chain()
    moved = step_bytes(state, move(state, {"dense": (1.0, 1.0)}))
    everything = step_bytes(DocumentState(), state)
    assert 0 < moved < everything / 2
    assert step_bytes(state, state) == 0


def test_listeners_hear_of_every_step(history):
    heard = []

    def listen() -> None:
        heard.append(history.position)

    history.changed.connect(listen)
    notes(history, "a")
    history.undo()
    history.redo()
    assert heard == [1, 0, 1]
