from __future__ import annotations

import json
from dataclasses import replace

import pytest

from studio.engine.core.machine_memory import host_memory
from studio.engine.gl.device.device import LARGEST_BUFFER_BYTES
from studio.engine.gl.device.engine_thread import EngineThread
from studio.engine.gl.device.preflight import software_renderer

pytestmark = pytest.mark.gl


def test_limits_meet_what_opengl_43_promises(engine: EngineThread) -> None:
    info = engine.info
    assert info.gl_version >= (4, 3)
    assert 2**24 <= info.max_storage_bytes <= LARGEST_BUFFER_BYTES < 2**31
    assert info.slice_alignment >= 256
    assert min(info.max_group_count) >= 65535
    assert info.max_group_size[0] >= 1024
    assert info.max_group_size[2] >= 64
    assert info.max_group_invocations >= 1024
    assert info.shared_memory_bytes >= 32768
    assert info.max_storage_blocks >= 8
    assert info.max_uniform_bytes >= 16384
    assert 0 < info.budget_bytes < 2**44


def test_info_says_whether_it_is_software(engine: EngineThread, gl_renderer: str) -> None:
    info = engine.info
    assert info.renderer == gl_renderer
    assert info.is_software == (software_renderer(gl_renderer) is not None)
    assert bool(info.notice) == info.is_software


def test_info_is_plain_json(engine: EngineThread) -> None:
    data = json.loads(json.dumps(engine.info.to_json()))
    assert data["gl_version"] == list(engine.info.gl_version)
    assert "GL_ARB_compute_shader" in data["extensions"]
    assert data["renderer"] in engine.info.fingerprint


def test_budget_never_exceeds_memory(engine: EngineThread) -> None:
    known = engine.info.memory_bytes or host_memory()
    assert engine.info.budget_bytes < known


def test_programs_are_kept_where_the_driver_does_not_do_it_better(engine: EngineThread) -> None:
    assert replace(engine.info, vendor="NVIDIA Corporation").keeps_programs
    assert not replace(engine.info, vendor="Mesa/X.org").keeps_programs
