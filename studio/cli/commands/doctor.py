"""``glassbox doctor``: what this machine has, what works, and what to type where it does not."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import typer

from studio import __version__
from studio.cli import console
from studio.cli.app import CHECK_FAILED
from studio.cli.options import JsonOption
from studio.engine.core.errors import StudioError
from studio.engine.cpu.backend import CpuBackend
from studio.engine.gl.device.context import StandaloneProvider
from studio.engine.gl.device.engine_thread import EngineThread
from studio.engine.gl.device.preflight import check_libraries
from studio.engine.gl.probe.runner import Finding
from studio.engine.gl.probe.selftest import SelfTest, run_selftest
from studio.engine.runtime.peaks import measure_peaks

_PACKAGES = ("numpy", "moderngl", "glcontext", "PySide6-Essentials", "pyqtgraph", "pillow")


@dataclass(frozen=True)
class GlReport:
    """What OpenGL said: the self-test, or the sentence why there is none."""

    test: SelfTest | None
    why: str


def doctor(as_json: JsonOption = False) -> None:
    """Show renderer, versions, limits and extensions, and run the self-test."""
    facts = _facts()
    report = _ask_gl()
    cpu = _cpu_speed()
    if as_json:
        gl = report.test.to_json() if report.test is not None else None
        console.answer_json({"facts": facts, "opengl": gl, "why": report.why, "cpu": cpu})
    else:
        _print(facts, cpu, report)
    if report.test is not None and not report.test.sound:
        raise typer.Exit(CHECK_FAILED)


def _facts() -> dict[str, str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    facts = {
        "glassbox": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": str(cores),
        "display": os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY") or "none",
    }
    if sys.platform in ("win32", "darwin"):
        facts["display"] = "the desktop"
    for package in _PACKAGES:
        try:
            facts[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            facts[package] = "not installed"
    return facts


def _ask_gl() -> GlReport:
    preflight = check_libraries()
    if not preflight.ok:
        return GlReport(None, " ".join(t for t in (preflight.problem, preflight.hint) if t))
    try:
        engine = EngineThread(StandaloneProvider()).start()
    except StudioError as error:
        return GlReport(None, str(error))
    try:
        test = run_selftest(engine)
    except StudioError as error:
        return GlReport(None, str(error))
    else:
        return GlReport(test, test.device.notice)
    finally:
        engine.close()


def _cpu_speed() -> dict[str, Any]:
    config = np.show_config(mode="dicts")
    library: dict[str, Any] = dict(config.get("Build Dependencies", {}).get("blas", {}))
    backend = CpuBackend()
    try:
        peaks = measure_peaks(backend, 512, 4096)
    finally:
        backend.close()
    return {
        "blas": f"{library.get('name', 'unknown')} {library.get('version', '')}".strip(),
        "matrix product, GFLOP/s": round(peaks.gflops, 1),
        "copy, GB/s": round(peaks.gbytes, 1),
        **({"in doubt": peaks.doubt} if peaks.doubt else {}),
    }


def _print(facts: dict[str, str], cpu: dict[str, Any], report: GlReport) -> None:
    console.table(("this machine", ""), list(facts.items()))
    console.say()
    console.table(("CPU backend", ""), [(k, str(v)) for k, v in cpu.items()])
    console.say()
    if report.test is None:
        console.say("OpenGL backend: not available")
        console.say(report.why)
        return
    device = report.test.device
    console.table(("OpenGL backend", ""), [
        ("renderer", device.renderer),
        ("vendor", device.vendor),
        ("version", f"{device.version}, GLSL {device.glsl_version}"),
        ("opened by", device.origin),
        ("largest binding", f"{device.max_storage_bytes:,} bytes"),
        ("largest buffer", f"{device.max_buffer_bytes:,} bytes"),
        ("shared memory", f"{device.shared_memory_bytes:,} bytes"),
        ("work groups", " x ".join(f"{n:,}" for n in device.max_group_count)),
        ("group size", f"{device.max_group_invocations}"),
        ("extensions", f"{len(device.extensions)} (all of them with --json)"),
    ])  # fmt: skip
    if report.why:
        console.say(report.why)
    console.say()
    console.table(
        ("self-test", "", "", ""),
        [(f.group, f.name, _value(f), _mark(f)) for f in report.test.findings],
    )
    sound = "everything the kernels rely on holds" if report.test.sound else "NOT sound, see above"
    console.say(
        f"\n{sound} ({report.test.seconds:.1f} s); faster here: {report.test.faster_family}"
    )


def _value(finding: Finding) -> str:
    value = finding.value
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"{text} {finding.unit}".strip()


def _mark(finding: Finding) -> str:
    mark = {"ok": "", "known": "known", "bad": "BAD"}[finding.verdict]
    return " ".join(t for t in (mark, finding.note) if t)
