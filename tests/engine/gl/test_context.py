from __future__ import annotations

import os
import sys

import pytest

from studio.engine.core.errors import BackendError
from studio.engine.gl.device import context as context_module
from studio.engine.gl.device.context import StandaloneProvider
from studio.engine.gl.device.engine_thread import EngineThread
from studio.engine.gl.device.preflight import Preflight


def test_missing_libraries_are_reported_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = Preflight(ok=False, problem="libEGL.so.1 is not installed", hint="sudo apt-get …")
    monkeypatch.setattr(context_module, "check_libraries", lambda: found)
    with pytest.raises(BackendError, match=r"libEGL\.so\.1 is not installed"):
        StandaloneProvider().create()


@pytest.mark.gl
def test_device_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("only EGL counts devices")
    monkeypatch.setenv("GLCONTEXT_DEVICE_INDEX", "77")
    with pytest.raises(BackendError, match="names a device that is not there"):
        EngineThread().start()


def test_device_index_from_the_environment_must_be_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(context_module, "check_libraries", lambda: Preflight(ok=True))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("GLCONTEXT_DEVICE_INDEX", "first")
    with pytest.raises(BackendError, match="whole number, got 'first'"):
        StandaloneProvider().create()


@pytest.mark.gl
def test_moderngl_can_draw_in_the_same_context() -> None:
    provider = StandaloneProvider()

    class Recording:
        def create(self) -> object:
            self.made = provider.create()
            return self.made

    recording = Recording()
    with EngineThread(recording) as engine:  # type: ignore[arg-type]

        def through_moderngl() -> bytes:
            shared = recording.made.moderngl_context()  # type: ignore[attr-defined]
            buffer = shared.buffer(b"abcd")
            data: bytes = buffer.read()
            buffer.release()
            return data

        assert engine.call(through_moderngl) == b"abcd"


@pytest.mark.gl
def test_two_engines_do_not_see_each_other() -> None:
    with EngineThread() as one, EngineThread() as two:
        assert one.gl.owner_thread != two.gl.owner_thread
        assert one.call(one.gl.create_program) == two.call(two.gl.create_program)


@pytest.mark.gl
def test_x11_display_serves_where_egl_has_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opened and released twice, since glcontext's own way off the thread crashes under GLX."""
    if not sys.platform.startswith("linux") or not os.environ.get("DISPLAY"):
        pytest.skip("needs an X11 display")

    def no_device(failures: list[str], _place: int) -> None:
        failures.append("requested device index 0, but found 0 devices")

    monkeypatch.setattr(context_module, "_search_egl", no_device)
    for _ in range(2):
        with EngineThread() as engine:
            assert engine.info.origin == "X11 display"
            engine.call(engine.gl.check, "opening")
