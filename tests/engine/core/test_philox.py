"""Philox: published known answers, a scalar reference, statistics, and independence of chunking."""

from __future__ import annotations

import math

import numpy as np
import pytest

from studio.engine.core import philox
from studio.engine.core.errors import ParameterError


def hexes(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def scalar_philox(counter: list[int], key: list[int]) -> list[int]:
    """Ten rounds written out with Python integers, straight from the paper."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [
            (p1 >> 32) ^ c[1] ^ k[0],
            p1 & 0xFFFFFFFF,
            (p0 >> 32) ^ c[3] ^ k[1],
            p0 & 0xFFFFFFFF,
        ]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ("0 0 0 0", "0 0", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (
            "ffffffff ffffffff ffffffff ffffffff",
            "ffffffff ffffffff",
            "408f276d 41c83b0e a20bc7c6 6d5451fd",
        ),
        (
            "243f6a88 85a308d3 13198a2e 03707344",
            "a4093822 299f31d0",
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_gives_the_published_known_answers(counter: str, key: str, answer: str) -> None:
    got = philox.philox4x32(
        np.array(hexes(counter), dtype=np.uint32), np.array(hexes(key), dtype=np.uint32)
    )
    assert got.tolist() == hexes(answer)


def test_philox_matches_a_scalar_reference_across_chunks() -> None:
    rng = np.random.default_rng(3)
    counters = rng.integers(0, 2**32, (9000, 4), dtype=np.uint32)
    key = rng.integers(0, 2**32, 2, dtype=np.uint32)
    got = philox.philox4x32(counters.reshape(90, 100, 4), key).reshape(-1, 4)
    for row in (0, 1, 8191, 8192, 8999):
        assert got[row].tolist() == scalar_philox(counters[row].tolist(), key.tolist())


def test_bits_use_the_documented_counter_and_key() -> None:
    seed, stream, step, lane = 0x1234567_89ABCDEF, 77, 5, 9
    got = philox.bits(seed, stream, step, 11, lane=lane)
    for i in range(11):
        block = scalar_philox([i >> 2, step, stream, lane], [0x89ABCDEF, 0x1234567])
        assert int(got[i]) == block[i & 3]


def test_uniform_is_the_top_24_bits_exactly() -> None:
    got = philox.uniform(7, 1, 2, 1000)
    words = philox.bits(7, 1, 2, 1000)
    assert got.dtype == np.float32
    assert [float(x) for x in got] == [(int(w) >> 8) / 2**24 for w in words]
    assert float(got.min()) >= 0.0
    assert float(got.max()) < 1.0


@pytest.mark.parametrize("start", [0, 1, 2, 3, 4, 1021, 32767, 32769])
@pytest.mark.parametrize("draw", [philox.uniform, philox.normal, philox.truncated_normal])
def test_a_piece_of_a_sequence_equals_the_same_piece_of_the_whole(draw, start: int) -> None:
    whole = draw(42, 3, 1, 33100)
    for n in (0, 1, 2, 5, 300):
        assert np.array_equal(draw(42, 3, 1, n, start=start), whole[start : start + n])


def test_block_indices_above_a_word_are_refused_and_the_last_block_works() -> None:
    last = philox.bits(0, 0, 0, 4, start=(1 << 34) - 4)
    assert last.tolist() == scalar_philox([0xFFFFFFFF, 0, 0, 0], [0, 0])
    with pytest.raises(ParameterError, match="at most"):
        philox.bits(0, 0, 0, 5, start=(1 << 34) - 4)


def test_uniform_is_flat_by_chi_square_and_uncorrelated() -> None:
    n, bins = 200_000, 100
    u = philox.uniform(1, 2, 3, n).astype(np.float64)
    counts = np.histogram(u, bins=bins, range=(0, 1))[0]
    chi = float(((counts - n / bins) ** 2 / (n / bins)).sum())
    assert abs(chi - (bins - 1)) < 5 * math.sqrt(2 * (bins - 1))
    for other in (u[1:], philox.uniform(1, 2, 4, n), philox.uniform(1, 3, 3, n)):
        m = min(n, other.size)
        assert abs(np.corrcoef(u[:m], other[:m])[0, 1]) < 5 / math.sqrt(n)


def test_normal_has_the_moments_of_a_standard_normal() -> None:
    n = 400_000
    z = philox.normal(11, 0, 0, n).astype(np.float64)
    error = 5 / math.sqrt(n)
    assert abs(z.mean()) < error
    assert abs(z.var() - 1) < error * math.sqrt(2)
    assert abs((z**3).mean()) < error * math.sqrt(15)
    assert abs((z**4).mean() - 3) < error * math.sqrt(96)
    assert abs(np.corrcoef(z[0::2], z[1::2])[0, 1]) < 2 * error
    assert abs(float((z < 1).mean()) - 0.8413447) < error / 2


def test_normal_follows_its_documented_formula() -> None:
    w = philox.bits(5, 6, 7, 4)
    u, v = (int(w[2]) + 0.5) / 2**32, (int(w[3]) + 0.5) / 2**32
    r = math.sqrt(-2 * math.log(u))
    got = philox.normal(5, 6, 7, 4)[2:]
    assert got.tolist() == pytest.approx(
        [r * math.cos(2 * math.pi * v), r * math.sin(2 * math.pi * v)], rel=1e-6
    )


def test_truncated_normal_stays_within_two_and_has_its_variance() -> None:
    n = 400_000
    z = philox.truncated_normal(11, 0, 0, n).astype(np.float64)
    plain = philox.normal(11, 0, 0, n)
    kept = np.abs(plain) <= 2
    assert np.abs(z).max() <= 2.0
    assert np.array_equal(z[kept], plain[kept])
    # Var of the standard normal cut at +-2: 1 - 4 phi(2) / (2 Phi(2) - 1) = 0.77374.
    assert abs(z.var() - 0.77374) < 0.005
    assert abs(z.mean()) < 5 / math.sqrt(n)


def test_permutation_holds_every_index_once_and_differs_by_epoch_and_seed() -> None:
    first = philox.permutation(0, 1, 0, 1797)
    assert first.dtype == np.int32
    assert sorted(first.tolist()) == list(range(1797))
    assert np.array_equal(first, philox.permutation(0, 1, 0, 1797))
    for other in (philox.permutation(0, 1, 1, 1797), philox.permutation(1, 1, 0, 1797)):
        assert (other == first).mean() < 0.01
    assert philox.permutation(0, 1, 0, 0).tolist() == []


def test_permutation_is_the_stable_order_of_its_documented_keys() -> None:
    words = philox.bits(9, 8, 7, 40).tolist()
    keys = [(words[2 * i] << 32) | words[2 * i + 1] for i in range(20)]
    assert philox.permutation(9, 8, 7, 20).tolist() == sorted(range(20), key=lambda i: keys[i])


def test_permutations_of_three_are_equally_likely() -> None:
    counts: dict[tuple[int, ...], int] = {}
    for epoch in range(1200):
        order = tuple(philox.permutation(3, 0, epoch, 3).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert all(abs(c - 200) < 5 * math.sqrt(200 * 5 / 6) for c in counts.values())


def test_stream_numbers_are_stable() -> None:
    # Recorded: changing them would change every recorded run.
    assert philox.stream_of("dropout_1/mask") == int.from_bytes(bytes.fromhex("7aea905d"), "little")
    assert philox.stream_of("dropout_1/mask") != philox.stream_of("dropout_2/mask")
    assert 0 <= philox.stream_of("") < 2**32


@pytest.mark.parametrize(
    "arguments", [(-1, 0, 0, 1), (2**64, 0, 0, 1), (0, 2**32, 0, 1), (0, 0, -1, 1), (0, 0, 0, -1)]
)
def test_numbers_out_of_range_are_refused(arguments: tuple[int, int, int, int]) -> None:
    with pytest.raises(ParameterError):
        philox.bits(*arguments)


def test_philox_refuses_wrong_shapes() -> None:
    with pytest.raises(ParameterError, match="uint32"):
        philox.philox4x32(np.zeros(3, np.uint32), np.zeros(2, np.uint32))
