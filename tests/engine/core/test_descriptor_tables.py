"""The published numbers of padded-buffer descriptors: validation, allocation, paddings, offsets."""

from __future__ import annotations

import pytest

from studio.engine.core.descriptor import ARRAY_HAS_PADDED_BUFFER, ShapeDescriptor, Status
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError, ShapeError
from studio.engine.core.stride_rules import automatic_paddings

F32 = DType.float32
SHAPE = (2, 3, 4, 5)


def of(shape, strides, ews, order="c", **more) -> ShapeDescriptor:
    return ShapeDescriptor(F32, tuple(shape), tuple(strides), order, ews, **more)


@pytest.mark.parametrize("order", ["c", "f"])
@pytest.mark.parametrize(
    ("strides", "ews", "status"),
    [
        ((60, 20, 5, 1), 1, 0),
        ((20, 20, 5, 1), 1, 1),
        ((60, 20, 5, 5), 1, 3),
        ((300, 100, 25, 5), 1, 2),
        ((300, 100, 25, 5), 5, 0),
        ((800, 200, 40, 5), 1, 2),
        ((800, 200, 40, 5), 0, 0),
    ],
)
def test_validate_gives_the_published_status(order, strides, ews, status) -> None:
    if order == "c":
        assert of(SHAPE, strides, ews).validate() == status
    else:
        assert of(SHAPE[::-1], strides[::-1], ews, "f").validate() == status


def test_validate_flags_rank_stride_count_and_bounds() -> None:
    assert ShapeDescriptor.plain(F32, [1] * 32).validate() == Status.OK
    assert ShapeDescriptor.plain(F32, [1] * 33).validate() == Status.BAD_RANK
    assert of(SHAPE, (20, 5, 1), 1).validate() == Status.BAD_STRIDES
    assert of((4,), (2,), 2, allocation=7).validate() == Status.OK
    assert of((4,), (2,), 2, allocation=6).validate() == Status.BAD_BOUNDS
    assert of((4,), (2,), 2, offset=1, allocation=7).validate() == Status.BAD_BOUNDS
    assert of((4,), (2,), 2, offset=-1).validate() == Status.BAD_BOUNDS
    assert of((-4,), (1,), 1).validate() == Status.BAD_BOUNDS
    assert of((4,), (2,), 1).validate() == Status.BAD_EWS
    assert of((4,), (0,), 0).validate() == Status.BAD_STRIDES


@pytest.mark.parametrize(
    ("strides", "ews", "length"),
    [((60, 20, 5, 1), 1, 120), ((300, 100, 25, 5), 5, 596), ((800, 200, 40, 5), 0, 1341)],
)
def test_alloc_length_gives_the_published_lengths(strides, ews, length) -> None:
    assert of(SHAPE, strides, ews).alloc_length() == length


def test_plain_strides() -> None:
    made = ShapeDescriptor.plain(F32, (3, 4, 2))
    assert made.strides == (8, 2, 1)
    assert (made.ews, made.nbytes, made.numel, made.rank) == (1, 96, 24, 3)
    assert ShapeDescriptor.plain(F32, (3, 4, 2), "f").strides == (1, 3, 12)


@pytest.mark.parametrize(
    ("order", "paddings", "strides", "ews", "allocation"),
    [
        ("c", (2, 3, 4, 5), (480, 80, 10, 1), 0, 1920),
        ("c", (2, 3), (120, 20, 5, 1), 0, 480),
        ("c", (0, 0, 4, 5), (240, 80, 10, 1), 0, 480),
        ("c", (0, 0, 0, 5), (120, 40, 10, 1), 0, 240),
        ("c", (), (60, 20, 5, 1), 1, 120),
        ("f", (2, 3, 4, 5), (1, 4, 24, 192), 0, 1920),
        ("f", (2, 3), (1, 4, 24, 96), 0, 480),
        ("f", (0, 0, 4, 5), (1, 2, 6, 48), 0, 480),
        ("f", (2, 0, 0, 0), (1, 4, 12, 48), 0, 240),
    ],
)
@pytest.mark.parametrize("outermost_alone", [True, False])
def test_padded_buffer_descriptor_gives_the_published_rows(
    order, paddings, strides, ews, allocation, outermost_alone
) -> None:
    made = ShapeDescriptor.padded_buffer_descriptor(
        F32, order, SHAPE, paddings, outermost_alone=outermost_alone
    )
    assert (made.strides, made.ews, made.alloc_length()) == (strides, ews, allocation)
    assert made.padded == bool(paddings)
    assert made.extra == (33_554_432 if paddings else 0)
    assert made.validate() == 0
    assert made.paddings() == (*paddings, *[0] * (4 - len(paddings)))


@pytest.mark.parametrize(
    ("order", "paddings", "strides", "honoured"),
    [
        ("c", (2, 0, 0, 0), (60, 20, 5, 1), 240),
        ("f", (0, 0, 0, 5), (1, 2, 6, 24), 240),
    ],
)
def test_padding_only_the_slowest_axis_is_honoured_unless_the_old_rule_is_asked(
    order, paddings, strides, honoured
) -> None:
    old = ShapeDescriptor.padded_buffer_descriptor(
        F32, order, SHAPE, paddings, outermost_alone=False
    )
    assert (old.strides, old.ews, old.alloc_length(), old.extra) == (strides, 1, 120, 0)
    ours = ShapeDescriptor.padded_buffer_descriptor(F32, order, SHAPE, paddings)
    assert (ours.strides, ours.ews, ours.alloc_length()) == (strides, 1, honoured)
    assert ours.extra == ARRAY_HAS_PADDED_BUFFER
    assert ours.validate() == 0
    assert ours.paddings() == paddings


def test_rank_zero_and_empty_shapes_are_sound() -> None:
    scalar = ShapeDescriptor.padded_buffer_descriptor(F32, "c", ())
    assert (scalar.strides, scalar.ews, scalar.alloc_length(), scalar.validate()) == ((), 1, 1, 0)
    for order in "cf":
        empty = ShapeDescriptor.create(order, (2, 0, 3), F32, (1, 1, 1))
        assert (empty.numel, empty.alloc_length(), empty.nbytes, empty.extra) == (0, 0, 0, 0)


def test_create_offsets_the_first_element_into_the_padding() -> None:
    assert ShapeDescriptor.create("c", SHAPE, F32, (2, 3, 4, 5), (1, 1, 2, 2)).offset == 582


@pytest.mark.parametrize(
    ("paddings", "offsets", "strides", "inner_bytes", "total", "offset"),
    [
        ((0, 0, 0, 0), (0, 0, 0, 0), (50, 25, 5, 1), (4, 20, 100, 200), 400, 0),
        ((0, 0, 1, 1), (0, 0, 0, 0), (72, 36, 6, 1), (4, 24, 144, 288), 576, 0),
        ((0, 0, 2, 2), (0, 0, 1, 1), (98, 49, 7, 1), (4, 28, 196, 392), 784, 8),
        (*automatic_paddings(4), (1170, 585, 45, 1), (4, 180, 2340, 4680), 9360, 184),
    ],
)
def test_image_example_gives_the_published_bytes(
    paddings, offsets, strides, inner_bytes, total, offset
) -> None:
    made = ShapeDescriptor.create("c", (2, 2, 5, 5), F32, paddings, offsets)
    assert made.strides == strides
    assert made.byte_strides[::-1] == inner_bytes
    assert (made.nbytes, made.alloc_length()) == (total, total // 4)
    assert made.offset == offset
    assert made.cell_of((0, 0, 0, 0)) * 4 == offset * 4


def test_padded_average_pool_case_of_the_reference_repository() -> None:
    made = ShapeDescriptor.create("c", (2, 5, 5, 2), F32, (0, 0, 8, 40), (0, 0, 4, 4))
    assert (made.strides, made.alloc_length(), made.offset) == ((2730, 546, 42, 1), 5460, 172)
    out = ShapeDescriptor.create("c", (2, 3, 3, 2), F32, (0, 0, 8, 40), (0, 0, 4, 4))
    assert (out.strides, out.alloc_length(), out.offset) == ((1386, 462, 42, 1), 2772, 172)


def test_automatic_paddings_leave_short_ranks_what_they_have() -> None:
    assert automatic_paddings(4) == ((0, 0, 8, 40), (0, 0, 4, 4))
    assert automatic_paddings(1) == ((40,), (4,))
    assert automatic_paddings(0) == ((), ())


@pytest.mark.parametrize(
    ("order", "shape", "paddings", "offsets"),
    [
        ("c", SHAPE, (1, 1, 1), None),
        ("c", SHAPE, (1, 1, 1, 1), (0, 0, 0, 2)),
        ("c", SHAPE, (1, 1, 1, 1), (0, 0, 0, -1)),
        ("c", SHAPE, (0, 0, 0, -1), (0, 0, 0, -1)),
        ("c", [1] * 33, None, None),
        ("c", (2, -3), None, None),
        ("c", (-2, -3), None, None),
    ],
)
def test_create_refuses_what_is_not_sound(order, shape, paddings, offsets) -> None:
    with pytest.raises(ShapeError):
        ShapeDescriptor.create(order, shape, F32, paddings, offsets)


def test_checked_names_the_broken_rules() -> None:
    with pytest.raises(ShapeError, match="bad strides, bad ews"):
        of(SHAPE, (60, 20, 5, 5), 1).checked()
    with pytest.raises(ParameterError, match="'c' or 'f'"):
        of(SHAPE, (60, 20, 5, 5), 1, "k")
    with pytest.raises(ShapeError, match="at most 4"):
        ShapeDescriptor.padded_buffer_descriptor(F32, "c", SHAPE, (1, 1, 1, 1, 1))


def test_equality_and_hash_see_strides_offset_and_padding() -> None:
    plain = ShapeDescriptor.plain(F32, SHAPE)
    others = [
        ShapeDescriptor.plain(F32, SHAPE, "f"),
        ShapeDescriptor.padded_buffer_descriptor(F32, "c", SHAPE, (0, 0, 0, 1)),
        of(SHAPE, (300, 100, 25, 5), 5),
        of(SHAPE, plain.strides, 1, offset=1),
        ShapeDescriptor.plain(DType.float16, SHAPE),
    ]
    assert plain == ShapeDescriptor.plain(F32, list(SHAPE))
    assert len({plain, *others}) == 6
    assert len({hash(each) for each in (plain, *others)}) == 6


@pytest.mark.parametrize(
    ("dtype", "host", "device"),
    [(DType.float32, 12, 12), (DType.float16, 6, 8), (DType.uint8, 3, 4), (DType.bool, 3, 12)],
)
def test_bytes_follow_the_dtype_on_host_and_device(dtype, host, device) -> None:
    made = ShapeDescriptor.plain(dtype, (3,))
    assert (made.nbytes, made.device_nbytes) == (host, device)


def test_descriptors_print_in_one_line() -> None:
    made = ShapeDescriptor.create("c", (2, 3), F32, (0, 1), (0, 1))
    assert str(made) == "float32[2,3] c strides 4,1 ews 0 at 1 of 8 padded"
