from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.engine.core.errors import BackendError
from studio.engine.gl.device.buffer_pool import BufferPool
from studio.engine.gl.device.buffers import size_class
from studio.engine.gl.device.readback import PendingRead, read_now
from studio.engine.gl.record.bindings import BoundSlices
from studio.engine.runtime.free_memory import format_bytes

if TYPE_CHECKING:
    from studio.engine.gl.device.engine_thread import EngineThread


@pytest.mark.slow
@given(st.integers(0, 2**31))
def test_size_class_holds_the_request_and_wastes_little(nbytes: int) -> None:
    capacity = size_class(nbytes)
    assert capacity >= max(nbytes, 1)
    assert capacity % 256 == 0
    assert size_class(capacity) == capacity
    assert capacity <= max(256, nbytes + 255, nbytes * 1.25)
    assert nbytes <= 1 << 20 or capacity <= nbytes * 33 / 32


def test_byte_counts_read_well() -> None:
    assert [format_bytes(n) for n in (0, 1023, 1536, 3 << 20, 5 << 30)] == [
        "0 bytes",
        "1023 bytes",
        "1.5 KiB",
        "3.0 MiB",
        "5.0 GiB",
    ]


@pytest.mark.gl
def test_buffer_given_back_serves_the_next_request_of_its_class(
    engine: EngineThread, pool: BufferPool
) -> None:
    first = engine.call(pool.acquire, 5000, "a")
    name = first.name
    engine.call(pool.release, first)
    again = engine.call(pool.acquire, 5100, "b")
    other = engine.call(pool.acquire, 5100, "c")
    assert again.name == name
    assert other.name != name
    counters = pool.counters()
    assert (counters.allocated, counters.in_use, counters.free) == (2, 2, 0)
    assert (counters.hits, counters.misses) == (1, 2)
    assert counters.bytes_allocated == counters.bytes_in_use == 2 * 5120
    engine.call(pool.release, other)
    assert engine.call(pool.trim) == 5120
    counters = pool.counters()
    assert (counters.allocated, counters.free, counters.bytes_allocated) == (1, 0, 5120)
    assert counters.bytes_high_water == 2 * 5120


@pytest.mark.gl
def test_handle_is_dead_after_release(engine: EngineThread, pool: BufferPool) -> None:
    buffer = engine.call(pool.acquire, 100, "weights")
    engine.call(pool.release, buffer)
    with pytest.raises(RuntimeError, match="weights was used after"):
        _ = buffer.name
    with pytest.raises(RuntimeError, match="weights was used after"):
        engine.call(pool.release, buffer)


@pytest.mark.gl
def test_upload_and_download_round_trip_at_an_offset(
    engine: EngineThread, pool: BufferPool
) -> None:
    rng = np.random.default_rng(7)
    data = rng.normal(size=(300, 41)).astype(np.float32)
    buffer = engine.call(pool.acquire, data.nbytes + 1024, "images", zero=True)
    target = buffer.slice(512, data.nbytes)
    engine.call(pool.upload, target, data)
    back = engine.call(read_now, pool, target).view(np.float32).reshape(data.shape)
    np.testing.assert_array_equal(back, data)
    whole = engine.call(read_now, pool, buffer.slice())
    assert not whole[:512].any()
    assert not whole[512 + data.nbytes :].any()


@pytest.mark.gl
def test_zero_fill_clears_what_an_earlier_user_left(engine: EngineThread, pool: BufferPool) -> None:
    dirty = engine.call(pool.acquire, 4096, "first")
    engine.call(pool.upload, dirty.slice(), np.full(4096, 255, np.uint8))
    engine.call(pool.release, dirty)
    clean = engine.call(pool.acquire, 4000, "second", zero=True)
    assert pool.counters().hits == 1
    assert not engine.call(read_now, pool, clean.slice(0, 4096)).any()


@pytest.mark.gl
@pytest.mark.parametrize("nbytes", [64, 100_000, 4 << 20, (5 << 20) + 12])
def test_upload_behind_a_clear_of_a_new_buffer_is_not_lost(
    engine: EngineThread, pool: BufferPool, nbytes: int
) -> None:
    def work() -> np.ndarray:
        buffer = pool.acquire(nbytes, "a new buffer", zero=True)
        data = np.full(21, 7, np.uint8)
        pool.upload(buffer.slice(0, 21), data)
        pool.upload(buffer.slice(nbytes - 24, 21), data)
        return read_now(pool, buffer.slice(0, nbytes))

    found = engine.call(work)
    assert found[:24].tolist() == found[-24:].tolist() == [7] * 21 + [0] * 3
    assert not found[24:-24].any()


@pytest.mark.gl
@pytest.mark.parametrize("size", [16, 15, 240, 241])
@pytest.mark.parametrize("offset", [0, 1, 4])
@pytest.mark.parametrize("capacity", [256, 4096, 1 << 20])
def test_upload_does_not_overtake_what_was_queued_before_it(
    engine: EngineThread, pool: BufferPool, size: int, offset: int, capacity: int
) -> None:
    def of(*earlier: str) -> list[int]:
        zeros = pool.acquire(capacity, "zeros", zero=True)
        buffer = pool.acquire(capacity, "a new buffer")
        for what in earlier:
            if what == "upload":
                pool.upload(buffer.slice(), np.zeros(capacity, np.uint8))
            else:
                pool.copy(zeros.slice(), buffer.slice())
        pool.upload(buffer.slice(offset, size), np.full(size, 7, np.uint8))
        found = read_now(pool, buffer.slice(offset, size))
        pool.release(zeros)
        pool.release(buffer)
        pool.trim()
        return found.tolist()

    for earlier in ("upload",), ("copy",), ("upload", "copy"), ("copy", "upload"):
        assert engine.call(of, *earlier) == [7] * size, earlier


@pytest.mark.gl
@pytest.mark.parametrize(
    ("words", "begin", "end"),
    [(256, 25, 75), (1 << 20, 3, (1 << 20) - 5), ((1 << 20) + 9, 0, (1 << 19) + 1)],
)
def test_clear_leaves_the_rest_alone(
    engine: EngineThread, pool: BufferPool, words: int, begin: int, end: int
) -> None:
    buffer = engine.call(pool.acquire, 4 * words, "x")
    engine.call(pool.upload, buffer.slice(), np.arange(1, words + 1, dtype=np.uint32))
    engine.call(pool.clear, buffer.slice(4 * begin, 4 * (end - begin)))
    expected = np.arange(1, words + 1, dtype=np.uint32)
    expected[begin:end] = 0
    actual = engine.call(read_now, pool, buffer.slice()).view(np.uint32)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.gl
def test_pending_read_keeps_the_state_at_its_call(engine: EngineThread, pool: BufferPool) -> None:
    buffer = engine.call(pool.acquire, 64, "metrics")
    engine.call(pool.upload, buffer.slice(), np.full(16, 1.5, np.float32))
    pending = engine.call(PendingRead, pool, buffer.slice())
    engine.call(pool.upload, buffer.slice(), np.full(16, -9.0, np.float32))
    assert (engine.call(pending.result).view(np.float32) == 1.5).all()
    assert pool.counters().in_use == 1
    with pytest.raises(RuntimeError, match="answers once"):
        engine.call(pending.result)


@pytest.mark.gl
def test_read_fills_the_array_it_is_given(engine: EngineThread, pool: BufferPool) -> None:
    buffer = engine.call(pool.acquire, 64, "metrics")
    engine.call(pool.upload, buffer.slice(), np.arange(64, dtype=np.uint8))
    room = np.zeros(64, np.uint8)
    assert engine.call(read_now, pool, buffer.slice(), out=room) is room
    np.testing.assert_array_equal(room, np.arange(64))
    pending = engine.call(PendingRead, pool, buffer.slice())
    with pytest.raises(ValueError, match="room for 64 bytes"):
        engine.call(pending.result, None, np.zeros(63, np.uint8))
    engine.call(pending.cancel)


@pytest.mark.gl
def test_read_through_the_plain_43_path_gives_the_same(
    engine: EngineThread, pool: BufferPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.gl, "buffer_storage", None)
    buffer = engine.call(pool.acquire, 4096, "x")
    data = np.arange(1024, dtype=np.uint32)
    engine.call(pool.upload, buffer.slice(), data)
    back = engine.call(read_now, pool, buffer.slice(256, 512)).view(np.uint32)
    np.testing.assert_array_equal(back, data[64:192])


@pytest.mark.gl
def test_cancelled_read_returns_its_staging_buffer(engine: EngineThread, pool: BufferPool) -> None:
    buffer = engine.call(pool.acquire, 64, "metrics", zero=True)
    pending = engine.call(PendingRead, pool, buffer.slice())
    assert pool.counters().in_use == 2
    engine.call(pending.cancel)
    assert pool.counters().in_use == 1


@pytest.mark.gl
def test_copy_between_buffers(engine: EngineThread, pool: BufferPool) -> None:
    source = engine.call(pool.acquire, 1024, "s")
    target = engine.call(pool.acquire, 1024, "t", zero=True)
    engine.call(pool.upload, source.slice(), np.arange(256, dtype=np.uint32))
    engine.call(pool.copy, source.slice(256, 128), target.slice(512, 128))
    actual = engine.call(read_now, pool, target.slice()).view(np.uint32)
    np.testing.assert_array_equal(actual[128:160], np.arange(64, 96))
    assert not actual[:128].any()
    assert not actual[160:].any()


@pytest.mark.gl
def test_budget_is_refused_before_allocation_and_free_buffers_make_room(
    engine: EngineThread,
) -> None:
    pool = BufferPool(engine.gl, budget_bytes=1 << 20)
    try:
        old = engine.call(pool.acquire, 700 << 10, "activations")
        engine.call(pool.release, old)
        fresh = engine.call(pool.acquire, 900 << 10, "gradients")
        assert pool.counters().allocated == 1
        with pytest.raises(BackendError, match=r"labels needs 200\.0 KiB .* 1\.0 MiB allowed"):
            engine.call(pool.acquire, 200 << 10, "labels")
        engine.call(pool.release, fresh)
    finally:
        engine.call(pool.close)
    assert pool.counters().bytes_allocated == 0


@pytest.mark.gl
def test_buffer_beyond_the_device_limit_is_refused_by_name(
    engine: EngineThread, pool: BufferPool
) -> None:
    with pytest.raises(BackendError, match=r"dense/kernel needs 3\.0 GiB in one buffer"):
        engine.call(pool.acquire, 3 << 30, "dense/kernel")


@pytest.mark.gl
def test_out_of_memory_from_the_driver_names_size_and_purpose(
    engine: EngineThread, pool: BufferPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = engine.gl.get_error
    answers = iter([0x0505])
    monkeypatch.setattr(engine.gl, "get_error", lambda: next(answers, 0) or real())
    with pytest.raises(BackendError, match=r"1\.0 MiB for conv1/kernel \(GL_OUT_OF_MEMORY\)"):
        engine.call(pool.acquire, 1 << 20, "conv1/kernel")
    assert pool.counters().allocated == 0


@pytest.mark.gl
def test_upload_refuses_data_longer_than_the_range(engine: EngineThread, pool: BufferPool) -> None:
    buffer = engine.call(pool.acquire, 16, "x")
    with pytest.raises(ValueError, match="17 bytes do not fit the 16 of x"):
        engine.call(pool.upload, buffer.slice(), bytes(17))


@pytest.mark.gl
def test_bindings_take_the_same_ranges_with_and_without_multi_bind(
    engine: EngineThread, pool: BufferPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = engine.call(pool.acquire, 1024, "x")
    parts = [buffer.slice(0, 256), buffer.slice(512, 128)]

    def bound() -> list[tuple[int, int, int]]:
        gl = engine.gl
        gl.check("binding")
        names = (0x90D3, 0x90D4, 0x90D5)  # binding, start, size of indexed storage buffers
        return [tuple(gl.indexed_integer(name, 2 + i) for name in names) for i in range(2)]  # type: ignore[misc]

    expected = [(buffer.name, 0, 256), (buffer.name, 512, 128)]
    engine.call(BoundSlices(engine.gl, parts, first=2).bind)
    assert engine.call(bound) == expected
    monkeypatch.setattr(engine.gl, "bind_buffers_range", None)
    engine.call(BoundSlices(engine.gl, parts[::-1], first=2).bind)
    assert engine.call(bound) == expected[::-1]


@pytest.mark.gl
def test_bindings_refuse_offsets_off_the_grid(engine: EngineThread, pool: BufferPool) -> None:
    buffer = engine.call(pool.acquire, 1024, "x")
    with pytest.raises(ValueError, match="multiples of 256"):
        BoundSlices(engine.gl, [buffer.slice(64, 64)])
