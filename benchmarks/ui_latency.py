"""The window beside a training at full speed: how late it answers, and what it costs the training.

Everything is taken in one process, in turns: the training without a window, with the window as it
starts, and with the window's live views off (Quiet). Paces are compared with those of the stretches
without a window just before and after, since the speed of a shared machine drifts.

    xvfb-run -a -s "-screen 0 1920x1200x24" python -m benchmarks.ui_latency --out latency.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.timing import machine
from benchmarks.ui_probes import Phase
from benchmarks.ui_window import OpenWindow, project_copy
from studio.engine.train.devices import open_backend
from studio.engine.train.project import Project
from studio.engine.train.runs import RunFolder
from studio.engine.train.task import Task
from studio.engine.train.trainer import Trainer

if TYPE_CHECKING:
    from collections.abc import Sequence

WARM_SECONDS = 1.5
DEFAULT_INTERVAL = 0.005
TARGET_P99_MS = {"cpu": 16.0, "gl": 33.0}
TARGET_SLOWDOWN = {"default": 0.05, "quiet": 0.01}


def bare_phase(path: Path, backend: str, seconds: float) -> Phase:
    """The same training, recorded alike, on its own thread; the window's thread sleeps."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(DEFAULT_INTERVAL)
    try:
        return _bare_phase(path, backend, seconds)
    finally:
        sys.setswitchinterval(interval)


def _bare_phase(path: Path, backend: str, seconds: float) -> Phase:
    project = Project.load(path)
    task = Task.of_project(project)
    run = RunFolder.create(project)
    with open_backend(backend) as opened, Trainer(task, opened.backend, run=run) as trainer:
        trainer.start()
        while trainer.loop_or_none() is None or trainer.loop.total_step < 1:
            time.sleep(0.01)
        time.sleep(WARM_SECONDS)
        begun, first = time.perf_counter(), trainer.loop.total_step
        time.sleep(seconds)
        last, ended = trainer.loop.total_step, time.perf_counter()
    return Phase("bare", ended - begun, last - first)


def measure(backend: str, project: str, rounds: int, seconds: float) -> dict[str, object]:
    """All phases of one backend."""
    phases: list[Phase] = []
    with tempfile.TemporaryDirectory() as folder:
        path = project_copy(project, Path(folder) / "shown")
        bare = project_copy(project, Path(folder) / "bare")
        phases.append(say(bare_phase(bare, backend, seconds)))
        window = OpenWindow(path, backend, Path(folder) / "places")
        idle = window.idle(min(4.0, seconds))
        for _ in range(rounds):
            window.start_training()
            window.spin(WARM_SECONDS)
            phases.extend(say(window.phase(kind, seconds)) for kind in ("default", "quiet"))
            window.stop_training()
            phases.append(say(bare_phase(bare, backend, seconds)))
        device = window.device
        window.close()
    return {
        "backend": backend,
        "device": device,
        "project": project,
        "idle": idle.to_json(),
        "phases": [phase.to_json() for phase in phases],
        "summary": summary(backend, phases),
    }


def summary(backend: str, phases: Sequence[Phase]) -> dict[str, object]:
    """Slow-downs by neighbours in time, and the worst of the latencies, beside the targets."""
    found: dict[str, object] = {}
    for kind in ("default", "quiet"):
        own = [at for at, phase in enumerate(phases) if phase.kind == kind]
        ratios = [1.0 - phases[at].pace / _bare_pace(phases, at) for at in own]
        latencies = [phases[at].latency for at in own]
        paints = [phases[at].paint for at in own]
        late = [each for each in latencies if each is not None]
        found[kind] = {
            "slowdown": round(statistics.median(ratios), 4),
            "slowdowns": [round(ratio, 4) for ratio in ratios],
            "slowdown_target": TARGET_SLOWDOWN[kind],
            "latency_p50_ms": statistics.median(each.p50 for each in late),
            "latency_p95_ms": statistics.median(each.p95 for each in late),
            "latency_p99_ms": statistics.median(each.p99 for each in late),
            "latency_max_ms": max(each.worst for each in late),
            "latency_p99_target_ms": TARGET_P99_MS[backend],
            "paint_p50_ms": statistics.median(each.p50 for each in paints if each),
            "paint_p99_ms": statistics.median(each.p99 for each in paints if each),
            "paint_max_ms": max(each.worst for each in paints if each),
            "interface_share": round(
                statistics.median(phases[at].interface / phases[at].seconds for at in own), 4
            ),
            "blocks": [block for at in own for block in phases[at].blocks],
        }
    return found


def _bare_pace(phases: Sequence[Phase], at: int) -> float:
    """Pace without a window around a phase: the mean of the stretches before and after."""
    before = next(p.pace for p in reversed(phases[:at]) if p.kind == "bare")
    after = next(p.pace for p in phases[at:] if p.kind == "bare")
    return (before + after) / 2


def say(phase: Phase) -> Phase:
    """Print a phase as it ends."""
    late = "" if phase.latency is None else (
        f"  late p50/p95/p99/max {phase.latency.p50:.1f}/{phase.latency.p95:.1f}/"
        f"{phase.latency.p99:.1f}/{phase.latency.worst:.1f} ms"
    )  # fmt: skip
    paint = "" if phase.paint is None else (
        f"  paint p50/p99/max {phase.paint.p50:.1f}/{phase.paint.p99:.1f}/{phase.paint.worst:.1f}"
    )  # fmt: skip
    share = f"  window {phase.interface / phase.seconds:.1%} of a core" if phase.interface else ""
    print(f"  {phase.kind:8s} {phase.pace:9.1f} steps/s{late}{paint}{share}", flush=True)
    return phase


def table(results: Sequence[dict[str, object]]) -> str:
    """The summary for people."""
    heads = ("backend", "window", "slow-down (target)", "late p50/p95/p99/max ms (p99 target)",
             "150-call paint p50/p99/max ms", "window's thread")  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---|---|---|"]
    for result in results:
        for kind, found in result["summary"].items():  # type: ignore[attr-defined]
            lines.append(
                f"| {result['backend']} | {kind} | {found['slowdown']:.1%} "
                f"({found['slowdown_target']:.0%}) | {found['latency_p50_ms']:.1f} / "
                f"{found['latency_p95_ms']:.1f} / {found['latency_p99_ms']:.1f} / "
                f"{found['latency_max_ms']:.1f} ({found['latency_p99_target_ms']:.0f}) | "
                f"{found['paint_p50_ms']:.1f} / {found['paint_p99_ms']:.1f} / "
                f"{found['paint_max_ms']:.1f} | {found['interface_share']:.1%} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Measure the backends asked for and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backends", default="cpu,gl", help="comma-separated: cpu, gl")
    parser.add_argument("--project", default="digits-cnn", help="a sample project")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each phase")
    parser.add_argument("--out", type=Path, help="write JSON there")
    given = parser.parse_args()
    results = []
    for backend in given.backends.split(","):
        print(f"{backend}: {given.project}", flush=True)
        results.append(measure(backend, given.project, given.rounds, given.seconds))
    print(table(results))
    if given.out is not None:
        text = json.dumps({"machine": machine(), "command": sys.argv[1:], "results": results})
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
