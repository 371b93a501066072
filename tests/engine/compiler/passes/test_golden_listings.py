"""Listings of small networks and what every pass changes in them, held in golden files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from studio.engine.compiler.pipeline import compile_program, diff_programs
from studio.engine.compiler.target import GL
from studio.engine.isa.program import Program
from studio.engine.isa.text import format_listing, format_program
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import SGD
from tests.engine.compiler.networks import NETWORKS


def story(program: Program) -> str:
    """The lowered program, then the diff of every step of the pipeline."""
    parts = ["== lower\n", format_program(program)]

    def tell(name: str, before: Program, after: Program) -> None:
        parts.append(f"\n== {name}\n{diff_programs(before, after, context=0) or 'no change'}\n")

    compile_program(
        program, GL, emit_updates=lambda p: emit_updates(p, SGD(momentum=0.9)), observer=tell
    )
    return "".join(parts)


@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_pass_changes_what_it_always_did(
    name: str, mode: str, golden: Callable[[str, str], None]
) -> None:
    golden(f"passes/{name}-{mode}.txt", story(NETWORKS[name](mode)))


def test_unoptimised_listings_are_the_published_ones() -> None:
    block = [
        "CONV2D 0x1 0x2 0x0 0x3 1 1 1 1 1 1",
        "BATCHNORM2D 0x3 0x8 0x6 0x7 0x4 0x5 0.001 0.1",
        "RELU 0x8 0x9",
        "CONV2D 0xa 0xb 0x9 0xc 1 1 1 1 1 1",
        "BATCHNORM2D 0xc 0x11 0xf 0x10 0xd 0xe 0.001 0.1",
        "RELU 0x11 0x12",
        "CONV2D 0x13 0x14 0x12 0x15 1 1 1 1 1 1",
        "BATCHNORM2D 0x15 0x1a 0x18 0x19 0x16 0x17 0.001 0.1",
        "ADD 0x1a 0x9 0x1b 1 1",
        "RELU 0x1b 0x1c",
    ]
    program = compile_program(NETWORKS["resnet"](), GL, 0)
    assert format_listing(program).splitlines()[: len(block)] == block
    assert "GRADS_RELU 0x8 0x9" in format_listing(program).splitlines()


def test_the_documented_expression_loses_its_scale() -> None:
    plain = NETWORKS["expression"]("infer")
    words = [i.mnemonic for i in compile_program(plain, GL, 0)]
    assert words == ["SCALE", "ADD", "RELU", "SOFTMAX", "ADD"]
    folded = list(compile_program(plain, GL, 1))
    assert [i.mnemonic for i in folded] == ["ADD", "RELU", "SOFTMAX", "ADD"]
    assert (folded[0].alpha, folded[0].beta) == (1, 3)
    assert (folded[3].alpha, folded[3].beta) == (1, 1)
    assert folded[0].owners == ("scale", "add")
