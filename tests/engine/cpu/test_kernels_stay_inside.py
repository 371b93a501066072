"""Kernels write only what they declare: operands, halos and the cells between storages."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.tensor import Ref
from studio.engine.cpu.machine.execution_config import ExecutionConfig
from studio.engine.cpu.machine.toolchain import has_compiler
from studio.engine.cpu.memory.scratch import Scratch
from studio.engine.cpu.memory.views import Views
from studio.engine.cpu.plan.assemble import assemble
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.program import Program, Storage
from studio.engine.runtime.entries import Entry
from tests.engine.conformance.case import Case, mnemonic
from tests.engine.conformance.cases.all_cases import CASES
from tests.engine.conformance.harness import Built, build, grad_of, program_of, target_names
from tests.tables import sampled

GUARD = 64
MARK = 171


class Guarded:
    """Storages with a guard zone on both sides of each."""

    def __init__(self, program: Program, config: ExecutionConfig) -> None:
        self.program = program
        self.raw: dict[Storage, np.ndarray] = {}
        self.buffers: dict[Storage, np.ndarray] = {}
        for tensor in program.tensors.values():
            layout = tensor.descriptor(3)
            for grad in (False, True):
                storage = Storage(tensor.id, grad)
                raw = np.full(layout.nbytes + 2 * GUARD, MARK, np.uint8)
                inside = raw[GUARD : GUARD + layout.nbytes]
                inside.fill(0)
                self.raw[storage] = raw
                self.buffers[storage] = inside.view(layout.dtype.np)
        self.views = Views(program, 3, 0, self.buffers, Scratch(), config)

    def run(self, ins: Instruction) -> None:
        """Run an instruction; storages it does not write must keep every byte."""
        written = {self.program.storage(r) for r in ins.effects().writes}
        before = {s: raw.copy() for s, raw in self.raw.items() if s not in written}
        with np.errstate(all="ignore"):
            assemble(Entry("forward", 0, (ins,)), self.views)()
        for storage, raw in before.items():
            np.testing.assert_array_equal(self.raw[storage], raw, err_msg=f"{ins} {storage}")
        for storage, raw in self.raw.items():
            assert (raw[:GUARD] == MARK).all(), f"{ins} wrote before {storage}"
            assert (raw[-GUARD:] == MARK).all(), f"{ins} wrote behind {storage}"
            self._check_halo(storage)

    def _check_halo(self, storage: Storage) -> None:
        tensor = self.program.tensors[storage.root]
        # Cells round a gradient hold anything.
        if tensor.pad and not storage.grad:
            cells = self.views.halo(Ref(storage.root)).cells.copy()
            inner = tuple(
                slice(b, n - e) for n, (b, e) in zip(cells.shape, tensor.pad, strict=True)
            )
            cells[inner] = 0
            assert not cells.any(), f"the halo of {storage} was written"


def filled(built: Built, config: ExecutionConfig) -> Guarded:
    guarded = Guarded(program_of(built), config)
    values = built.case.values()
    for name in built.case.operands:
        found = values[name] if isinstance(values[name], list) else [values[name]]
        for ref, array in zip(built.named[name], found, strict=True):
            guarded.views.any(ref)[...] = array
    return guarded


@pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "compiled"])
@pytest.mark.parametrize("case", sampled(CASES, by=mnemonic))
def test_a_kernel_stays_inside_its_storages(case: Case, compiled: bool) -> None:
    if compiled and not has_compiler():
        pytest.skip("nothing is compiled here")
    built = build(case)
    guarded = filled(built, ExecutionConfig(1, compiled))
    guarded.run(built.ins)
    results = [built.tensors[r.id] for r in built.ins.effects().writes]
    if built.ins.grad_class is None or results[0].dtype.np != np.float32:
        return
    rng = np.random.default_rng(3)
    for tensor in built.tensors.values():
        if tensor.dtype.np == np.float32 and tensor.role.value != "state":
            slope = guarded.views.grad(tensor.ref)
            slope[...] = rng.uniform(-1, 1, slope.shape)
    names = target_names(built)
    guarded.run(grad_of(built, names, ()))
    guarded.run(grad_of(built, (), ()))
