"""The copy of the step block: which lines read it, and where there is none."""

from __future__ import annotations

import pytest

from studio.engine.compiler.passes.snapshot_step import snapshot_step
from studio.engine.compiler.pipeline import compile_program
from studio.engine.compiler.target import CPU, GL, GL_SOFTWARE, TARGETS
from studio.engine.compiler.verify import verify
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH, Role, Tensor, TensorMap
from studio.engine.isa.binary import decode_program, encode_program
from studio.engine.isa.line import format_line, parse_line
from studio.engine.isa.program import Program
from studio.engine.isa.text import format_program, parse_program
from studio.engine.isa.versions import program_version
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import Adam
from tests.engine.compiler.networks import NETWORKS

BEGIN, OTHER = "BEGIN_UPDATE 0x2", "BEGIN_UPDATE 0x6"
COPIES = "BEGIN_UPDATE 0x2 {now=0x7}"
SGD, SGD_OF_COPY = "UPDATE_SGD 0x1 0x1.grad 0x2 0x3", "UPDATE_SGD 0x1 0x1.grad 0x7 0x3"
RECORD, RECORD_OF_COPY = "RECORD 0x5 0x4 0x2", "RECORD 0x5 0x4 0x7"
ADVANCE = "ADVANCE 0x0 0x2"


def program(*lines: str, name: str = "rates") -> Program:
    tensors = [
        Tensor(0, "x", (BATCH, 3), role=Role.INPUT),
        Tensor(1, "w", (3,), role=Role.PARAM, trainable=True),
        Tensor(2, "step", (8,), DType.int32, Role.STEP),
        Tensor(3, name, (4,), role=Role.STEP),
        Tensor(4, "ring", (4, 1), role=Role.METRIC),
        Tensor(5, "loss", (), role=Role.METRIC),
        Tensor(6, "other", (8,), DType.int32, Role.STEP),
    ]
    sections = {
        "backward": (parse_line("ZERO 0x1.grad"),),
        "update": tuple(parse_line(text) for text in lines if "0x4" not in text),
        "metrics": tuple(parse_line(text) for text in lines if "0x4" in text),
    }
    made = Program("p", "train", TensorMap(tensors), sections, inputs=(0,))
    verify(made)
    return made


def lines_of(found: Program) -> list[str]:
    return [format_line(ins) for name in ("update", "metrics") for ins in found.section(name)]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((BEGIN, SGD, RECORD), [COPIES, SGD_OF_COPY, RECORD_OF_COPY]),
        (
            (BEGIN, "FUSE {kind=update}", SGD, SGD, "END", RECORD),
            [COPIES, "FUSE {kind=update}", SGD_OF_COPY, SGD_OF_COPY, "END", RECORD_OF_COPY],
        ),
        # What stands behind the line that changes the block reads the block.
        ((BEGIN, SGD, ADVANCE, RECORD), [COPIES, SGD_OF_COPY, ADVANCE, RECORD]),
        ((BEGIN, ADVANCE, SGD), [BEGIN, ADVANCE, SGD]),
        ((SGD, BEGIN), [SGD, BEGIN]),
        ((BEGIN, BEGIN, SGD), [BEGIN, COPIES, SGD_OF_COPY]),
        # A step block of its own that something else counts in.
        ((BEGIN, OTHER, SGD), [COPIES, OTHER, SGD_OF_COPY]),
        ((OTHER, SGD), [OTHER, SGD]),
    ],
)
def test_lines_behind_the_count_read_its_copy(given: tuple[str, ...], wanted: list[str]) -> None:
    found = snapshot_step(program(*given), GL)
    verify(found)
    assert lines_of(found) == wanted
    copies = [t for t in found.tensors.values() if t.id == 7]
    assert [(t.name, t.type) for t in copies] == (
        [("update/now", found.tensors[2].type)] if COPIES in wanted else []
    )


def test_only_files_of_version_2_have_the_copy() -> None:
    plain = program(BEGIN, SGD, RECORD)
    found = snapshot_step(plain, GL)
    assert [program_version(p) for p in (plain, found)] == [1, 2]
    assert parse_program(format_program(found)) == found
    assert decode_program(encode_program(found), 2) == found


def test_each_count_has_a_copy_of_its_own() -> None:
    found = snapshot_step(program(BEGIN, SGD, BEGIN, RECORD, name="update/now"), GL)
    verify(found)
    assert lines_of(found) == [
        COPIES, SGD_OF_COPY, "BEGIN_UPDATE 0x2 {now=0x8}", "RECORD 0x5 0x4 0x8"
    ]  # fmt: skip
    assert [found.tensors[i].name for i in (3, 7, 8)] == [
        "update/now",
        "update/now2",
        "update/now3",
    ]


def test_a_program_that_has_copies_stays_as_it_is() -> None:
    once = snapshot_step(program(BEGIN, SGD, RECORD), GL)
    assert snapshot_step(once, GL) == once


def begins(target: str, *disabled: str) -> list[str]:
    found = compile_program(
        NETWORKS["mlp"](), TARGETS[target], emit_updates=lambda p: emit_updates(p, Adam()),
        disabled=disabled, verify=True,
    )  # fmt: skip
    return [format_line(ins) for ins in found if ins.mnemonic == "BEGIN_UPDATE"]


def test_the_pass_can_be_switched_off_and_is_none_of_the_cpu_s() -> None:
    for name in (GL.name, GL_SOFTWARE.name):
        (with_copy,), (without,) = begins(name), begins(name, "snapshot_step")
        assert with_copy.startswith(f"{without} {{now=0x")
    assert begins(CPU.name) == begins(GL.name, "snapshot_step")
