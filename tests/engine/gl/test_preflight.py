from __future__ import annotations

import subprocess
import sys

import pytest

from studio.engine.gl.device.preflight import (
    check_libraries,
    explain_failure,
    software_notice,
    software_renderer,
)


@pytest.mark.parametrize(
    ("renderer", "name"),
    [
        ("llvmpipe (LLVM 15.0.6, 256 bits)", "llvmpipe"),
        ("softpipe", "softpipe"),
        (
            "ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero) (0x0000C0DE)), SwiftShader)",
            "SwiftShader",
        ),
        ("GDI Generic", "GDI Generic"),
        ("D3D12 (Microsoft Basic Render Driver)", "Microsoft Basic Render Driver"),
        ("Software Rasterizer", "Mesa's software rasterizer"),
        ("Apple Software Renderer", "Apple Software Renderer"),
        ("NVIDIA H200/PCIe/SSE2", None),
        ("AMD Radeon RX 6600 (radeonsi, navi23, LLVM 15.0.6, DRM 3.49)", None),
        ("Mesa Intel(R) UHD Graphics 620 (KBL GT2)", None),
        ("D3D12 (NVIDIA GeForce RTX 3060)", None),
    ],
)
def test_software_renderers_are_told_from_hardware(renderer: str, name: str | None) -> None:
    assert software_renderer(renderer) == name
    assert (name or "") in software_notice(renderer)
    assert bool(software_notice(renderer)) == (name is not None)


def test_complete_linux_machine_passes() -> None:
    assert check_libraries("linux", lambda _: True).ok


@pytest.mark.parametrize(
    ("absent", "sentence", "package"),
    [
        ({"libEGL.so.1"}, "libEGL.so.1 is not installed", "libegl1"),
        ({"libGL.so.1"}, "libGL.so.1 is not installed", "libgl1"),
        ({"libGL.so.1", "libEGL.so.1"}, "libGL.so.1 and libEGL.so.1 are not installed", "libgl1"),
    ],
)
def test_missing_library_names_the_packages(absent: set[str], sentence: str, package: str) -> None:
    found = check_libraries("linux", lambda name: name not in absent)
    assert not found.ok
    assert found.problem.startswith(sentence)
    assert package in found.packages
    assert f"apt-get install --no-install-recommends {' '.join(found.packages)}" in found.hint


def test_macos_says_why_it_takes_the_cpu() -> None:
    found = check_libraries("darwin", lambda _: True)
    assert not found.ok
    assert "OpenGL 4.1" in found.problem
    assert "CPU" in found.problem
    assert not found.packages


def test_windows_without_opengl_is_named() -> None:
    assert check_libraries("win32", lambda _: True).ok
    assert "opengl32.dll" in check_libraries("win32", lambda _: False).problem


# The texts glcontext 3.1 and moderngl 5.13 raise, taken down from machines in that state.
@pytest.mark.parametrize(
    ("raised", "sentence", "package"),
    [
        ("libEGL.so not loaded", "library is not installed", "libegl1"),
        ("requested device index 0, but found 0 devices", "no EGL driver", "libegl-mesa0"),
        ("eglInitialize failed (0x3001)", "could not start", "libgl1-mesa-dri"),
        ("(standalone) XOpenDisplay: cannot open display", "no display", "libegl1"),
        ("Requested OpenGL version 430, got version 330", "OpenGL 3.3", None),
        ("requested device index 4, but found 2 devices", "GLCONTEXT_DEVICE_INDEX", None),
        ("something nobody saw before", "something nobody saw before", None),
        ("", "no reason given", None),
    ],
)
def test_loader_failures_become_one_sentence(
    raised: str, sentence: str, package: str | None
) -> None:
    found = explain_failure(raised)
    assert not found.ok
    assert sentence in found.problem
    assert "\n" not in found.problem
    assert "--backend cpu" in found.hint
    assert package is None or package in found.packages


def test_looking_loads_neither_moderngl_nor_qt() -> None:
    code = (
        "import sys\n"
        "from studio.engine.gl.device.preflight import check_libraries\n"
        "check_libraries()\n"
        "bad = {'moderngl', 'glcontext', 'PySide6'} & set(sys.modules)\n"
        "sys.exit(', '.join(bad) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
