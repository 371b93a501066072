"""Convolutions read the cells around a padded input instead of testing for its edge."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.tensor import Ref, Role, Tensor, TensorMap
from studio.engine.cpu.memory.scratch import Scratch
from studio.engine.cpu.memory.views import Views
from studio.engine.cpu.plan.assemble import assemble
from studio.engine.isa.instruction import Instruction
from studio.engine.isa.ops.conv import Conv2D, DepthwiseConv2D
from studio.engine.isa.program import Program, Storage
from studio.engine.runtime.entries import Entry

HALO = ((0, 0), (1, 1), (1, 1), (0, 0))
WIDER = ((0, 0), (2, 1), (1, 3), (0, 0))


def ran_with_ones_outside(
    ins: Instruction, halo: tuple[tuple[int, int], ...], channels: int
) -> Views:
    """The storages after a line whose input is zero, but one wherever the halo's zeros belong."""
    tensors = TensorMap(
        [
            Tensor(0, "w", (3, 3, 3, 2), role=Role.INPUT),
            Tensor(1, "x", (2, 4, 5, 3), role=Role.INPUT, pad=halo),
            Tensor(2, "y", (2, 4, 5, channels)),
        ]
    )
    program = Program("halo", "train", tensors, {"forward": (ins,)}, (0, 1), (2,))
    buffers = {
        Storage(t.id, grad): np.ones(t.descriptor(2).alloc_length(), np.float32)
        for t in tensors.values()
        for grad in (False, True)
    }
    views = Views(program, 2, 0, buffers, Scratch())
    views.any(Ref(1))[...] = 0
    assemble(Entry("forward", 0, (ins,)), views)()
    return views


@pytest.mark.parametrize("halo", [HALO, WIDER], ids=["as wide", "wider"])
@pytest.mark.parametrize(("cls", "channels"), [(Conv2D, 2), (DepthwiseConv2D, 6)])
def test_what_lies_in_the_halo_reaches_the_result(
    cls: type[Instruction], channels: int, halo: tuple[tuple[int, int], ...]
) -> None:
    ins = cls(w=Ref(0), x=Ref(1), y=Ref(2), pad_h=1, pad_w=1)
    found = ran_with_ones_outside(ins, halo, channels).any(Ref(2))
    outside = np.pad(np.zeros((4, 5)), 1, constant_values=1)
    cells = [[outside[i : i + 3, j : j + 3].sum() for j in range(5)] for i in range(4)]
    each = 3 if cls is Conv2D else 1
    wanted = np.broadcast_to(each * np.array(cells)[None, :, :, None], found.shape)
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("halo", [HALO, WIDER], ids=["as wide", "wider"])
@pytest.mark.parametrize(("cls", "channels"), [(Conv2D, 2), (DepthwiseConv2D, 6)])
def test_what_lies_in_the_halo_reaches_the_gradient_of_the_weights(
    cls: type[Instruction], channels: int, halo: tuple[tuple[int, int], ...]
) -> None:
    assert cls.grad_class is not None
    ins = cls.grad_class(w=Ref(0), x=Ref(1), y=Ref(2), pad_h=1, pad_w=1, set=("w",), skip=("x",))
    found = ran_with_ones_outside(ins, halo, channels).grad(Ref(0))
    outside = np.pad(np.zeros((4, 5)), 1, constant_values=1)
    taps = [[2 * outside[r : r + 4, s : s + 5].sum() for s in range(3)] for r in range(3)]
    wanted = np.broadcast_to(np.array(taps)[:, :, None, None], found.shape)
    np.testing.assert_allclose(found, wanted)
