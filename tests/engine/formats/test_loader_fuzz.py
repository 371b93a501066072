"""Seeded fuzz of the loaders: a mutant loads or is refused in one sentence, in bounded memory."""

from __future__ import annotations

import io
import json
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.core.errors import FormatError
from studio.engine.formats import safetensors
from studio.engine.formats.limits import MIB, Limits
from studio.engine.formats.npy import load_npy
from studio.engine.formats.npz import load_npz
from studio.engine.formats.safe_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable

LIMITS = Limits(total_bytes=2 * MIB, json_bytes=MIB, header_bytes=MIB)
OVERHEAD = MIB
"""Allowed beside the caps: the parsed header of these small files, buffers, the error itself."""

TENSORS = {
    "conv/kernel": np.arange(3 * 3 * 2 * 4, dtype=np.float32).reshape(3, 3, 2, 4),
    "conv/bias": np.zeros(4, np.float16),
    "steps": np.array(7, np.int64),
    "mask": np.array([[True, False], [False, True]]),
    "none": np.zeros((0, 3), np.uint8),
}


def npz(compressed: bool) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **TENSORS)
    return file.getvalue()


def npy() -> bytes:
    file = io.BytesIO()
    np.save(file, TENSORS["conv/kernel"])
    return file.getvalue()


def document() -> bytes:
    nested = {"layers": [{"id": i, "name": f"dense_{i}", "rate": i / 7} for i in range(20)]}
    return json.dumps(nested | {"notes": '\u00e9\u4e2d "quoted" \\ \n', "n": None}).encode()


LOADERS: dict[str, tuple[bytes, Callable[[bytes], object]]] = {
    "safetensors": (
        safetensors.to_bytes(TENSORS, {"kind": "fuzz"}),
        lambda data: safetensors.load(data, LIMITS),
    ),
    "npy": (npy(), lambda data: load_npy(data, LIMITS)),
    "npz stored": (npz(False), lambda data: load_npz(data, LIMITS)),
    "npz deflated": (npz(True), lambda data: load_npz(data, LIMITS)),
    "json": (document(), lambda data: parse_json(data, "fuzz.json", LIMITS)),
}
WORDS = [
    b"\xff" * 8,
    b"\0" * 8,
    b"-1",
    b"1" * 30,
    b"[" * 40,
    b"{",
    b'"',
    b"\\ud800",
    b"1e999",
    b"NaN",
]


def mutant(data: bytes, rng: np.random.Generator) -> bytes:
    """Up to four flips, cuts, doublings and insertions; half of them near the header or the end."""
    result = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        size = len(result)
        if size == 0:
            break
        near = [
            rng.integers(size),
            rng.integers(min(size, 160)),
            size - 1 - rng.integers(min(size, 400)),
        ]
        at = int(near[int(rng.integers(3))])
        until = min(size, at + int(rng.integers(1, 40)))
        match int(rng.integers(7)):
            case 0 | 1 | 2:
                result[at] ^= 1 << int(rng.integers(8))
            case 3:
                result[at] = int(rng.integers(256))
            case 4:
                del result[at : until if rng.integers(2) else size]
            case 5:
                result[at:at] = result[at:until]
            case _:
                word = WORDS[int(rng.integers(len(WORDS)))]
                result[at : at + (len(word) if rng.integers(2) else 0)] = word
    return bytes(result)


def refusal(load: Callable[[bytes], object], data: bytes) -> str | None:
    """What the loader says against the data, None if it loads; any other error passes through."""
    try:
        load(data)
    except FormatError as error:
        return str(error)
    return None


def survive(name: str, count: int, seed: int) -> tuple[int, int]:
    """Feed mutants to a loader; returns how many loaded and how many were refused."""
    data, load = LOADERS[name]
    rng = np.random.default_rng(seed)
    loaded = refused = 0
    load(data)
    tracemalloc.start()
    try:
        for number in range(count):
            bad = mutant(data, rng)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            said = refusal(load, bad)
            loaded, refused = loaded + (said is None), refused + (said is not None)
            assert said is None or 10 < len(said) < 500, f"{name} mutant {number}: {said}"
            peak = tracemalloc.get_traced_memory()[1] - before
            bound = LIMITS.total_bytes + 2 * len(bad) + OVERHEAD
            assert peak < bound, f"{name} mutant {number} took {peak} bytes"
    finally:
        tracemalloc.stop()
    return loaded, refused


@pytest.mark.parametrize("name", LOADERS)
def test_mutants_load_or_are_refused_in_bounded_memory(name: str) -> None:
    _, refused = survive(name, 200, 1)
    assert refused > 50


@pytest.mark.full
@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("seed", [2, 3])
def test_mutants_at_full_size(name: str, seed: int) -> None:
    _, refused = survive(name, 2000, seed)
    assert refused > 500


@pytest.mark.parametrize("size", [64 * MIB, 1 << 40])
def test_declared_sizes_are_checked_before_anything_is_allocated(size: int) -> None:
    """Small files that declare much: refused without allocating what they declare."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({size},), }}\n".encode()
    flat = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header
    entry = {"x": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}
    text = json.dumps(entry).encode()
    tensors = len(text).to_bytes(8, "little") + text
    tracemalloc.start()
    try:
        for load, data in ((load_npy, flat), (safetensors.load, tensors)):
            with pytest.raises(FormatError):
                load(data)
        assert tracemalloc.get_traced_memory()[1] < MIB
    finally:
        tracemalloc.stop()
