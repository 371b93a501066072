"""Small programs for the tests of this folder, built line by line."""

from __future__ import annotations

from typing import Any

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import Ref, Role, Shape
from studio.engine.gl.backend import GlBackend
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction, by_mnemonic
from studio.engine.isa.program import Program


class Lines:
    """Builds a program from mnemonics; inputs, parameters and activations by name."""

    def __init__(self) -> None:
        self.builder = ProgramBuilder("probe", "train")
        self.inputs: list[Ref] = []

    def input(self, name: str, shape: Shape, dtype: DType = DType.float32) -> Ref:
        ref = self.builder.tensor(name, shape, dtype, Role.INPUT)
        self.inputs.append(ref)
        return ref

    def kept(self, name: str, shape: Shape, dtype: DType = DType.float32) -> Ref:
        return self.builder.tensor(name, shape, dtype, Role.STATE)

    def made(self, name: str, shape: Shape, **flags: Any) -> Ref:
        return self.builder.tensor(name, shape, **flags)

    def add(self, section: str, mnemonic: str, **fields: Any) -> Instruction:
        cls = by_mnemonic(mnemonic)
        assert cls is not None
        ins = cls(**fields)
        self.builder.append(section, ins)
        return ins

    def program(self, *outputs: Ref) -> Program:
        return self.builder.finish(tuple(self.inputs), outputs)


def run_once(
    backend: GlBackend, program: Program, batch: int, *fetched: Ref, **given: np.ndarray
) -> list[np.ndarray]:
    """Feed inputs and write kept tensors by name, run once, fetch."""
    session = backend.open_session()
    executable = backend.compile(program, session, batch)
    for name, values in given.items():
        tensor = program.tensors.named(name)
        if tensor.id in program.inputs:
            executable.feed(tensor.id, values)
        else:
            session.write(name, values)
    executable.run()
    found = [executable.fetch(ref).result(timeout=60) for ref in fetched]
    executable.close()
    session.close()
    return found
