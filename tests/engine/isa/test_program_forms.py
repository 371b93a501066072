"""Whole programs round-trip through text and bytes, and damaged ones are refused politely."""

import random
import struct
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import FormatError
from studio.engine.core.tensor import BATCH, Ref, Role
from studio.engine.isa import ops
from studio.engine.isa.binary import (
    Reader,
    decode_instruction,
    decode_program,
    encode_instruction,
    encode_program,
)
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.fields import integer, reads, side_input, side_result, writes
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.activation import Relu
from studio.engine.isa.ops.loss import LossSparseCE
from studio.engine.isa.program import SECTIONS
from studio.engine.isa.text import format_program, parse_program
from studio.engine.isa.versions import program_version
from tests.engine.isa.strategies import programs
from tests.engine.registered import registered_meanwhile


def small_program():
    build = ProgramBuilder("small", "infer")
    with build.owned_by("conv 1", layer="conv 1"):
        x = build.tensor("input", (BATCH, 8, 8, 3), role=Role.INPUT)
        w = build.tensor("conv/kernel", (3, 3, 3, 4), role=Role.PARAM, init="zeros")
        b = build.tensor("conv/bias", (4,), role=Role.PARAM, value=(0.5, 1, 2, 3))
        (y,) = build.emit("forward", ops.conv.Conv2D, w=w, b=b, x=x, pad_h=1, pad_w=1)
        (z,) = build.emit("forward", ops.activation.Relu, x=y)
    return build.finish((x,), (z,), {"classes": '["a","b"]'})


def same(a, b):
    assert repr({n: a.sections[n] for n in sorted(a.sections)}) == repr(
        {n: b.sections[n] for n in sorted(b.sections)}
    )
    assert a.order == b.order
    assert [i.owners for i in a] == [i.owners for i in b]
    assert list(a.tensors.values()) == list(b.tensors.values())
    assert (a.name, a.mode, a.inputs, a.outputs, dict(a.meta)) == (
        b.name,
        b.mode,
        b.inputs,
        b.outputs,
        dict(b.meta),
    )


def mixed_program():
    """A forward line of the small program stands between two of other sections, in a group."""
    small = small_program()
    conv, relu = small
    fill = ops.move.Fill(y=Ref(small.outputs[0], True), number=1.0)
    begin, end = ops.group.Fuse(kind="chain"), ops.group.End()
    lines = [("forward", conv), ("loss", begin), ("loss", fill), ("forward", relu), ("loss", end)]
    return small.with_lines(lines)


def survives_both_forms(program):
    text, data = format_program(program), encode_program(program)
    for back in (parse_program(text), decode_program(data, program_version(program))):
        same(back, program)
        assert format_program(back) == text
        assert encode_program(back) == data


@pytest.mark.slow
@given(programs())
@settings(max_examples=20)
def test_text_and_binary_round_trips(program):
    survives_both_forms(program)


@pytest.mark.parametrize("empty", [("data",), ("loss",), ("data", "backward", "metrics")])
def test_sections_without_instructions_survive_both_forms(empty):
    found = small_program().with_sections(**dict.fromkeys(empty, ()))
    in_order = {name: found.section(name) for name in SECTIONS if name in found.sections}
    program = replace(found, sections=in_order)
    assert all(f".section {name}\n" in format_program(program) for name in empty)
    survives_both_forms(program)


@pytest.mark.full
@given(programs())
@settings(max_examples=300)
def test_text_and_binary_round_trips_at_full_size(program):
    survives_both_forms(program)


@pytest.mark.parametrize("program", [small_program(), mixed_program()])
def test_binary_equals_text(program):
    data = encode_program(parse_program(format_program(program)))
    same(decode_program(data, program_version(program)), program)


def test_a_section_that_comes_again_is_written_again():
    text = format_program(mixed_program())
    assert text.startswith(".glassbox 2\n")
    lines = [line.split(" ;")[0].rstrip() for line in text.splitlines()]
    assert lines[lines.index(".section forward") :] == [
        ".section forward",
        "CONV2D 0x1 0x2 0x0 0x3 1 1 1 1 1 1",
        "",
        ".section loss",
        "FUSE {kind=chain}",
        "FILL 0x4.grad 1",
        "",
        ".section forward",
        "RELU 0x3 0x4",
        "",
        ".section loss",
        "END",
        ".end",
    ]


@pytest.mark.parametrize("empty", [("data",), ("backward", "metrics")])
def test_empty_sections_survive_among_sections_that_alternate(empty):
    survives_both_forms(mixed_program().with_sections(**dict.fromkeys(empty, ())))


def test_a_section_written_in_two_pieces_on_end_is_one():
    text = format_program(small_program()).replace(".glassbox 1", ".glassbox 2")
    again = text.replace("RELU", ".section forward\nRELU")
    same(parse_program(again), small_program())
    assert format_program(parse_program(again)) == format_program(small_program())


@pytest.fixture
def newer():
    """An instruction and an operand that version 1 does not have, while a test runs."""
    with registered_meanwhile():

        class Peak(Instruction, code=498, mnemonic="PEAK", category="reduce", since=2):
            """The largest of a row."""

            x = reads("Rows.")
            y = writes("Largest.")

        class Lift(Instruction, code=499, mnemonic="LIFT", category="reduce", saves=("x",)):
            """A row and something newer."""

            x = reads("Rows.")
            y = writes("Result.")
            by = side_input("What to add.", since=2)
            low = side_result("The least.", since=2)
            times = integer("How often.", 1, tail=True, since=2)

        yield Peak, Lift


def ending_with(ins):
    small = small_program()
    return small.with_sections(forward=(*small.section("forward"), ins))


def test_operands_of_version_2_have_no_place_in_version_1(newer):
    _, lift = newer
    plain = ending_with(lift(x=3, y=4))
    assert program_version(plain) == 1
    alike = encode_instruction(Relu(x=3, y=4), 1)
    assert encode_instruction(lift(x=3, y=4), 1)[4:] == alike[4:]
    assert encode_program(plain).endswith(alike[4:])
    survives_both_forms(plain)
    for line in (
        lift(x=3, y=4, by=1),
        lift(x=3, y=4, low=1),
        lift(x=3, y=4, times=2),
        lift.grad_class(x=3, y=4, by=1),
    ):
        assert program_version(ending_with(line)) == 2
        survives_both_forms(ending_with(line))


def test_a_version_2_file_holds_newer_lines_among_others(newer):
    peak, lift = newer
    program = ending_with(lift(x=3, y=4, low=2)).with_sections(metrics=[peak(x=3, y=4)])
    assert format_program(program).startswith(".glassbox 2\n")
    survives_both_forms(program)


def needing_2(newer, form):
    peak, lift = newer
    if form == "partial":
        tensors = small_program().tensors
        return small_program().with_tensors(tensors.update([tensors[3].replace(partial=True)]))
    if form == "alternating":
        return mixed_program()
    lines = {
        "class": lambda: peak(x=3, y=4),
        "operand": lambda: lift(x=3, y=4, by=1),
        "tail": lambda: lift(x=3, y=4, times=2),
    }
    return ending_with(lines[form]())


NEEDS = {
    "partial": ("partial tensor 0x3", 7),
    "alternating": ("section forward a second time", 19),
    "class": ("PEAK", 15),
    "operand": ("operand 'by' of LIFT", 15),
    "tail": ("tail entry 'times' of LIFT", 15),
}


@pytest.mark.parametrize("form", NEEDS)
def test_version_1_holds_nothing_newer_and_says_which_line_does(newer, form):
    what, line = NEEDS[form]
    program = needing_2(newer, form)
    assert program_version(program) == 2
    text = format_program(program).replace(".glassbox 2", ".glassbox 1")
    with pytest.raises(FormatError) as caught:
        parse_program(text, "old.gbasm")
    assert f"{what} needs version 2 of the format, the file says 1" in str(caught.value)
    assert f"line {line}" in str(caught.value)


def test_bytes_of_version_1_hold_nothing_newer_either(newer):
    peak, lift = newer
    old = Reader(encode_instruction(lift(x=3, y=4, times=2), 1))
    with pytest.raises(FormatError, match="tail entry 'times' of LIFT at byte 0 needs version 2"):
        decode_instruction(old, 1)
    with pytest.raises(FormatError, match="partial tensor 0x3 needs version 2"):
        decode_program(encode_program(needing_2(newer, "partial")), 1)
    data = encode_program(ending_with(Relu(x=3, y=4)).with_sections(metrics=[Relu(x=3, y=4)]))
    with pytest.raises(FormatError, match="section forward a second time needs version 2"):
        decode_program(data.replace(b"metrics", b"forward"), 1)
    opcode = data.rindex(struct.pack("<I", Relu.code))
    changed = data[:opcode] + struct.pack("<I", peak.code) + data[opcode + 4 :]
    with pytest.raises(FormatError, match=f"PEAK at byte {opcode} needs version 2"):
        decode_program(changed, 1)


def test_sections_in_another_order_need_version_2():
    conv, relu = small_program()
    program = small_program().with_lines([("loss", relu), ("forward", conv)])
    assert program_version(program) == 2
    survives_both_forms(program)
    with pytest.raises(FormatError, match="section forward behind loss needs version 2"):
        parse_program(format_program(program).replace(".glassbox 2", ".glassbox 1"))


def test_unknown_opcode_names_its_offset_and_can_be_skipped():
    data = bytearray(encode_program(small_program()))
    at = bytes(data).index((100).to_bytes(4, "little"), len(data) - 80)
    data[at : at + 4] = (777).to_bytes(4, "little")
    with pytest.raises(FormatError, match=f"unknown opcode 777 at byte {at}"):
        decode_program(bytes(data), 1)
    skipped = decode_program(bytes(data), 1, skip_unknown=True)
    assert [i.mnemonic for i in skipped] == ["CONV2D"]


def fuzz(count, seed):
    rng = random.Random(seed)
    refused = 0
    for number in range(count):
        program = (small_program, mixed_program)[number % 2]()
        data, text = encode_program(program), format_program(program)
        version = program_version(program)
        raw = bytearray(data)
        chars = list(text)
        for _ in range(rng.randint(1, 6)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
            chars[rng.randrange(len(chars))] = chr(rng.choice((0, 10, 32, 34, 59, 92, 0x7F3, 48)))
        kept = rng.randint(1, len(raw)) if rng.random() < 0.4 else len(raw)
        readers = (partial(decode_program, version=version), parse_program)
        for read, broken in zip(readers, (bytes(raw[:kept]), "".join(chars)), strict=True):
            try:
                read(broken)
            except FormatError:
                refused += 1
    return refused


def test_damaged_programs_give_format_errors_only():
    assert fuzz(400, seed=7) > 400


@pytest.mark.full
def test_damaged_programs_give_format_errors_only_at_full_size():
    assert fuzz(20_000, seed=8) > 20_000


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "ends before .end"),
        (".glassbox 99\n", "version 99 of the format, this reads up to 2"),
        (".glassbox 3\n", "version 3 of the format, this reads up to 2"),
        (".glassbox 0\n", "no version 0"),
        (".glassbox two\n", "a version number is expected"),
        (".glassbox 1\nRELU 0x0 0x1\n", "precedes the first .section"),
        ('.glassbox 1\n.program "a" train\n.section forward\nRELU 0x0 0x1\n', "not declared"),
        ('.glassbox 1\n.program "a" dance\n', "train|evaluate|infer"),
        (".glassbox 1\n.tensor 0x0 input float32 [N] input\n", "is expected"),
        ('.glassbox 1\n.tensor 0x0 "i" float32 [3,N] input\n', "only dimension 0"),
        ('.glassbox 1\n.tensor 0x0 "i" float99 [3] input\n', "unknown dtype"),
        (
            '.glassbox 1\n.program "a" train\n.section loss\n.section forward\n',
            "section forward behind loss needs version 2 of the format, the file says 1",
        ),
        ('.glassbox 1\n.program "a" train\n.end\nRELU 0x0 0x1', "nothing may follow"),
    ],
)
def test_bad_text_names_the_line(text, fragment):
    with pytest.raises(FormatError) as caught:
        parse_program(text, who="bad.gbasm")
    assert fragment in str(caught.value)
    assert "bad.gbasm" in str(caught.value)


@pytest.mark.parametrize("shape", [(BATCH,), (BATCH, 3)])
def test_weights_of_positions_need_version_2(shape):
    build = ProgramBuilder("weighed", "train")
    p = build.tensor("p", (BATCH, 3, 4), role=Role.INPUT)
    t = build.tensor("t", (BATCH, 3), DType.int32, Role.INPUT)
    w = build.tensor("w", shape, role=Role.INPUT)
    build.emit("loss", LossSparseCE, p=p, t=t, weights=w)
    program = build.finish((p, t, w), ())
    needed = len(shape)
    assert program_version(program) == needed
    text = format_program(program)
    same(parse_program(text), program)
    same(decode_program(encode_program(program), needed), program)
    older = text.replace(f".glassbox {needed}", ".glassbox 1")
    if needed == 1:
        same(parse_program(older), program)
        return
    with pytest.raises(FormatError, match="LOSS_SPARSE_CE with operands of these shapes needs"):
        parse_program(older)
