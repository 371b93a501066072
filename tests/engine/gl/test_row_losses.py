"""Groups of a dense layer and the losses of its rows equal what is written out in float64."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from studio.engine.compiler.passes.fuse_row_loss import fuse_row_loss
from studio.engine.compiler.target import GL, GL_SOFTWARE, Target
from studio.engine.compiler.verify import verify
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import NumericError
from studio.engine.core.tensor import BATCH, Ref
from studio.engine.cpu.backend import CpuBackend
from studio.engine.gl.backend import GlBackend
from studio.engine.gl.kernels.reference_devices import reference_caps
from studio.engine.gl.plan.planned_step import plan_step
from studio.engine.isa.program import Program
from studio.engine.runtime.live import StepClock
from studio.engine.runtime.live_places import NotThereError
from tests.engine.gl.gl_programs import Lines, begun, run_once
from tests.engine.gl.naive import Array, close, draw
from tests.engine.oracle.interpreter import Interpreter

pytestmark = pytest.mark.gl

ROWS, INNER = 37, 12
Made = tuple[Program, tuple[Ref, ...]]


@pytest.fixture(scope="module")
def backend() -> Iterator[GlBackend]:
    """A backend that plans for a GPU."""
    made = GlBackend(target=GL)
    yield made
    made.close()


def program(*arguments: Any, **options: Any) -> Made:
    """The same as ``plain``, with the losses of rows in the layer's group."""
    made, refs = plain(*arguments, **options)
    fused = fuse_row_loss(made, GL)
    verify(fused, after="fuse_row_loss")
    return fused, refs


def plain(
    classes: int,
    *,
    dense: bool = False,
    weights: bool = False,
    by_position: bool = False,
    positions: int = 0,
    dylann_sum: bool = False,
    source: str = "logits",
    seed: float = 1.0,
    seeded_by: str = "FILL",
    backward: bool = True,
    adds: bool = False,
    inner: int = INNER,
    tail: bool = False,
) -> Made:
    """Logits of a dense layer, their loss, and its gradients, to be fetched; a rectifier before."""
    lines = Lines()
    middle = (positions,) if positions else ()
    z, w = lines.input("z", (BATCH, *middle, inner)), lines.kept("w", (classes, inner))
    x = lines.made("x", (BATCH, *middle, inner))
    b = lines.kept("b", (classes,))
    t = (
        lines.input("t", (BATCH, *middle, classes))
        if dense
        else lines.input("t", (BATCH, *middle), DType.int32)
    )
    weighed = (BATCH, *middle) if by_position else (BATCH,)
    fields: dict[str, Any] = {"weights": lines.input("weights", weighed)} if weights else {}
    p, y = lines.made("p", (BATCH, *middle, classes)), lines.made("y", ())
    fields |= {"p": p, "t": t, "y": y, "source": source, "dylann_sum": dylann_sum}
    mnemonic = "LOSS_CE" if dense else "LOSS_SPARSE_CE"
    lines.add("forward", "RELU", x=z, y=x)
    lines.add("forward", "LINEAR", w=w, b=b, x=x, y=p)
    lines.add("loss", mnemonic, **fields)
    if not backward:
        return lines.program(y, p), (y, p)
    if seeded_by == "FILL":
        lines.add("backward", "FILL", y=y.gradient, number=seed)
    else:
        start = lines.input("start", ())
        lines.add("backward", "COPY", x=start, y=y.gradient)
    if adds:
        lines.add("backward", "FILL", y=p.gradient, number=0.5)
    lines.add("backward", f"GRADS_{mnemonic}", **fields, set=() if adds else ("p",))
    if tail:
        lines.add("backward", "FUSE", kind="epilogue")
    lines.add("backward", "GRADS_LINEAR", w=w, b=b, x=x, y=p, set=("w", "b", "x"))
    lines.add("backward", "GRADS_RELU", x=z, y=x, set=("x",))
    if tail:
        lines.add("backward", "END")
    found = [y, p]
    for ref, shape in ((p, (BATCH, *middle, classes)), (w, (classes, inner)),
                       (z, (BATCH, *middle, inner))):  # fmt: skip
        found.append(lines.made(f"slopes{len(found)}", shape))
        lines.add("backward", "COPY", x=ref.gradient, y=found[-1])
    return lines.program(*found), tuple(found)


def kernels(made: Program, rows: int = ROWS, *, blocks: int = 12, target: Target = GL) -> list[str]:
    """What a step dispatches on a device that offers so many storage buffers."""
    caps = replace(reference_caps(target), offered_blocks=blocks)
    step = plan_step(made, target, rows, 1, caps)
    return [one.source.name for one in step.dispatches]


def check(backend: GlBackend, made: Made, rows: int = ROWS, **options: Any) -> None:
    """Compares what a program fetches with sums of float64."""
    found_program, refs = made
    classes, inner = found_program.tensors.named("w").shape
    middle = found_program.tensors.named("x").shape[1:-1]
    z, w, b = draw(rows, *middle, inner), draw(classes, inner), draw(classes)
    x = np.maximum(z, 0.0)
    rng = np.random.default_rng(3)
    t: Array = rng.integers(0, classes, (rows, *middle))
    units = np.eye(classes)[t]
    if options.get("dense"):
        t = units = rng.random((rows, *middle, classes)) * (rng.random((rows, *middle, 1)) > 0.2)
    given = {"z": z, "w": w, "b": b, "t": t}
    shares = np.ones(rows)
    if options.get("weights"):
        given["weights"] = shares = rng.random(
            (rows, *middle)[: 2 if options.get("by_position") else 1]
        )
    typed = {
        name: values.astype(found_program.tensors.named(name).dtype.np)
        for name, values in given.items()
    }
    found = run_once(backend, found_program, rows, *refs, **typed)
    p = x @ w.T + b
    soft = np.exp(p - p.max(-1, keepdims=True))
    soft /= soft.sum(-1, keepdims=True)
    shares = shares if shares.ndim > 1 else shares.reshape(rows, *(1 for _ in middle))
    losses = -(units * np.log(soft)).sum(-1) * shares
    close(found[0], np.asarray(losses.mean()))
    close(found[1], p)
    if len(found) == 2:
        return
    share = losses.size / (rows if options.get("dylann_sum") else 1)
    slopes = (soft * units.sum(-1, keepdims=True) - units) * shares[..., None] / share
    slopes = slopes * options.get("seed", 1.0) + 0.5 * options.get("adds", False)
    close(found[2], slopes)
    close(found[3], np.tensordot(slopes.reshape(-1, classes).T, x.reshape(-1, inner), 1))
    close(found[4], (slopes @ w) * (z > 0))


@pytest.mark.slow
@pytest.mark.parametrize("classes", [1, 2, 7, 10, 16])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dense": True},
        {"weights": True},
        {"dense": True, "weights": True, "positions": 3},
        {"weights": True, "positions": 3, "by_position": True},
        {"dense": True, "weights": True, "positions": 4, "by_position": True, "dylann_sum": True},
        {"positions": 5, "dylann_sum": True},
        {"dylann_sum": True, "dense": True},
        {"seed": 0.25},
        {"backward": False},
        {"inner": 7},
        {"inner": 7, "tail": True},
        {"tail": True},
        {"tail": True, "positions": 2, "dense": True},
    ],
    ids=lambda options: "-".join(options) or "plain",
)
def test_losses_taken_along_and_their_gradients(
    backend: GlBackend, classes: int, options: dict[str, Any]
) -> None:
    made = program(classes, **options)
    check(backend, made, **options)
    names = kernels(made[0])
    assert [name for name in names if "loss" in name] == ["loss_mean"]
    assert names.count("linear_few") == 1
    assert "grads_linear_few_dx" not in names


@pytest.mark.parametrize("options", [{"seeded_by": "COPY"}, {"adds": True}])
def test_what_has_to_run_before_the_gradient_keeps_it_apart(
    backend: GlBackend, options: dict[str, Any]
) -> None:
    made = program(10, **options)
    names = kernels(made[0])
    assert "grads_loss_sparse_ce" in names
    assert "loss_sparse_ce" not in names
    if "adds" in options:
        check(backend, made, **options)


@pytest.mark.parametrize(
    ("blocks", "apart"),
    [
        (8, {"grads_linear_few_dx"}),
        (7, {"grads_loss_sparse_ce", "grads_linear_few_dx"}),
        (5, {"loss_sparse_ce", "grads_loss_sparse_ce", "grads_linear_few_dx"}),
    ],
)
def test_a_device_of_few_storage_buffers_runs_a_group_as_several_dispatches(
    blocks: int, apart: set[str]
) -> None:
    made, _ = program(10, tail=True)
    assert set(kernels(made, blocks=blocks)) - set(kernels(made)) == apart


@pytest.mark.slow
def test_many_rows_run_a_group_as_several_dispatches(backend: GlBackend) -> None:
    made = program(10, tail=True)
    assert "grads_linear_few_dx" not in kernels(made[0], 1024)
    between = kernels(made[0], 1025)
    assert between.count("linear_few") == 1
    assert [name for name in between if "dx" in name]
    assert not [name for name in between if "loss_sparse_ce" in name]
    check(backend, made, 1025)
    assert {"loss_sparse_ce", "grads_loss_sparse_ce"} <= set(kernels(made[0], 4097))


@pytest.mark.slow
def test_a_software_renderer_runs_a_group_part_by_part() -> None:
    backend = GlBackend(target=GL_SOFTWARE)
    for options in ({}, {"positions": 3, "by_position": True}):
        made = program(7, tail=True, weights=True, **options)
        names = kernels(made[0], target=GL_SOFTWARE)
        assert {"loss_sparse_ce", "grads_loss_sparse_ce"} <= set(names)
        check(backend, made, weights=True, **options)
    backend.close()


@pytest.mark.slow
def test_the_cpu_runs_a_group_part_by_part(backend: GlBackend) -> None:
    made, refs = program(7, tail=True, dense=True)
    rng = np.random.default_rng(5)
    given = {"z": draw(ROWS, INNER), "w": draw(7, INNER), "b": draw(7), "t": rng.random((ROWS, 7))}
    typed = {name: values.astype(np.float32) for name, values in given.items()}
    cpu = CpuBackend()
    for mine, other in zip(
        run_once(backend, made, ROWS, *refs, **typed),
        run_once(cpu, made, ROWS, *refs, **typed),
        strict=True,
    ):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)
    cpu.close()


@pytest.mark.slow
def test_a_class_outside_the_row_gives_nan(backend: GlBackend) -> None:
    made, refs = program(4)
    t = np.arange(ROWS, dtype=np.int32) % 4
    t[[5, 9]] = 4, -1
    x, w, b = (draw(*s).astype(np.float32) for s in ((ROWS, INNER), (4, INNER), (4,)))
    loss, _, slopes, *_ = run_once(backend, made, ROWS, *refs, z=x, w=w, b=b, t=t)
    assert np.isnan(loss)
    assert sorted(np.flatnonzero(np.isnan(slopes).all(1))) == [5, 9]
    assert np.isnan(slopes).sum() == 8


@pytest.mark.slow
def test_infinite_logits_pass_as_they_do_apart(backend: GlBackend) -> None:
    made, refs = program(4)
    x, w, b = (draw(*s).astype(np.float32) for s in ((ROWS, INNER), (4, INNER), (4,)))
    x[3], x[7], x[11] = np.nan, 1e30, -1e30
    given = {"z": x, "w": w, "b": b, "t": np.arange(ROWS, dtype=np.int32) % 4}
    found = run_once(backend, made, ROWS, *refs, **given)
    apart = run_once(backend, plain(4)[0], ROWS, *refs, **given)
    for one, other in zip(found, apart, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-7)


def deep(classes: int = 4) -> Program:
    """Two layers of which the first one's sums are dead when the second begins."""
    lines = Lines()
    z, w0, w = (
        lines.input("z", (BATCH, INNER)),
        lines.kept("w0", (INNER, INNER)),
        lines.kept("w", (classes, INNER)),
    )
    b0, b = lines.kept("b0", (INNER,)), lines.kept("b", (classes,))
    t = lines.input("t", (BATCH,), DType.int32)
    h, x = lines.made("h", (BATCH, INNER)), lines.made("x", (BATCH, INNER))
    p, y = lines.made("p", (BATCH, classes)), lines.made("y", ())
    ends = {"p": p, "t": t, "y": y, "source": "logits", "dylann_sum": False}
    lines.add("forward", "LINEAR", w=w0, b=b0, x=z, y=h)
    lines.add("forward", "TANH", x=h, y=x)
    lines.add("forward", "LINEAR", w=w, b=b, x=x, y=p)
    lines.add("loss", "LOSS_SPARSE_CE", **ends)
    lines.add("backward", "FILL", y=y.gradient, number=1.0)
    lines.add("backward", "GRADS_LOSS_SPARSE_CE", **ends, set=("p",))
    lines.add("backward", "GRADS_LINEAR", w=w, b=b, x=x, y=p, set=("w", "b", "x"))
    lines.add("backward", "GRADS_TANH", x=h, y=x, set=("x",))
    lines.add("backward", "GRADS_LINEAR", w=w0, b=b0, x=z, y=h, set=("w", "b"), skip=("x",))
    kept = lines.made("kept", (INNER, INNER))
    lines.add("backward", "COPY", x=w0.gradient, y=kept)
    return lines.program(y, kept)


def seen(backend: GlBackend, made: Program) -> dict[tuple[str, bool, int], np.ndarray | None]:
    """Every tensor behind every instruction; None where it is said not to be there."""
    values = {"z": draw(ROWS, INNER), "w0": draw(INNER, INNER), "b0": draw(INNER)}
    values |= {"w": draw(4, INNER), "b": draw(4), "t": np.arange(ROWS) % 4}
    session, executable = begun(backend, made, values, ROWS)
    found: dict[tuple[str, bool, int], np.ndarray | None] = {}
    for name in ("h", "x", "p", "y"):
        for grad in (False, True):
            for index in range(len(made)):
                key = name, grad, index
                tap = session.tap(name, grad=grad, after=index)
                try:
                    executable.attach(tap, StepClock())
                except NotThereError:
                    found[key] = None
                    continue
                tap.request()
                executable.run()
                snapshot = tap.take()
                assert snapshot is not None
                found[key] = snapshot.array()
                snapshot.release()
                executable.detach(tap)
    executable.close()
    session.close()
    return found


@pytest.mark.slow
def test_what_is_seen_behind_a_line_is_what_the_listing_says(backend: GlBackend) -> None:
    made = fuse_row_loss(deep(), GL)
    found = seen(backend, made)
    end = next(k for k, ins in enumerate(made) if ins.mnemonic == "END")
    expected = interpreted(made)
    for name, grad in (("p", True), ("x", True), ("y", False)):
        assert any(found[name, grad, k] is not None for k in range(end + 2))
    for (name, grad, index), value in found.items():
        if value is not None:
            np.testing.assert_allclose(
                value, expected[name, grad], rtol=1e-4, atol=1e-5, err_msg=f"{name} {grad} {index}"
            )


def interpreted(made: Program) -> dict[tuple[str, bool], np.ndarray]:
    """What every tensor holds, by the reference."""
    values = {"z": draw(ROWS, INNER), "w0": draw(INNER, INNER), "b0": draw(INNER)}
    values |= {"w": draw(4, INNER), "b": draw(4), "t": np.arange(ROWS) % 4}
    machine = Interpreter(made, ROWS)
    machine.run(values)
    names = ("h", "x", "p", "y")
    return {
        (name, grad): machine.named(name, grad=grad) for name in names for grad in (False, True)
    }


@pytest.mark.slow
def test_check_mode_stops_at_the_line_of_the_group(backend: GlBackend) -> None:
    made = fuse_row_loss(deep(), GL)
    values = {"z": draw(ROWS, INNER), "w0": draw(INNER, INNER), "b0": draw(INNER)}
    values |= {"w": draw(4, INNER), "b": draw(4), "t": np.arange(ROWS) % 4}
    session, executable = begun(backend, made, values, ROWS)
    expected = interpreted(made)
    kept = [Ref(made.tensors.named(name).id, grad) for name, grad in expected]
    for (key, wanted), ref in zip(expected.items(), kept, strict=True):
        found = executable.check([ref])[ref]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=str(key))
    executable.feed(made.tensors.named("t").id, np.full(ROWS, 4, np.int32))
    with pytest.raises(NumericError) as stopped:
        executable.check()
    assert "ROW_SPARSE_CE" in str(stopped.value)
    executable.close()
    session.close()


@pytest.mark.slow
def test_a_profile_has_the_group_as_one_line(backend: GlBackend) -> None:
    made = fuse_row_loss(deep(), GL)
    values = {"z": draw(ROWS, INNER), "w0": draw(INNER, INNER), "b0": draw(INNER)}
    values |= {"w": draw(4, INNER), "b": draw(4), "t": np.arange(ROWS) % 4}
    session, executable = begun(backend, made, values, ROWS)
    begin = next(k for k, ins in enumerate(made) if ins.mnemonic == "FUSE")
    (event,) = (one for one in executable.profile().events if one.index == begin)
    parts = [ins for ins in list(made)[begin + 1 : begin + 5] if ins.mnemonic != "END"]
    assert event.mnemonic == "+".join(ins.mnemonic for ins in parts)
    assert event.flops == sum(ins.flops(made.bound(ROWS)) for ins in parts)
    # The logits and their gradient are stored; what follows has both at hand.
    stored = ROWS * (4 + 4 + 1 + INNER)
    read = 4 * INNER + 4 + ROWS * INNER + ROWS + 1
    assert event.traffic_bytes == 4 * (stored + read)
    executable.close()
    session.close()
