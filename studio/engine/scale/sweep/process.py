"""A worker of a sweep: a process that trains the trials it is handed, one after another.

Started as ``python -m studio.engine.scale.sweep.process``. Messages are lines of JSON: jobs and
answers come in on standard input, reports and outcomes go out on standard output. When the input
ends, its owner is gone, and so is it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping
from queue import SimpleQueue
from typing import TextIO

from studio.engine.core.app_dirs import AppDirs
from studio.engine.plugins.loading import load_plugins
from studio.engine.scale.sweep.trial import Job, run_trial

_OWNER_GONE = 3


def main() -> None:
    """Serve until the input ends."""
    # What a library prints must not be taken for a message.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    jobs: SimpleQueue[Mapping[str, object]] = SimpleQueue()
    answers: SimpleQueue[bool] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, jobs, answers), daemon=True).start()
    load_plugins(AppDirs.of_user().config)
    while True:
        job = Job.from_json(jobs.get())

        def report(epochs: int, value: float, asks: bool) -> bool:
            _send(out, report=[epochs, value, asks])
            return answers.get() if asks else True

        outcome = run_trial(job, report)
        _send(out, done=outcome.to_json())


def _listen(
    lines: TextIO, jobs: SimpleQueue[Mapping[str, object]], answers: SimpleQueue[bool]
) -> None:
    for line in lines:
        found = json.loads(line)
        if "job" in found:
            jobs.put(found["job"])
        else:
            answers.put(bool(found["go_on"]))
    # Not at the next step or epoch: what it makes from now on has no owner.
    os._exit(_OWNER_GONE)


def _send(out: TextIO, **fields: object) -> None:
    try:
        out.write(json.dumps(fields) + "\n")
        out.flush()
    except OSError:
        os._exit(_OWNER_GONE)


if __name__ == "__main__":
    main()
