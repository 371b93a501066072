"""Prints the kernels of programs when its parent asks: a child of `tools.replay`.

    PYTHONPATH=TREE python -P tools/replay_process.py TREE

Started as a file, so that ``PYTHONPATH`` may name another tree, whose ``studio`` and ``benchmarks``
are then used. Every line of its output is JSON with ``error``, or with ``names`` of all it can
print first, then with the ``text`` of each name that is a line of its input.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TARGETS = ("cpu", "gl-hardware", "gl-software")
MODES = ("train", "evaluate", "infer")


def main() -> int:
    """Answer until the input ends."""
    # What libraries print must not stand among the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def give(key: str, make: Callable[..., object], *words: str) -> None:
        try:
            answer = {key: make(*words)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    give("names", lambda tree: sorted(names(Path(tree))), sys.argv[1])
    for line in sys.stdin:
        give("text", text_of, *line.split())
    return 0


def names(tree: Path) -> Iterator[str]:
    """``WORK MODE TARGET`` of everything there is: samples and the workloads of the benchmarks.

    ImportError where a package is another tree's, as one that is installed would be.
    """
    import studio
    from benchmarks import workloads
    from benchmarks.workloads import WORKLOADS
    from studio.samples import sample_names

    for module in (studio, workloads):
        if not Path(module.__file__ or "").resolve().is_relative_to(tree.resolve()):
            raise ImportError(f"the folder holds no {module.__name__.partition('.')[0]}")
    for target in TARGETS:
        for work in WORKLOADS.values():
            yield f"{work.id} {'train' if work.optimizer else 'infer'} {target}"
        for sample in sample_names():
            yield from (f"{sample} {mode} {target}" for mode in MODES)


def text_of(work: str, mode: str, target: str) -> str:
    """What ``compile --kernels`` prints, with the text of shaders where there are any."""
    from benchmarks.workloads import WORKLOADS

    if work in WORKLOADS:
        return workload_text(work, mode, target)
    from studio.cli.app import main as glassbox
    from studio.samples import sample_root

    words = ["compile", str(sample_root() / work), "--kernels", "--mode", mode, "--target", target]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = glassbox([*words, *(["--source"] if target != "cpu" else [])])
    if code:
        raise RuntimeError(f"glassbox {' '.join(words)} ended with {code}")
    # The command names the file it was given nowhere, so texts of two trees can be compared.
    return out.getvalue()


def workload_text(work: str, mode: str, target: str) -> str:
    """The same for a workload of the benchmarks, in the first of its batch lengths."""
    from benchmarks.workloads import WORKLOADS, data
    from studio.engine.compiler.target import TARGETS as KINDS

    # It has these in trees of any age, wherever they are defined.
    ours: Any = importlib.import_module("benchmarks.ours")
    compiling: Any = importlib.import_module("studio.cli.commands.compiling")
    known, kind = WORKLOADS[work], KINDS[target]
    batch = (known.batches_cpu if target == "cpu" else known.batches_gpu)[0]
    x, y = data(known, batch)
    task = ours.task_of(known, batch, ours.Samples((x,), (y,)))
    program = compiling.Programs(task).compile(mode, target=kind)
    plan = compiling.Memory.of(program, task, kind).plan
    return str(compiling.KernelListing.of(program, task, kind, plan).text(source=target != "cpu"))


if __name__ == "__main__":
    raise SystemExit(main())
