from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from studio.engine.core.errors import ShaderError
from studio.engine.gl.device import constants as const
from studio.engine.gl.device.binary_cache import BinaryCache
from studio.engine.gl.device.program_cache import ComputeProgram, ProgramCache, compile_log
from studio.engine.gl.device.readback import read_now
from studio.engine.gl.record.bindings import BoundSlices

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from studio.engine.gl.device.buffer_pool import BufferPool
    from studio.engine.gl.device.engine_thread import EngineThread

pytestmark = pytest.mark.gl


@dataclass(frozen=True)
class Text:
    name: str
    text: str
    local: tuple[int, int, int] = (64, 1, 1)
    files: tuple[str, ...] = ("generated", "axpb.glsl")


def axpb(factor: float, expression: str = "{f} * x[i] + 1.0") -> Text:
    return Text(
        f"axpb_{factor}",
        "#version 430\n"
        "layout(local_size_x = 64) in;\n"
        "layout(std430, binding = 0) readonly buffer X { float x[]; };\n"
        "layout(std430, binding = 1) writeonly buffer Y { float y[]; };\n"
        "#line 1001\n"
        "// axpb: y = f * x + 1\n"
        "void main() {\n"
        "    uint i = gl_GlobalInvocationID.x;\n"
        f"    y[i] = {expression.format(f=factor)};\n"
        "}\n",
    )


@pytest.fixture
def cache(engine: EngineThread) -> Iterator[ProgramCache]:
    made = engine.call(ProgramCache, engine.gl)
    yield made
    engine.call(made.close)


def run(engine: EngineThread, pool: BufferPool, program: ComputeProgram) -> np.ndarray:
    x = np.linspace(-3, 3, 256, dtype=np.float32)

    def on_thread() -> np.ndarray:
        gl = engine.gl
        source = pool.acquire(x.nbytes, "x")
        target = pool.acquire(x.nbytes, "y", zero=True)
        pool.upload(source.slice(), x)
        BoundSlices(gl, [source.slice(), target.slice()]).bind()
        gl.use_program(program.handle)
        gl.dispatch_compute(x.size // 64, 1, 1)
        gl.memory_barrier(const.BUFFER_UPDATE_BARRIER_BIT)
        gl.check("running")
        y = read_now(pool, target.slice()).view(np.float32)
        pool.release(source)
        pool.release(target)
        return y

    return engine.call(on_thread)


def expected(factor: float) -> np.ndarray:
    return factor * np.linspace(-3, 3, 256, dtype=np.float32).astype(np.float64) + 1


def test_same_source_is_compiled_once(engine: EngineThread, cache: ProgramCache) -> None:
    one = engine.call(cache.get, axpb(2.0))
    same = engine.call(cache.get, replace(axpb(2.0), name="elsewhere"))
    other = engine.call(cache.get, axpb(3.0))
    assert one is same
    assert other.handle != one.handle
    counters = cache.counters()
    assert (counters.programs, counters.compiled, counters.hits) == (2, 2, 1)


def test_program_computes(engine: EngineThread, pool: BufferPool, cache: ProgramCache) -> None:
    program = engine.call(cache.get, axpb(2.5))
    np.testing.assert_allclose(run(engine, pool, program), expected(2.5), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "expression",
    ["{f} * missing[i]", "{f} * x[i", "undeclared_function({f})"],
    ids=["undeclared name", "syntax", "undeclared function"],
)
def test_refused_kernel_is_named_at_file_and_line(
    engine: EngineThread, tmp_path: Path, expression: str
) -> None:
    cache = engine.call(ProgramCache, engine.gl, debug_folder=tmp_path)
    with pytest.raises(ShaderError) as caught:
        engine.call(cache.get, axpb(2.0, expression), "instruction 3, SCALE 0x1 0x2")
    error = caught.value
    assert error.message.startswith("axpb.glsl:4: ")
    assert ">    4 |     y[i] =" in error.message
    assert error.origin == "instruction 3, SCALE 0x1 0x2"
    (written,) = tmp_path.iterdir()
    assert written.read_text() == axpb(2.0, expression).text
    assert cache.counters().programs == 0
    engine.call(engine.gl.check, "refusing a kernel")


def test_precompile_reports_progress_and_skips_what_is_known(
    engine: EngineThread, cache: ProgramCache
) -> None:
    engine.call(cache.get, axpb(1.0))
    told: list[tuple[int, int, str]] = []
    sources = [(axpb(float(f)), "") for f in range(1, 12)] * 2
    assert engine.call(cache.precompile, sources, lambda *news: told.append(news))
    assert [done for done, _, _ in told] == list(range(1, 11))
    assert {total for _, total, _ in told} == {10}
    assert cache.counters().compiled == 11


def test_precompile_hears_a_stop(engine: EngineThread, cache: ProgramCache) -> None:
    stopping = threading.Event()
    sources = [(axpb(float(f)), "") for f in range(40)]
    assert not engine.call(cache.precompile, sources, lambda *_: stopping.set(), stopping=stopping)
    assert 0 < cache.counters().compiled < 40


def test_requested_source_is_compiled_once_whoever_takes_it(
    engine: EngineThread, pool: BufferPool, cache: ProgramCache
) -> None:
    for factor in (1.0, 2.0, 3.0, 2.0):
        engine.call(cache.request, axpb(factor))
    assert cache.counters().programs == 0
    taken = engine.call(cache.get, axpb(2.0))
    engine.call(cache.request, axpb(2.0))
    told: list[tuple[int, int]] = []
    sources = [(axpb(float(f)), "") for f in range(1, 6)]
    assert engine.call(cache.precompile, sources, lambda *news: told.append(news[:2]))
    assert told == [(done, 4) for done in range(1, 5)]
    assert (cache.counters().programs, cache.counters().compiled) == (5, 5)
    for factor, program in ((2.0, taken), (3.0, engine.call(cache.get, axpb(3.0)))):
        np.testing.assert_allclose(run(engine, pool, program), expected(factor), 1e-6, 1e-6)


def test_refused_request_is_told_to_whoever_takes_it(
    engine: EngineThread, cache: ProgramCache
) -> None:
    engine.call(cache.request, axpb(2.0, "nothing"), "the line it serves")
    with pytest.raises(ShaderError) as caught:
        engine.call(cache.get, axpb(2.0, "nothing"))
    assert caught.value.origin == "the line it serves"


def test_requests_nobody_took_go_with_the_cache(engine: EngineThread) -> None:
    cache = engine.call(ProgramCache, engine.gl)
    engine.call(cache.request, axpb(7.0))
    engine.call(cache.close)
    engine.call(cache.get, axpb(7.0))
    assert cache.counters().compiled == 1
    engine.call(cache.close)
    engine.call(engine.gl.check, "deleting what was requested")


def test_refused_kernel_in_a_batch_leaves_the_good_ones(
    engine: EngineThread, cache: ProgramCache
) -> None:
    sources = [(axpb(1.0), ""), (axpb(2.0, "nothing"), "bad one"), (axpb(3.0), "")]
    with pytest.raises(ShaderError, match="bad one"):
        engine.call(cache.precompile, sources)
    assert cache.counters().programs == 1
    engine.call(cache.get, axpb(3.0))
    assert cache.counters().programs == 2


def test_program_from_disk_computes_the_same(
    engine: EngineThread, pool: BufferPool, tmp_path: Path
) -> None:
    if engine.call(engine.gl.integer, const.NUM_PROGRAM_BINARY_FORMATS) == 0:
        pytest.skip("this driver has no format for program binaries")
    disk = BinaryCache(tmp_path, engine.info.fingerprint)
    first = engine.call(ProgramCache, engine.gl, disk=disk)
    engine.call(first.get, axpb(4.0))
    engine.call(first.close)
    second = engine.call(ProgramCache, engine.gl, disk=disk)
    program = engine.call(second.get, axpb(4.0))
    counters = second.counters()
    assert (counters.loaded, counters.compiled, counters.refused) == (1, 0, 0)
    np.testing.assert_allclose(run(engine, pool, program), expected(4.0), rtol=1e-6, atol=1e-6)
    engine.call(second.close)


def test_binary_the_driver_refuses_is_compiled_anew(
    engine: EngineThread, pool: BufferPool, tmp_path: Path
) -> None:
    if engine.call(engine.gl.integer, const.NUM_PROGRAM_BINARY_FORMATS) == 0:
        pytest.skip("this driver has no format for program binaries")
    disk = BinaryCache(tmp_path, engine.info.fingerprint)
    first = engine.call(ProgramCache, engine.gl, disk=disk)
    key = engine.call(first.get, axpb(5.0)).key
    engine.call(first.close)
    assert disk.store(key, 0x1234, b"of a driver that never was")
    second = engine.call(ProgramCache, engine.gl, disk=disk)
    program = engine.call(second.get, axpb(5.0))
    counters = second.counters()
    assert (counters.loaded, counters.compiled, counters.refused) == (0, 1, 1)
    np.testing.assert_allclose(run(engine, pool, program), expected(5.0), rtol=1e-6, atol=1e-6)
    engine.call(second.close)


def test_compile_log_is_none_for_a_sound_source(engine: EngineThread) -> None:
    assert engine.call(compile_log, engine.gl, axpb(1.0).text) is None
    assert "missing" in (engine.call(compile_log, engine.gl, axpb(1.0, "missing").text) or "")
