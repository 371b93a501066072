"""The window beside a training at full speed: how late it answers, and what it costs the training.

Everything is taken in one process. First the training runs without a window. Then the studio is
opened as a user opens it and trains the same project; short stretches with the window at work, with
its live views off (Quiet), and with the window's thread asleep take turns, so that each is compared
with stretches a second away. What other processes use of the machine is measured beside every
stretch, and disturbed ones are left out as long as enough others remain.

    xvfb-run -a -s "-screen 0 1920x1200x24" python -m benchmarks.ui_latency --out latency.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import machine
from benchmarks.ui_load import OtherLoad
from benchmarks.ui_probes import Phase, Spread
from benchmarks.ui_window import OpenWindow, project_copy, training_busy
from studio.engine.train.devices import open_backend
from studio.engine.train.project import Project
from studio.engine.train.runs import RunFolder
from studio.engine.train.task import Task
from studio.engine.train.trainer import Trainer

WARM_SECONDS = 1.5
DEFAULT_INTERVAL = 0.005
CALM_CORES = 0.15
ENOUGH_PAIRS = 5
KINDS = ("default", "quiet")
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
        busy = training_busy(trainer)
        time.sleep(WARM_SECONDS)
        load = OtherLoad()
        begun, first, spent = time.perf_counter(), trainer.loop.total_step, busy()
        time.sleep(seconds)
        last, ended = trainer.loop.total_step, time.perf_counter()
        return Phase("bare", ended - begun, last - first, load.cores, busy() - spent)


def measure(backend: str, project: str, rounds: int, seconds: float) -> dict[str, Any]:
    """All stretches of one backend."""
    with tempfile.TemporaryDirectory() as folder:
        path = project_copy(project, Path(folder) / "shown")
        bare_path = project_copy(project, Path(folder) / "bare")
        bare = [say(bare_phase(bare_path, backend, 2 * seconds)) for _ in range(2)]
        window = OpenWindow(path, backend, Path(folder) / "places")
        idle = say(window.idle(2 * seconds))
        window.start_training()
        window.spin(WARM_SECONDS)
        phases = [say(window.asleep(seconds))]
        for _ in range(rounds):
            for kind in KINDS:
                phases.append(say(window.phase(kind, seconds, probed=False)))
                phases.append(say(window.asleep(seconds)))
        late = [
            say(window.phase(kind, seconds, probed=True)) for _ in range(rounds) for kind in KINDS
        ]
        device = window.device
        window.stop_training()
        bare += [say(bare_phase(bare_path, backend, 2 * seconds)) for _ in range(2)]
        window.close()
    return {
        "backend": backend,
        "device": device,
        "project": project,
        "idle": idle.to_json(),
        "bare": [phase.to_json() for phase in bare],
        "phases": [phase.to_json() for phase in (*phases, *late)],
        "summary": {kind: summary(kind, backend, phases, late, bare) for kind in KINDS},
    }


def summary(
    kind: str,
    backend: str,
    phases: Sequence[Phase],
    probed: Sequence[Phase],
    bare: Sequence[Phase],
) -> dict[str, Any]:
    """Slow-down by neighbours in time, and latencies, beside the targets."""
    own = [at for at, phase in enumerate(phases) if phase.kind == kind]
    triples = [(phases[at - 1], phases[at], phases[at + 1]) for at in own]
    calm = [each for each in triples if max(p.others for p in each) < CALM_CORES]
    used = calm if len(calm) >= ENOUGH_PAIRS else triples
    ratios = [1.0 - now.pace / ((before.pace + after.pace) / 2) for before, now, after in used]
    watched = [phase for phase in probed if phase.kind == kind]
    quietest = [phase for phase in watched if phase.others < CALM_CORES]
    watched = quietest if len(quietest) >= ENOUGH_PAIRS else watched
    late = _joined([phase.latency for phase in watched])
    paint = _joined([phase.paint for phase in watched])
    asleep = statistics.median(before.busy_ms for before, _, _ in used)
    return {
        "slowdown": round(statistics.median(ratios), 4),
        "slowdown_spread": [round(each, 4) for each in sorted(ratios)],
        "slowdown_target": TARGET_SLOWDOWN[kind],
        "stretches": len(used),
        "calm_stretches": len(calm),
        "others_cores": round(statistics.median(now.others for _, now, _ in used), 3),
        "busy_ms_per_step": {
            "bare": round(statistics.median(phase.busy_ms for phase in bare), 4),
            "window asleep": round(asleep, 4),
            kind: round(statistics.median(now.busy_ms for _, now, _ in used), 4),
        },
        "latency_ms": late,
        "latency_p99_target_ms": TARGET_P99_MS[backend],
        "paint_ms": paint,
        "interface_share": round(
            statistics.median(now.interface / now.seconds for _, now, _ in used), 4
        ),
        "blocks": [block for phase in probed for block in phase.blocks if phase.kind == kind],
    }


def _joined(spreads: Sequence[Spread | None]) -> dict[str, float]:
    """Medians of the stretches' percentiles, and the worst of all."""
    found = [each for each in spreads if each is not None]
    return {
        "p50": statistics.median(each.p50 for each in found),
        "p95": statistics.median(each.p95 for each in found),
        "p99": statistics.median(each.p99 for each in found),
        "worst": max(each.worst for each in found),
    }


def say(phase: Phase) -> Phase:
    """Print a stretch as it ends."""
    late = "" if phase.latency is None else (
        f"  late p50/p95/p99/max {phase.latency.p50:.1f}/{phase.latency.p95:.1f}/"
        f"{phase.latency.p99:.1f}/{phase.latency.worst:.1f} ms"
    )  # fmt: skip
    paint = "" if phase.paint is None else (
        f"  paint p50/max {phase.paint.p50:.1f}/{phase.paint.worst:.1f}"
    )  # fmt: skip
    share = f"  window {phase.interface / phase.seconds:.1%}" if phase.interface else ""
    print(
        f"  {phase.kind:8s} {phase.pace:8.1f} steps/s, busy {phase.busy_ms:.3f} ms a step, "
        f"others {phase.others:.2f} cores{late}{paint}{share}",
        flush=True,
    )
    return phase


def table(results: Sequence[dict[str, Any]]) -> str:
    """The summary for people."""
    heads = ("backend", "window", "slow-down (target)", "stretches (calm)",
             "late p50/p95/p99/max ms (p99 target)", "150-call paint p50/p99/max ms",
             "window's thread", "busy ms a step: bare / asleep / so")  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for result in results:
        for kind, found in result["summary"].items():
            late, paint = found["latency_ms"], found["paint_ms"]
            busy = " / ".join(f"{each:.3f}" for each in found["busy_ms_per_step"].values())
            lateness = "/".join(f"{late[name]:.1f}" for name in ("p50", "p95", "p99", "worst"))
            cells = (
                result["backend"],
                kind,
                f"{found['slowdown']:.1%} ({found['slowdown_target']:.0%})",
                f"{found['stretches']} ({found['calm_stretches']})",
                f"{lateness} ({found['latency_p99_target_ms']:.0f})",
                f"{paint['p50']:.1f}/{paint['p99']:.1f}/{paint['worst']:.1f}",
                f"{found['interface_share']:.1%}",
                busy,
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure the backends asked for and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backends", default="cpu,gl", help="comma-separated: cpu, gl")
    parser.add_argument("--project", default="digits-cnn", help="a sample project")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each stretch")
    parser.add_argument("--out", type=Path, help="write JSON there")
    given = parser.parse_args()
    results = []
    for backend in given.backends.split(","):
        print(f"{backend}: {given.project}", flush=True)
        results.append(measure(backend, given.project, given.rounds, given.seconds))
    print(table(results))
    blocks = [b for r in results for found in r["summary"].values() for b in found["blocks"]]
    print("\n".join(["the window stood still:", *blocks]) if blocks else "no block above 100 ms")
    if given.out is not None:
        text = json.dumps({"machine": machine(), "command": sys.argv[1:], "results": results})
        given.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
