"""Which device is opened, and the sentence that says why."""

from __future__ import annotations

import pytest

from studio.engine.core.errors import BackendError, ParameterError
from studio.engine.gl.device.preflight import Preflight
from studio.engine.train import devices
from studio.engine.train.devices import open_backend


def test_the_cpu_is_there_when_asked_for() -> None:
    with open_backend("cpu") as opened:
        assert opened.backend.name == "cpu"
        assert opened.why == "training on the CPU: as chosen"


def test_another_word_is_refused() -> None:
    with pytest.raises(ParameterError, match="expected one of auto, gl, cpu, got 'cuda'"):
        open_backend("cuda")


def test_auto_takes_the_cpu_where_opengl_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Preflight(ok=False, problem="libGL.so.1 is not installed", hint="install it")
    monkeypatch.setattr("studio.engine.gl.device.preflight.check_libraries", lambda: missing)
    with open_backend("auto") as opened:
        assert opened.backend.name == "cpu"
        assert opened.why == "training on the CPU: libGL.so.1 is not installed"
    with pytest.raises(BackendError, match="not installed") as caught:
        open_backend("gl")
    assert caught.value.hint == "install it"


@pytest.mark.gl
def test_software_opengl_is_used_when_asked_for_and_left_by_auto(gl_renderer: str) -> None:
    if "llvmpipe" not in gl_renderer:
        pytest.skip("this is about software renderers")
    with open_backend("gl") as opened:
        assert opened.backend.name == "gl"
        assert "software" in opened.why
    with open_backend("auto") as opened:
        assert opened.backend.name == "cpu"
        assert "llvmpipe" in opened.why


class Pretended:
    """An OpenGL backend on hardware, as far as the choice is concerned."""

    name = "gl"
    device = "Fast Card 9000"

    def close(self) -> None:
        """Nothing to release."""


def test_auto_takes_hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_open_gl", lambda *_: (Pretended(), ""))
    opened = open_backend("auto")
    assert opened.backend.name == "gl"
    assert opened.why == "training on Fast Card 9000 with OpenGL"
