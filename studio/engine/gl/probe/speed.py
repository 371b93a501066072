"""Measures what a device does in a second: dispatches, bytes, multiplications."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from studio.engine.gl.device.fences import Fence
from studio.engine.gl.device.readback import read_now
from studio.engine.gl.probe.runner import Finding

if TYPE_CHECKING:
    from studio.engine.gl.probe.runner import ProbeRunner

MATMUL_PROBES = ("matmul_shared_tiles", "matmul_register_tiles")
_ROUND_TRIPS = 20
# Sides and sizes by kind of device, so that each takes milliseconds.
_SOFTWARE_SIDE, _HARDWARE_SIDE = 256, 1024
_SOFTWARE_BYTES, _HARDWARE_BYTES = 16 << 20, 128 << 20


def measure_dispatch(runner: ProbeRunner) -> list[Finding]:
    """What a dispatch costs within a queue, and alone with a wait; on the engine thread."""
    counter = runner.pool.acquire(4, "the self-test", zero=True)
    runner.bind(runner.compile("empty_step"), (counter,))
    queued = runner.seconds_per_dispatch((1, 1, 1))
    trips = []
    for _ in range(_ROUND_TRIPS):
        begun = time.perf_counter()
        runner.gl.dispatch_compute(1, 1, 1)
        Fence(runner.gl).wait()
        trips.append(time.perf_counter() - begun)
    runner.pool.release(counter)
    return [
        Finding("speed", "dispatch in a queue", queued * 1e6, "µs"),
        Finding("speed", "dispatch and wait", float(np.median(trips)) * 1e6, "µs"),
    ]


def measure_memory(runner: ProbeRunner) -> list[Finding]:
    """Bytes a second on the device, to it and from it; on the engine thread."""
    nbytes = _SOFTWARE_BYTES if runner.info.is_software else _HARDWARE_BYTES
    pool = runner.pool
    data = np.arange(nbytes // 4, dtype=np.uint32)
    source = runner.upload(data)
    target = pool.acquire(nbytes, "the self-test")
    runner.bind(runner.compile("copy"), (source, target))
    # 256 invocations of 16 bytes a group; the groups lie along two axes, as one may be short.
    groups = (256, nbytes // (256 * 16 * 256), 1)
    copying = runner.seconds_per_dispatch(groups)
    runner.gl.finish()
    begun = time.perf_counter()
    pool.upload(source.slice(), data)
    runner.gl.finish()
    uploading = time.perf_counter() - begun
    # The first read makes the staging buffer and touches the host's pages; the second is the rate.
    back = read_now(pool, target.slice())
    begun = time.perf_counter()
    read_now(pool, target.slice(), out=back)
    reading = time.perf_counter() - begun
    intact = bool(np.array_equal(back.view(np.uint32), data))
    pool.release(source)
    pool.release(target)
    return [
        Finding("speed", "copy on the device", 2 * nbytes / copying / 1e9, "GB/s read and written"),
        Finding("speed", "upload", nbytes / uploading / 1e9, "GB/s"),
        Finding("speed", "read-back", nbytes / reading / 1e9, "GB/s"),
        Finding(
            "driver",
            "bytes come back as they were sent",
            "yes" if intact else "no",
            verdict="ok" if intact else "bad",
        ),
    ]


def measure_matmul(runner: ProbeRunner) -> list[Finding]:
    """Multiplications a second of both families of kernels; on the engine thread."""
    side = _SOFTWARE_SIDE if runner.info.is_software else _HARDWARE_SIDE
    rng = np.random.default_rng(1)
    left, right = rng.uniform(-1, 1, (2, side, side)).astype(np.float32)
    true = left.astype(np.float64) @ right.astype(np.float64)
    pool = runner.pool
    buffers = (
        runner.upload(left),
        runner.upload(right),
        pool.acquire(left.nbytes, "the self-test"),
    )
    findings = []
    for name, rows in zip(MATMUL_PROBES, (64, 8), strict=True):
        runner.bind(runner.compile(name), buffers)
        seconds = runner.seconds_per_dispatch((side // 64, side // rows, 1))
        runner.gl.check(f"measuring {name}")
        answer = read_now(pool, buffers[2].slice()).view(np.float32).reshape(side, side)
        error = float(np.max(np.abs(answer - true)))
        # Rounding of a sum of `side` products of numbers below 1, with room for any order.
        right_enough = error < side * 1e-6
        findings.append(
            Finding(
                "speed",
                f"matrix product {side}, {name.removeprefix('matmul_').replace('_', ' ')}",
                2 * side**3 / seconds / 1e9,
                "GFLOP/s",
                "ok" if right_enough else "bad",
                "" if right_enough else f"wrong by {error:.2g}",
            )
        )
    for buffer in buffers:
        pool.release(buffer)
    return findings
