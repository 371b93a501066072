"""Random numbers as a pure function of (seed, stream, step, index): the Philox 4x32-10 generator.

There is no hidden state: a number depends only on what it is keyed by, so any part of a sequence
can be produced anywhere, in any order, and the device produces the same bits. ``docs/random.md``
states the numbering exactly. Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
as 1, 2, 3", SC 2011; constants and known answers from the authors' Random123 library.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2s
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import ParameterError

Words: TypeAlias = npt.NDArray[np.uint32]
Floats: TypeAlias = npt.NDArray[np.float32]

_MULTIPLY_0 = np.uint64(0xD2511F53)
_MULTIPLY_1 = np.uint64(0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_CHUNK = 8192
"""Blocks worked on at once: the twelve scratch rows of a chunk stay inside the L2 cache."""

_MASK = 0xFFFFFFFF
_MAX_ELEMENTS = 1 << 34


def philox4x32(counter: Words, key: Words) -> Words:
    """The ten-round Philox 4x32 bijection.

    Args:
        counter: uint32[..., 4].
        key: uint32[2].

    Returns:
        uint32[..., 4], the same shape as ``counter``.
    """
    counters = np.asarray(counter, dtype=np.uint32)
    keys = np.asarray(key, dtype=np.uint32)
    if counters.ndim == 0 or counters.shape[-1] != 4 or keys.shape != (2,):
        raise ParameterError(
            "counters and key must be words: expected uint32[..., 4] and uint32[2], "
            f"got {list(counters.shape)} and {list(keys.shape)}",
            who="philox",
        )
    flat = counters.reshape(-1, 4)
    result = np.empty_like(flat)
    for begin in range(0, len(flat), _CHUNK):
        part = flat[begin : begin + _CHUNK].T.astype(np.uint64)
        result[begin : begin + _CHUNK] = _mix(part, int(keys[0]), int(keys[1])).T
    return result.reshape(counters.shape)


def _mix(words: npt.NDArray[np.uint64], key_0: int, key_1: int) -> npt.NDArray[np.uint64]:
    """Ten rounds over uint64[4, blocks] whose values fit 32 bits; overwrites and returns it."""
    c0, c1, c2, c3 = words
    first, second = np.empty_like(c0), np.empty_like(c0)
    for _ in range(_ROUNDS):
        np.multiply(c0, _MULTIPLY_0, out=first)
        np.multiply(c2, _MULTIPLY_1, out=second)
        np.right_shift(second, _HALF, out=c0)
        c0 ^= c1
        c0 ^= np.uint64(key_0)
        np.bitwise_and(second, _LOW, out=c1)
        np.right_shift(first, _HALF, out=c2)
        c2 ^= c3
        c2 ^= np.uint64(key_1)
        np.bitwise_and(first, _LOW, out=c3)
        key_0 = (key_0 + _WEYL[0]) & _MASK
        key_1 = (key_1 + _WEYL[1]) & _MASK
    return words


def _word(name: str, value: int, bits: int = 32) -> int:
    """``value`` if it is an unsigned number of that many bits, else ParameterError."""
    if not 0 <= value < 1 << bits:
        raise ParameterError(
            f"{name} must fit {bits} bits: expected 0 to {(1 << bits) - 1}, got {value}",
            who="random",
        )
    return int(value)


def _split(seed: int) -> tuple[int, int]:
    whole = _word("seed", seed, 64)
    return whole & _MASK, whole >> 32


def _length(start: int, n: int) -> int:
    """``n`` if a sequence has so many elements behind ``start``, else ParameterError."""
    if n < 0 or start < 0 or start + n > _MAX_ELEMENTS:
        raise ParameterError(
            f"random sequences have at most 2**34 elements: got start {start} and count {n}",
            who="random",
        )
    return n


def bits(seed: int, stream: int, step: int, n: int, *, start: int = 0, lane: int = 0) -> Words:
    """Words ``start`` to ``start + n`` of the sequence keyed by (seed, stream, step, lane).

    Word i is output word ``i & 3`` of the block whose counter is ``(i >> 2, step, stream, lane)``
    under the key ``(seed & 0xffffffff, seed >> 32)``.

    Args:
        seed: 64-bit run seed.
        stream: 32-bit number of the consumer, see `stream_of`.
        step: 32-bit training step, or epoch where the numbers are keyed by epoch.
        n: how many words.
        start: index of the first word, so that a sequence may be produced in pieces.
        lane: 32-bit fourth counter word: the sample index where keyed by sample, else 0.

    Returns:
        uint32[n].
    """
    result = np.empty(_length(start, n), dtype=np.uint32)
    for at, words in _stretches(seed, stream, step, n, start, lane):
        result[at : at + len(words)] = words
    return result


def _stretches(
    seed: int, stream: int, step: int, n: int, start: int, lane: int
) -> Iterator[tuple[int, Words]]:
    """The words of `bits` in stretches: where each begins in the result, and its words.

    A stretch is overwritten by the next, so that what is made of it stays in the cache.
    """
    key_0, key_1 = _split(seed)
    fixed = (_word("step", step), _word("stream", stream), _word("lane", lane))
    first = start >> 2
    end = -(-(start + n) // 4)
    room = np.empty((min(end - first, _CHUNK), 4), dtype=np.uint32)
    for begin in range(first, end, _CHUNK):
        count = min(end - begin, _CHUNK)
        words = np.empty((4, count), dtype=np.uint64)
        words[0] = np.arange(begin, begin + count, dtype=np.uint64)
        for row, value in enumerate(fixed, 1):
            words[row] = value
        room[:count] = _mix(words, key_0, key_1).T
        skipped = max(start - 4 * begin, 0)
        yield 4 * begin + skipped - start, room[:count].reshape(-1)[skipped : start + n - 4 * begin]


def uniform(seed: int, stream: int, step: int, n: int, *, start: int = 0, lane: int = 0) -> Floats:
    """Uniform float32[n] in [0, 1): ``(word >> 8) * 2**-24`` of each word of `bits`.

    Exact in float32, so the device's numbers are the same to the bit.
    """
    result = np.empty(_length(start, n), dtype=np.float32)
    for at, words in _stretches(seed, stream, step, n, start, lane):
        words >>= np.uint32(8)
        drawn = result[at : at + len(words)]
        drawn[...] = words
        drawn *= np.float32(2.0**-24)
    return result


def _box_muller(pairs: Words) -> npt.NDArray[np.float64]:
    """Standard normals float64[n, 2], cosine member first, from word pairs uint32[n, 2]."""
    open_unit = (pairs.astype(np.float64) + 0.5) * 2.0**-32
    radius = np.sqrt(-2.0 * np.log(open_unit[:, 0]))
    angle = 2.0 * np.pi * open_unit[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def normal(seed: int, stream: int, step: int, n: int, *, start: int = 0, lane: int = 0) -> Floats:
    """Standard normal float32[n], made on the host in float64 (Box and Muller 1958).

    Elements 2k and 2k+1 come from words 2k and 2k+1: with u, v = (word + 0.5) * 2**-32 they are
    sqrt(-2 ln u) * cos(2 pi v) and sqrt(-2 ln u) * sin(2 pi v).
    """
    begin = start & ~1
    pairs = -(-(start + n - begin) // 2)
    words = bits(seed, stream, step, 2 * pairs, start=begin, lane=lane).reshape(-1, 2)
    return _box_muller(words).reshape(-1)[start - begin :][:n].astype(np.float32)


def truncated_normal(seed: int, stream: int, step: int, n: int, *, start: int = 0) -> Floats:
    """Standard normals float32[n] redrawn until within two standard deviations, as Keras does.

    Element i is the first of the normals i of lanes 0, 1, 2 … whose size is at most 2.
    """
    result = normal(seed, stream, step, n, start=start)
    key = np.array(_split(seed), dtype=np.uint32)
    pending = np.flatnonzero(np.abs(result) > 2.0)
    lane = 0
    while pending.size:
        lane += 1
        index = pending + start
        counters = np.empty((pending.size, 4), dtype=np.uint32)
        counters[:] = (0, step, stream, lane)
        counters[:, 0] = index >> 2
        pairs = philox4x32(counters, key).reshape(-1, 2, 2)
        row = np.arange(pending.size)
        result[pending] = _box_muller(pairs[row, (index >> 1) & 1])[row, index & 1]
        pending = pending[np.abs(result[pending]) > 2.0]
    return result


def permutation(seed: int, stream: int, epoch: int, n: int) -> npt.NDArray[np.int32]:
    """A shuffled int32[n] of 0 … n-1: the stable argsort of n random 64-bit keys.

    Key i is ``(word[2i] << 32) | word[2i + 1]`` of `bits` with the epoch as step.
    """
    words = bits(seed, stream, epoch, 2 * n).reshape(-1, 2).astype(np.uint64)
    return np.argsort((words[:, 0] << _HALF) | words[:, 1], kind="stable").astype(np.int32)


def stream_of(text: str) -> int:
    """The stream number of a consumer named like ``dropout_1/mask``: a stable 32-bit hash.

    It is the BLAKE2s digest of the UTF-8 text, asked for at a length of four bytes, read
    little-endian.
    """
    return int.from_bytes(blake2s(text.encode("utf-8"), digest_size=4).digest(), "little")
