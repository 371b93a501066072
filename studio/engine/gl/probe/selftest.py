"""Asks a device for everything the kernels assume of it; what ``glassbox doctor`` prints."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from studio.engine.gl.device.buffer_pool import BufferPool
from studio.engine.gl.device.line_map import parse_log
from studio.engine.gl.device.program_cache import ProgramCache, compile_log
from studio.engine.gl.probe.numbers import ask_functions, ask_integers, ask_numbers
from studio.engine.gl.probe.runner import Finding, ProbeRunner, probe_text
from studio.engine.gl.probe.speed import (
    measure_dispatch,
    measure_matmul,
    measure_memory,
)

if TYPE_CHECKING:
    from studio.engine.gl.device.device import DeviceInfo
    from studio.engine.gl.device.engine_thread import EngineThread

KernelFamily = Literal["shared tiles", "register tiles"]

_POOL_BYTES = 1 << 30


def ask_compile_log(runner: ProbeRunner) -> list[Finding]:
    """Whether a kernel the driver refuses can be traced to its line; on the engine thread."""
    sound = probe_text("empty_step")
    broken = sound.text.replace("y[0] += 1u", "y[0] += glassbox_unknown_name")
    at = next(n for n, line in enumerate(broken.splitlines()) if "glassbox_unknown_name" in line)
    # The file's first line is the third of the text and has the number 1001.
    expected = 1001 + at - 2
    log = compile_log(runner.gl, broken)
    errors = [found for found in parse_log(log or "") if found.is_error]
    understood = bool(errors) and abs(errors[0].line - expected) <= 1
    name = "compile errors lead to their line"
    if understood:
        offset = errors[0].line - expected
        value = f"yes, in the form of {errors[0].vendor}"
        return [Finding("driver", name, f"{value}, off by {offset}" if offset else value)]
    said = "the driver took a broken kernel" if log is None else f"unknown form: {log.strip()}"
    return [Finding("driver", name, "no", verdict="bad", note=said)]


_PARTS: tuple[tuple[str, Callable[[ProbeRunner], list[Finding]]], ...] = (
    ("special values", ask_numbers),
    ("integers", ask_integers),
    ("functions", ask_functions),
    ("compile errors", ask_compile_log),
    ("dispatch", measure_dispatch),
    ("memory", measure_memory),
    ("matrix product", measure_matmul),
)


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What the self-test found.

    Attributes:
        device: the device it ran on.
        findings: in the order they were made.
        seconds: how long all of it took.
    """

    device: DeviceInfo
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def sound(self) -> bool:
        """Whether everything the kernels rely on holds."""
        return all(finding.verdict != "bad" for finding in self.findings)

    @property
    def faster_family(self) -> KernelFamily:
        """The family of matrix kernels this device runs faster."""
        speeds = [finding.value for finding in self.findings if "matrix product" in finding.name]
        shared, register = (float(speed) for speed in speeds)
        return "shared tiles" if shared >= register else "register tiles"

    def to_json(self) -> dict[str, Any]:
        """The same as JSON-ready plain data."""
        return {
            "device": self.device.to_json(),
            "sound": self.sound,
            "faster_family": self.faster_family,
            "seconds": self.seconds,
            "findings": [asdict(finding) for finding in self.findings],
        }


def run_selftest(
    engine: EngineThread, progress: Callable[[int, int, str], None] | None = None
) -> SelfTest:
    """Run all probes; takes a second or two.

    Args:
        engine: a started engine; other work may be posted to it between the parts.
        progress: told (parts done, parts in all, name of the next).

    Raises:
        BackendError: the driver failed a probe outright; the sentence names it.
    """
    begun = time.perf_counter()
    budget = min(_POOL_BYTES, engine.info.budget_bytes)
    pool = BufferPool(engine.gl, budget_bytes=budget)
    programs = engine.call(ProgramCache, engine.gl)
    runner = ProbeRunner(engine.gl, engine.info, pool, programs)
    findings: list[Finding] = []
    try:
        for done, (name, part) in enumerate(_PARTS):
            if progress is not None:
                progress(done, len(_PARTS), name)
            findings.extend(engine.call(part, runner))
        if progress is not None:
            progress(len(_PARTS), len(_PARTS), "")
    finally:
        if engine.is_alive:
            engine.call(programs.close)
            engine.call(pool.close)
    return SelfTest(engine.info, tuple(findings), time.perf_counter() - begun)
