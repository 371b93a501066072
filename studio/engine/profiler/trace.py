"""A profile as a Chrome trace, which Perfetto and chrome://tracing open."""

from __future__ import annotations

import json

from studio.engine.profiler.events import Profile

_PROCESS = 1
_KERNELS = 1
_STEPS = 2


def chrome_trace(profile: Profile) -> str:
    """The Trace Event Format: complete events in microseconds, kernels and steps on two tracks."""
    events: list[dict[str, object]] = [
        _name("process_name", 0, f"Glassbox on {profile.device}"),
        _name("thread_name", _KERNELS, f"kernels ({profile.clock})"),
        _name("thread_name", _STEPS, "steps"),
    ]
    for step in range(profile.steps):
        own = [e for e in profile.events if e.step == step]
        if own:
            begin = min(e.start_us for e in own)
            end = max(e.start_us + e.duration_us for e in own)
            events.append(_complete(f"step {step}", "step", _STEPS, begin, end - begin, {}))
    for e in sorted(profile.events, key=lambda e: e.start_us):
        facts = {
            "index": e.index,
            "section": e.section,
            "kernel": e.kernel,
            "layers": list(e.owners),
            "flops": e.flops,
            "bytes": e.traffic_bytes,
        }
        events.append(_complete(e.mnemonic, e.section, _KERNELS, e.start_us, e.duration_us, facts))
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}, indent=0)


def _name(kind: str, thread: int, name: str) -> dict[str, object]:
    return {"ph": "M", "pid": _PROCESS, "tid": thread, "name": kind, "args": {"name": name}}


def _complete(
    name: str, category: str, thread: int, start: float, length: float, facts: dict[str, object]
) -> dict[str, object]:
    return {
        "ph": "X",
        "pid": _PROCESS,
        "tid": thread,
        "name": name,
        "cat": category,
        "ts": start,
        "dur": length,
        "args": facts,
    }
