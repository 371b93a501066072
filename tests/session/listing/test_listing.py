"""The state of a listing: folding, caret and search, also over another compile."""

from __future__ import annotations

import pytest

from studio.engine.compiler.target import CPU, GL, TARGETS, Target
from studio.engine.core.tensor import Ref
from studio.engine.cpu.plan.assemble import kernel_name
from studio.engine.runtime.entries import entries
from studio.engine.train.listing.step_calls import step_calls
from studio.session.core.quantities import bytes_text, count_text, exact_text, ms_text
from studio.session.listing.arrangement import Failure
from studio.session.listing.colouring import COLOURINGS
from studio.session.listing.columns import COLUMNS as CELLS
from studio.session.listing.columns import cell_text, exact_cell
from studio.session.listing.copying import COLUMNS, as_tsv
from studio.session.listing.kernels import (
    numpy_kernels,
    order_text,
    planned_kernels,
    size_text,
)
from studio.session.listing.listing import Listing
from tests.instruction_view.programs import rows_from, rows_of, rows_with, sample_program


def listing_of(name: str = "picture") -> Listing:
    listing = Listing()
    listing.show(rows_of(name))
    return listing


def place_of(listing: Listing, mnemonic: str) -> int:
    assert listing.rows is not None
    rows = listing.rows
    return next(p for p, x in enumerate(listing.lines) if rows.mnemonic(x.row) == mnemonic)


def test_folding_a_group_and_opening_it_to_a_part() -> None:
    listing = listing_of()
    begin = place_of(listing, "FUSE")
    line = listing.lines[begin]
    assert listing.is_foldable(line)
    listing.fold((line.key,))
    assert listing.is_folded(listing.lines[begin])
    part = line.row + 1
    assert listing.arrangement.place_of(part) == begin
    place = listing.open_to(part)
    assert listing.lines[place].row == part
    assert not listing.is_folded(listing.lines[begin])


def test_open_to_opens_heading_and_group() -> None:
    listing = listing_of()
    listing.set_grouping("section")
    listing.fold_all()
    assert all(line.kind == "heading" for line in listing.lines)
    rows = listing.rows
    assert rows is not None
    part = next(i for i in range(len(rows)) if rows.is_inside(i))
    place = listing.open_to(part)
    assert listing.lines[place].row == part


def test_the_caret_stays_with_its_instruction() -> None:
    listing = listing_of()
    place = place_of(listing, "MAXPOOL2D")
    listing.set_caret(place, 1)
    key = listing.lines[place].key
    listing.set_grouping("layer")
    assert listing.caret_line is not None
    assert listing.caret_line.key == key
    assert listing.operand == 1
    assert listing.rows is not None
    listing.show(listing.rows, planned_kernels(listing.rows.program, GL, 32, 100))
    listing.set_level("kernels")
    assert listing.caret_line.key == key
    listing.set_caret(listing.caret + 1)
    assert listing.caret_line.kind == "kernel"
    assert listing.caret_line.key == f"{key}#0"
    listing.set_level("instructions")
    assert listing.caret_line.key == key


def test_folding_over_the_caret_moves_it_to_what_hides_it() -> None:
    listing = listing_of()
    begin = place_of(listing, "FUSE")
    listing.set_caret(begin + 1)
    listing.fold((listing.lines[begin].key,))
    assert listing.caret == begin


def test_caret_and_folding_outlive_a_compile() -> None:
    listing = Listing()
    listing.show(rows_with(middle=False))
    place = place_of(listing, "SOFTMAX_CE")
    listing.set_caret(place)
    update = next(x for x in listing.lines if listing.is_foldable(x))
    listing.fold((update.key,))
    changes = listing.show(rows_with(middle=True))
    assert changes.added
    assert listing.caret == place + 1
    assert listing.rows is not None
    assert listing.rows.mnemonic(listing.lines[listing.caret].row) == "SOFTMAX_CE"
    assert update.key in listing.arrangement.folded


def test_removed_lines_go_when_they_have_been_seen() -> None:
    listing = Listing()
    listing.show(rows_with(middle=True))
    listing.show(rows_with(middle=False))
    assert [x.title.split()[0] for x in listing.lines if x.kind == "removed"] == [
        "DROPOUT",
        "GRADS_DROPOUT",
    ]
    listing.forget_changes()
    assert not any(x.kind == "removed" for x in listing.lines)


def test_a_failed_compile_keeps_the_rows_and_marks_the_place() -> None:
    listing = listing_of()
    rows = listing.rows
    count = len(listing.lines)
    changes = listing.show(rows, failure=Failure(3, "conv2d: no"))
    assert not changes
    assert len(listing.lines) == count + 1
    assert (listing.lines[3].kind, listing.lines[3].title) == ("failure", "conv2d: no")


def test_register_under_the_caret() -> None:
    listing = listing_of()
    place = place_of(listing, "MAXPOOL2D")
    spans = listing.spans(listing.lines[place])
    listing.set_caret(place)
    assert listing.register() == spans[1].ref
    listing.step_operand(1)
    assert listing.register() == spans[0].ref
    listing.step_operand(-1)
    assert listing.operand == 1
    listing.set_caret(place_of(listing, "GRADS_MAXPOOL2D"))
    assert listing.register() == Ref(spans[0].ref.id, True)
    listing.set_caret(place_of(listing, "FUSE"))
    assert listing.register() is None


def test_levels_are_stepped_and_stop_at_the_ends() -> None:
    listing = listing_of()
    seen = []
    for step in (1, 1, -1, -1, -1):
        listing.step_level(step)
        seen.append(listing.level)
    assert seen == ["kernels", "kernels", "instructions", "layers", "layers"]


def test_search_walks_round_the_matches() -> None:
    listing = listing_of()
    matches = listing.find("relu")
    assert len(matches) == 2
    walked = []
    for step in (1, 1, 1, -1):
        row = listing.next_match(step)
        walked.append(row)
        listing.set_caret(listing.arrangement.place_of(row))
    assert walked == [matches[0], matches[1], matches[0], matches[1]]
    listing.show(rows_of("normalised"))
    assert listing.matches == ()
    assert listing.next_match() == -1


def test_no_program_has_no_lines() -> None:
    listing = listing_of()
    listing.set_caret(2)
    listing.show(None)
    assert listing.lines == ()
    assert listing.caret == -1
    assert listing.register() is None
    assert listing.find("x") == ()


@pytest.mark.parametrize("name", ["residual", "two_outputs"])
@pytest.mark.parametrize("by", COLOURINGS)
def test_bands_follow_what_they_stand_for(name: str, by: str) -> None:
    listing = listing_of(name)
    rows = listing.rows
    assert rows is not None
    listing.set_colour_by(by)
    listing.set_times(lambda index: 2.0 if index == 0 else 1.0)
    for line in listing.lines:
        bands = listing.bands(line)
        if by == "nothing":
            assert bands == ()
        elif by == "layer":
            layers = [o for o in rows.owners(line.row) if o in rows.layers]
            assert [b.name for b in bands] == (layers or list(rows.owners(line.row)))
            assert [b.hue for b in bands] == (
                [rows.layers.index(o) % 12 for o in layers] or [-1] * len(bands)
            )
        elif by == "section":
            assert [b.name for b in bands] == [rows.section(line.row)]
        elif by in ("time", "bytes") and bands:
            assert bands[0].heat is not None
            assert 0 <= bands[0].heat <= 1
    if by == "time":
        assert listing.bands(listing.lines[0])[0].heat == 1.0
    if by == "opcode":
        fused = next(x for x in listing.lines if rows.group_title(x.row))
        assert len(listing.bands(fused)) >= 1


def test_gradients_have_the_colour_of_their_opcode() -> None:
    listing = listing_of()
    listing.set_colour_by("opcode")
    forward = listing.bands(listing.lines[place_of(listing, "MAXPOOL2D")])
    backward = listing.bands(listing.lines[place_of(listing, "GRADS_MAXPOOL2D")])
    assert forward == backward


def test_processor_kernels_carry_the_names_the_profiler_gives() -> None:
    program = sample_program("digits-cnn")
    kernels = numpy_kernels(program)
    assert not kernels.is_exact
    for entry in entries(program):
        (run,) = kernels.of(entry.index)
        assert kernel_name(entry) == f"numpy: {run.name}"
        assert size_text(run) == order_text(run) == ""


@pytest.mark.parametrize("target", TARGETS.values(), ids=list(TARGETS))
def test_cells_of_a_kernel_say_what_it_is_and_when_it_runs(target: Target) -> None:
    program = sample_program("digits-cnn", target=target)
    rows = rows_from(program)
    calls = step_calls(program, target, 32, 1437)
    listing = Listing()
    listing.show(rows, planned_kernels(program, target, 32, 1437))
    listing.set_level("kernels")
    assert listing.kernels is not None
    assert listing.kernels.source == ("NumPy" if target is CPU else "OpenGL")
    lines = [line for line in listing.lines if line.kind == "kernel"]
    assert len(lines) == sum(map(len, calls.runs.values()))
    for line in lines:
        call = calls.runs[line.row][line.number]
        cells = {column.key: cell_text(listing, line, column.key) for column in CELLS}
        assert cells["instruction"] == f"{call.name} ({call.variant})"
        if target is CPU:
            assert cells["shape"] == ""
            shared = f"up to {call.threads} threads by {call.shared_by}"
            assert cells["order"] == (shared if call.threads > 1 else "")
        else:
            assert " of " in cells["shape"]
            waits = ", barrier" if call.barrier else ""
            assert cells["order"] == f"{call.turn}, level {call.level}{waits}"
        filled = {key for key, text in cells.items() if text}
        assert filled <= {"instruction", "shape", "order"}
        assert not any(exact_cell(listing, line, column.key) for column in CELLS)


def test_a_copied_table_has_exact_numbers() -> None:
    rows = rows_of("picture")
    lines = as_tsv(rows, (0, 1), {0: 0.125}.get).splitlines()
    assert lines[0].split("\t") == list(COLUMNS)
    cells = dict(zip(COLUMNS, lines[1].split("\t"), strict=True))
    assert cells["instruction"] == rows.text(0)
    assert int(cells["flops"]) == rows.cost(0).flops
    assert int(cells["bytes"]) == rows.cost(0).nbytes
    assert cells["ms"] == "0.125"
    assert lines[2].split("\t")[-1] == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (36, "36 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (131072, "128 KiB"),
     (1310720, "1.25 MiB"), (1048575, "1.00 MiB"), (5 * 2**30, "5.00 GiB")],
)  # fmt: skip
def test_bytes_as_text(value: int, text: str) -> None:
    assert bytes_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (590, "590"), (1000, "1.00 k"), (999_999, "1.00 M"), (4_718_592, "4.72 M")],
)
def test_counts_as_text(value: int, text: str) -> None:
    assert count_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0421, "0.042"), (12.346, "12.35"), (123.46, "123.5"), (12345.6, "12346")]
)
def test_milliseconds_as_text(value: float, text: str) -> None:
    assert ms_text(value) == text


def test_exact_numbers_stand_in_threes() -> None:
    assert exact_text(1310720) == "1\N{THIN SPACE}310\N{THIN SPACE}720"


def test_layers_keep_their_colours_over_an_edit() -> None:
    listing = Listing()
    listing.show(rows_with(middle=True))
    before = {name: listing.hue_of(name) for name in ("first", "middle", "last")}
    assert len(set(before.values())) == 3
    listing.show(rows_with(middle=False))
    listing.show(rows_with(middle=True))
    assert {name: listing.hue_of(name) for name in before} == before
