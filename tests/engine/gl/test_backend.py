"""Sessions, executables, check mode, profiles and memory of the OpenGL backend."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import BackendError, NumericError
from studio.engine.core.tensor import BATCH, ROWS, Ref, Role, Tensor
from studio.engine.gl.backend import GlBackend
from studio.engine.isa.program import Program
from tests.engine.gl.gl_programs import Lines, run_once

pytestmark = pytest.mark.gl


def gathering() -> Program:
    """A program that gathers its own batches and counts its steps."""
    lines = Lines()
    build = lines.builder
    data = build.tensor("data/x", (ROWS, 3), DType.uint8, Role.DATA)
    order = build.tensor("train/order", (ROWS,), DType.int32, Role.DATA)
    step = build.tensor("train/step", (8,), DType.int32, Role.STEP)
    raw = build.tensor("raw", (BATCH, 3), DType.uint8)
    x = build.tensor("x", (BATCH, 3))
    scale = build.tensor("scale", (), role=Role.CONST, value=(0.5,))
    shift = build.tensor("shift", (3,), role=Role.CONST, value=(1.0, 2.0, 3.0))
    lines.add("data", "GATHER_BATCH", data=data, order=order, step=step, y=raw)
    lines.add("data", "NORMALIZE", x=raw, scale=scale, shift=shift, y=x)
    lines.add("metrics", "ADVANCE", x=x, step=step)
    return lines.program(x)


def test_device_is_named_and_software_said(backend: GlBackend, gl_renderer: str) -> None:
    assert backend.name == "gl"
    assert backend.device.startswith(gl_renderer)
    assert backend.device.endswith("(software)") == backend.info.is_software


def test_batches_are_gathered_in_order_and_wrap(backend: GlBackend) -> None:
    program = gathering()
    session = backend.open_session()
    by_name = program.tensors.named
    session.ensure([by_name("data/x"), by_name("train/order")], rows=5)
    data = np.arange(15, dtype=np.uint8).reshape(5, 3)
    order = np.array([4, 0, 3, 1, 2], np.int32)
    session.write("data/x", data)
    session.write("train/order", order)
    executable = backend.compile(program, session, 2)
    for begin in (0, 2, 4):
        assert executable.run() == 1
        rows = order[(begin + np.arange(2)) % 5]
        wanted = data[rows] * np.float32(0.5) + np.array([1, 2, 3], np.float32)
        found = executable.fetch(Ref(program.outputs[0])).result(60)
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(session.read("train/step").result(60)[:5], [3, 0, 6, 0, 3])
    executable.close()
    session.close()


def test_replaced_data_is_seen_by_a_recorded_step(backend: GlBackend) -> None:
    program = gathering()
    session = backend.open_session()
    tensors = [program.tensors.named(name) for name in ("data/x", "train/order")]
    session.ensure(tensors, rows=2)
    session.write("train/order", np.array([0, 1], np.int32))
    executable = backend.compile(program, session, 2)
    executable.run()
    session.ensure(tensors, rows=4)
    session.write("data/x", np.full((4, 3), 8, np.uint8))
    session.write("train/order", np.arange(4, dtype=np.int32))
    executable.run()
    found = executable.fetch(Ref(program.outputs[0])).result(60)
    np.testing.assert_array_equal(found, [[5.0, 6.0, 7.0]] * 2)
    executable.close()
    session.close()


def test_two_executables_share_a_session(backend: GlBackend) -> None:
    program = gathering()
    session = backend.open_session()
    session.ensure([program.tensors.named(n) for n in ("data/x", "train/order")], rows=5)
    full, last = (backend.compile(program, session, n) for n in (4, 1))
    full.run()
    last.run()
    assert session.read("train/step").result(60)[2] == 5
    for one in (full, last):
        one.close()
    session.close()


def test_partial_writes_and_every_dtype_survive_a_round_trip(backend: GlBackend) -> None:
    session = backend.open_session()
    for k, dtype in enumerate(DType):
        tensor = Tensor(k, f"t/{dtype.name}", (5, 3), dtype, Role.STATE)
        session.ensure([tensor])
        values = (np.arange(15).reshape(5, 3) % 7).astype(dtype.np)
        assert not session.read(tensor.name).result(60).any()
        session.write(tensor.name, values)
        session.write(tensor.name, values[:2], row=3)
        wanted = np.concatenate([values[:3], values[:2]])
        found = session.read(tensor.name).result(60)
        assert found.dtype == dtype.np
        np.testing.assert_array_equal(found, wanted)
    assert session.names() == tuple(f"t/{dtype.name}" for dtype in DType)
    session.close()


def test_tensors_copied_in_as_they_are_made_arrive_whole(backend: GlBackend) -> None:
    session = backend.open_session()
    tensors = [Tensor(k, f"t{k}", (k + 1, 3), role=Role.PARAM) for k in range(12)]
    session.ensure(tensors)
    session.write_all((t.name, np.full(t.shape, t.id, np.float32)) for t in tensors)
    for tensor in tensors:
        found = session.read(tensor.name).result(60)
        np.testing.assert_array_equal(found, np.full(tensor.shape, tensor.id, np.float32))
    wrong = [("t0", np.ones((1, 3), np.float32)), ("t1", np.ones((1, 3), np.float32))]
    with pytest.raises(BackendError, match=r"values must have shape \[2,3\]"):
        session.write_all(wrong)
    session.close()


def test_session_refuses_another_shape(backend: GlBackend) -> None:
    session = backend.open_session()
    session.ensure([Tensor(0, "w", (3,), role=Role.PARAM)])
    session.ensure([Tensor(0, "w", (3,), role=Role.PARAM)])
    with pytest.raises(BackendError, match=r"float32\[3\].*float32\[4\]"):
        session.ensure([Tensor(0, "w", (4,), role=Role.PARAM)])
    with pytest.raises(BackendError, match="no tensor 'v'"):
        session.read("v").result(60)
    with pytest.raises(BackendError, match="must be float32"):
        session.write("w", np.zeros(3))
    session.close()


def test_an_arena_that_others_have_used_begins_as_zeros(backend: GlBackend) -> None:
    lines = Lines()
    x, y = lines.input("x", (BATCH, 512)), lines.made("y", (BATCH, 512))
    lines.add("forward", "RELU", x=x, y=y)
    program = lines.program(y)
    session = backend.open_session()
    first = backend.compile(program, session, 64)
    first.feed(x.id, np.full((64, 512), np.nan, np.float32))
    assert np.isnan(first.fetch(x).result(60)).all()
    first.close()
    hits = backend.memory().hits
    second = backend.compile(program, session, 64)
    assert backend.memory().hits > hits
    assert not second.fetch(x).result(60).any()
    second.close()
    session.close()


def test_stop_ends_before_the_next_run(backend: GlBackend) -> None:
    lines = Lines()
    step = lines.kept("step", (8,), DType.int32)
    lines.add("update", "BEGIN_UPDATE", step=step)
    program = lines.program()
    session = backend.open_session()
    executable = backend.compile(program, session, 1)
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 4

    assert executable.run(10, stop) == 4
    executable.finish()
    assert session.read("step").result(60)[3] == 4
    executable.close()
    session.close()


def test_grid_longer_than_one_axis_reaches_every_element(backend: GlBackend) -> None:
    # 65535 groups of 64 elements end just before the last elements.
    count = 65535 * 64 + 77
    lines = Lines()
    x, y = lines.kept("x", (count,)), lines.kept("y", (count,))
    lines.add("forward", "TRANSPOSE", x=x, y=y, perm=(0,))
    program = lines.program()
    session = backend.open_session()
    executable = backend.compile(program, session, 1)
    values = np.arange(count, dtype=np.float32)
    session.write("x", values)
    executable.run()
    assert executable.planned[0][1][0].groups[1] > 1
    np.testing.assert_array_equal(session.read("y").result(60), values)
    executable.close()
    session.close()


def bad_program() -> tuple[Program, Ref]:
    lines = Lines()
    x = lines.input("x", (BATCH, 4))
    with lines.builder.owned_by("log_layer"):
        hidden, y = (lines.made(name, (BATCH, 4)) for name in ("hidden", "y"))
        lines.add("forward", "FUSE", kind="chain")
        lines.add("forward", "ADD_SCALAR", x=x, y=hidden, beta=1.0)
        lines.add("forward", "LOG", x=hidden, y=y)
        lines.add("forward", "END")
    return lines.program(y), y


def test_check_names_the_first_instruction_that_goes_wrong(backend: GlBackend) -> None:
    program, _ = bad_program()
    session = backend.open_session()
    executable = backend.compile(program, session, 2)
    executable.feed(program.inputs[0], np.ones((2, 4), np.float32))
    executable.check()
    values = np.ones((2, 4), np.float32)
    values[1, 2] = -1.0
    executable.feed(program.inputs[0], values)
    with pytest.raises(NumericError) as caught:
        executable.check()
    text = str(caught.value)
    assert "[LOG]" in text
    assert "layer log_layer" in text
    assert "-inf at [1, 2]" in text
    assert "hidden (finite)" in text
    assert "line 2" in text
    executable.close()
    session.close()


def test_profile_has_one_event_per_entry_and_names_its_clock(backend: GlBackend) -> None:
    program, _ = bad_program()
    session = backend.open_session()
    executable = backend.compile(program, session, 2)
    profile = executable.profile(3)
    assert [event.mnemonic for event in profile.events] == ["ADD_SCALAR+LOG"] * 3
    assert profile.clock == ("wall clock" if backend.info.is_software else "gpu timestamps")
    assert all(event.duration_us > 0 and event.owners == ("log_layer",) for event in profile.events)
    assert profile.events[0].flops == 16
    assert profile.wall_us >= max(event.duration_us for event in profile.events)
    executable.close()
    session.close()


def test_memory_counts_what_is_held_and_given_back(backend: GlBackend) -> None:
    before = backend.memory()
    session = backend.open_session()
    session.ensure([Tensor(0, "w", (1000, 1000), role=Role.PARAM)])
    held = backend.memory()
    assert held.persistent_bytes - before.persistent_bytes >= 4_000_000
    program, y = bad_program()
    executable = backend.compile(program, session, 64)
    assert backend.memory().transient_bytes > held.transient_bytes
    assert executable.fetch(y).result(60).shape == (64, 4)
    executable.close()
    session.close()
    after = backend.memory()
    assert after.persistent_bytes == before.persistent_bytes
    assert after.transient_bytes == before.transient_bytes
    assert after.pooled_bytes >= before.pooled_bytes


def test_register_and_closed_executable_are_refused(backend: GlBackend) -> None:
    lines = Lines()
    x = lines.input("x", (BATCH, 4))
    inner, y = lines.made("inner", (BATCH, 4), register=True), lines.made("y", (BATCH, 4))
    lines.add("forward", "FUSE", kind="chain")
    lines.add("forward", "ADD_SCALAR", x=x, y=inner, beta=1.0)
    lines.add("forward", "NEG", x=inner, y=y)
    lines.add("forward", "END")
    program = lines.program(y)
    session = backend.open_session()
    executable = backend.compile(program, session, 2)
    with pytest.raises(BackendError, match="fused kernel"):
        executable.fetch(inner).result(60)
    with pytest.raises(BackendError, match="only inputs are fed"):
        executable.feed(y.id, np.zeros((2, 4), np.float32))
    executable.close()
    executable.close()
    with pytest.raises(BackendError, match="closed"):
        executable.run()
    session.close()


@pytest.mark.slow
def test_nan_passes_through_activations(backend: GlBackend) -> None:
    names = ["RELU", "TANH", "SIGMOID", "ELU", "CLIPPED_RELU", "LEAKY_RELU", "SOFTPLUS", "GELU"]
    names += ["CLIP", "SIGN", "HARD_SIGMOID", "SELU", "MISH", "SWISH", "SQRT", "ABS", "EXP", "LOG"]
    for name in names:
        lines = Lines()
        x, y = lines.input("x", (BATCH, 5)), lines.made("y", (BATCH, 5))
        lines.add("forward", name, x=x, y=y)
        values = np.array([[1.0, np.nan, 2.0, np.nan, 0.5]], np.float32)
        (found,) = run_once(backend, lines.program(y), 1, y, x=values)
        assert np.isnan(found).tolist() == [[False, True, False, True, False]], name


@pytest.mark.slow
def test_same_input_gives_the_same_bits_twice(backend: GlBackend, rng: np.random.Generator) -> None:
    lines = Lines()
    p, t = lines.input("p", (BATCH, 300)), lines.input("t", (BATCH, 300))
    loss = lines.made("loss", ())
    lines.add("loss", "LOSS_MSE", p=p, t=t, y=loss)
    program = lines.program(loss)
    a, b = (rng.standard_normal((50, 300)).astype(np.float32) for _ in range(2))
    found = [run_once(backend, program, 50, loss, p=a, t=b)[0] for _ in range(2)]
    assert found[0].tobytes() == found[1].tobytes()
    np.testing.assert_allclose(found[0], ((a - b).astype(np.float64) ** 2).mean(), rtol=1e-6)
