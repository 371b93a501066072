"""Every instruction has a kernel on every backend, found under the name it should have."""

from __future__ import annotations

from pathlib import Path

import pytest

import studio.engine.cpu
from studio.engine.cpu.plan.assemble import kernel_module
from studio.engine.isa.instruction import (
    GradInstruction,
    Instruction,
    all_instructions,
    by_mnemonic,
)

MARKERS = {"FUSE", "END"}
EVERY = [cls for cls in all_instructions() if cls.mnemonic not in MARKERS]


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.mnemonic)
def test_the_cpu_has_a_kernel(cls: type[Instruction]) -> None:
    forward = cls.forward if issubclass(cls, GradInstruction) else cls
    build = "build_grads" if issubclass(cls, GradInstruction) else "build"
    is_built = hasattr(kernel_module(forward.mnemonic), build)
    assert forward.meaning is not None or is_built, f"no formula and no file for {cls.mnemonic}"


def test_an_element_wise_instruction_states_what_it_computes() -> None:
    without = [
        cls.mnemonic
        for cls in EVERY
        if cls.elementwise and not issubclass(cls, GradInstruction) and cls.meaning is None
    ]
    assert without == []


def test_every_kernel_file_belongs_to_an_instruction() -> None:
    folder = Path(str(studio.engine.cpu.__file__)).parent / "kernels"
    names = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    strays = sorted(name for name in names if by_mnemonic(name.upper()) is None)
    assert strays == []
