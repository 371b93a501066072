"""Index spaces: merged axes, broadcast strides, and where four neighbours are one access."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.engine.compiler.target import GL
from studio.engine.core.descriptor import ShapeDescriptor
from studio.engine.core.dtypes import DType
from studio.engine.core.tensor import BATCH
from studio.engine.gl.kernels.element_kernel import LOCAL, STRIP_LOCAL, ElementKernel
from studio.engine.gl.shader.dispatch import LARGEST_AXIS, groups_for, split_line
from studio.engine.gl.shader.iteration import iteration_over
from studio.engine.gl.shader.layout import Layout
from studio.engine.gl.shader.source import KernelSource


def dense(*sizes: int) -> Layout:
    steps = [int(np.prod(sizes[k + 1 :])) for k in range(len(sizes))]
    return Layout(DType.float32, sizes, tuple(steps))


def test_dense_operands_of_one_shape_are_one_axis() -> None:
    space = iteration_over((BATCH, 4, 6), [dense(BATCH, 4, 6)] * 2)
    assert [axis.text for axis in space.axes] == ["(BATCH * 24)"]
    assert space.cell(0) == "c0"
    assert space.vectors


def test_row_keeps_its_own_axis() -> None:
    space = iteration_over((BATCH, 4, 6), [dense(BATCH, 4, 6), dense(6)])
    assert [axis.text for axis in space.axes] == ["(BATCH * 4)", "6"]
    assert [space.cell(k) for k in range(2)] == ["c0 * 6 + c1", "c1"]
    assert not space.vectors


def test_rows_of_whole_fours_are_vectors() -> None:
    assert iteration_over((BATCH, 4, 8), [dense(BATCH, 4, 8), dense(8)]).vectors
    assert iteration_over((BATCH, 4, 8), [dense(BATCH, 4, 8), dense(4, 1)]).vectors
    assert not iteration_over((BATCH, 4, 6), [dense(BATCH, 4, 6), dense(4, 1)]).vectors


def test_scalar_has_one_cell() -> None:
    space = iteration_over((), [dense()])
    assert space.numel_text == "1"
    assert space.cell(0) == "0"


@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    repeated=st.lists(st.booleans(), min_size=6, max_size=6),
    pads=st.lists(st.integers(0, 2), min_size=6, max_size=6),
    dropped=st.integers(0, 6),
)
def test_cells_are_those_of_the_descriptor(
    shape: list[int], repeated: list[bool], pads: list[int], dropped: int
) -> None:
    sizes = [1 if repeated[k] else n for k, n in enumerate(shape)][min(dropped, len(shape)) :]
    room = pads[: len(sizes)]
    descriptor = ShapeDescriptor.create(
        "c", sizes, DType.float32, [2 * p for p in room], list(room)
    )
    layout = Layout(DType.float32, tuple(sizes), descriptor.strides, descriptor.offset)
    space = iteration_over(tuple(shape), [layout])
    counts = [axis.size for axis in space.axes]
    wide = descriptor.broadcast_to(shape)
    for number, index in enumerate(np.ndindex(*shape)):
        names: dict[str, int] = {}
        rest = number
        for k in range(len(counts) - 1, 0, -1):
            rest, names[f"c{k}"] = divmod(rest, counts[k])
        names["c0"] = rest
        assert eval(space.cell(0), {}, names) == wide.cell_of(index)


@pytest.mark.parametrize("groups", [1, 64, LARGEST_AXIS, LARGEST_AXIS + 1, 10**6, 2**31])
def test_long_lines_fold_into_rows_without_much_waste(groups: int) -> None:
    x, y, z = split_line(groups)
    assert x <= LARGEST_AXIS
    assert y <= LARGEST_AXIS
    assert z == 1
    assert groups <= x * y < groups + y


@pytest.mark.parametrize("per_group", [4 * LOCAL[0], 1 << 10, 1 << 12, 1 << 14])
def test_no_invocation_numbers_bytes_beyond_what_an_int_holds(per_group: int) -> None:
    most = GL.max_storage_bytes
    for count in range(most - (1 << 20), most + 1, 1 << 8):
        x, y, _ = split_line(groups_for(count, per_group))
        assert count <= x * y * per_group <= 2**31


def test_no_strip_begins_beyond_what_an_int_holds() -> None:
    kernel = ElementKernel(KernelSource("x", "", (1, 1, 1), ()), (), 4, strips=True)
    groups, (strip, _) = kernel.grid(GL.max_storage_bytes)
    assert (groups - 1) * strip * 4 < GL.max_storage_bytes
    # An invocation ends at its first quadruple behind the last byte.
    assert GL.max_storage_bytes + STRIP_LOCAL[0] * 4 <= 2**31
