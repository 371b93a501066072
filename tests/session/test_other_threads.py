"""What comes to the window's thread past the tasks is known, and lands in no other document."""

from __future__ import annotations

import ast

import pytest

from tests.session.window_code import calls

OTHER_THREADS = {
    "widgets/event_loop/watchdog.py:start": "looks at the window's thread, answers nothing",
    "session/core/tasks.py:start": "the tasks themselves",
    "session/live/scheduler.py:add": "its views are closed when the document is left",
    "session/safety/recovery.py:ask": "brings journals to the disk, answers nothing",
    "session/sweeps/process.py:__init__": "a sweep's process, which is stopped with its document",
}
POSTED = {
    "session/live/tensors.py:_told": "a closed view gives the picture back",
    "session/live/tensors.py:_keep_later": "asked for a training that is followed no more",
    "session/live/scheduler.py:serve": "says that something is due, brings nothing",
    "session/notices/logbook.py:add": "the log is of the session",
    "session/profiling/profiling.py:_begin_sampling": "of a training that is followed no more",
    "session/core/tasks.py:_run": "the tasks themselves",
    "session/training/device.py:_give_back": "gives the context back",
    "session/training/events.py:ask": "closed with its session",
    "session/training/session.py:begin": "of a session that is left",
    "session/training/session.py:step": "of a session that is left",
    "session/training/session.py:_control_changed": "of a session that is left",
    "session/training/session.py:_done": "of a session that is left",
    "ui/shell/start/failures.py:caught": "what the window failed with is told",
    "ui/shell/start/failures.py:_say": "what the window failed with is told",
    "ui/shell/files/leaving.py:_sweep_changed": "on the window's thread: leaves the document",
    "ui/shell/files/leaving.py:_export_changed": "on the window's thread: leaves the document",
    "ui/shell/files/leaving.py:_state_changed": "on the window's thread: leaves the document",
}
"""What comes to the window's thread past the tasks, and why it lands in no other document."""


@pytest.mark.slow
def test_nothing_else_comes_from_another_thread_unknown() -> None:
    """What is new here goes through a task, or says why it cannot land in another document."""
    threads, posted = set(), set()
    for site, call in calls():
        made = call.func
        name = made.attr if isinstance(made, ast.Attribute) else getattr(made, "id", "")
        if name in ("Thread", "ThreadPoolExecutor", "QThread", "QRunnable", "Process", "Timer"):
            threads.add(site)
        owner = made.value if isinstance(made, ast.Attribute) else None
        holder = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
        if name == "post" and holder.strip("_") == "scheduler":
            posted.add(site)
    assert threads == set(OTHER_THREADS)
    assert posted == set(POSTED)
