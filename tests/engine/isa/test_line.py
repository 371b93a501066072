"""Lines print in Dylann's syntax and read back exactly."""

import pytest
from hypothesis import given

from studio.engine.core.errors import FormatError, ParameterError
from studio.engine.core.tensor import ABSENT, Ref
from studio.engine.isa import ops
from studio.engine.isa.binary import Reader, decode_instruction, encode_instruction
from studio.engine.isa.instruction import GradInstruction, Instruction, all_instructions, by_code
from studio.engine.isa.line import format_line, parse_line
from tests.engine.isa.strategies import instructions

GOLDEN = [
    (
        ops.conv.Conv2D(w=1, b=2, x=0, y=3, pad_h=1, pad_w=1),
        "CONV2D 0x1 0x2 0x0 0x3 1 1 1 1 1 1",
    ),
    (
        ops.norm.BatchNorm2D(x=3, y=8, gamma=6, beta=7, mean=4, var=5, eps=1e-8, factor=1),
        "BATCHNORM2D 0x3 0x8 0x6 0x7 0x4 0x5 1e-08 1",
    ),
    (ops.activation.Relu(x=8, y=9), "RELU 0x8 0x9"),
    (ops.arithmetic.Add(x1=0x1A, x2=9, y=0x1B), "ADD 0x1a 0x9 0x1b 1 1"),
    (ops.move.ConcatChannel(xs=(Ref(1), Ref(2)), y=3, count=2), "CONCAT_CHANNEL 0x1 0x2 0x3 2"),
    (ops.linear.Linear(w=1, b=ABSENT, x=0, y=2), "LINEAR 0x1 0x- 0x0 0x2"),
    (ops.random.Dropout(x=1, y=2, rate=0.2, step=9), "DROPOUT 0x1 0x2 0.2 {step=0x9}"),
    (ops.move.Fill(y=Ref(9, True), number=1), "FILL 0x9.grad 1"),
    (
        ops.conv.Conv2D(w=1, b=2, x=0, y=3, stride_h=2, stride_w=2, pad_end=(1, 1)),
        "CONV2D 0x1 0x2 0x0 0x3 2 2 0 0 1 1 {pad_end=1,1}",
    ),
]


@pytest.mark.parametrize(("ins", "text"), GOLDEN, ids=[t.split()[0] for _, t in GOLDEN])
def test_line_prints_and_parses(ins, text):
    assert format_line(ins) == text
    assert parse_line(text) == ins


def test_gradient_is_the_twin_at_plus_1000():
    for cls in all_instructions():
        if issubclass(cls, GradInstruction):
            assert cls.code == cls.forward.code + 1000
            assert cls.mnemonic == "GRADS_" + cls.forward.mnemonic
            assert [f.name for f in cls.operand_fields] == [
                f.name for f in cls.forward.operand_fields
            ]


@pytest.mark.slow
@given(instructions())
def test_text_round_trip_is_exact(ins):
    assert repr(parse_line(format_line(ins))) == repr(ins)


@pytest.mark.slow
@given(instructions())
def test_binary_round_trip_is_exact(ins):
    data = encode_instruction(ins)
    back = decode_instruction(Reader(data))
    assert repr(back) == repr(ins)
    assert back.owners == ins.owners
    assert encode_instruction(back) == data


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "not an instruction"),
        ("relu 0x1 0x2", "not an instruction"),
        ("WIBBLE 0x1", "unknown instruction 'WIBBLE'"),
        ("RELU 0x1", "2 operands are expected, got 1"),
        ("RELU 0x1 0x2 0x3", "2 operands are expected, got 3"),
        ("RELU 0x1 0x2 7", "0 scalars are expected"),
        ("RELU 0x1 0xzz", "an operand is expected"),
        ("RELU 0x- 0x2", "may not be absent"),
        ("SCALE 0x1 0x2 abc", "alpha cannot be 'abc'"),
        ("CONV2D 0x1 0x2 0x0 0x3 0 1 1 1 1 1", "expected a whole number from 1 to 32768, got 0"),
        ("DROPOUT 0x1 0x2 0.5 {wibble=1}", "unknown tail entry 'wibble'"),
        ("DROPOUT 0x1 0x2 0.5 {stream=1 stream=2}", "given twice"),
        ("DROPOUT 0x1 0x2 1.5", "rate: expected a number from 0 to 0.999999, got 1.5"),
        ("SCALE 0x1 0x2 1e99", "must fit float32"),
        (
            "BATCHNORM 0x1 0x2 0x3 0x4 0x5 0x6 0.99 0.001 {frozen=2}",
            "frozen: expected 0 or 1, got 2",
        ),
        ("LOSS_CE 0x1 0x2 0x3 {source=odd}", "source: expected one of probs, "),
    ],
)
def test_bad_line_says_what_is_wrong(text, fragment):
    with pytest.raises((FormatError, ParameterError)) as caught:
        parse_line(text)
    assert fragment in str(caught.value)


def test_opcode_table_is_golden(golden):
    table = "".join(f"{c.code:5d}  {c.mnemonic}\n" for c in all_instructions())
    # An opcode is never renumbered or reused; a new one is a change of the program format.
    golden("isa/opcodes.txt", table)


def test_a_taken_opcode_is_refused_naming_both():
    with pytest.raises(TypeError, match="Other is taken by Relu"):

        class Other(Instruction, code=100, mnemonic="OTHER"):
            """A clash."""

    assert by_code(100) is ops.activation.Relu


def test_dylanns_encoder_bugs_are_absent():
    """There, ADD encoded x1 twice; batch-norm left the blend pair out; SOFTMAX lost its step."""
    add = ops.arithmetic.Add(x1=1, x2=2, y=3, alpha=1, beta=3)
    assert decode_instruction(Reader(encode_instruction(add))).operands == add.operands
    norm = ops.norm.BatchNorm(x=0, y=1, gamma=2, beta=3, mean=4, var=5, eps=1e-5, factor=0.1)
    assert decode_instruction(Reader(encode_instruction(norm))) == norm
    soft = ops.softmax.SoftmaxCE(x=0, y=1, step=10)
    assert format_line(soft) == "SOFTMAX_CE 0x0 0x1 10"
    assert decode_instruction(Reader(encode_instruction(soft))).step == 10
    scale_twin = ops.arithmetic.Scale.grad_class(x=0, y=1, alpha=2.0)
    assert decode_instruction(Reader(encode_instruction(scale_twin))) == scale_twin


def test_there_is_one_nan_whatever_its_sign():
    minus = ops.arithmetic.Scale(x=0, y=1, alpha=float("-nan"))
    assert format_line(minus) == "SCALE 0x0 0x1 nan"
    assert encode_instruction(minus) == encode_instruction(parse_line("SCALE 0x0 0x1 nan"))
