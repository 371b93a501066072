"""Whole lowered programs on the CPU backend against plain NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from studio.engine.autodiff.differentiate import differentiate
from studio.engine.compiler.lower import lower
from studio.engine.compiler.lower_augment import Shift, Standardize
from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.core.dtypes import DType
from studio.engine.core.philox import stream_of, uniform
from studio.engine.core.tensor import Ref, Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.run.session import CpuSession
from studio.engine.isa.program import Program
from studio.engine.layers.catalog import layer_class
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.initializers import initial_values
from studio.engine.optim.emit_updates import emit_updates
from studio.engine.optim.optimizers import SGD
from tests.engine.compiler.sample_graphs import add

Array = npt.NDArray[np.float64]

ROWS, BATCH, CLASSES, RATE, SEED = 12, 4, 3, 0.5, 9
SPEC = DataSpec(
    (Source((2, 2, 1), DType.uint8, (0.125,), (-1.0,)),),
    (Source((), DType.int32, classes=CLASSES),),
    class_weights=((1.0, 2.0, 0.5),),
)


def network() -> LayerGraph:
    graph = LayerGraph("net")
    x = add(graph, "Flatten", graph.add(layer_class("Input")((2, 2, 1))))
    graph.outputs = (
        add(graph, "Dense", x, CLASSES, "softmax", kernel_regularizer="l2(0.01)", name="out"),
    )
    return graph


def data() -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 17, (ROWS, 2, 2, 1)).astype(float)
    return x, rng.integers(0, CLASSES, ROWS).astype(float), rng.permutation(ROWS).astype(float)


def fill(session: CpuSession, program: Program, prefix: str) -> None:
    """Data set, order, step block and parameters."""
    x, y, order = data()
    arrays = "data" if prefix == "train" else "eval"
    session.write(f"{arrays}/x", x.astype(np.uint8))
    session.write(f"{arrays}/y", y.astype(np.int32))
    session.write(f"{prefix}/order", order.astype(np.int32))
    block = np.zeros(8, np.int32)
    block[5] = SEED
    session.write(f"{prefix}/step", block)
    for tensor in program.of_role(Role.PARAM):
        session.write(tensor.name, initial_values(tensor, SEED))
    if program.tensors.has_name("train/rates"):
        session.write("train/rates", np.full(256, RATE, np.float32))


def open_with_rows(program: Program, prefix: str) -> tuple[CpuBackend, CpuSession]:
    backend = CpuBackend()
    session = backend.open_session()
    session.ensure([t for t in program.tensors.values() if t.role.persistent], ROWS)
    fill(session, program, prefix)
    return backend, session


def naive_step(
    w: Array, b: Array, x: Array, y: npt.NDArray[np.int64], weights: Array
) -> tuple[float, float, Array, Array]:
    """Loss, accuracy and new parameters of one step, written out."""
    z = (x / 8.0 - 1.0).reshape(len(x), -1)
    logits = z @ w.T + b
    shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    factor = weights[y]
    loss = (-np.log(shares[np.arange(len(y)), y]) * factor).mean() + 0.01 * (w**2).sum()
    hits = (shares.argmax(1) == y).mean()
    d = (shares - np.eye(CLASSES)[y]) * factor[:, None] / len(y)
    return loss, hits, w - RATE * (d.T @ z + 0.02 * w), b - RATE * d.sum(0)


def test_a_resident_epoch_is_what_numpy_computes() -> None:
    program = lower(network(), "train", loss="sparse_categorical_crossentropy",
                    metrics=["accuracy"], data=SPEC)  # fmt: skip
    kernel = program.tensors.named("out/kernel")
    program = emit_updates(differentiate(program), SGD(RATE))
    backend, session = open_with_rows(program, "train")
    executable = backend.compile(program, session, BATCH)
    steps = 2 * ROWS // BATCH
    executable.run(steps)
    ring = session.read("train/ring").result()[:steps]
    w, b = initial_values(kernel, SEED).astype(float), np.zeros(CLASSES)
    x, y, order = data()
    for step in range(steps):
        rows = order.astype(int)[np.arange(step * BATCH, (step + 1) * BATCH) % ROWS]
        loss, hits, w, b = naive_step(
            w, b, x[rows], y[rows].astype(int), np.array(SPEC.class_weights[0])
        )
        np.testing.assert_allclose(ring[step], [loss, hits], rtol=2e-5)
    np.testing.assert_allclose(session.read("out/kernel").result(), w, rtol=1e-4, atol=1e-5)
    block = session.read("train/step").result()
    assert block[:5].tolist() == [steps, 0, steps * BATCH, steps, steps]
    backend.close()


def test_evaluation_reads_trained_parameters_and_takes_no_class_weights() -> None:
    program = lower(network(), "evaluate", loss="sparse_categorical_crossentropy",
                    metrics=["accuracy"], data=SPEC)  # fmt: skip
    backend, session = open_with_rows(program, "eval")
    executable = backend.compile(program, session, ROWS)
    executable.run()
    w = initial_values(program.tensors.named("out/kernel"), SEED).astype(float)
    x, y, order = data()
    rows = order.astype(int)
    loss, hits, _, _ = naive_step(w, np.zeros(3), x[rows], y[rows].astype(int), np.ones(CLASSES))
    np.testing.assert_allclose(session.read("eval/ring").result()[0], [loss, hits], rtol=1e-5)
    backend.close()


def test_inference_from_raw_rows_equals_evaluation() -> None:
    program = lower(network(), "infer", data=SPEC)
    backend = CpuBackend()
    session = backend.open_session()
    executable = backend.compile(program, session, ROWS)
    for tensor in program.of_role(Role.PARAM):
        session.write(tensor.name, initial_values(tensor, SEED))
    x = data()[0]
    executable.feed(program.inputs[0], x.astype(np.uint8))
    executable.run()
    w = initial_values(program.tensors.named("out/kernel"), SEED).astype(float)
    logits = (x / 8.0 - 1.0).reshape(ROWS, -1) @ w.T
    wanted = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    found = executable.fetch(Ref(program.outputs[0])).result()
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    backend.close()


@pytest.mark.parametrize("mode", ["infer", "evaluate"])
def test_standardised_pictures_are_the_same_outside_training(mode: str) -> None:
    spec = DataSpec(
        (Source((2, 2, 1), DType.uint8),), (Source((), DType.int32),), resident=False,
        augment=(Standardize(low=-1.0), Shift()),
    )  # fmt: skip
    if mode == "evaluate":
        spec = replace(spec, resident=True)
    program = lower(network(), mode, loss="sparse_categorical_crossentropy", data=spec)
    x = data()[0]
    if mode == "infer":
        backend = CpuBackend()
        session = backend.open_session()
        executable = backend.compile(program, session, ROWS)
        for tensor in program.of_role(Role.PARAM):
            session.write(tensor.name, initial_values(tensor, SEED))
        executable.feed(program.inputs[0], x.astype(np.uint8))
    else:
        backend, session = open_with_rows(program, "eval")
        executable = backend.compile(program, session, ROWS)
        x = x[data()[2].astype(int)]
    executable.run()
    low, high = x.min((1, 2, 3), keepdims=True), x.max((1, 2, 3), keepdims=True)
    w = initial_values(program.tensors.named("out/kernel"), SEED).astype(float)
    logits = ((x - low) / (high - low) * 2.0 - 1.0).reshape(ROWS, -1) @ w.T
    wanted = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    found = executable.fetch(Ref(program.outputs[0])).result()
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    backend.close()


def test_dropout_drops_by_the_stream_of_its_layer() -> None:
    graph = LayerGraph("drop")
    x = graph.add(layer_class("Input")((50,)))
    graph.outputs = (add(graph, "Dropout", x, 0.3, name="drop"),)
    program = lower(graph, "train", loss="mse")
    backend = CpuBackend()
    session = backend.open_session()
    executable = backend.compile(program, session, 4)
    block = np.zeros(8, np.int32)
    block[0], block[5] = 6, SEED
    session.write("train/step", block)
    values = np.arange(1, 201, dtype=np.float32).reshape(4, 50)
    executable.feed(program.inputs[0], values)
    executable.feed(program.inputs[1], values)
    executable.run()
    kept = uniform(SEED, stream_of("drop/mask"), 6, 200).reshape(4, 50) >= np.float32(0.3)
    found = executable.fetch(Ref(program.outputs[0])).result()
    np.testing.assert_allclose(found, np.where(kept, values / 0.7, 0), rtol=1e-6)
    backend.close()


@pytest.mark.parametrize(
    ("loss", "units", "kind", "metric"),
    [
        ("sparse_categorical_crossentropy", 3, "indices", "accuracy"),
        ("sparse_categorical_crossentropy", 3, "indices", "sparse_categorical_accuracy"),
        ("categorical_crossentropy", 3, "rows", "accuracy"),
        ("categorical_crossentropy", 3, "rows", "categorical_accuracy"),
        ("binary_crossentropy", 1, "bits", "accuracy"),
        ("binary_crossentropy", 3, "bits", "binary_accuracy"),
        ("mse", 3, "rows", "mean_absolute_error"),
        ("mae", 3, "rows", "mse"),
    ],
)
def test_metrics_are_what_their_names_say(loss: str, units: int, kind: str, metric: str) -> None:
    rng = np.random.default_rng(8)
    p = rng.random((20, units)).astype(np.float32)
    t = {
        "indices": rng.integers(0, 3, 20).astype(np.int32),
        "rows": np.eye(3, dtype=np.float32)[rng.integers(0, 3, 20)],
        "bits": rng.integers(0, 2, (20, units)).astype(np.float32),
    }[kind]
    graph = LayerGraph("m")
    graph.outputs = (graph.add(layer_class("Input")((units,))),)
    program = lower(graph, "evaluate", loss=loss, metrics=[metric])
    backend = CpuBackend()
    session = backend.open_session()
    executable = backend.compile(program, session, 20)
    executable.feed(program.inputs[0], p)
    executable.feed(program.inputs[1], t)
    executable.run()
    if metric.startswith("m"):
        wanted = np.abs(p - t).mean() if "absolute" in metric else ((p - t) ** 2).mean()
    elif kind == "bits":
        wanted = ((p > 0.5) == (t > 0.5)).mean()
    else:
        wanted = (p.argmax(1) == (t if kind == "indices" else t.argmax(1))).mean()
    assert session.read("eval/ring").result()[0, 1] == pytest.approx(wanted, rel=1e-5)
    assert 0 < wanted < 1
    backend.close()
