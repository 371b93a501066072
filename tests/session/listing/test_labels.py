"""Names and comments a person gave, in the rows: where registers then stand, and what is found."""

from __future__ import annotations

import pytest

from studio.engine.core.tensor import Ref
from studio.engine.train.project.annotations import Annotations
from studio.session.listing.columns import cell_text
from studio.session.listing.copying import as_text, as_tsv
from studio.session.listing.labels import Labels
from studio.session.listing.listing import Listing
from studio.session.listing.look_up import find_rows, go_to
from studio.session.listing.rows import ProgramRows
from tests.instruction_view.corpus import BUILDERS
from tests.instruction_view.programs import rows_of


def every_tensor_named(rows: ProgramRows) -> Annotations:
    names = (tensor.name for tensor in rows.program.tensors.values())
    return Annotations({name: f"a{number}_long_name" for number, name in enumerate(names)})


def ref_of(rows: ProgramRows, name: str, *, grad: bool = False) -> Ref:
    return Ref(rows.program.tensors.named(name).id, grad)


@pytest.mark.parametrize("name", BUILDERS)
def test_names_stand_where_their_registers_stood(name: str) -> None:
    rows = rows_of(name)
    labels = Labels(rows, every_tensor_named(rows))
    for index in range(len(rows)):
        text, exact = labels.text(index), rows.text(index)
        spans = labels.spans(index)
        assert [span.ref for span in spans] == [span.ref for span in rows.spans(index)]
        back = text
        for span in reversed(spans):
            word = text[span.start : span.end]
            assert word == labels.names.get(span.ref, word)
            back = back[: span.start] + str(span.ref) + back[span.end :]
        assert back == exact


@pytest.mark.parametrize("name", BUILDERS)
def test_without_names_lines_stay_as_the_compiler_prints_them(name: str) -> None:
    rows = rows_of(name)
    labels = Labels(rows)
    assert [labels.text(i) for i in range(len(rows))] == [rows.text(i) for i in range(len(rows))]
    assert labels.widest_operands == rows.widest_operands
    assert labels.commented == ()


def test_a_gradient_is_called_after_its_tensor() -> None:
    rows = rows_of("picture")
    labels = Labels(rows, Annotations({"conv2d/kernel": "w", "conv2d/output.grad": "delta"}))
    assert labels.names == {
        ref_of(rows, "conv2d/kernel"): "w",
        ref_of(rows, "conv2d/kernel", grad=True): "w.grad",
        ref_of(rows, "conv2d/output", grad=True): "delta",
    }
    assert labels.named("w.grad") == ref_of(rows, "conv2d/kernel", grad=True)
    assert labels.named("nothing") is None


def test_names_of_tensors_that_are_gone_are_passed_over() -> None:
    rows = rows_of("picture")
    labels = Labels(rows, Annotations({"gone/kernel": "w"}, {"gone/x/Y/0": "said"}))
    assert labels.names == {}
    assert labels.commented == ()


def test_comments_stand_behind_their_lines_and_make_room() -> None:
    rows = rows_of("picture")
    said = "x" * 200
    labels = Labels(rows, Annotations({}, {rows.key(3): said}))
    assert labels.commented == (3,)
    assert labels.tail(3) == f"; {said}"
    assert labels.tail(2) == ""
    assert labels.widest_operands > rows.widest_operands


def test_find_and_go_to_know_names_and_comments() -> None:
    rows = rows_of("picture")
    labels = Labels(rows, Annotations({"conv2d/kernel": "Weights"}, {rows.key(5): "look HERE"}))
    ref = ref_of(rows, "conv2d/kernel")
    assert find_rows(rows, "weights", labels) == find_rows(rows, "conv2d/kernel")
    assert find_rows(rows, "look here", labels) == (5,)
    assert go_to(rows, "Weights", labels=labels) == go_to(rows, str(ref))


def test_a_listing_shows_labels_and_keeps_them_over_a_compile() -> None:
    listing = Listing()
    first, again = rows_of("picture"), rows_of("picture", level=0)
    listing.annotate(Annotations({"conv2d/kernel": "w"}, {first.key(0): "begin"}))
    listing.show(first)
    assert cell_text(listing, listing.lines[0], "instruction") == f"{first.text(0)}  ; begin"
    listing.show(again)
    assert listing.labels is not None
    ref = ref_of(again, "conv2d/kernel")
    row = again.uses(ref)[0].row
    line = listing.lines[listing.arrangement.place_of(row)]
    assert " w" in cell_text(listing, line, "instruction")
    assert str(ref) not in cell_text(listing, line, "instruction").split()


def test_copies_are_exact_and_tables_tell_the_names() -> None:
    rows = rows_of("picture")
    ref = ref_of(rows, "conv2d/kernel")
    labels = Labels(rows, Annotations({"conv2d/kernel": "w"}, {rows.key(1): "said"}))
    row = rows.uses(ref)[0].row
    assert as_text(rows, [row]) == f"{rows.text(row)}\n"
    head, *lines = (line.split("\t") for line in as_tsv(rows, [1, row], labels=labels).splitlines())
    names, comment = head.index("names"), head.index("comment")
    assert lines[0][comment] == "said"
    assert lines[1][names] == f"{ref}=w"
    assert all(len(line) == len(head) for line in lines)
