"""Rows of a listing: the compiler's own text, operands, groups and costs."""

from __future__ import annotations

import re

import pytest

from studio.engine.core.tensor import Ref
from studio.engine.isa.instruction import Instruction, TypeOf
from studio.engine.isa.ops.data import Advance, GatherBatch, Record
from studio.engine.isa.ops.group import End, Fuse
from studio.engine.isa.ops.update import Update
from studio.engine.isa.text import format_listing
from studio.session.listing.copying import as_text
from tests.instruction_view.corpus import BUILDERS
from tests.instruction_view.programs import BATCH, rows_of


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("name", BUILDERS)
def test_all_rows_together_are_the_text_of_the_compiler(name: str, mode: str, level: int) -> None:
    rows = rows_of(name, mode, level)
    assert as_text(rows, range(len(rows))) == format_listing(rows.program)


@pytest.mark.parametrize("name", BUILDERS)
def test_every_register_of_a_line_is_a_span(name: str) -> None:
    rows = rows_of(name)
    for index in range(len(rows)):
        text, spans = rows.text(index), rows.spans(index)
        words = [word for word in re.split(r"[ ={}]", text) if word.startswith("0x")]
        assert [text[span.start : span.end] for span in spans] == words
        assert [str(span.ref) for span in spans] == words
        fields = {spec.name for spec in rows.instruction(index).operand_fields}
        assert {span.name for span in spans} <= fields


@pytest.mark.parametrize("name", BUILDERS)
def test_written_and_read_together_are_what_the_line_touches(name: str) -> None:
    rows = rows_of(name)
    for index in range(len(rows)):
        effects = rows.instruction(index).effects()
        written, read = rows.written(index), rows.read(index)
        assert set(written) == effects.writes
        assert set(read) == effects.reads - effects.writes
        assert len({*written, *read}) == len(written) + len(read)


def test_flow_says_results_before_sources() -> None:
    rows = rows_of("picture")
    line = next(i for i in range(len(rows)) if rows.mnemonic(i) == "MAXPOOL2D")
    x, y = (span.ref for span in rows.spans(line))
    assert rows.flow(line) == f"{y} ← {x}"
    assert rows.shape(line) == "[N,4,4,4]"


def test_parameters_name_their_values() -> None:
    rows = rows_of("strided")
    line = next(i for i in range(len(rows)) if rows.mnemonic(i) == "CONV2D")
    words = rows.parameters(line).split()
    assert "stride_h=2" in words
    assert "pad_h=0" in words
    # The tail is said only where it differs from the default.
    assert not any(word.startswith("pad_end") for word in words)


def _partly(part: Instruction, of: TypeOf) -> dict[Ref, int]:
    """Elements of the operands of which a step moves only its own."""
    if isinstance(part, Update):
        return {part.rates: 1}
    if isinstance(part, Record):
        return {part.ring: len(part.values)}
    if isinstance(part, Advance):
        return {part.x: 0}
    if isinstance(part, GatherBatch):
        return {part.data: of(part.y).numel, part.order: of(part.y).shape[0]}
    return {}


@pytest.mark.parametrize("name", BUILDERS)
def test_a_fused_group_costs_what_its_parts_do_with_registers_free(name: str) -> None:
    rows = rows_of(name)
    program = rows.program
    of = program.bound(BATCH, 100)
    for index, entry in rows.entries.items():
        flops = sum(part.flops(of) for part in entry.parts)
        assert rows.cost(index).flops == flops
        moved = 0
        before: set[Ref] = set()
        reads: set[Ref] = set()
        for part in entry.parts:
            reads |= part.effects().reads - before
            before |= part.effects().writes
        # What an epilogue makes and uses up: nobody outside touches it.
        others = [e for e in rows.entries.values() if e is not entry]
        outside = {program.storage(r) for e in others for r in (*e.reads(), *e.writes())}
        used = {r for part in entry.parts for r in part.effects().reads} & before
        inner = {program.storage(r) for r in used if r.grad} - outside
        partly = {ref: count for part in entry.parts for ref, count in _partly(part, of).items()}
        for refs in (reads, before):
            stored = {program.storage(r): r for r in refs}
            moved += sum(
                partly.get(r, of(r).numel) * of(r).dtype.itemsize
                for s, r in stored.items()
                if not program.tensors[s.root].register or r.grad
                if entry.kind != "epilogue" or s not in inner
            )
        assert rows.cost(index).nbytes == moved


def test_group_lines_know_their_group() -> None:
    rows = rows_of("picture")
    begin = next(i for i in range(len(rows)) if rows.is_group_begin(i))
    span = rows.group(begin)
    assert isinstance(rows.instruction(span.first), Fuse)
    assert isinstance(rows.instruction(span.last), End)
    assert rows.is_group_end(span.last)
    assert rows.is_inside(begin + 1)
    assert not rows.is_inside(begin)
    assert rows.group_title(begin) == "CONV2D + RELU"
    update = next(i for i in range(len(rows)) if "kind=update" in rows.text(i))
    assert rows.group_title(update) == "UPDATE_ADAM \N{MULTIPLICATION SIGN} 4"
    assert rows.cost(span.last) == (0, 0)


@pytest.mark.parametrize("name", BUILDERS)
def test_uses_of_a_register_are_the_lines_that_touch_it(name: str) -> None:
    rows = rows_of(name)
    for tensor in rows.program.tensors.values():
        for ref in (tensor.ref, tensor.ref.gradient):
            expected = []
            for index, line in enumerate(rows.program):
                effects = line.effects()
                if ref in effects.reads and ref in effects.writes:
                    expected.append((index, "changes"))
                elif ref in effects.writes:
                    expected.append((index, "writes"))
                elif ref in effects.reads:
                    expected.append((index, "reads"))
            assert list(rows.uses(ref)) == expected


def test_producer_of_a_view_is_that_of_its_bytes() -> None:
    rows = rows_of("picture")
    view = rows.program.tensors.named("flatten/output")
    assert view.view_of is not None
    pooled = rows.producer(Ref(view.view_of))
    assert pooled is not None
    assert rows.mnemonic(pooled) == "MAXPOOL2D"
    assert rows.producer(view.ref) == pooled


def test_layers_stand_in_the_order_of_the_program() -> None:
    rows = rows_of("picture")
    assert rows.layers == ("conv2d", "max_pooling2d", "dense")
    assert set(rows.all_owners) == {*rows.layers, "loss", "metrics", "optimiser"}
