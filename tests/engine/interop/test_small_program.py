"""Programs with small weights: what their setup section says, does, and needs of files."""

from __future__ import annotations

import struct
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from studio.engine.compiler.verify import verify
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import DataError, FormatError, VerifyError
from studio.engine.core.tensor import Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.machine.execution_config import NUMPY_ONLY
from studio.engine.formats.gbi import MAGIC, gbi_bytes, load_gbi, save_gbi
from studio.engine.interop.small_program import with_small_weights
from studio.engine.interop.small_weights import SmallWeight, WeightForm, narrowed
from studio.engine.isa.binary import decode_program, encode_program
from studio.engine.isa.program import SETUP, Program
from studio.engine.isa.text import format_program, parse_program
from studio.engine.isa.versions import program_version
from studio.engine.layers.convolution import Conv2D, DepthwiseConv2D
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.named_parameters import named_parameters
from studio.engine.layers.normalization import BatchNormalization
from studio.engine.layers.shaping import Flatten
from studio.engine.runtime.backend import Backend
from studio.engine.train.export.exporting import inference_program
from studio.engine.train.network.execute import execute, run_program
from studio.engine.train.network.inference import Inference
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from tests.engine.formats.test_loader_fuzz import mutant

Floats = npt.NDArray[np.float32]
FORMS: tuple[WeightForm, ...] = ("float16", "int8")


def normalised() -> LayerGraph:
    """Normalisations behind a dense layer and both convolutions, all of which are folded."""
    graph = LayerGraph("normalised")
    x = graph.add(Input((6, 6, 3), name="pixels"))
    x = graph.add(BatchNormalization(name="a"), graph.add(Conv2D(4, 3, name="conv"), x))
    x = graph.add(DepthwiseConv2D(3, depth_multiplier=2, name="depth"), x)
    x = graph.add(Flatten(), graph.add(BatchNormalization(name="b"), x))
    x = graph.add(BatchNormalization(name="c"), graph.add(Dense(5, name="dense"), x))
    graph.outputs = (graph.add(Dense(2, name="last"), x),)
    return graph


@pytest.fixture(scope="module")
def cpu():
    backend = CpuBackend(config=NUMPY_ONLY)
    yield backend
    backend.close()


def drawn(graph: LayerGraph) -> dict[str, Floats]:
    rng = np.random.default_rng(5)
    found = {
        each.name: rng.normal(size=each.parameter.shape).astype(np.float32)
        for each in named_parameters(graph)
    }
    return {n: np.abs(a) + 0.1 if n.endswith("variance") else a for n, a in found.items()}


def made(cpu: Backend, form: WeightForm) -> tuple[Program, dict, dict[str, SmallWeight], Trained]:
    """The program with small weights, its weights, the kernels, and the network they widen to."""
    graph = normalised()
    task = Task.of_project(Project.new("normalised", graph))
    stored = drawn(graph)
    small = narrowed(task.graph, stored, form)
    wide = {**stored, **{name: each.widened() for name, each in small.items()}}
    trained = Trained.of_weights(task, cpu, wide)
    program, weights = inference_program(trained, small)
    return program, weights, small, trained


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_setup_section_widens_every_kernel(cpu: Backend, form: WeightForm) -> None:
    program, weights, small, trained = made(cpu, form)
    with trained:
        verify(program, owned=True)
        plain = inference_program(trained)
    lines = program.section(SETUP)
    assert [ins.owners for ins in lines] == [("conv",), ("depth",), ("dense",), ("last",)]
    last = "CAST" if form == "float16" else "DEQUANTIZE"
    assert [ins.mnemonic for ins in lines] == ["DEQUANTIZE"] * 3 + [last]
    held = {t.name: t.dtype for t in program.of_role(Role.PARAM, Role.STATE)}
    assert set(held) == set(weights)
    for name, each in small.items():
        assert held[f"{name}/{form}"] is DType.parse(form)
        np.testing.assert_array_equal(weights[f"{name}/{form}"], each.values)
    # In float64, values times scales are the folded kernels of the widened network.
    for ins in lines:
        kernel = program.tensors[ins.ref("y").id]
        assert kernel.role is Role.CONST
        values = weights[program.tensors[ins.ref("x").id].name].astype(np.float64)
        if ins.mnemonic == "DEQUANTIZE":
            values = values * weights[program.tensors[ins.ref("scale").id].name]
        np.testing.assert_allclose(values, plain[1][kernel.name], rtol=3e-7)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_files_answer_as_the_widened_network(
    cpu: Backend, form: WeightForm, tmp_path: Path
) -> None:
    program, weights, _, trained = made(cpu, form)
    rows = np.random.default_rng(1).normal(size=(5, 6, 6, 3)).astype(np.float32)
    with trained:
        expected = trained.predict(rows)
        plain = inference_program(trained)
    path = tmp_path / "small.gbi"
    save_gbi(path, program, weights)
    found = load_gbi(path)
    assert found.program == program
    assert {name: a.dtype for name, a in found.weights.items()} == {
        name: a.dtype for name, a in weights.items()
    }
    assert gbi_bytes(found.program, found.weights) == path.read_bytes()
    # Sums of numbers up to a few hundred.
    np.testing.assert_allclose(execute(path, rows, cpu), expected, rtol=1e-5, atol=1e-4)
    assert path.stat().st_size < len(gbi_bytes(*plain)) + 400


@pytest.mark.slow
@pytest.mark.gl
@pytest.mark.parametrize("form", FORMS)
def test_opengl_answers_as_the_processor(cpu: Backend, form: WeightForm) -> None:
    from studio.engine.gl.backend import GlBackend

    program, weights, _, trained = made(cpu, form)
    trained.close()
    rows = np.random.default_rng(1).normal(size=(3, 6, 6, 3)).astype(np.float32)
    (expected,) = run_program(cpu, program, weights, [rows])
    backend = GlBackend()
    (found,) = run_program(backend, program, weights, [rows])
    backend.close()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_setup_lines_run_once_and_their_weights_are_dropped(
    cpu: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, weights, _, trained = made(cpu, "int8")
    trained.close()
    compiled: list[Program] = []
    held: list[tuple[str, ...]] = []
    compile_ = type(cpu).compile

    def watched(self, program, session, batch, progress=None):
        compiled.append(program)
        held.append(session.names())
        return compile_(self, program, session, batch, progress)

    monkeypatch.setattr(type(cpu), "compile", watched)
    rows = np.zeros((300, 6, 6, 3), np.float32)
    run_program(cpu, program, weights, [rows])
    assert [bool(one.section(SETUP)) for one in compiled] == [True, False, False]
    assert any(name.endswith("/int8") for name in held[0])
    assert not any(name.endswith(("/int8", "/scale")) for name in held[1])
    assert "conv/kernel/folded" in held[1]


@pytest.mark.slow
def test_a_program_run_as_a_whole_gives_the_same(cpu: Backend) -> None:
    program, weights, _, trained = made(cpu, "int8")
    trained.close()
    rows = np.random.default_rng(1).normal(size=(4, 6, 6, 3)).astype(np.float32)
    (expected,) = run_program(cpu, program, weights, [rows])
    session = cpu.open_session()
    session.ensure(program.of_role(Role.PARAM, Role.STATE))
    for name, values in weights.items():
        session.write(name, values)
    with Inference(cpu, program, session) as whole:
        for _ in range(2):
            np.testing.assert_array_equal(whole.run([rows])[0], expected)
    session.close()


LISTING = """.glassbox 2
.program "tiny" infer
.tensor 0x0 "x" float32 [N,2] input
.tensor 0x1 "k/int8" int8 [3,2] param
.tensor 0x2 "k/scale" float32 [3,1] param
.tensor 0x3 "k" float32 [3,2] const
.tensor 0x4 "y" float32 [N,3] activation
.input 0x0
.output 0x4

.section setup
DEQUANTIZE 0x1 0x2 0x3

.section forward
LINEAR 0x3 0x- 0x0 0x4
.end
"""


def test_text_and_binary_form_hold_it_in_version_2() -> None:
    program = parse_program(LISTING)
    verify(program)
    assert program_version(program) == 2
    assert parse_program(format_program(program)) == program
    assert decode_program(encode_program(program), 2) == program
    assert [name for name, _, _ in program.located()] == [SETUP, "forward"]


@pytest.mark.parametrize(
    ("removed", "said"),
    [
        ("", "int8 tensor 0x1 needs version 2"),
        ('.tensor 0x1 "k/int8" int8', "section setup needs version 2"),
    ],
)
def test_an_older_file_cannot_say_it(removed: str, said: str) -> None:
    text = LISTING.replace(".glassbox 2", ".glassbox 1")
    if removed:
        text = text.replace(removed, '.tensor 0x1 "k/int8" uint8')
    with pytest.raises(FormatError, match=said):
        parse_program(text)


def test_without_small_weights_nothing_changes() -> None:
    text = LISTING.replace(".section setup\nDEQUANTIZE 0x1 0x2 0x3\n\n", "")
    plain = "\n".join(line for line in text.splitlines() if "k/" not in line) + "\n"
    program = parse_program(plain.replace("const", "param"))
    assert program_version(program) == 1
    assert program.divided() == (None, program)


def test_the_parts_of_a_program_have_only_what_they_need() -> None:
    once, rest = parse_program(LISTING).divided()
    assert once is not None
    assert sorted(once.tensors) == [1, 2, 3]
    assert sorted(rest.tensors) == [0, 3, 4]
    assert (once.inputs, once.outputs) == ((), ())
    assert once.section("forward") == rest.section(SETUP) == ()


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        ('"k" float32 [3,2] const', '"k" float32 [3,2] param', "only changed in place"),
        ('"k" float32 [3,2] const', '"k" float32 [3,2] const value=1,2,3,4,5,6', "only changed in"),
        ('"k" float32 [3,2] const', '"k" float32 [3,2] activation', "make constants"),
        ("DEQUANTIZE", "DEQUANTIZE 0x1 0x2 0x3\nDEQUANTIZE", "only changed in place"),
        (".section setup", ".section data", "only changed in place"),
        ("[3,1] param", "[2,1] param", "broadcast"),
    ],
)
def test_what_breaks_a_rule_of_the_section_is_refused(before: str, after: str, rule: str) -> None:
    with pytest.raises(VerifyError, match=rule):
        verify(parse_program(LISTING.replace(before, after)))


def test_tiny_listing_runs(cpu: Backend) -> None:
    weights = {
        "k/int8": np.array([[127, -127], [0, 64], [-128, 1]], np.int8),
        "k/scale": np.array([[0.5], [1], [2]], np.float32),
    }
    program, rows = parse_program(LISTING), np.array([[1, 2]], np.float32)
    (found,) = run_program(cpu, program, weights, [rows])
    np.testing.assert_array_equal(found, [[-63.5, 128, -252]])
    with pytest.raises(FormatError, match=r"weights of 'k/int8' must be int8\[3,2\]"):
        gbi_bytes(program, {**weights, "k/int8": np.zeros((3, 2), np.uint8)})
    with pytest.raises(FormatError, match="'k/scale' hold NaN"):
        gbi_bytes(program, {**weights, "k/scale": np.full((3, 1), np.nan, np.float32)})


@pytest.mark.slow
def test_scales_that_no_float32_holds_are_refused_by_name(cpu: Backend) -> None:
    graph = normalised()
    task = Task.of_project(Project.new("normalised", graph))
    stored = drawn(graph)
    stored["conv/kernel"] = stored["conv/kernel"] * np.float32(1e36)
    stored["a/gamma"] = np.full_like(stored["a/gamma"], 1e6)
    small = narrowed(task.graph, stored, "int8")
    with (
        np.errstate(over="ignore"),
        Trained.of_weights(task, cpu, stored) as trained,
        pytest.raises(DataError, match="scales of 'conv/kernel/folded'"),
    ):
        inference_program(trained, small)


def test_a_name_that_is_taken_is_not_taken_again() -> None:
    text = LISTING.replace(".section setup\nDEQUANTIZE 0x1 0x2 0x3\n\n", "")
    program = parse_program(text.replace('"k" float32 [3,2] const', '"k" float32 [3,2] param'))
    weights = {"k": np.ones((3, 2), np.float32), "k/int8": np.zeros((3, 2), np.int8),
               "k/scale": np.zeros((3, 1), np.float32)}  # fmt: skip
    small = {"k": SmallWeight(np.ones((3, 2), np.int8), np.ones((3, 1), np.float32))}
    grown, held = with_small_weights(program, weights, small, {})
    verify(grown)
    assert set(held) == {"k/int8", "k/scale", "k/int8_1", "k/scale_1"}
    assert with_small_weights(program, weights, {}, {}) == (program, weights)


def sealed(body: bytes) -> bytes:
    """An instruction file of version 2 whose checksum holds, whatever is in it."""
    head = struct.pack("<8sIIQ32s", MAGIC, 2, 0x01020304, 56 + len(body), sha256(body).digest())
    return head + body


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(300, marks=pytest.mark.slow),
        pytest.param(4_000, marks=pytest.mark.peers),
        pytest.param(100_000, marks=pytest.mark.full),
    ],
)
def test_mutants_are_refused_or_keep_every_rule(count: int) -> None:
    weights = {"k/int8": np.arange(6, dtype=np.int8).reshape(3, 2),
               "k/scale": np.ones((3, 1), np.float32)}  # fmt: skip
    body = gbi_bytes(parse_program(LISTING), weights)[56:]
    rng, refused = np.random.default_rng(count), 0
    for _ in range(count):
        try:
            found = load_gbi(sealed(mutant(body, rng)))
            verify(found.program)
        except (FormatError, VerifyError):
            refused += 1
        else:
            once, rest = found.program.divided()
            assert len(found.program) == len(rest) + (0 if once is None else len(once))
    assert count / 2 < refused < count
