"""Instruction files keep programs and weights exactly and refuse damage."""

import hashlib
import random
import struct
import tracemalloc

import numpy as np
import pytest

from studio.engine.core.errors import FormatError
from studio.engine.formats.gbasm import load_gbasm, load_program_file, save_gbasm
from studio.engine.formats.gbi import MAGIC, gbi_bytes, load_gbi, save_gbi
from tests.engine.isa.test_program_forms import mixed_program, same, small_program

WEIGHTS = {
    "conv/kernel": np.arange(108, dtype=np.float32).reshape(3, 3, 3, 4),
    "conv/bias": np.float32([1, 2, 3, -0.0]),
}


def resealed(data: bytes, version: int = 1) -> bytes:
    """The same body under a fitting head, as a hostile writer would make it."""
    body = data[56:]
    return struct.pack(
        "<8sIIQ32s", MAGIC, version, 0x01020304, len(data), hashlib.sha256(body).digest()
    ) + body  # fmt: skip


def test_weights_and_program_round_trip(tmp_path):
    path = tmp_path / "net.gbi"
    save_gbi(path, small_program(), WEIGHTS)
    back = load_gbi(path)
    same(back.program, small_program())
    assert set(back.weights) == set(WEIGHTS)
    for name, array in WEIGHTS.items():
        assert back.weights[name].tobytes() == array.tobytes()
    assert gbi_bytes(back.program, back.weights) == path.read_bytes()


def test_version_2_is_written_where_sections_alternate_only():
    for program, version in ((small_program(), 1), (mixed_program(), 2)):
        data = gbi_bytes(program, WEIGHTS)
        assert struct.unpack_from("<I", data, 8) == (version,)
        back = load_gbi(data)
        same(back.program, program)
        assert gbi_bytes(back.program, back.weights) == data


def test_what_is_newer_than_the_version_in_the_head_is_refused():
    tensors = small_program().tensors
    partial = small_program().with_tensors(tensors.update([tensors[3].replace(partial=True)]))
    with pytest.raises(FormatError, match=r"partial tensor 0x3 needs version 2.*the file says 1"):
        load_gbi(resealed(gbi_bytes(partial), 1))


def test_without_weights_there_are_none():
    assert load_gbi(gbi_bytes(small_program())).weights == {}


def test_either_form_is_told_by_its_content(tmp_path):
    save_gbasm(tmp_path / "a.bin", small_program())
    save_gbi(tmp_path / "b.txt", small_program())
    same(load_program_file(tmp_path / "a.bin").program, small_program())
    same(load_program_file(tmp_path / "b.txt").program, small_program())


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        (lambda d: b"", "not a Glassbox"),
        (lambda d: b"PK" + d[2:], "not a Glassbox"),
        (lambda d: d[:-1], "the file is cut"),
        (lambda d: d[:-1] + bytes([d[-1] ^ 1]), "checksum"),
        (lambda d: d[:8] + b"\x03" + d[9:], "version 3 of the format, this reads up to 2"),
        (lambda d: d[:8] + b"\x00" + d[9:], "no version 0"),
        (lambda d: d[:12] + b"\x01" + d[13:], "byte-order"),
        (lambda d: resealed(d[:56]), "holds no program"),
        (lambda d: resealed(d + b"XTRA" + bytes(8)), "not known"),
        (lambda d: resealed(d + b"PROG" + bytes(8)), "given twice"),
        (lambda d: resealed(d + b"xtra" + b"\xff" * 8), "past the end"),
    ],
)
def test_damage_is_named(change, fragment):
    with pytest.raises(FormatError) as caught:
        load_gbi(change(gbi_bytes(small_program(), WEIGHTS)))
    assert fragment in str(caught.value)


def test_an_optional_chunk_is_stepped_over():
    data = gbi_bytes(small_program()) + b"note" + struct.pack("<Q", 3) + b"abc"
    same(load_gbi(resealed(data)).program, small_program())


@pytest.mark.parametrize(
    ("weights", "fragment"),
    [
        ({}, "no weights were given for 'conv/kernel'"),
        (WEIGHTS | {"conv/bias": np.zeros(5, np.float32)}, "'conv/bias' must be float32[4]"),
        (WEIGHTS | {"conv/bias": np.zeros(4)}, "got float64"),
        (WEIGHTS | {"conv/bias": np.float32([1, 2, 3, np.nan])}, "NaN"),
    ],
)
def test_wrong_weights_are_refused_when_written(weights, fragment):
    with pytest.raises(FormatError) as caught:
        gbi_bytes(small_program(), weights)
    assert fragment in str(caught.value)


def test_missing_and_unwritable_files_say_so(tmp_path):
    with pytest.raises(FormatError, match=r"net\.gbi"):
        load_gbi(tmp_path / "net.gbi")
    with pytest.raises(FormatError, match="folder does not exist"):
        save_gbi(tmp_path / "no" / "net.gbi", small_program())
    (tmp_path / "latin.gbasm").write_bytes(b".glassbox 1 ; \xe9\n")
    with pytest.raises(FormatError, match="UTF-8 text at byte 14"):
        load_gbasm(tmp_path / "latin.gbasm")


def fuzz(count, seed):
    """Mutants whose checksum fits, so that every reader below it is reached."""
    rng = random.Random(seed)
    originals = ((1, gbi_bytes(small_program(), WEIGHTS)), (2, gbi_bytes(mixed_program(), WEIGHTS)))
    refused = 0
    for number in range(count):
        version, data = originals[number % 2]
        raw = bytearray(data)
        for _ in range(rng.randint(1, 5)):
            raw[rng.randrange(56, len(raw))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        if rng.random() < 0.2:
            del raw[rng.randrange(57, len(raw)) :]
        try:
            load_gbi(resealed(bytes(raw), version))
        except FormatError:
            refused += 1
    return refused


@pytest.mark.slow
def test_mutants_give_format_errors_only_within_bounded_memory():
    tracemalloc.start()
    try:
        assert fuzz(300, seed=11) > 50
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.full
def test_mutants_give_format_errors_only_at_full_size():
    assert fuzz(20_000, seed=12) > 2_000
