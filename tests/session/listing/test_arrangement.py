"""Order, grouping and folding of a listing's lines, and what the lines add up to."""

from __future__ import annotations

import pytest

from studio.engine.compiler.target import CPU
from studio.engine.runtime.kernel_calls import KernelCall
from studio.session.listing.arrangement import (
    GROUPINGS,
    LEVELS,
    Arrangement,
    Arranger,
    Failure,
    Grouping,
    Level,
    Removed,
)
from studio.session.listing.kernels import Kernels
from studio.session.listing.rows import ProgramRows
from studio.session.listing.totals import line_totals
from tests.engine.compiler.networks import mixed_program
from tests.instruction_view.corpus import BUILDERS, program_of
from tests.instruction_view.programs import rows_from, rows_of


def shown_rows(arrangement: Arrangement) -> list[int]:
    return [line.row for line in arrangement.lines if line.kind == "instruction"]


@pytest.mark.parametrize("name", BUILDERS)
def test_flat_lines_are_the_program_in_its_order(name: str) -> None:
    rows = rows_of(name)
    arrangement = Arranger(rows).arrange()
    assert shown_rows(arrangement) == list(range(len(rows)))
    assert list(arrangement.places) == list(range(len(rows)))


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("name", BUILDERS)
def test_every_grouping_shows_every_instruction_once(name: str, grouping: Grouping) -> None:
    rows = rows_of(name)
    arrangement = Arranger(rows).arrange(grouping=grouping)
    assert sorted(shown_rows(arrangement)) == list(range(len(rows)))
    for index in range(len(rows)):
        assert arrangement.lines[arrangement.place_of(index)].row == index
    keys = [line.key for line in arrangement.lines]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("name", BUILDERS)
def test_everything_folded_still_places_every_instruction(
    name: str, grouping: Grouping, level: Level
) -> None:
    rows = rows_of(name)
    foldable = Arranger(rows).arrange(level, grouping).foldable
    arrangement = Arranger(rows).arrange(level, grouping, folded=foldable)
    for index in range(len(rows)):
        line = arrangement.lines[arrangement.place_of(index)]
        if line.kind == "heading":
            span = rows.group(index)
            assert span.first in line.members
        else:
            assert rows.group(index).first == rows.group(line.row).first


def test_a_folded_group_hides_its_parts() -> None:
    rows = rows_of("picture")
    begin = next(i for i in range(len(rows)) if rows.is_group_begin(i))
    span = rows.group(begin)
    arrangement = Arranger(rows).arrange(folded={rows.key(begin)})
    shown = shown_rows(arrangement)
    assert begin in shown
    assert not set(range(begin + 1, span.last + 1)) & set(shown)
    assert {arrangement.place_of(i) for i in range(begin, span.last + 1)} == {
        arrangement.place_of(begin)
    }


def test_parts_of_a_group_are_indented() -> None:
    rows = rows_of("picture")
    begin = next(i for i in range(len(rows)) if rows.is_group_begin(i))
    lines = Arranger(rows).arrange().lines
    last = rows.group(begin).last
    assert [lines[i].depth for i in (begin, begin + 1, last)] == [0, 1, 0]


def test_layers_shared_by_a_kernel_are_referred_to() -> None:
    rows = rows_of("residual")
    begin = next(i for i in range(len(rows)) if len(rows.listed_owners(i)) > 1)
    first, second = rows.listed_owners(begin)[:2]
    lines = Arranger(rows).arrange(grouping="layer").lines
    part = next(i for i in range(begin + 1, rows.group(begin).last) if second in rows.owners(i))
    place = next(p for p, x in enumerate(lines) if x.kind == "reference" and x.row == part)
    heading = max(p for p, x in enumerate(lines[:place]) if x.kind == "heading")
    assert lines[heading].title == second
    home = next(p for p, x in enumerate(lines) if x.kind == "instruction" and x.row == begin)
    above = max(p for p, x in enumerate(lines[:home]) if x.kind == "heading")
    assert lines[above].title == first


@pytest.mark.parametrize("grouping", ["layer", "section"])
@pytest.mark.parametrize("name", BUILDERS)
def test_headings_add_up_to_the_program(name: str, grouping: Grouping) -> None:
    rows = rows_of(name)
    times = {index: 0.25 * (index + 1) for index in rows.entries}
    lines = Arranger(rows).arrange(grouping=grouping).lines
    headings = [line_totals(rows, x, times.get) for x in lines if x.kind == "heading"]
    assert sum(t.flops for t in headings) == pytest.approx(
        sum(rows.cost(i).flops for i in rows.entries)
    )
    assert sum(t.nbytes for t in headings) == pytest.approx(
        sum(rows.cost(i).nbytes for i in rows.entries)
    )
    assert sum(t.ms or 0 for t in headings) == pytest.approx(sum(times.values()))


def headings(arrangement: Arrangement) -> list[tuple[str, str]]:
    return [(line.key, line.title) for line in arrangement.lines if line.kind == "heading"]


def test_a_section_that_comes_again_has_another_heading() -> None:
    rows = rows_from(mixed_program(program_of("picture", target=CPU)))
    arrangement = Arranger(rows).arrange(grouping="section")
    assert shown_rows(arrangement) == list(range(len(rows)))
    assert headings(arrangement) == [
        ("section:backward", "backward"),
        ("section:forward", "forward"),
        ("section:loss", "loss"),
        ("section:backward 2", "backward"),
        ("section:update", "update"),
        ("section:metrics", "metrics"),
    ]
    again = Arranger(rows).arrange(grouping="section", folded={"section:backward 2"})
    place = again.by_key["section:backward 2"]
    hidden = [index for index in range(len(rows)) if again.place_of(index) == place]
    assert hidden == [i for i in range(1, len(rows)) if rows.section(i) == "backward"]
    assert again.lines[again.place_of(0)].kind == "instruction"
    assert headings(again) == headings(arrangement)


def test_a_time_that_is_missing_leaves_the_sum_out() -> None:
    rows = rows_of("picture")
    times = dict.fromkeys(list(rows.entries)[1:], 1.0)
    heading = Arranger(rows).arrange(grouping="section").lines[0]
    assert line_totals(rows, heading, times.get).ms is None


def test_the_time_of_a_group_is_not_that_of_its_parts() -> None:
    rows = rows_of("picture")
    lines = Arranger(rows).arrange().lines
    begin = next(i for i in range(len(rows)) if rows.is_group_begin(i))
    times = dict.fromkeys(range(len(rows)), 1.0)
    assert line_totals(rows, lines[begin], times.get).ms == 1.0
    assert line_totals(rows, lines[begin + 1], times.get).ms is None


def dispatches(rows: ProgramRows) -> Kernels:
    runs = {
        index: [KernelCall(f"k{index}", "", (number + 1, 1, 1), (64, 1, 1)) for number in range(2)]
        for index in rows.entries
    }
    return Kernels(runs, "OpenGL")


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_kernels_stand_below_the_lines_they_run(grouping: Grouping) -> None:
    rows = rows_of("picture")
    arrangement = Arranger(rows).arrange("kernels", grouping, kernels=dispatches(rows))
    lines = arrangement.lines
    kernels = [line for line in lines if line.kind == "kernel"]
    found = sorted((line.row, line.number) for line in kernels)
    assert found == [(i, n) for i in rows.entries for n in (0, 1)]
    plain = Arranger(rows).arrange("instructions", grouping)
    assert [line for line in lines if line.kind != "kernel"] == list(plain.lines)
    for index in rows.entries:
        place = arrangement.place_of(rows.group(index).last)
        assert [lines[place + n].key for n in (1, 2)] == [f"{rows.key(index)}#{n}" for n in (0, 1)]
        assert lines[place + 1].depth > lines[place].depth


def test_kernels_of_a_folded_group_stay_in_sight() -> None:
    rows = rows_of("picture")
    begin = next(i for i in range(len(rows)) if rows.is_group_begin(i))
    folded = {rows.key(begin)}
    arrangement = Arranger(rows).arrange("kernels", folded=folded, kernels=dispatches(rows))
    assert arrangement.folded == folded
    place = arrangement.place_of(begin)
    assert arrangement.place_of(rows.group(begin).last) == place
    assert [line.kind for line in arrangement.lines[place : place + 3]] == [
        "instruction", "kernel", "kernel",
    ]  # fmt: skip


def test_lines_that_are_gone_stand_behind_the_kernels_of_what_was_before_them() -> None:
    rows = rows_of("picture")
    index = next(i for i in rows.entries if rows.is_group_begin(i))
    gone = [Removed("a", "GONE", rows.key(rows.group(index).last))]
    lines = Arranger(rows).arrange("kernels", kernels=dispatches(rows), removed=gone).lines
    place = next(place for place, line in enumerate(lines) if line.kind == "removed")
    assert [line.kind for line in lines[place - 3 : place]] == ["instruction", "kernel", "kernel"]


def test_without_known_kernels_there_are_the_instructions() -> None:
    rows = rows_of("picture")
    plain = Arranger(rows).arrange().lines
    assert Arranger(rows).arrange("kernels").lines == plain
    names = Kernels({i: [KernelCall("name")] for i in rows.entries}, "NumPy", is_exact=False)
    assert Arranger(rows).arrange("kernels", kernels=names).lines == plain


def test_layers_are_one_line_each() -> None:
    rows = rows_of("residual")
    lines = Arranger(rows).arrange("layers").lines
    assert [line.title for line in lines] == list(rows.all_owners)
    assert all(line.kind == "heading" for line in lines)


def test_removed_lines_stand_where_they_were() -> None:
    rows = rows_of("picture")
    gone = [Removed("a", "FIRST", ""), Removed("b", "SECOND", rows.key(2)),
            Removed("c", "THIRD", "b")]  # fmt: skip
    lines = Arranger(rows).arrange(removed=gone).lines
    assert (lines[0].kind, lines[0].title) == ("removed", "FIRST")
    place = next(p for p, x in enumerate(lines) if x.row == 2)
    assert [x.title for x in lines[place + 1 : place + 3]] == ["SECOND", "THIRD"]
    places = Arranger(rows).arrange(removed=gone).places
    assert [lines[p].row for p in places] == list(range(len(rows)))


@pytest.mark.parametrize(("row", "place"), [(0, 0), (5, 5), (10_000, -1)])
def test_a_failure_stands_before_the_row_it_is_about(row: int, place: int) -> None:
    rows = rows_of("picture")
    arrangement = Arranger(rows).arrange(failure=Failure(row, "it stopped"))
    assert arrangement.lines[place].kind == "failure"
    assert [arrangement.lines[p].row for p in arrangement.places] == list(range(len(rows)))
