"""Runs programs as ONNX models in onnxruntime, and beside them on the CPU backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from studio.engine.compiler.lower import lower
from studio.engine.compiler.passes.fold_batchnorm import Scaled
from studio.engine.compiler.pipeline import Folding, compile_program
from studio.engine.compiler.target import CPU
from studio.engine.core.tensor import Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.formats.onnx_wire import model_bytes
from studio.engine.interop.onnx_file import onnx_model
from studio.engine.interop.small_program import with_small_weights
from studio.engine.interop.small_weights import WeightForm, narrowed
from studio.engine.isa.program import Program
from studio.engine.layers.graph import LayerGraph
from studio.engine.train.network.inference import Inference

Values = dict[str, np.ndarray]


def drawn_weights(graph: LayerGraph, seed: int = 0) -> Values:
    """Weights of a network that neither vanish nor grow through it."""
    rng = np.random.default_rng(seed)
    drawn: Values = {}
    for tensor in lower(graph, "infer").of_role(Role.PARAM, Role.STATE):
        values = rng.uniform(0.1, 1.0, tensor.shape) * rng.choice([-1.0, 1.0], tensor.shape)
        scale = 1.0 / np.sqrt(max(1, np.prod(tensor.shape[:-1]))) if len(tensor.shape) > 1 else 1.0
        positive = tensor.name.endswith("moving_variance")
        drawn[tensor.name] = (np.abs(values) if positive else values * scale).astype(np.float32)
    return drawn


def inference(graph: LayerGraph, seed: int = 0, data: Any = None) -> tuple[Program, Values]:
    """The optimised inference program of a network, and drawn weights."""
    program, weights, _ = _compiled(graph, drawn_weights(graph, seed), data)
    return program, weights


def _compiled(
    graph: LayerGraph, drawn: Values, data: Any = None
) -> tuple[Program, Values, Mapping[str, Scaled]]:
    folding = Folding(lambda name: drawn[name])
    program = compile_program(lower(graph, "infer", data=data), CPU, folding=folding)
    values = {**drawn, **folding.values}
    weights = {t.name: values[t.name] for t in program.of_role(Role.PARAM, Role.STATE)}
    return program, weights, folding.scaled


def small_inference(graph: LayerGraph, form: WeightForm) -> tuple[Program, Values, Program, Values]:
    """A program with small weights, and the same with what they are widened to."""
    drawn = drawn_weights(graph)
    small = narrowed(graph, drawn, form)
    drawn |= {name: np.asarray(each.widened()) for name, each in small.items()}
    program, weights, scaled = _compiled(graph, drawn)
    return (*with_small_weights(program, weights, small, scaled), program, weights)


def fed(program: Program, rows: int, seed: int = 0) -> list[np.ndarray]:
    """Drawn input of every kind: floats within ±2, whole numbers from 0 to 9."""
    rng = np.random.default_rng([seed, rows])
    found = []
    for tensor in (program.tensors[i] for i in program.inputs):
        shape = tensor.descriptor(rows).shape
        values = (
            rng.uniform(-2, 2, shape) if tensor.dtype.np.kind == "f" else rng.integers(0, 9, shape)
        )
        found.append(values.astype(tensor.dtype.np))
    return found


def on_cpu(program: Program, weights: Values, rows: list[np.ndarray]) -> list[np.ndarray]:
    """What the studio answers."""
    backend = CpuBackend()
    try:
        session = backend.open_session()
        session.ensure(program.of_role(Role.PARAM, Role.STATE))
        session.write_all(weights.items())
        with Inference(backend, program, session) as running:
            return running.run(rows)
    finally:
        backend.close()


def on_runtime(content: bytes, rows: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What onnxruntime answers; the checker of onnx has agreed to the model before."""
    import onnx
    import onnxruntime

    onnx.checker.check_model(content, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    return session.run(None, dict(zip(names, rows, strict=True)))


def content_of(program: Program, weights: Mapping[str, np.ndarray], **options: Any) -> bytes:
    """The bytes of a program's ONNX file."""
    return model_bytes(onnx_model(program, weights, **options))
