from __future__ import annotations

import ctypes
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from studio.engine.core.errors import BackendError
from studio.engine.gl.device import constants as const
from studio.engine.gl.device.entry_points import ContextLostError, EntryPoints, prototype

if TYPE_CHECKING:
    from studio.engine.gl.device.engine_thread import EngineThread

pytestmark = pytest.mark.gl


def test_missing_function_is_named(engine: EngineThread) -> None:
    def load_none(_name: str) -> int:
        return 0

    with pytest.raises(BackendError, match="no function glGetError"):
        EntryPoints(load_none)


def test_optional_functions_follow_version_and_extensions(engine: EngineThread) -> None:
    gl = engine.gl
    expected = gl.version >= (4, 4) or "GL_ARB_multi_bind" in gl.extensions
    assert (gl.bind_buffers_range is not None) == expected
    assert (gl.max_shader_compiler_threads is not None) == (
        "GL_KHR_parallel_shader_compile" in gl.extensions
    )


def test_lost_context_is_an_error_of_its_own(
    engine: EngineThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.gl, "get_error", lambda: const.CONTEXT_LOST)
    with pytest.raises(ContextLostError, match="while stepping"):
        engine.gl.check("stepping")


def test_reported_reset_counts_as_a_lost_context(
    engine: EngineThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.gl, "get_graphics_reset_status", lambda: 0x8253)
    with pytest.raises(ContextLostError, match="while stepping"):
        engine.gl.check("stepping")


def test_calls_let_other_threads_run() -> None:
    """A prototype of ours around a C function that sleeps must not hold the interpreter lock."""
    if sys.platform == "win32":
        pytest.skip("needs the usleep of a POSIX system")
    libc = ctypes.CDLL(None)
    address = ctypes.cast(libc.usleep, ctypes.c_void_p).value
    usleep = prototype(ctypes.c_int, (ctypes.c_uint,))(address)
    ticks: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    while not ticks:
        time.sleep(0.001)
    begun = time.perf_counter()
    usleep(300_000)
    ended = time.perf_counter()
    done.set()
    other.join()
    assert sum(begun < moment < ended for moment in ticks) > 5


def test_sizes_beyond_32_bits_reach_the_driver_whole(engine: EngineThread) -> None:
    """An offset of 2^32 would wrap to 0 and be accepted if any part cut it to 32 bits."""

    def probe() -> None:
        gl = engine.gl
        name = ctypes.c_uint()
        gl.gen_buffers(1, ctypes.byref(name))
        gl.bind_buffer(const.COPY_WRITE_BUFFER, name.value)
        gl.buffer_data(const.COPY_WRITE_BUFFER, 256, None, const.STATIC_COPY)
        data = (ctypes.c_uint * 4)()
        try:
            gl.buffer_sub_data(const.COPY_WRITE_BUFFER, 0, 16, data)
            gl.check("writing at 0")
            gl.buffer_sub_data(const.COPY_WRITE_BUFFER, 1 << 32, 16, data)
            gl.check("writing at 4 GiB")
        finally:
            gl.delete_buffers(1, ctypes.byref(name))

    with pytest.raises(BackendError, match="GL_INVALID_VALUE while writing at 4 GiB"):
        engine.call(probe)
