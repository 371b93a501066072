"""Sessions and executables of the NumPy backend: what they keep, count and refuse."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

from studio.engine.compiler.target import Target
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import BackendError, NumericError
from studio.engine.core.tensor import BATCH, ROWS, Role, Tensor
from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.run.executable import CpuExecutable
from studio.engine.cpu.run.session import CpuSession
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.ops.arithmetic import Scale
from studio.engine.isa.ops.linear import Linear
from tests.engine.cpu.programs import dense, logarithm, mean_of, normal, ref, training


def opened(batch: int = 4) -> tuple[CpuBackend, CpuSession, CpuExecutable]:
    backend = CpuBackend()
    session = backend.open_session()
    return backend, session, backend.compile(dense(), session, batch)


def prepared(rows: int = 10) -> tuple[CpuSession, CpuExecutable]:
    """The training program over data of y = x·(1, -2, 3)."""
    backend = CpuBackend()
    session = backend.open_session()
    program = training()
    session.ensure([program.tensors.named(n) for n in ("data/x", "data/y", "train/order")], rows)
    executable = backend.compile(program, session, 4)
    x = normal(rows, 3)
    session.write("data/x", x)
    session.write("data/y", x @ np.array([[1.0], [-2.0], [3.0]], np.float32))
    session.write("train/order", np.arange(rows, dtype=np.int32))
    session.write("train/rates", np.full(4, 0.1, np.float32))
    return session, executable


def test_executables_of_one_session_share_parameters() -> None:
    backend, session, small = opened(4)
    large = backend.compile(dense(), session, 9)
    session.write("dense/kernel", np.ones((3, 2), np.float32))
    for executable in (small, large):
        x = np.abs(normal(executable.batch, 2))
        executable.feed(executable.program.inputs[0], x)
        executable.run()
        y = executable.fetch(
            ref(executable.program, executable.program.tensors[executable.program.outputs[0]].name)
        ).result()
        np.testing.assert_allclose(y, np.repeat(x.sum(1, keepdims=True), 3, 1), rtol=1e-6)


def test_training_by_the_step_block_reaches_the_solution() -> None:
    session, executable = prepared()
    assert executable.run(400) == 400
    np.testing.assert_allclose(session.read("w").result(), [[1.0, -2.0, 3.0]], atol=0.05)
    step = session.read("train/step").result()
    assert step[:5].tolist() == [400, 0, 1600, 400, 400]
    ring = session.read("train/ring").result()
    assert (
        ring[399 % 16, 0]
        == executable.fetch(
            ref(executable.program, executable.program.tensors[executable.program.outputs[0]].name)
        ).result()
    )


def test_the_same_work_gives_the_same_bits() -> None:
    weights = []
    for _ in range(2):
        session, executable = prepared()
        executable.run(20)
        weights.append(session.read("w").result())
    np.testing.assert_array_equal(weights[0], weights[1])


def test_replaced_data_is_seen_by_executables_bound_before() -> None:
    session, executable = prepared(10)
    program = executable.program
    executable.run(2)
    session.ensure([program.tensors.named(n) for n in ("data/x", "data/y", "train/order")], 6)
    session.write("data/x", np.zeros((6, 3), np.float32))
    session.write("data/y", np.full((6, 1), 2.0, np.float32))
    session.write("train/order", np.arange(6, dtype=np.int32))
    executable.run()
    loss = executable.fetch(program.tensors[program.outputs[0]].ref).result()
    assert loss == 4.0


@pytest.mark.slow
def test_a_step_makes_no_large_arrays() -> None:
    b = ProgramBuilder("wide", "infer")
    x = b.tensor("x", (BATCH, 512), role=Role.INPUT)
    w = b.tensor("w", (512, 512), role=Role.PARAM)
    (y,) = b.emit("forward", Linear, w=w, x=x)
    (y,) = b.emit("forward", Scale, x=y, alpha=0.5)
    backend = CpuBackend()
    executable = backend.compile(b.finish((x,), (y,)), backend.open_session(), 512)
    executable.run(2)
    gc.collect()
    tracemalloc.start()
    executable.run(5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * 1024


def test_memory_counts_go_up_and_come_back() -> None:
    backend, session, executable = opened()
    report = backend.memory()
    assert report.persistent_bytes == (6 + 3) * 4
    assert report.transient_bytes > 0
    assert report.buffers == 2
    executable.close()
    session.close()
    after = backend.memory()
    assert (after.persistent_bytes, after.transient_bytes, after.buffers) == (0, 0, 0)
    assert after.peak_bytes >= report.persistent_bytes + report.transient_bytes


@pytest.mark.slow
def test_a_backend_outlives_what_was_closed_without_keeping_it() -> None:
    backend, session, executable = opened()
    gone = [weakref.ref(session), weakref.ref(executable), weakref.ref(executable.program)]
    executable.close()
    session.close()
    del session, executable
    gc.collect()
    assert [each() for each in gone] == [None, None, None]
    backend.close()


def test_profile_names_section_kernel_and_cost() -> None:
    _, _, executable = opened()
    profile = executable.profile(3)
    assert profile.clock == "wall clock"
    assert profile.steps == 3
    assert [e.mnemonic for e in profile.events] == ["LINEAR", "RELU"] * 3
    first = profile.events[0]
    assert (first.section, first.index, first.owners) == ("forward", 0, ("dense",))
    assert first.flops == 2 * 4 * 3 * 2 + 4 * 3
    assert first.traffic_bytes == 4 * (6 + 3 + 8 + 12)
    assert sum(e.duration_us for e in profile.events) <= profile.wall_us


def test_check_names_line_layer_storage_and_element() -> None:
    backend = CpuBackend()
    program = logarithm()
    executable = backend.compile(program, backend.open_session(), 2)
    executable.feed(0, np.ones((2, 2), np.float32))
    executable.check()
    executable.feed(0, np.array([[1.0, 2.0], [0.0, 3.0]], np.float32))
    with pytest.raises(NumericError) as caught:
        executable.check()
    text = str(caught.value)
    for part in ("[LOG]", "line 1", "[1, 0]", "-inf", "layer log", "twice", "were finite"):
        assert part in text
    executable.feed(0, np.full((2, 2), np.nan, np.float32))
    with pytest.raises(NumericError, match="held NaN or infinity before"):
        executable.check()


def test_a_shared_storage_is_refused_and_an_output_is_not() -> None:
    backend = CpuBackend()
    b = ProgramBuilder("deep", "infer")
    x = b.tensor("x", (BATCH, 8), role=Role.INPUT)
    y = x
    for _ in range(6):
        (y,) = b.emit("forward", Scale, x=y, alpha=2.0, name="scaled")
    program = b.finish((x,), (y,))
    executable = backend.compile(program, backend.open_session(), 2)
    executable.feed(0, np.ones((2, 8), np.float32))
    executable.run()
    assert executable.fetch(y).result()[0, 0] == 64.0
    with pytest.raises(BackendError, match="another tensor"):
        executable.fetch(ref(program, "scaled")).result()
    with pytest.raises(BackendError, match="gradient"):
        executable.fetch(y.gradient).result()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.ones((4, 3), np.float32), "shape"),
        (np.ones((4, 2), np.float64), "float32"),
        (np.ones(8, np.float32), "shape"),
    ],
)
def test_a_feed_that_does_not_fit_is_refused(values: np.ndarray, words: str) -> None:
    _, _, executable = opened()
    with pytest.raises(BackendError, match=words):
        executable.feed(0, values)


def test_feeding_what_is_no_input_is_refused() -> None:
    _, _, executable = opened()
    with pytest.raises(BackendError, match="inputs are x"):
        executable.feed(1, np.ones((3, 2), np.float32))
    with pytest.raises(BackendError, match="not in the program"):
        executable.feed(99, np.ones((3, 2), np.float32))
    with pytest.raises(BackendError, match="not in the program"):
        executable.fetch(Tensor(99, "x", ()).ref).result()


def test_writes_by_row_fit_or_are_refused() -> None:
    _, session, _ = opened()
    session.write("dense/kernel", np.full((1, 2), 5.0, np.float32), row=2)
    assert session.read("dense/kernel").result()[2].tolist() == [5.0, 5.0]
    with pytest.raises(BackendError, match="rows 2 to 4"):
        session.write("dense/kernel", np.ones((2, 2), np.float32), row=2)
    with pytest.raises(BackendError, match="float32"):
        session.write("dense/kernel", np.ones((1, 2), np.int32), row=1)
    with pytest.raises(BackendError, match="no tensor 'nobody'"):
        session.write("nobody", np.ones(1, np.float32))
    with pytest.raises(BackendError, match="no tensor 'nobody'"):
        session.read("nobody").result()


def test_whole_tensors_fit_or_are_refused() -> None:
    _, session, _ = opened()
    wanted = np.arange(6, dtype=np.float32).reshape(3, 2)
    session.write_all([("dense/kernel", wanted)])
    assert session.read("dense/kernel").result().tolist() == wanted.tolist()
    with pytest.raises(BackendError, match=r"values must have shape \[3,2\]"):
        session.write_all([("dense/kernel", wanted[:2])])
    with pytest.raises(BackendError, match="no tensor 'nobody'"):
        session.write_all([("nobody", wanted)])


def test_a_tensor_of_another_shape_is_refused_but_data_is_replaced() -> None:
    _, session, _ = opened()
    with pytest.raises(BackendError, match=r"float32\[3,2\]"):
        session.ensure([Tensor(0, "dense/kernel", (2, 2), role=Role.PARAM)])
    data = Tensor(0, "data/x", (ROWS, 2), role=Role.DATA)
    with pytest.raises(BackendError, match="rows"):
        session.ensure([data])
    session.ensure([data], rows=3)
    session.ensure([data], rows=5)
    assert session.shape("data/x") == (5, 2)
    session.ensure([data.replace(dtype=DType.uint8)], rows=5)
    assert session.read("data/x").result().dtype == np.uint8


def test_a_program_over_data_that_is_not_there_is_refused() -> None:
    backend = CpuBackend()
    with pytest.raises(BackendError, match=r"session.ensure"):
        backend.compile(training(), backend.open_session(), 4)


@pytest.mark.parametrize("batch", [0, -1, True])
def test_a_batch_has_rows(batch: int) -> None:
    backend = CpuBackend()
    with pytest.raises(BackendError, match="at least one row"):
        backend.compile(dense(), backend.open_session(), batch)


def test_a_tensor_above_the_limit_is_refused_before_anything_is_made() -> None:
    backend = CpuBackend(Target("cpu", True, 1 << 10, 64))
    session = backend.open_session()
    with pytest.raises(BackendError, match=r"\[x\] a tensor may take at most 1024 bytes"):
        backend.compile(mean_of((BATCH, 1000)), session, 2)
    with pytest.raises(BackendError, match=r"\[data/x\].*\n.*shards"):
        session.ensure([Tensor(0, "data/x", (ROWS, 2), role=Role.DATA)], rows=1000)
    assert backend.memory().peak_bytes == 0


def test_closed_things_say_so() -> None:
    backend, session, executable = opened()
    executable.close()
    executable.close()
    with pytest.raises(BackendError, match="executable is closed"):
        executable.run()
    session.close()
    with pytest.raises(BackendError, match="session is closed"):
        session.write("dense/kernel", np.ones((3, 2), np.float32))
    backend.close()
    with pytest.raises(BackendError, match="backend is closed"):
        backend.open_session()


def test_constants_are_written_when_compiled() -> None:
    b = ProgramBuilder("constant", "infer")
    x = b.tensor("x", (BATCH, 2), role=Role.INPUT)
    w = b.tensor("w", (1, 2), role=Role.CONST, value=(2.0, -1.0))
    (y,) = b.emit("forward", Linear, w=w, x=x)
    backend = CpuBackend()
    executable = backend.compile(b.finish((x,), (y,)), backend.open_session(), 1)
    executable.feed(0, np.array([[3.0, 4.0]], np.float32))
    executable.run()
    assert executable.fetch(y).result().tolist() == [[2.0]]


def test_a_run_can_be_stepped_and_stopped() -> None:
    _, _, executable = opened()
    executable.feed(0, np.ones((4, 2), np.float32))
    at = executable.run_to(1)
    assert (at.step, at.index) == (0, 1)
    assert executable.run(1) == 1
    assert (executable.position.step, executable.position.index) == (1, 0)
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 4

    assert executable.run(100, stop) == 2
    executable.finish()
