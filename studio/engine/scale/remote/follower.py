"""A process that follows a training on a cluster into its run's folder, for a window.

Started as ``python -m studio.engine.scale.remote.follower``. Messages are lines of JSON: what is
wanted and then commands go in, events come out. When the input ends it leaves; the training goes
on where it is.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TextIO

from studio.engine.core.app_dirs import AppDirs
from studio.engine.core.errors import DataError, InternalError, StudioError
from studio.engine.plugins.loading import load_plugins
from studio.engine.scale.remote.messages import RUN, Failed, FollowRequest, Line, line_of
from studio.engine.scale.remote.training import ClusterTraining
from studio.engine.scale.sweep.worker_process import message_output, send_message
from studio.engine.train.project.project import SUFFIX, Project
from studio.engine.train.runs.run_folder import RunFolder

_LEAVE_SECONDS = 10.0


def main() -> None:
    """Follow one training."""
    out = message_output()
    lines: SimpleQueue[Line | None] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, lines), daemon=True).start()
    load_plugins(AppDirs.of_user().config)
    first = lines.get()
    if first is None:
        return
    try:
        _follow(FollowRequest.from_json(first["request"]), lines, out)
    except StudioError as error:
        send_message(out, **line_of(Failed(error)))
    except Exception as error:
        found = InternalError("training on the cluster failed", error, who="training")
        send_message(out, **line_of(Failed(found)))


def _follow(request: FollowRequest, lines: SimpleQueue[Line | None], out: TextIO) -> None:
    with ClusterTraining(request.address) as training:
        run = _begun(training, request)
        is_named = False
        for event in training.follow():
            if not is_named and training.is_level:
                # Who hears this reads the folder, so what was missed is there.
                is_named = True
                send_message(out, **{RUN: str(run.path)})
            if event is not None:
                send_message(out, **line_of(event))
                continue
            try:
                while (line := lines.get_nowait()) is not None:
                    training.tell(str(line.get("do")), line.get("value"))
            except Empty:
                continue
            return


def _begun(training: ClusterTraining, request: FollowRequest) -> RunFolder:
    runs, order = Path(request.runs), request.order
    if order is None:
        run = RunFolder(runs / request.run)
        training.again(run)
        return run
    project = Project.from_json(order.settings, runs.stem)
    project.path = Path(request.path) if request.path else None
    if order.run:
        run = RunFolder(runs / order.run)
        training.begin(project, run, order)
        return run
    training.require_workers(project)
    try:
        runs.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"runs cannot be recorded here: {error.strerror}", who=str(runs.parent)
        ) from error
    recorded = Project.from_json(order.settings, runs.stem)
    recorded.path = runs.with_suffix(SUFFIX)
    run = RunFolder.create(recorded)
    training.begin(project, run, order)
    return run


def _listen(lines: TextIO, found: SimpleQueue[Line | None]) -> None:
    for line in lines:
        found.put(json.loads(line))
    found.put(None)
    # Its window is gone: a cluster that does not answer must not keep it.
    watch = threading.Timer(_LEAVE_SECONDS, os._exit, (0,))
    watch.daemon = True
    watch.start()


if __name__ == "__main__":
    main()
