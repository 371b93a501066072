"""The window beside a training at full speed: how late it answers, and what it costs the training.

Everything is taken in one process: the studio is opened as a user opens it and trains a project;
short stretches with the window at work, with its live views off (Quiet), and with its views off and
its thread asleep take turns in random order, and whole epochs are timed, so that each is compared
with stretches a second away. What other processes use of the machine is measured beside every
stretch, and disturbed rounds are left out as long as enough others remain. What a window costs by
being there is what `benchmarks.ui_turns` measures.

    xvfb-run -a -s "-screen 0 1920x1200x24" python -m benchmarks.ui_latency --out latency.json
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import machine
from benchmarks.ui_probes import Phase, Spread, mean_and_error
from benchmarks.ui_window import OpenWindow, project_copy

WARM_SECONDS = 1.5
CALM_CORES = 0.15
ENOUGH_ROUNDS = 20
IDLE_SECONDS = 4.0
PROBED_SECONDS = 2.0
PROBED_ROUNDS = 10
THEME_SWITCHES = 10
TARGET_THEME_MS = 300.0
KINDS = ("default", "quiet")
TARGET_P99_MS = {"cpu": 16.0, "gl": 33.0}
TARGET_SLOWDOWN = {"default": 0.05, "quiet": 0.01}


def measure(backend: str, project: str, rounds: int, seconds: float) -> dict[str, Any]:
    """All stretches of one backend."""
    with tempfile.TemporaryDirectory() as folder:
        path = project_copy(project, Path(folder) / "shown")
        window = OpenWindow(path, backend, Path(folder) / "places")
        idle = say(window.idle(IDLE_SECONDS))
        switches = window.theme_switches(THEME_SWITCHES)
        window.start_training()
        window.spin(WARM_SECONDS)
        order = random.Random(0)
        turns = []
        for _ in range(rounds):
            kinds = order.sample(("asleep", *KINDS), 1 + len(KINDS))
            turns.append({kind: say(window.phase(kind, seconds)) for kind in kinds})
        late = [
            say(window.phase(kind, PROBED_SECONDS, probed=True))
            for _ in range(PROBED_ROUNDS)
            for kind in KINDS
        ]
        device = window.device
        window.stop_training()
        window.close()
    return {
        "backend": backend,
        "device": device,
        "project": project,
        "idle": idle.to_json(),
        "theme_switch_ms": [round(1e3 * each, 1) for each in switches],
        "rounds": [{kind: phase.to_json() for kind, phase in turn.items()} for turn in turns],
        "probed": [phase.to_json() for phase in late],
        "summary": {kind: summary(kind, backend, turns, late) for kind in KINDS},
    }


def summary(
    kind: str,
    backend: str,
    rounds: Sequence[Mapping[str, Phase]],
    probed: Sequence[Phase],
) -> dict[str, Any]:
    """Slow-down by neighbours in time, and latencies, beside the targets."""
    whole = [turn for turn in rounds if all(phase.epochs for phase in turn.values())]
    calm = [turn for turn in whole if max(p.others for p in turn.values()) < CALM_CORES]
    used = calm if len(calm) >= ENOUGH_ROUNDS else whole
    slower = [math.log(turn[kind].epoch / turn["asleep"].epoch) for turn in used]
    mean, error = mean_and_error(slower)
    watched = [phase for phase in probed if phase.kind == kind]
    return {
        "slowdown": round(mean, 4),
        "slowdown_error": round(error, 4),
        "slowdown_target": TARGET_SLOWDOWN[kind],
        "rounds": len(used),
        "others_cores": round(statistics.median(turn[kind].others for turn in used), 3),
        "epoch_ms": {
            "asleep": round(1e3 * statistics.mean(turn["asleep"].epoch for turn in used), 1),
            kind: round(1e3 * statistics.mean(turn[kind].epoch for turn in used), 1),
        },
        "latency_ms": _joined([phase.latency for phase in watched]),
        "latency_p99_target_ms": TARGET_P99_MS[backend],
        "paint_ms": _joined([phase.paint for phase in watched]),
        "interface_share": _share(used, kind, lambda phase: phase.interface),
        "waited_share": _share(used, kind, lambda phase: phase.waited),
        "blocks": [block for phase in watched for block in phase.blocks],
    }


def _share(
    rounds: Sequence[Mapping[str, Phase]], kind: str, part: Callable[[Phase], float]
) -> float:
    """Share of the time, above what it is with the window asleep."""
    shares = {
        each: sum(part(turn[each]) for turn in rounds) / sum(turn[each].seconds for turn in rounds)
        for each in (kind, "asleep")
    }
    return round(shares[kind] - shares["asleep"], 4)


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
        f"  {phase.kind:8s} {1e3 * phase.epoch:7.1f} ms an epoch, busy {phase.busy_cores:.2f} "
        f"cores, others {phase.others:.2f} cores{late}{paint}{share}",
        flush=True,
    )
    return phase


def table(results: Sequence[dict[str, Any]]) -> str:
    """The summary for people."""
    heads = ("backend", "window", "slow-down (target)", "rounds",
             "late p50/p95/p99/max ms (p99 target)", "150-call paint p50/p99/max ms",
             "window's thread runs / waits", "epoch ms: asleep / so")  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for result in results:
        for kind, found in result["summary"].items():
            slower = f"{found['slowdown']:.1%} ± {found['slowdown_error']:.1%}"
            late, paint = found["latency_ms"], found["paint_ms"]
            epochs = " / ".join(f"{each:.1f}" for each in found["epoch_ms"].values())
            lateness = "/".join(f"{late[name]:.1f}" for name in ("p50", "p95", "p99", "worst"))
            cells = (
                result["backend"],
                kind,
                f"{slower} ({found['slowdown_target']:.0%})",
                str(found["rounds"]),
                f"{lateness} ({found['latency_p99_target_ms']:.0f})",
                f"{paint['p50']:.1f}/{paint['p99']:.1f}/{paint['worst']:.1f}",
                f"{found['interface_share']:.1%} / {found['waited_share']:.1%}",
                epochs,
            )
            lines.append(f"| {' | '.join(cells)} |")
    for result in results:
        took = result["theme_switch_ms"]
        lines.append(
            f"{result['backend']}: a switch of theme takes {statistics.median(took):.0f} ms, "
            f"at most {max(took):.0f} ({TARGET_THEME_MS:.0f})"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure the backends asked for and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backends", default="cpu,gl", help="comma-separated: cpu, gl")
    parser.add_argument("--project", default="digits-cnn", help="a sample project")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1.2, help="of each stretch")
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
