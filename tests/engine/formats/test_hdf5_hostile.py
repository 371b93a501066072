"""HDF5 files made to lead out of the file, to take memory, or to mean two things, one by one."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from studio.engine.core.errors import FormatError
from studio.engine.formats.hdf5_child import CHILDREN
from studio.engine.formats.hdf5_reading import read_hdf5
from studio.engine.formats.limits import MIB, Limits

pytestmark = pytest.mark.slow

LIMITS = Limits(total_bytes=256 * MIB, json_bytes=MIB, tensors=500, members=500)


@pytest.fixture(scope="module", autouse=True)
def none_left() -> object:
    yield
    CHILDREN.close()


def create(
    file: h5py.File,
    shape: tuple[int, ...] | None,
    stored: h5py.h5t.TypeID = h5py.h5t.IEEE_F32LE,
    prepare: Callable[[h5py.h5p.PropDCID], object] | None = None,
    name: bytes = b"x",
) -> h5py.h5d.DatasetID:
    """An array by the library's own functions, which make what h5py's do not."""
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if prepare is not None:
        prepare(made)
    null = h5py.h5s.create(h5py.h5s.NULL)
    space = null if shape is None else h5py.h5s.create_simple(shape)
    return h5py.h5d.create(file.id, name, stored, space, made)


def external_link(file: h5py.File) -> None:
    file["x"] = h5py.ExternalLink("/etc/hostname", "/")


def soft_link(file: h5py.File) -> None:
    file["a"] = np.zeros(3)
    file["x"] = h5py.SoftLink("/a")


def dangling_link(file: h5py.File) -> None:
    file["x"] = h5py.SoftLink("/nothing")


def cycle(file: h5py.File) -> None:
    file.create_group("a/b")
    file["a/b/x"] = file["a"]


def root_in_itself(file: h5py.File) -> None:
    file["x"] = file["/"]


def array_twice(file: h5py.File) -> None:
    file["a"] = np.zeros(3)
    file["x"] = file["a"]


def external_storage(file: h5py.File) -> None:
    create(file, (4,), prepare=lambda made: made.set_external(b"/etc/hostname", 0, 16))


def virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout((4,), "f4")
    layout[:] = h5py.VirtualSource("/tmp/other.h5", "x", (4,))
    file.create_virtual_dataset("x", layout)


def virtual_in_itself(file: h5py.File) -> None:
    file["a"] = np.zeros(4, np.float32)
    layout = h5py.VirtualLayout((4,), "f4")
    layout[:] = h5py.VirtualSource(".", "a", (4,))
    file.create_virtual_dataset("x", layout)


def shape_bomb(file: h5py.File) -> None:
    create(file, (10**5, 10**6))


def overflowing_shape(file: h5py.File) -> None:
    def chunks(made: h5py.h5p.PropDCID) -> None:
        made.set_chunk((1, 1, 1))

    create(file, (2**40, 2**20, 2**3), prepare=chunks)


def empty_with_impossible_axes(file: h5py.File) -> None:
    create(file, (0, 2**50))


def many_arrays_too_large_together(file: h5py.File) -> None:
    for index in range(5):
        with_holes = create(file, (64 * MIB,), h5py.h5t.STD_I8LE, name=b"x%d" % index)
        with_holes.write(h5py.h5s.ALL, h5py.h5s.ALL, np.zeros(64 * MIB, np.int8))


def zero_bomb(file: h5py.File) -> None:
    file.create_dataset("x", (128, MIB), "u1", compression=9, chunks=(1, MIB), fillvalue=0)
    packed = zlib.compress(bytes(MIB), 9)
    for row in range(128):
        file["x"].id.write_direct_chunk((row, 0), packed)


def lying_chunk(file: h5py.File) -> None:
    file.create_dataset("x", (4, 1000), "u1", compression=9, chunks=(4, 1000))
    file["x"].id.write_direct_chunk((0, 0), zlib.compress(bytes(3 * MIB)))


def short_chunk(file: h5py.File) -> None:
    file.create_dataset("x", (4, 1000), "u1", compression=9, chunks=(4, 1000))
    file["x"].id.write_direct_chunk((0, 0), zlib.compress(bytes(30)))


def damaged_chunk(file: h5py.File) -> None:
    file.create_dataset("x", (4, 1000), "u1", compression=9, chunks=(4, 1000))
    file["x"].id.write_direct_chunk((0, 0), b"nothing packed")


def wrong_checksum(file: h5py.File) -> None:
    file.create_dataset("x", (4, 1000), "u1", fletcher32=True, chunks=(4, 1000))
    file["x"].id.write_direct_chunk((0, 0), bytes(4000) + b"\1\0\0\0")


def bools_of_other_bytes(file: h5py.File) -> None:
    file.create_dataset("x", (4, 1000), "?", compression=9, chunks=(4, 1000))
    file["x"].id.write_direct_chunk((0, 0), zlib.compress(b"\2" * 4000))


def packed_by_lzf(file: h5py.File) -> None:
    file.create_dataset("x", data=np.zeros((4, 1000)), compression="lzf")


def packed_by_scaling(file: h5py.File) -> None:
    file.create_dataset("x", data=np.zeros((4, 1000)), scaleoffset=2, chunks=(4, 10))


def filters_in_another_order(file: h5py.File) -> None:
    def packed(made: h5py.h5p.PropDCID) -> None:
        made.set_chunk((4,))
        made.set_deflate(1)
        made.set_shuffle()

    create(file, (4,), prepare=packed).write(h5py.h5s.ALL, h5py.h5s.ALL, np.ones(4, np.float32))


def packed_twice(file: h5py.File) -> None:
    def packed(made: h5py.h5p.PropDCID) -> None:
        made.set_chunk((4,))
        made.set_deflate(1)
        made.set_deflate(1)

    create(file, (4,), prepare=packed).write(h5py.h5s.ALL, h5py.h5s.ALL, np.ones(4, np.float32))


def never_written(file: h5py.File) -> None:
    create(file, (3,))


def chunks_never_written(file: h5py.File) -> None:
    create(file, (4,), prepare=lambda made: made.set_chunk((2,)))


def chunks_written_in_part(file: h5py.File) -> None:
    file.create_dataset("x", (4,), "f4", chunks=(2,))[:2] = 1


def unknown_filter(file: h5py.File) -> None:
    def packed(made: h5py.h5p.PropDCID) -> None:
        made.set_chunk((4,))
        made.set_filter(305, h5py.h5z.FLAG_OPTIONAL, (1,))

    create(file, (4,), prepare=packed).write(h5py.h5s.ALL, h5py.h5s.ALL, np.ones(4, np.float32))


def texts(file: h5py.File) -> None:
    file["x"] = ["a", "b"]


def fixed_texts(file: h5py.File) -> None:
    file["x"] = np.array([b"a", b"bc"])


def records(file: h5py.File) -> None:
    file["x"] = np.zeros(2, [("a", "f4"), ("b", "i4")])


def references(file: h5py.File) -> None:
    file.create_dataset("x", data=[file["/"].ref], dtype=h5py.ref_dtype)


def names_of_values(file: h5py.File) -> None:
    file["x"] = np.zeros(2, h5py.enum_dtype({"a": 0, "b": 7}, basetype="i1"))


def lists(file: h5py.File) -> None:
    file.create_dataset("x", (2,), h5py.vlen_dtype(np.float32))[0] = [1, 2]


def opaque(file: h5py.File) -> None:
    file["x"] = np.array([b"ab"], "V2")


def complexes(file: h5py.File) -> None:
    file["x"] = np.array([1j])


def bits(file: h5py.File) -> None:
    create(file, (1,), h5py.h5t.STD_B8LE).write(h5py.h5s.ALL, h5py.h5s.ALL, np.ones(1, np.uint8))


def odd_integers(file: h5py.File) -> None:
    stored = h5py.h5t.STD_I32LE.copy()
    stored.set_size(3)
    create(file, (1,), stored).write(h5py.h5s.ALL, h5py.h5s.ALL, np.ones(1, np.int32))


def long_floats(file: h5py.File) -> None:
    file["x"] = np.zeros(2, np.longdouble)


def no_shape(file: h5py.File) -> None:
    file["x"] = h5py.Empty("f4")


def named_type(file: h5py.File) -> None:
    file["x"] = np.dtype("f4")


def path_as_name(file: h5py.File) -> None:
    file.create_group("ab")
    file.create_dataset("ab/xx", data=np.zeros(2))


def deep(file: h5py.File) -> None:
    file.create_group("/".join("a" * 100))


def wide(file: h5py.File) -> None:
    for index in range(2000):
        file.create_group(f"g{index}")


def many_arrays(file: h5py.File) -> None:
    for index in range(600):
        file[f"x{index}"] = np.zeros(1)


def long_name(file: h5py.File) -> None:
    file["x" * 2000] = np.zeros(1)


def name_not_text(file: h5py.File) -> None:
    create(file, (0,), name=b"\xff\xfe")


def many_axes(file: h5py.File) -> None:
    create(file, (1,) * 32).write(h5py.h5s.ALL, h5py.h5s.ALL, np.ones((1,) * 32, np.float32))
    create(file, (0,) * 32, name=b"y")


def huge_attribute(file: h5py.File) -> None:
    file.attrs["x"] = "y" * MIB


def huge_attributes(file: h5py.File) -> None:
    for index in range(20):
        file.attrs[f"x{index}"] = np.zeros(7000)


def many_attributes(file: h5py.File) -> None:
    for index in range(60):
        file.attrs[f"x{index}"] = np.zeros(2000, np.uint8)


def attribute_of_records(file: h5py.File) -> None:
    file.attrs["x"] = np.zeros(2, [("a", "f4")])


def attribute_of_references(file: h5py.File) -> None:
    file.attrs.create("x", file["/"].ref, dtype=h5py.ref_dtype)


def attribute_of_lists(file: h5py.File) -> None:
    lists = np.empty(1, object)
    lists[0] = np.array([1, 2], np.int32)
    file.attrs.create("x", lists, dtype=h5py.vlen_dtype(np.int32))


def attribute_of_nothing(file: h5py.File) -> None:
    file.attrs["x"] = h5py.Empty("f4")


def attribute_of_two_axes(file: h5py.File) -> None:
    file.attrs["x"] = np.zeros((2, 2))


def attribute_not_finite(file: h5py.File) -> None:
    file.attrs["x"] = np.nan


def attribute_not_text(file: h5py.File) -> None:
    file.attrs["x"] = np.bytes_(b"\xff\xfe")


def attribute_with_half_a_surrogate(file: h5py.File) -> None:
    file.attrs["x"] = np.bytes_(b"\xed\xa0\x80")


CASES: dict[Callable[[h5py.File], None], str] = {
    external_link: "'x' is a link to another file, which is never followed",
    soft_link: "'x' is a soft link, which is never followed",
    dangling_link: "'x' is a soft link, which is never followed",
    cycle: "'a/b/x' and 'a' are the same object",
    root_in_itself: "'x' and '/' are the same object",
    array_twice: "'x' and 'a' are the same object",
    external_storage: "array 'x' lies in another file, which is never opened",
    virtual: "array 'x' lies in another file, which is never opened",
    virtual_in_itself: "array 'x' lies in another file, which is never opened",
    shape_bomb: "the arrays are too large: expected at most 268435456 bytes, "
                "'x' makes it 400000000000",
    overflowing_shape: "'x' makes it 36893488147419103232",
    empty_with_impossible_axes: "array 'x' has no elements and an impossible shape",
    many_arrays_too_large_together: "'x4' makes it 335544320",
    zero_bomb: "array 'x' unpacks to 134217728 bytes from",
    lying_chunk: "array 'x' is damaged: a chunk is packed to more or fewer bytes than it has",
    short_chunk: "array 'x' is damaged: a chunk has 30 bytes, expected 4000",
    damaged_chunk: "array 'x' is damaged: a chunk cannot be unpacked",
    wrong_checksum: "array 'x' is damaged: the checksum of a chunk is wrong",
    bools_of_other_bytes: "array 'x' is damaged: it holds a bool that is neither 0 nor 1",
    packed_by_lzf: r"array 'x' is packed by an unsupported filter \(32000\)",
    packed_by_scaling: r"array 'x' is packed by an unsupported filter \(6\)",
    filters_in_another_order: "array 'x' is packed by filters in an unknown order",
    packed_twice: "array 'x' is packed by filters in an unknown order",
    never_written: "array 'x' was never written",
    chunks_never_written: "array 'x' was never written",
    chunks_written_in_part: "array 'x' was never written, or only in part",
    unknown_filter: r"array 'x' is packed by an unsupported filter \(305\)",
    texts: "array 'x' must hold numbers of 8 to 64 bits or bools, got text",
    fixed_texts: "got text",
    records: "got records",
    references: "got references",
    names_of_values: "got names of values",
    lists: "got lists",
    opaque: "array 'x' holds bytes of an unknown meaning",
    complexes: "array 'x' must hold numbers of 8 to 64 bits or bools, got",
    bits: "got bits",
    odd_integers: "got integers of another form",
    long_floats: "got floats of another form",
    no_shape: "array 'x' has no shape",
    named_type: "'x' is neither a group nor an array",
    deep: "groups are nested too deeply: expected at most 64 levels",
    wide: "too many objects: expected at most 1500",
    many_arrays: "too many arrays: expected at most 500",
    long_name: "a name is too long: expected 1 to 512 characters, got 2000",
    name_not_text: "is not valid UTF-8",
    huge_attribute: "the attributes are too large: expected at most 524288 bytes",
    huge_attributes: "the attributes are too large: expected at most 524288 bytes",
    many_attributes: "too many attributes: expected at most 100000 values",
    attribute_of_records: "attribute 'x' of '/' must hold text or numbers, got records",
    attribute_of_references: "attribute 'x' of '/' must hold text or numbers, got references",
    attribute_of_lists: "attribute 'x' of '/' must hold text or numbers, got lists",
    attribute_of_nothing: "attribute 'x' of '/' must hold text or numbers, got nothing",
    attribute_of_two_axes: "attribute 'x' of '/' must be one value or a list, got 2 axes",
    attribute_not_finite: "attribute 'x' of '/' is no finite number",
    attribute_not_text: "attribute 'x' of '/' is not valid UTF-8",
    attribute_with_half_a_surrogate: "attribute 'x' of '/' is not valid UTF-8",
}  # fmt: skip


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_refused(make: Callable[[h5py.File], None], tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        make(file)
    with (
        pytest.raises(FormatError, match=CASES[make]) as caught,
        read_hdf5(tmp_path / "a.h5", limits=LIMITS) as read,
    ):
        list(read.arrays.values())
    assert caught.value.who == str(tmp_path / "a.h5")


def test_a_name_that_is_a_path_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["ab/x1"] = np.zeros(1)
    for name in (b"..", b"/a"):
        content = (tmp_path / "a.h5").read_bytes()
        assert content.count(b"ab\0") == content.count(b"x1\0") == 1
        (tmp_path / "b.h5").write_bytes(content.replace(b"x1\0", name + b"\0"))
        with pytest.raises(FormatError, match="is a path"):
            read_hdf5(tmp_path / "b.h5")


def test_foreign_data_in_front_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w", userblock_size=512) as file:
        file["x"] = np.zeros(3)
    with pytest.raises(FormatError, match="signature is missing"):
        read_hdf5(tmp_path / "a.h5")
    content = bytearray((tmp_path / "a.h5").read_bytes())
    content[:8] = b"\x89HDF\r\n\x1a\n"
    (tmp_path / "a.h5").write_bytes(content)
    with pytest.raises(FormatError, match=r"not a whole HDF5 file|foreign data"):
        read_hdf5(tmp_path / "a.h5")


def test_arrays_over_one_another_are_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.full(100, 1.5)
        file["y"] = np.full(100, 2.5)
        first, second = file["x"].id.get_offset(), file["y"].id.get_offset()
    content = (tmp_path / "a.h5").read_bytes()
    places = [place.to_bytes(8, "little") for place in (second, first + 8)]
    assert content.count(places[0]) == 1
    (tmp_path / "a.h5").write_bytes(content.replace(*places))
    with pytest.raises(FormatError, match="arrays 'x' and 'y' overlap in the file"):
        read_hdf5(tmp_path / "a.h5")


def test_every_cut_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a/x"] = np.arange(1000.0)
        file.attrs["name"] = "text"
    content = (tmp_path / "a.h5").read_bytes()
    for length in [*range(0, 100, 7), *range(100, len(content), 997), len(content) - 1]:
        (tmp_path / "b.h5").write_bytes(content[:length])
        with pytest.raises(FormatError):
            read_hdf5(tmp_path / "b.h5")
