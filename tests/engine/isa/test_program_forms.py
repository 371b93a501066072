"""Whole programs round-trip through text and bytes, and damaged ones are refused politely."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings

from studio.engine.core.errors import FormatError
from studio.engine.core.tensor import BATCH, Role
from studio.engine.isa import ops
from studio.engine.isa.binary import decode_program, encode_program
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.program import SECTIONS
from studio.engine.isa.text import format_program, parse_program
from tests.engine.isa.strategies import programs


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
    assert repr(a.sections) == repr(b.sections)
    assert [i.owners for i in a] == [i.owners for i in b]
    assert list(a.tensors.values()) == list(b.tensors.values())
    assert (a.name, a.mode, a.inputs, a.outputs, dict(a.meta)) == (
        b.name,
        b.mode,
        b.inputs,
        b.outputs,
        dict(b.meta),
    )


def survives_both_forms(program):
    text, data = format_program(program), encode_program(program)
    for back in (parse_program(text), decode_program(data)):
        same(back, program)
        assert format_program(back) == text
        assert encode_program(back) == data


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


def test_binary_equals_text():
    program = small_program()
    same(decode_program(encode_program(parse_program(format_program(program)))), program)


def test_unknown_opcode_names_its_offset_and_can_be_skipped():
    data = bytearray(encode_program(small_program()))
    at = bytes(data).index((100).to_bytes(4, "little"), len(data) - 80)
    data[at : at + 4] = (777).to_bytes(4, "little")
    with pytest.raises(FormatError, match=f"unknown opcode 777 at byte {at}"):
        decode_program(bytes(data))
    skipped = decode_program(bytes(data), skip_unknown=True)
    assert [i.mnemonic for i in skipped] == ["CONV2D"]


def fuzz(count, seed):
    rng = random.Random(seed)
    data = encode_program(small_program())
    text = format_program(small_program())
    refused = 0
    for _ in range(count):
        raw = bytearray(data)
        chars = list(text)
        for _ in range(rng.randint(1, 6)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
            chars[rng.randrange(len(chars))] = chr(rng.choice((0, 10, 32, 34, 59, 92, 0x7F3, 48)))
        kept = rng.randint(1, len(raw)) if rng.random() < 0.4 else len(raw)
        for read, broken in ((decode_program, bytes(raw[:kept])), (parse_program, "".join(chars))):
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
        (".glassbox 99\n", "reads up to 1"),
        (".glassbox 1\nRELU 0x0 0x1\n", "before the first .section"),
        ('.glassbox 1\n.program "a" train\n.section forward\nRELU 0x0 0x1\n', "not declared"),
        ('.glassbox 1\n.program "a" dance\n', "train|evaluate|infer"),
        (".glassbox 1\n.tensor 0x0 input float32 [N] input\n", "is expected"),
        ('.glassbox 1\n.tensor 0x0 "i" float32 [3,N] input\n', "only dimension 0"),
        ('.glassbox 1\n.tensor 0x0 "i" float99 [3] input\n', "unknown dtype"),
        ('.glassbox 1\n.program "a" train\n.section loss\n.section forward\n', "must stand before"),
        ('.glassbox 1\n.program "a" train\n.end\nRELU 0x0 0x1', "nothing may follow"),
    ],
)
def test_bad_text_names_the_line(text, fragment):
    with pytest.raises(FormatError) as caught:
        parse_program(text, who="bad.gbasm")
    assert fragment in str(caught.value)
    assert "bad.gbasm" in str(caught.value)
