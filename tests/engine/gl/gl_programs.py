"""Small programs for the tests of this folder, built line by line."""

from __future__ import annotations

from typing import Any

import numpy as np

from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH, Ref, Role, Shape
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.run.executable import GlExecutable
from studio.engine.gl.run.session import GlSession
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.instruction import Instruction, by_mnemonic
from studio.engine.isa.program import Program
from studio.engine.runtime.backend import Backend
from tests.engine.autodiff.whole_programs import Values


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


def gradient_group(
    inner: int, *, adds: bool, pad: tuple[tuple[int, int], ...] = ()
) -> tuple[Lines, tuple[Ref, ...]]:
    """A dense layer of five outputs behind a rectifier and its gradients in one group."""
    lines = Lines()
    z, w = lines.input("z", (BATCH, inner)), lines.kept("w", (5, inner))
    seed = lines.input("seed", (BATCH, 5))
    x, y = lines.made("x", (BATCH, inner), pad=pad), lines.made("y", (BATCH, 5))
    lines.add("forward", "RELU", x=z, y=x)
    lines.add("forward", "LINEAR", w=w, x=x, y=y)
    lines.add("backward", "COPY", x=seed, y=y.gradient)
    if adds:
        lines.add("backward", "FILL", y=x.gradient, number=0.5)
    lines.add("backward", "FUSE", kind="epilogue")
    lines.add("backward", "GRADS_LINEAR", w=w, x=x, y=y, set=("w",) if adds else ("w", "x"))
    lines.add("backward", "GRADS_RELU", x=z, y=x, set=("x",))
    lines.add("backward", "END")
    return lines, (z, w, x, y)


def begun(
    backend: GlBackend, program: Program, values: Values, batch: int
) -> tuple[GlSession, GlExecutable]:
    """A program that is ready to run, its inputs fed and what it keeps written."""
    session = backend.open_session()
    executable = backend.compile(program, session, batch)
    assert isinstance(executable, GlExecutable)
    for tensor in program.tensors.values():
        if tensor.name in values and tensor.role.persistent:
            session.write(tensor.name, values[tensor.name].astype(tensor.dtype.np))
    for i in program.inputs:
        tensor = program.tensors[i]
        executable.feed(i, values[tensor.name].astype(tensor.dtype.np))
    return session, executable


def run_once(
    backend: Backend, program: Program, batch: int, *fetched: Ref, **given: np.ndarray
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
