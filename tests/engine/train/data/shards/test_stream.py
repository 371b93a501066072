"""Shards cover each epoch exactly once, within the budget, and their thread always ends."""

import math
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.errors import DataError, ParameterError
from studio.engine.train.data.arrays.array_files import map_npy
from studio.engine.train.data.shards.plan import ShardPlan, plan_shards
from studio.engine.train.data.shards.stream import Shard, ShardStream

READER = "shard reader"


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == READER]


def samples(n: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.arange(n * 6, dtype=np.float32).reshape(n, 2, 3)
    return x, np.arange(n, dtype=np.int32)


@pytest.mark.parametrize("n", [1, 7, 64, 65, 100, 1000])
@pytest.mark.parametrize("sample_bytes", [1, 28, 3000])
@pytest.mark.parametrize("batch_size", [1, 8, 32])
def test_plan_stays_within_the_budget(n: int, sample_bytes: int, batch_size: int) -> None:
    for budget in (2 * batch_size * sample_bytes, 3 * batch_size * sample_bytes, 10_000_000):
        plan = plan_shards(n, sample_bytes, budget, batch_size)
        if plan.is_resident:
            assert n * sample_bytes <= budget or plan.shard_count == 1
        else:
            assert 2 * plan.shard_samples * sample_bytes <= budget
            assert plan.shard_samples % batch_size == 0
        batches = sum(
            math.ceil(visit.count / batch_size) for visit in plan.visits(0, 0, shuffle=True)
        )
        assert batches == math.ceil(n / batch_size)


def test_all_that_fits_stays_resident_as_one_shard() -> None:
    assert plan_shards(100, 10, 1000, 32) == ShardPlan(100, 32, 100)
    assert not plan_shards(100, 10, 999, 32).is_resident


def test_budget_too_small_for_two_batches_is_refused_with_the_need() -> None:
    with pytest.raises(DataError, match="32 samples need 640 bytes, got 639 bytes"):
        plan_shards(1000, 10, 639, 32)
    with pytest.raises(ParameterError):
        plan_shards(0, 10, 639, 32)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("n", [8, 40, 43])
def test_each_sample_is_seen_once_per_epoch(n: int, shuffle: bool) -> None:
    x, y = samples(n)
    plan = ShardPlan(n, 4, 8)
    seen: dict[int, list[int]] = {0: [], 1: [], 2: []}
    with ShardStream((x, y), plan, seed=3, shuffle=shuffle, epochs=range(3)) as stream:
        for shard in stream:
            assert (shard.arrays[0] == x[shard.visit.start :][: shard.visit.count]).all()
            gathered = shard.arrays[1][shard.order]
            assert (gathered == ids_of(shard)).all()
            assert shard.visit.first_step == len(seen[shard.visit.epoch]) // 4
            seen[shard.visit.epoch].extend(gathered.tolist())
    for order in seen.values():
        assert sorted(order) == list(range(n))
        assert (order == list(range(n))) is (not shuffle)
    if shuffle:
        assert len({tuple(order) for order in seen.values()}) == 3


@pytest.mark.parametrize("n", [8, 40, 43])
def test_shards_of_an_order_gather_it_from_all_over_the_sources(
    rng: np.random.Generator, n: int
) -> None:
    x, y = samples(n)
    plan = ShardPlan(n, 4, 8)
    orders = [rng.permutation(n).astype(np.int32) for _ in range(2)]
    found: list[list[int]] = [[], []]
    with ShardStream((x, y), plan, seed=3, epochs=range(2), order_of=orders.__getitem__) as stream:
        for shard in stream:
            assert shard.order.tolist() == list(range(shard.visit.count))
            assert shard.visit.first_step == len(found[shard.visit.epoch]) // 4
            np.testing.assert_array_equal(shard.arrays[0], x[shard.numbers])
            np.testing.assert_array_equal(shard.arrays[1], shard.numbers)
            found[shard.visit.epoch].extend(shard.numbers.tolist())
    assert found == [order.tolist() for order in orders]
    left = plan.shard_count - 1
    with ShardStream(
        (x, y), plan, seed=3, epochs=[1], order_of=orders.__getitem__, first_position=left
    ) as stream:
        assert [shard.numbers.tolist() for shard in stream] == [orders[1][8 * left :].tolist()]


def ids_of(shard: Shard) -> np.ndarray:
    """Places of its samples in the data set, in the order they are visited in."""
    return shard.order + shard.visit.start


def stream_ids(plan: ShardPlan, epochs: range, first_position: int = 0) -> list[list[int]]:
    sources = samples(plan.n)
    options = {"seed": 7, "epochs": epochs, "first_position": first_position}
    with ShardStream(sources, plan, **options) as stream:
        return [ids_of(shard).tolist() for shard in stream]


def test_order_repeats_and_resumes_in_the_middle() -> None:
    plan = ShardPlan(50, 5, 10)
    whole = stream_ids(plan, range(3))
    assert whole == stream_ids(plan, range(3))
    assert whole[7:] == stream_ids(plan, range(1, 3), first_position=2)


def test_short_shard_is_the_last_of_every_epoch() -> None:
    plan = ShardPlan(45, 5, 10)
    for epoch in range(5):
        visits = plan.visits(1, epoch, shuffle=True)
        assert [visit.count for visit in visits] == [10, 10, 10, 10, 5]
        assert [visit.first_step for visit in visits] == [0, 2, 4, 6, 8]


def test_mapped_file_streams_with_its_byte_order_undone(tmp_path: Path) -> None:
    x, y = samples(30)
    np.save(tmp_path / "x.npy", x.astype(">f4"))
    mapped = map_npy(tmp_path / "x.npy")
    total = np.zeros_like(x)
    with ShardStream((mapped, y), ShardPlan(30, 5, 10), seed=0, epochs=[0]) as stream:
        for shard in stream:
            assert shard.arrays[0].dtype == np.dtype("=f4")
            total[ids_of(shard)] = shard.arrays[0][shard.order]
    assert (total == x).all()


class Source:
    """Samples that count their reads, wait or fail where told to."""

    def __init__(self, values: np.ndarray, fail_at: int = -1) -> None:
        self.values, self.fail_at = values, fail_at
        self.reads: list[int] = []
        self.shape, self.dtype = values.shape, values.dtype
        self.go = threading.Event()
        self.go.set()

    def __getitem__(self, key: slice) -> np.ndarray:
        self.go.wait()
        self.reads.append(key.start)
        if key.start == self.fail_at:
            raise OSError("the disk is gone")
        return self.values[key]


def test_errors_of_the_source_reach_the_reader_at_their_shard() -> None:
    source = Source(samples(40)[0], fail_at=20)
    with ShardStream((source,), ShardPlan(40, 5, 10), seed=0, shuffle=False, epochs=[0]) as stream:
        assert next(stream).visit.start == 0
        assert next(stream).visit.start == 10
        with pytest.raises(DataError, match="the disk is gone") as caught:
            next(stream)
        assert isinstance(caught.value.__cause__, OSError)
        with pytest.raises(StopIteration):
            next(stream)


def test_source_that_shrinks_or_holds_nan_is_refused() -> None:
    x, _ = samples(40)
    short = Source(x)
    short.values = x[:15]
    with (
        ShardStream((short,), ShardPlan(40, 5, 10), seed=0, shuffle=False, epochs=[0]) as stream,
        pytest.raises(DataError, match="samples 10 to 19 must have shape"),
    ):
        list(stream)
    x[17, 1, 2] = np.nan
    with (
        ShardStream((x,), ShardPlan(40, 5, 10), seed=0, shuffle=False, epochs=[0]) as stream,
        pytest.raises(DataError, match="sample 17 holds a value that is not finite"),
    ):
        list(stream)


def test_reader_stays_at_most_two_shards_ahead() -> None:
    source = Source(samples(80)[0])
    with ShardStream((source,), ShardPlan(80, 5, 10), seed=0, epochs=[0]) as stream:
        for taken in range(1, 5):
            next(stream)
            deadline = time.monotonic() + 0.02
            while time.monotonic() < deadline:
                assert len(source.reads) <= taken + 1
                time.sleep(0.002)


def test_a_shard_in_use_is_not_overwritten() -> None:
    x, _ = samples(80)
    with ShardStream((x,), ShardPlan(80, 5, 10), seed=0, epochs=range(2)) as stream:
        for shard in stream:
            copy = shard.arrays[0].copy()
            time.sleep(0.002)
            assert (shard.arrays[0] == copy).all()


def test_leaving_early_ends_the_thread_whatever_it_does() -> None:
    x, _ = samples(80)
    plan = ShardPlan(80, 5, 10)
    with ShardStream((x,), plan, seed=0, epochs=range(10**6)):
        pass
    with ShardStream((x,), plan, seed=0, epochs=range(10**6)) as stream:
        next(stream)
    stream.close()
    assert list(stream) == []


def test_an_error_of_the_user_of_the_stream_ends_the_thread() -> None:
    with (
        pytest.raises(ZeroDivisionError),
        ShardStream((samples(80)[0],), ShardPlan(80, 5, 10), seed=0, epochs=[0]) as stream,
    ):
        1 // next(stream).visit.position


def test_closing_from_another_thread_releases_a_waiting_reader() -> None:
    source = Source(samples(80)[0])
    source.go.clear()
    stream = ShardStream((source,), ShardPlan(80, 5, 10), seed=0, epochs=range(10**6))
    got: list[int] = []
    waiting = threading.Thread(target=lambda: got.extend(len(s.order) for s in stream))
    waiting.start()
    closing = threading.Thread(target=stream.close)
    closing.start()
    source.go.set()
    for thread in (waiting, closing):
        thread.join(10)
        assert not thread.is_alive()


def test_sources_of_other_lengths_are_refused() -> None:
    x, y = samples(40)
    with pytest.raises(DataError, match=r"40 samples of the plan: got \[39, 40\]"):
        ShardStream((x, y[:39]), ShardPlan(40, 5, 10), seed=0, epochs=[0])
