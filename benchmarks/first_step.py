"""Seconds from a network that nobody has run to the end of its first training step.

Each figure comes from a process of its own. Our cache and the driver's lie in a folder that is
empty at first, and holds what the first process left there in the second.

    python -m benchmarks.first_step --backend gl
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks.timing import machine

TARGETS = {"W4": (5.0, 1.0), "W1": (10.0, 1.0)}
"""Seconds with an empty cache and with a full one."""
_BATCH = 32


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--backend", choices=("cpu", "gl"), default="gl")
    parser.add_argument("--works", default="W4,W1", help="those of " + ",".join(TARGETS))
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(json.dumps(first_step(options.child, options.backend)))
        return 0
    works = options.works.split(",")
    if not TARGETS.keys() >= set(works):
        parser.error(f"--works takes those of {','.join(TARGETS)}")
    print("\n".join(f"- {key}: {value}" for key, value in machine().items()))
    print("\n| work | cache | device open, s | to the end of the first step, s (target) "
          "| of it making samples and weights | device |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    for work in works:
        with tempfile.TemporaryDirectory() as folder:
            for name, target in zip(("empty", "full"), TARGETS[work], strict=True):
                found = _in_a_process(work, options.backend, folder)
                print(f"| {work} | {name} | {found['opened']:.2f} | {found['stepped']:.2f} "
                      f"({target:g}) | {found['given']:.2f} | {found['device']} |",
                      flush=True)  # fmt: skip
    return 0


def first_step(name: str, backend: str) -> dict[str, object]:
    """Open a device, compile a training program for it, and run one step."""
    from benchmarks.ours import Given, ready_to_train
    from benchmarks.workloads import WORKLOADS
    from studio.engine.train.devices import open_backend

    begun = time.perf_counter()
    with open_backend(backend) as opened:
        ready = time.perf_counter()
        work = WORKLOADS[name]
        given = Given.to(work, _BATCH)
        made = time.perf_counter()
        with ready_to_train(work, _BATCH, opened.backend, given=given) as (network, executable):
            executable.run(1)
            network.session.read("train/ring").result()
            done = time.perf_counter()
        return {
            "opened": ready - begun,
            "given": made - ready,
            "stepped": done - ready,
            "device": opened.backend.device,
        }


def _in_a_process(work: str, backend: str, folder: str) -> dict[str, float | str]:
    surroundings = {
        **os.environ,
        "GLASSBOX_CACHE_DIR": folder,
        "__GL_SHADER_DISK_CACHE": "1",
        "__GL_SHADER_DISK_CACHE_PATH": folder,
        "MESA_SHADER_CACHE_DIR": folder,
    }
    command = [sys.executable, "-m", "benchmarks.first_step", "--backend", backend, "--child", work]
    done = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=True)
    found: dict[str, float | str] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    raise SystemExit(main())
