from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time

import pytest

from studio.engine.core.errors import BackendError
from studio.engine.gl.device.engine_thread import EngineThread
from studio.engine.gl.device.entry_points import ContextLostError

pytestmark = pytest.mark.gl


def test_all_work_runs_on_one_thread_in_order(engine: EngineThread) -> None:
    seen: list[tuple[int, int]] = []
    futures = [
        engine.submit(lambda i=i: seen.append((i, threading.get_ident()))) for i in range(50)
    ]
    for future in futures:
        future.result()
    assert [index for index, _ in seen] == list(range(50))
    owners = {owner for _, owner in seen}
    assert owners == {engine.gl.owner_thread}
    assert threading.get_ident() not in owners


def test_call_from_the_thread_itself_is_direct(engine: EngineThread) -> None:
    assert engine.call(lambda: engine.call(lambda: 7)) == 7
    assert not engine.on_thread()
    assert engine.call(engine.on_thread)


def test_arguments_and_errors_are_carried_over(engine: EngineThread) -> None:
    assert engine.call(divmod, 17, 5) == (3, 2)
    with pytest.raises(ZeroDivisionError):
        engine.call(divmod, 1, 0)
    assert engine.call(lambda: "still alive") == "still alive"


def test_driver_errors_become_backend_errors(engine: EngineThread) -> None:
    def bad_bind() -> None:
        engine.gl.bind_buffer(0x1234, 0)
        engine.gl.check("binding nonsense")

    with pytest.raises(BackendError, match=r"GL_INVALID_ENUM while binding nonsense"):
        engine.call(bad_bind)
    engine.call(engine.gl.check, "looking again")


def test_calls_off_the_thread_are_caught(engine: EngineThread) -> None:
    with pytest.raises(RuntimeError, match="outside the engine thread"):
        engine.gl.check_thread()


def test_close_releases_in_reverse_joins_and_refuses_more_work() -> None:
    order: list[str] = []
    before = set(threading.enumerate())
    with EngineThread() as engine:
        engine.on_close(lambda: order.append("first"))
        engine.on_close(lambda: order.append("second"))
        assert engine.is_alive
        (thread,) = set(threading.enumerate()) - before
    assert order == ["second", "first"]
    assert not thread.is_alive()
    assert not engine.is_alive
    with pytest.raises(BackendError, match="has been closed"):
        engine.call(lambda: 1)
    engine.close()


def test_close_wakes_long_work_and_refuses_what_waits_behind_it() -> None:
    engine = EngineThread().start()
    begun = threading.Event()

    def long_work() -> str:
        begun.set()
        assert engine.stopping.wait(30)
        return "heard"

    running = engine.submit(long_work)
    waiting = engine.submit(lambda: "never")
    begun.wait(30)
    engine.close()
    assert running.result(0) == "heard"
    assert isinstance(waiting.exception(0), BackendError)


def test_lost_context_refuses_further_work_by_name() -> None:
    def lose() -> None:
        raise ContextLostError("the graphics driver dropped the context", who="gl")

    with EngineThread() as engine:
        with pytest.raises(ContextLostError):
            engine.call(lose)
        assert not engine.is_alive
        with pytest.raises(ContextLostError, match="dropped the context"):
            engine.call(lambda: 1)


class _NoContext:
    def create(self) -> object:
        raise BackendError("there is no device", who="gl")


def test_context_that_does_not_open_is_reported_and_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    with pytest.raises(BackendError, match="there is no device"):
        EngineThread(_NoContext()).start()  # type: ignore[arg-type]
    assert set(threading.enumerate()) == before


@pytest.mark.slow
def test_forgotten_engine_is_closed_when_collected() -> None:
    before = set(threading.enumerate())
    engine = EngineThread().start()
    (thread,) = set(threading.enumerate()) - before
    del engine
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()


def test_interpreter_ends_cleanly_with_an_engine_left_open() -> None:
    code = (
        "from studio.engine.gl.device.engine_thread import EngineThread\n"
        "engine = EngineThread().start()\n"
        "engine.submit(engine.stopping.wait, 60)\n"
    )
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", code], capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert time.monotonic() - begun < 55
