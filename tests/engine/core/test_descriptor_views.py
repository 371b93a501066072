"""Descriptors against naive enumeration of indices and against NumPy's own views."""

from __future__ import annotations

from itertools import pairwise, product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.engine.core.descriptor import ShapeDescriptor, Status
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ShapeError

F32 = DType.float32
shapes = st.lists(st.integers(1, 4), max_size=4)
orders = st.sampled_from("cf")


@st.composite
def owned(draw) -> tuple[ShapeDescriptor, list[int]]:
    """A created descriptor and the paddings it was created with."""
    shape = draw(shapes)
    paddings = [draw(st.integers(0, 3)) for _ in shape]
    offsets = [draw(st.integers(0, pad)) for pad in paddings]
    return ShapeDescriptor.create(draw(orders), shape, F32, paddings, offsets), paddings


def cells(made: ShapeDescriptor) -> list[int]:
    """Every element's cell in row-major sequence, by plain enumeration."""
    indices = product(*(range(size) for size in made.shape))
    return [
        made.offset + sum(i * s for i, s in zip(index, made.strides, strict=True))
        for index in indices
    ]


def storage(made: ShapeDescriptor) -> np.ndarray:
    return np.arange(made.alloc_length(), dtype=np.float32)


@pytest.mark.slow
@given(owned())
def test_created_elements_have_cells_of_their_own_inside_the_storage(case) -> None:
    made, paddings = case
    assert made.validate() == Status.OK
    seen = cells(made)
    assert len(set(seen)) == made.numel
    assert min(seen) >= 0
    assert max(seen) < made.alloc_length()
    assert list(made.paddings()) == paddings
    assert made.alloc_length() == np.prod(
        [size + pad for size, pad in zip(made.shape, paddings, strict=True)], dtype=int
    )


@pytest.mark.slow
@given(owned())
def test_ews_and_contiguity_agree_with_enumeration(case) -> None:
    made, _ = case
    row_major = cells(made) if made.order == "c" else cells(made.transpose())
    steps = {b - a for a, b in pairwise(row_major)}
    if made.ews:
        assert steps <= {made.ews}
    assert made.is_dense == (cells(made) == list(range(made.offset, made.offset + made.numel)))
    if made.is_contiguous and made.numel > 1:
        assert steps == {made.ews}


@given(owned())
@pytest.mark.slow
def test_view_addresses_the_enumerated_cells_and_writes_through(case) -> None:
    made, _ = case
    buffer = storage(made)
    seen = made.view(buffer)
    assert seen.shape == made.shape
    assert seen.ravel().tolist() == cells(made)
    for index in product(*(range(size) for size in made.shape)):
        assert made.cell_of(index) == seen[index]
    seen[...] = -1
    assert np.flatnonzero(buffer == -1).tolist() == sorted(cells(made))


@given(owned(), st.data())
def test_transpose_slice_and_broadcast_agree_with_numpy(case, data) -> None:
    made, _ = case
    buffer = storage(made)
    axes = data.draw(st.permutations(range(made.rank)))
    turned = made.transpose(axes)
    assert np.array_equal(turned.view(buffer), made.view(buffer).transpose(axes))
    begin, size, step = [], [], []
    for full in turned.shape:
        begin.append(data.draw(st.integers(0, full - 1)))
        step.append(data.draw(st.integers(1, 3)))
        most = (full - 1 - begin[-1]) // step[-1] + 1
        size.append(data.draw(st.integers(1, most)))
    keys = tuple(slice(b, b + n * s, s) for b, n, s in zip(begin, size, step, strict=True))
    part = turned.slice(begin, size, step)
    assert np.array_equal(part.view(buffer), turned.view(buffer)[keys])
    wide = [data.draw(st.integers(1, 3)), *(3 if n == 1 else n for n in part.shape)]
    spread = part.broadcast_to(wide)
    assert np.array_equal(spread.view(buffer), np.broadcast_to(part.view(buffer), wide))
    for view in (turned, part, spread):
        assert view.alloc_length() == made.alloc_length()
        assert view.in_bounds()


@given(owned(), st.data())
@pytest.mark.slow
def test_reshape_is_free_exactly_when_numpy_needs_no_copy(case, data) -> None:
    made, _ = case
    made = made.transpose(data.draw(st.permutations(range(made.rank))))
    wanted = [1]
    primes = [2] * 8 + [3] * 4
    for prime in data.draw(st.permutations(primes)):
        if made.numel % (prod(wanted) * prime) == 0:
            wanted[-1] *= prime
            wanted.extend([1] * data.draw(st.integers(0, 1)))
    buffer = storage(made)
    seen = made.view(buffer)
    try:
        free = np.reshape(seen, wanted, copy=False)
    except ValueError:
        assert not made.can_reshape(wanted)
        return
    assert np.array_equal(made.reshape(wanted).view(buffer), free)
    assert np.array_equal(made.reshape(wanted).reshape([-1, *wanted]).view(buffer)[0], free)


@given(owned())
def test_reversing_the_axes_of_an_owner_stays_sound(case) -> None:
    made, _ = case
    turned = made.transpose()
    assert turned.validate() == Status.OK
    assert turned.transpose().strides == made.strides


def test_permuted_and_broadcast_views_cannot_own_storage() -> None:
    nhwc = ShapeDescriptor.plain(F32, (2, 5, 5, 3))
    nchw = nhwc.transpose((0, 3, 1, 2))
    assert (nchw.shape, nchw.strides, nchw.ews) == ((2, 3, 5, 5), (75, 1, 15, 3), 0)
    assert nchw.validate() & Status.BAD_STRIDES
    bias = ShapeDescriptor.plain(F32, (3,)).broadcast_to((4, 3))
    assert (bias.strides, bias.ews) == ((0, 1), 0)
    assert bias.validate() & Status.BAD_STRIDES
    assert not bias.is_contiguous
    assert bias.alloc_length() == 3
    with pytest.raises(ShapeError, match="bad strides"):
        bias.checked()


def test_shared_cells_and_read_only_storage_cannot_be_written() -> None:
    spread = ShapeDescriptor.plain(F32, (1, 3)).broadcast_to((4, 3))
    assert not spread.view(np.zeros(3, np.float32)).flags.writeable
    fixed = np.zeros(3, np.float32)
    fixed.flags.writeable = False
    assert not ShapeDescriptor.plain(F32, (3,)).view(fixed).flags.writeable


@pytest.mark.parametrize(
    "buffer",
    [
        np.zeros(11, np.float32),
        np.zeros(0, np.float32),
        np.zeros(12, np.float64),
        np.zeros((3, 4), np.float32),
        np.zeros(24, np.float32)[::2],
        np.zeros(12, ">f4"),
    ],
)
def test_view_refuses_storage_that_does_not_fit(buffer) -> None:
    with pytest.raises(ShapeError):
        ShapeDescriptor.plain(F32, (3, 4)).view(buffer)


def test_view_refuses_hand_made_descriptors_that_leave_the_storage() -> None:
    buffer = np.zeros(100, np.float32)
    for bad in (
        ShapeDescriptor(F32, (4,), (-1,), offset=3),
        ShapeDescriptor(F32, (4,), (1,), offset=-1),
        ShapeDescriptor(F32, (-4, -4), (1, 1)),
        ShapeDescriptor(F32, (0, -4), (1, 1)),
        ShapeDescriptor(F32, (1 << 60,), (1 << 60,)),
        ShapeDescriptor(F32, (4,), ()),
    ):
        with pytest.raises(ShapeError):
            bad.view(buffer)


def test_empty_views_work_over_empty_storage() -> None:
    empty = ShapeDescriptor.plain(F32, (2, 0, 3))
    assert empty.view(np.zeros(0, np.float32)).shape == (2, 0, 3)
    assert empty.reshape((0, 7)).view(np.zeros(0, np.float32)).shape == (0, 7)
    full = ShapeDescriptor.plain(F32, (4, 3))
    assert full.slice((4, 0), (0, 3)).view(np.zeros(12, np.float32)).shape == (0, 3)


def test_a_padded_view_leaves_its_halo_alone() -> None:
    made = ShapeDescriptor.create("c", (1, 2, 2, 1), F32, (0, 2, 2, 0), (0, 1, 1, 0))
    buffer = np.zeros(made.alloc_length(), np.float32)
    made.view(buffer)[...] = np.arange(1, 5).reshape(1, 2, 2, 1)
    assert buffer.reshape(4, 4).tolist() == [[0, 0, 0, 0], [0, 1, 2, 0], [0, 3, 4, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda d: d.transpose((0, 0)),
        lambda d: d.transpose((0, 2)),
        lambda d: d.transpose((0,)),
        lambda d: d.reshape((5, 2)),
        lambda d: d.reshape((-1, -1)),
        lambda d: d.reshape((-1, 0)),
        lambda d: d.reshape((-3, -4)),
        lambda d: d.slice((0, 0), (3, 5)),
        lambda d: d.slice((0, -1), (3, 1)),
        lambda d: d.slice((0, 0), (2, 1), (3, 1)),
        lambda d: d.slice((0, 0), (2, 1), (0, 1)),
        lambda d: d.slice((0,), (2,)),
        lambda d: d.slice((4, 0), (0, 1)),
        lambda d: d.broadcast_to((3, 3)),
        lambda d: d.broadcast_to((4,)),
        lambda d: d.cell_of((3, 0)),
        lambda d: d.cell_of((0,)),
        lambda d: d.transpose().reshape((12,)),
        lambda d: d.slice((0, 0), (2, 4), (2, 1)).paddings(),
    ],
)
def test_impossible_views_are_refused(wrong) -> None:
    with pytest.raises(ShapeError):
        wrong(ShapeDescriptor.plain(F32, (3, 4)))
