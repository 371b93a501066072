from __future__ import annotations

from collections.abc import Callable

from studio.engine import BatchNormalization, Dense, Input, Masking, Model, TiedDense
from studio.engine.autodiff.differentiate import differentiate
from studio.engine.compiler.lower import lower
from studio.engine.compiler.lower_augment import Flip, PadCrop
from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Role
from studio.engine.isa.instruction import GradInstruction
from studio.engine.isa.line import format_line
from studio.engine.isa.program import SECTIONS, Program
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.summary import summarize
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import SGD
from tests.engine.compiler.sample_graphs import (
    expression,
    identity_block,
    residual_sample,
    small_picture_network,
    stem,
)

STEM_AND_BLOCK = """\
CONV2D 0x1 0x2 0x0 0x3 1 1 1 1 1 1
BATCHNORM2D 0x3 0x8 0x6 0x7 0x4 0x5 1e-08 1
RELU 0x8 0x9
CONV2D 0xa 0xb 0x9 0xc 1 1 1 1 1 1
BATCHNORM2D 0xc 0x11 0xf 0x10 0xd 0xe 1e-08 1
RELU 0x11 0x12
CONV2D 0x13 0x14 0x12 0x15 1 1 1 1 1 1
BATCHNORM2D 0x15 0x1a 0x18 0x19 0x16 0x17 1e-08 1
ADD 0x1a 0x9 0x1b 1 1
RELU 0x1b 0x1c
"""


def forward_text(program: Program) -> str:
    return "".join(f"{format_line(ins)}\n" for ins in program.section("forward"))


def whole_text(program: Program) -> str:
    lines = [
        f"{t.ref} {t.name} {t.type} {t.role.value} {t.init}".rstrip()
        for t in program.tensors.values()
    ]
    for name in SECTIONS:
        lines += [f"{name}:"] if program.section(name) else []
        lines += [f"  {format_line(i)} ; {' '.join(i.owners)}" for i in program.section(name)]
    return "\n".join(lines) + "\n"


def test_stem_and_identity_block_print_as_documented() -> None:
    graph = LayerGraph("block")
    graph.outputs = (identity_block(graph, stem(graph, 32, 64), 64, drop=0.0),)
    text = forward_text(lower(graph, "train", loss="mse"))
    assert text == STEM_AND_BLOCK


def test_expression_lowers_to_scale_add_relu_softmax_add() -> None:
    assert forward_text(lower(expression(), "infer")) == (
        "SCALE 0x2 0x3 3\nADD 0x1 0x3 0x4 1 1\nRELU 0x4 0x5\n"
        "SOFTMAX 0x5 0x6 4\nADD 0x0 0x6 0x7 1 1\n"
    )


def test_residual_sample_has_the_documented_size(golden: Callable[[str, str], None]) -> None:
    graph = residual_sample()
    program = lower(graph, "train", loss="categorical_crossentropy", metrics=["accuracy"])
    assert len(program.section("forward")) == 160
    assert summarize(graph).trainable == 26_577_994
    params = [t for t in program.of_role(Role.PARAM) if t.trainable]
    assert sum(t.numel(1) for t in params) == 26_577_994
    backward = differentiate(program, prune=False).section("backward")
    grads = [
        i
        for i in backward
        if isinstance(i, GradInstruction) and not i.mnemonic.startswith("GRADS_LOSS")
    ]
    assert len(grads) == 160
    assert [t.mnemonic for t in grads] == [
        f"GRADS_{i.mnemonic}" for i in reversed(program.section("forward"))
    ]
    golden("listings/resnet34.txt", forward_text(program))


def test_a_whole_training_program_reads_as_recorded(golden: Callable[[str, str], None]) -> None:
    spec = DataSpec(
        (Source((8, 8, 1), DType.uint8, (0.0625,), (0.0,)),),
        (Source((), DType.int32, classes=10),),
        augment=(Flip(), PadCrop(padding=1)),
        class_weights=((1.0, 2.0, *[1.0] * 8),),
    )
    graph = small_picture_network(kernel_regularizer="l1_l2(0.001,0.01)")
    program = lower(
        graph, "train", loss="sparse_categorical_crossentropy", metrics=["accuracy"], data=spec
    )
    whole = emit_updates(differentiate(program), SGD(0.1, momentum=0.9, global_clipnorm=1.0))
    golden("listings/small_train.txt", whole_text(whole))
    evaluated = lower(
        graph, "evaluate", loss="sparse_categorical_crossentropy", metrics=["acc"], data=spec
    )
    golden("listings/small_evaluate.txt", whole_text(evaluated))
    golden("listings/small_infer.txt", whole_text(lower(graph, "infer", data=spec)))


def test_tied_layers_and_masked_statistics_read_as_recorded(
    golden: Callable[[str, str], None],
) -> None:
    x = Input((4,), name="x")
    code = Dense(2, "tanh", name="code")
    tied = Model(x, TiedDense(4, code, name="end")(code(x))).graph
    program = emit_updates(differentiate(lower(tied, "train", loss="mse")), SGD(0.1))
    golden("listings/tied_train.txt", whole_text(program))
    steps = Input((4, 3), name="x")
    end = BatchNormalization(name="norm")(Masking(name="masking")(steps))
    masked = Model(steps, end).graph
    program = emit_updates(differentiate(lower(masked, "train", loss="mse")), SGD(0.1))
    golden("listings/masked_normalization_train.txt", whole_text(program))
