"""Convolutions read the cells around a padded input instead of copying it into a border."""

from __future__ import annotations

import numpy as np

from studio.engine.core.tensor import Ref, Role, Tensor, TensorMap
from studio.engine.cpu.assemble import assemble
from studio.engine.cpu.scratch import Scratch
from studio.engine.cpu.views import Views
from studio.engine.isa.ops.conv import Conv2D
from studio.engine.isa.program import Program, Storage
from studio.engine.runtime.entries import Entry

HALO = ((0, 0), (1, 1), (1, 1), (0, 0))


def test_what_lies_in_the_halo_reaches_the_result() -> None:
    tensors = TensorMap(
        [
            Tensor(0, "w", (3, 3, 3, 2), role=Role.INPUT),
            Tensor(1, "x", (2, 4, 5, 3), role=Role.INPUT, pad=HALO),
            Tensor(2, "y", (2, 4, 5, 2)),
        ]
    )
    ins = Conv2D(w=Ref(0), x=Ref(1), y=Ref(2), pad_h=1, pad_w=1)
    program = Program("halo", "infer", tensors, {"forward": (ins,)}, (0, 1), (2,))
    buffers = {
        Storage(t.id, False): np.ones(t.descriptor(2).alloc_length(), np.float32)
        for t in tensors.values()
    }
    views = Views(program, 2, 0, buffers, Scratch())
    views.any(Ref(1))[...] = 0
    assemble(Entry("forward", 0, (ins,)), views)()
    outside = np.pad(np.zeros((4, 5)), 1, constant_values=1)
    cells = [[outside[i : i + 3, j : j + 3].sum() for j in range(5)] for i in range(4)]
    found = views.any(Ref(2))
    wanted = np.broadcast_to(3 * np.array(cells)[None, :, :, None], found.shape)
    np.testing.assert_allclose(found, wanted)
