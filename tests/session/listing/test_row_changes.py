"""Differences between two compiles: what came, what went, what only got another number."""

from __future__ import annotations

from studio.session.listing.row_changes import row_changes
from tests.instruction_view.programs import rows_of, rows_with


def test_a_layer_put_in_adds_its_rows_and_nothing_else() -> None:
    before, after = rows_with(middle=False), rows_with(middle=True)
    changes = row_changes(before, after)
    added = {after.mnemonic(i) for i in range(len(after)) if after.key(i) in changes.added}
    assert added == {"DROPOUT", "GRADS_DROPOUT"}
    assert changes.removed == ()
    # The last layer reads another tensor now; everything else only got other numbers.
    changed = {
        after.text(i).split()[0] for i in range(len(after)) if after.key(i) in changes.changed
    }
    assert changed == {"LINEAR", "GRADS_LINEAR"}
    assert before.text(1) != after.text(1)


def test_a_layer_taken_out_leaves_its_rows_for_a_moment() -> None:
    before, after = rows_with(middle=True), rows_with(middle=False)
    changes = row_changes(before, after)
    assert changes.added == frozenset()
    assert [gone.text.split()[0] for gone in changes.removed] == ["DROPOUT", "GRADS_DROPOUT"]
    first = changes.removed[0]
    place = before.origins.index_of(first.key)
    assert place is not None
    assert first.after == before.key(place - 1)


def test_other_scalars_are_a_change_of_the_row() -> None:
    before, after = rows_with(middle=True), rows_with(middle=True, rate=0.5)
    changes = row_changes(before, after)
    assert not changes.added
    assert not changes.removed
    changed = [after.mnemonic(i) for i in range(len(after)) if after.key(i) in changes.changed]
    assert changed == ["DROPOUT", "GRADS_DROPOUT"]


def test_the_same_network_again_changes_nothing() -> None:
    assert not row_changes(rows_with(middle=True), rows_with(middle=True))


def test_programs_of_other_modes_are_not_compared() -> None:
    assert not row_changes(rows_of("picture"), rows_of("picture", "infer"))
