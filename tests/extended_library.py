"""Uses the examples of ``docs/extending.md`` without a window; `test_extending.py` runs it in a
copy of the tree that has them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from studio import engine
from studio.engine.autodiff.differentiate import differentiate
from studio.engine.compiler.passes.set_first_gradients import set_first_gradients
from studio.engine.compiler.verify import verify
from studio.engine.core.discovery import all_or_none
from studio.engine.core.tensor import Role
from studio.engine.cpu.backend import CpuBackend
from studio.engine.formats.npz import load_npz
from studio.engine.gl.backend import GlBackend
from studio.engine.isa.builder import ProgramBuilder
from studio.engine.isa.line import format_line
from studio.engine.isa.manual import manual
from studio.engine.isa.ops.arithmetic import Add, Mul
from studio.engine.isa.ops.reduce import ReduceSum
from studio.engine.layers.catalog import all_layers
from studio.engine.layers.initializers import Initializer, initializer
from studio.engine.train.callbacks.callback import higher_is_better
from studio.engine.train.network.measures import regress
from studio.engine.train.settings import TrainingSettings
from studio.session.document.adding.net_text import parse_net
from studio.session.document.adding.palette import Palette
from studio.session.document.adding.quick_add import Place, QuickAdd
from studio.session.document.checks.validation import validate
from studio.session.document.edits.chains import NewLayer, add_chain
from studio.session.document.edits.layers import add_layer
from studio.session.document.edits.sections import set_training
from studio.session.document.finding.layer_names import successors, type_of_word
from studio.session.document.repairs.search import with_fixes
from studio.session.document.report import DataFacts
from studio.session.document.state import DocumentState
from studio.session.runs.columns import is_share
from tests.engine.gl.one_line import OneLine

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "gl"])
ROWS, RATE = 24, 0.05
Floats: TypeAlias = npt.NDArray[np.float64]
Points: TypeAlias = tuple[np.ndarray, np.ndarray]


def made(name: str) -> Any:
    """A class of the examples, under its public name."""
    assert name in engine.__all__
    return getattr(engine, name)


@pytest.fixture
def points(rng: np.random.Generator) -> Points:
    return rng.normal(size=(ROWS, 3)).astype("f"), rng.normal(size=(ROWS, 2)).astype("f")


def one_step(
    backend: str,
    points: Points,
    optimizer: Any,
    loss: Any,
    weights: np.ndarray | None = None,
    **dense: Any,
) -> tuple[list[np.ndarray], list[np.ndarray], float]:
    """Weights before and after one step of a dense layer, and the loss before."""
    x, y = points
    network = engine.Sequential([engine.Input((3,)), engine.Dense(2, **dense)])
    with engine.Model.of_graph(network.graph, backend=backend, seed=2) as model:
        model.compile(optimizer, loss)
        before = [w.astype(float) for w in model.get_weights()]
        history = model.fit(x, y, epochs=1, batch_size=ROWS, shuffle=False, sample_weight=weights)
        return before, model.get_weights(), history.history["loss"][0]


@BACKENDS
def test_the_instruction(backend: str, points: Points) -> None:
    """As an activation by its name: forward by the loss, backward by a step of SGD."""
    x, y = points
    (w, b), after, loss = one_step(backend, points, engine.SGD(RATE), "mse", activation="bent")
    z = x @ w + b
    error = z / np.sqrt(1 + z * z) - y
    assert np.isclose(loss, np.square(error).mean(), rtol=1e-5)
    slope = 2 * error / y.size * (1 + z * z) ** -1.5
    assert np.allclose(after[0], w - RATE * x.T @ slope, atol=1e-6)
    assert np.allclose(after[1], b - RATE * slope.sum(axis=0), atol=1e-6)


def test_the_instruction_is_in_manual_and_listing(tmp_path: Path) -> None:
    assert "Bends smoothly towards ±1/√alpha." in manual()
    file = project(tmp_path)
    assert "BENT" in glassbox("compile", file)
    assert "GRADS_BENT" in glassbox("compile", file)


@pytest.mark.gl
def test_the_instruction_stands_in_the_kernel_of_a_product(rng: np.random.Generator) -> None:
    x, w = rng.normal(size=(5, 8)).astype("f"), rng.normal(size=(8, 12)).astype("f")
    line = OneLine("MATMUL", {"a": x, "b": w, "y": (5, 12)})
    line.follow("BENT")
    backend = GlBackend()
    session = backend.open_session()
    executable = backend.compile(line.program, session, line.batch)
    try:
        kernels = [one.source.text for _, planned in executable.planned for one in planned]
        assert ["inverse_root(1.0 + " in text for text in kernels] == [True]
        for tensor, values in line.feeds.items():
            executable.feed(tensor, values)
        executable.run()
        product = x.astype(float) @ w
        found = executable.fetch(line.refs["z"]).result(60)
        assert np.allclose(found, product / np.sqrt(1 + product**2), atol=1e-5)
    finally:
        executable.close()
        session.close()
        backend.close()


def test_instructions_that_records_bring_are_known_to_a_process_that_reads_a_program() -> None:
    code = """
from studio.engine.isa.instruction import by_code, by_mnemonic
from studio.engine.isa.manual import manual
print(by_code(1992).mnemonic, by_code(1993).mnemonic, by_mnemonic("UPDATE_SIGNED").code)
print("HUBER" in manual(), "LOSS_COSINE" in manual(), "UPDATE_SIGNED" in manual())
"""
    assert python("-c", code).split() == [
        "GRADS_HUBER", "GRADS_LOSS_COSINE", "991", "True", "True", "True",
    ]  # fmt: skip


@BACKENDS
@pytest.mark.parametrize("name", ["Signed", "Heavy"])
def test_the_optimizers(backend: str, name: str, points: Points) -> None:
    """Two epochs of three batches, so that the mean gradient of the steps before counts."""
    x, y = points
    network = engine.Sequential([engine.Input((3,)), engine.Dense(2)])
    with engine.Model.of_graph(network.graph, backend=backend, seed=2) as model:
        model.compile(made(name)(RATE), "mse")
        w, b = (each.astype(float) for each in model.get_weights())
        model.fit(x, y, epochs=2, batch_size=ROWS // 3, shuffle=False)
        after = model.get_weights()
    means = [np.zeros_like(w), np.zeros_like(b)]
    for start in (0, 8, 16) * 2:
        rows = slice(start, start + ROWS // 3)
        error = 2 * (x[rows] @ w + b - y[rows]) / y[rows].size
        slopes = [x[rows].T @ error, error.sum(axis=0)]
        if name == "Signed":
            means = [0.9 * m + 0.1 * g for m, g in zip(means, slopes, strict=True)]
            steps = [RATE * np.sign(m) for m in means]
        else:
            means = [0.95 * m - RATE * g for m, g in zip(means, slopes, strict=True)]
            steps = [-m for m in means]
        w, b = w - steps[0], b - steps[1]
    assert np.allclose(after[0], w, atol=1e-5)
    assert np.allclose(after[1], b, atol=1e-5)


def pairwise(name: str) -> Callable[[Floats, Floats], tuple[Floats, Floats]]:
    """Loss of each row, and its slope by the predictions; both from predictions and targets."""

    def huber(p: Floats, t: Floats) -> tuple[Floats, Floats]:
        size = np.abs(p - t)
        values = np.where(size <= 1, size**2 / 2, size - 0.5)
        return values.mean(axis=1), np.clip(p - t, -1, 1) / p.shape[1]

    def log_cosh(p: Floats, t: Floats) -> tuple[Floats, Floats]:
        return np.log(np.cosh(p - t)).mean(axis=1), np.tanh(p - t) / p.shape[1]

    def cosine(p: Floats, t: Floats) -> tuple[Floats, Floats]:
        length = np.linalg.norm(p, axis=1, keepdims=True)
        p, t = p / length, t / np.linalg.norm(t, axis=1, keepdims=True)
        cosines = (p * t).sum(axis=1, keepdims=True)
        return 1 - cosines[:, 0], (cosines * p - t) / length

    return {"Huber": huber, "LogCosh": log_cosh, "CosineDistance": cosine}[name]


@BACKENDS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["LogCosh", "Huber", "CosineDistance"])
def test_the_losses(backend: str, name: str, weighted: bool, points: Points) -> None:
    x, y = points
    weights = np.linspace(0, 2, ROWS, dtype=np.float32) if weighted else np.ones(ROWS, "f")
    given = weights if weighted else None
    (w, b), after, loss = one_step(backend, points, engine.SGD(RATE), made(name)(), given)
    values, slopes = pairwise(name)(x @ w + b, y.astype(float))
    assert np.isclose(loss, (values * weights).mean(), rtol=1e-5)
    slopes = slopes * weights[:, None] / ROWS
    assert np.allclose(after[0], w - RATE * x.T @ slopes, atol=1e-6)
    assert np.allclose(after[1], b - RATE * slopes.sum(axis=0), atol=1e-6)
    measured = regress(x @ w + b, y.astype(float), made(name)())
    assert np.allclose(measured.losses, values, atol=1e-5)


@BACKENDS
def test_layer_metric_initialiser_and_callback(backend: str, points: Points) -> None:
    x, y = points
    layer = made("GatedDense")(2, kernel_initializer="alternating(0.2)")
    network = engine.Sequential([engine.Input((3,)), layer])
    with engine.Model.of_graph(network.graph, backend=backend, seed=2) as model:
        model.compile("sgd", "mse", metrics=["agreement"])
        kernel, gate, bias = model.get_weights()
        assert np.allclose(kernel.ravel(), np.where(np.arange(6) % 2, -0.2, 0.2))
        assert gate.shape == (3, 2)
        wanted = (x @ kernel) / (1 + np.exp(-(x @ gate + bias)))
        assert np.allclose(model.predict(x), wanted, atol=1e-5)
        found = model.evaluate(x, y, return_dict=True)["agreement"]
        assert np.isclose(found, np.exp(-np.abs(wanted - y)).mean(), rtol=1e-4)
        stop = made("StopBelow")(loss=1e9)
        assert len(model.fit(x, y, epochs=5, callbacks=[stop]).epoch) == 1


def standardized(x: Floats) -> tuple[Floats, Floats]:
    """Rows of mean 0 and variance 1, and their means before."""
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(np.square(x - mean).mean(axis=-1, keepdims=True) + 1e-3), mean[
        ..., 0
    ]


@BACKENDS
@pytest.mark.parametrize("used", ["y", "mean", "both"])
def test_the_results_of_an_instruction_with_two(
    backend: str, used: str, rng: np.random.Generator
) -> None:
    """Gradients against central differences in float64; the result not used has a ZERO."""
    from studio.engine.layers.row_standardization import Standardize

    build = ProgramBuilder("case", "train")
    w = build.tensor("w", (2, 3, 5), role=Role.PARAM, trainable=True)
    share = {"y": rng.normal(size=(2, 3, 5)), "mean": rng.normal(size=(2, 3))}
    fed = {name: build.tensor(name, each.shape, role=Role.INPUT) for name, each in share.items()}
    y, mean, scale = build.emit("forward", Standardize, x=w)
    results = {"y": y, "mean": mean}
    taken = list(share) if used == "both" else [used]
    sums = []
    for name in taken:
        product = build.emit("loss", Mul, a=results[name], b=fed[name])[0]
        sums.append(build.emit("loss", ReduceSum, x=product)[0])
    if used == "both":
        build.emit("loss", Add, x1=sums[0], x2=sums[1], alpha=1.0, beta=1.0)
    program = set_first_gradients(differentiate(build.finish(tuple(fed.values()), (mean, scale))))
    verify(program)
    lines = [format_line(ins) for ins in program.section("backward")]
    cleared = [results[name] for name in share if name not in taken]
    assert [line for line in lines if line.startswith("ZERO")] == [
        f"ZERO {r}.grad" for r in cleared
    ]

    def loss(x: Floats) -> float:
        found = dict(zip(share, standardized(x), strict=True))
        return sum(float((found[name] * share[name]).sum()) for name in taken)

    x = rng.normal(size=(2, 3, 5)).astype("f")
    runs = CpuBackend() if backend == "cpu" else GlBackend()
    session = runs.open_session()
    executable = runs.compile(program, session, 1)
    try:
        session.write("w", x)
        for name, ref in fed.items():
            executable.feed(ref.id, share[name].astype("f"))
        executable.run()
        found = executable.fetch(w.gradient).result(60)
        shown = [executable.fetch(ref).result(60) for ref in (mean, scale)]
    finally:
        executable.close()
        session.close()
        runs.close()
    assert np.allclose(shown[0], x.mean(axis=-1), atol=1e-6)
    assert np.allclose(shown[1], 1 / np.sqrt(x.var(axis=-1) + 1e-3), rtol=1e-5)
    for index in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[index] = 1e-5
        wanted = (loss(x + step) - loss(x - step)) / 2e-5
        assert np.isclose(found[index], wanted, rtol=1e-4, atol=1e-5), index


@BACKENDS
def test_the_layer_with_kernels_of_its_own(backend: str, points: Points) -> None:
    """A step of SGD through it: the layer in front changes as central differences say."""
    x, y = points
    network = engine.Sequential(
        [engine.Input((3,)), engine.Dense(4), made("RowStandardization")(), engine.Dense(2)]
    )
    with engine.Model.of_graph(network.graph, backend=backend, seed=2) as model:
        model.compile(engine.SGD(RATE), "mse")
        before = [each.astype(float) for each in model.get_weights()]
        model.fit(x, y, epochs=1, batch_size=ROWS, shuffle=False)
        after = model.get_weights()

    def loss(weights: list[Floats]) -> float:
        w, b, v, c = weights
        return float(np.square(standardized(x @ w + b)[0] @ v + c - y).mean())

    for place, weight in enumerate(before):
        for index in np.ndindex(weight.shape):
            step = np.zeros(weight.shape)
            step[index] = 1e-5
            ends = [[*before[:place], weight + s * step, *before[place + 1 :]] for s in (1, -1)]
            slope = (loss(ends[0]) - loss(ends[1])) / 2e-5
            assert np.isclose(after[place][index], weight[index] - RATE * slope, atol=1e-5)


def test_the_schedule() -> None:
    optimizer = engine.SGD(made("Zigzag")(stretch=2))
    assert [optimizer.rate(step) for step in range(5)] == [0.1, 0.1, 0.05, 0.05, 0.1]
    assert engine.SGD.from_json(optimizer.to_json()) == optimizer
    offered = engine.SGD.learning_rate.kinds.kind("Zigzag")
    assert offered.doc == "Half the rate in every second stretch."


def test_the_initialiser_is_read_and_offered() -> None:
    offered = engine.Dense.kernel_initializer.kinds.kind("alternating")
    assert offered.doc == "One number and its negative, in turn."
    assert Initializer.parse("alternating(0.5)", "test").text == "alternating(0.5)"


def test_records_may_be_imported_before_the_names_of_the_engine() -> None:
    """The layer's file imports what looks initialisers up itself, among them the new one."""
    code = """
from studio.engine.layers.gated_dense import GatedDense
from studio import engine
print(engine.GatedDense is GatedDense, "GatedDense" in engine.__all__)
"""
    assert python("-c", code).split() == ["True", "True"]


def test_a_layer_made_from_another_has_no_words_of_it() -> None:
    made("GatedDense")
    with suppress(_TakenOutError), all_or_none():

        class Even(engine.GatedDense):
            """A gated layer that begins with one size."""

            kernel_initializer = initializer("How kernel and gate begin.", "alternating")

        assert Even in all_layers()
        assert Even.words == ()
        assert type_of_word("glu") == "GatedDense"
        weights = engine.Sequential([engine.Input((2,)), Even(1)]).get_weights()
        assert np.abs(weights[0]).max() == np.abs(weights[0]).min() > 0
        raise _TakenOutError


class _TakenOutError(Exception):
    """Makes `all_or_none` take everything out again."""


def test_palette_and_quick_add_have_the_layer() -> None:
    assert made("GatedDense") in all_layers()
    assert type_of_word("GLU") == "GatedDense"
    assert "GatedDense" in successors("Flatten")
    entries = [entry.title for group in Palette().groups() for entry in group.entries]
    assert entries.count("GatedDense") == 1
    state = add_layer(DocumentState(), "Input", config={"shape": [4]})
    assert QuickAdd().offers(state, "gated", Place())[0].entry.title == "GatedDense"
    added = {n.type_name: dict(n.config) for n in add_layer(state, "GatedDense").nodes.values()}
    assert added["GatedDense"]["units"] == 32
    assert [layer.type_name for layer in parse_net("glu 4 > dense 2")] == ["GatedDense", "Dense"]
    units, *_ = made("GatedDense").form_options()
    assert (units.label, units.effect, units.start) == (
        "Units", "More let the layer tell apart more.", 32,
    )  # fmt: skip


def setting(name: str) -> dict[str, Any]:
    """What a setting of the training may be, as the inspector offers it."""
    (option,) = [each for each in TrainingSettings.form_options() if each.name == name]
    return {kind.key: kind for kind in option.kinds.kinds}


def test_settings_offer_them_and_files_name_them() -> None:
    assert setting("loss")["LogCosh"].label == "Log cosh"
    assert setting("loss")["CosineDistance"].doc.startswith("One minus the cosine")
    assert setting("metrics")["Agreement"].doc == "Mean of e^-|p - t|."
    assert setting("callbacks")["StopBelow"].doc == "Stops once the loss is below a number."
    assert [o.name for o in setting("optimizer")["Heavy"].options][:1] == ["learning_rate"]
    callbacks = [{"type": "StopBelow", "config": {"loss": 2.0}}]
    heavy = made("Heavy")(weight=0.5)
    told = TrainingSettings(loss="log_cosh", optimizer=heavy, callbacks=callbacks).plain()
    assert (told["loss"], told["callbacks"]) == ("LogCosh", callbacks)
    assert told["optimizer"] == {"type": "Heavy", "config": {"weight": 0.5}}


def test_repairs_offer_the_losses_and_say_their_effect() -> None:
    chain = [NewLayer("Input", {"shape": [3]}), NewLayer("Dense", {"units": 2})]
    state = add_chain(DocumentState(), chain, at=(0.0, 0.0)).state
    state = set_training(state, {"loss": "CategoricalCrossentropy"})
    facts = DataFacts((3,), "table", 0, 2)
    report = with_fixes(validate(state, facts), state, facts)
    offered = {fix.text: fix.effect for problem in report.problems for fix in problem.fixes}
    for name in ("LogCosh", "CosineDistance"):
        assert offered[f"Set the loss to {name}"] == made(name).effect
    assert not made("LogCosh")().takes_logits


def test_the_metric_is_compared_and_shown_as_it_says() -> None:
    metric = made("Agreement")()
    assert higher_is_better("val_agreement", "auto")
    assert is_share("val_agreement")
    assert metric.fits((1, 3), (1, 3))
    assert not metric.fits((1, 3), (1,))


def project(folder: Path) -> Path:
    """The iris sample, with the layer, activation, metric, optimiser and callback."""
    from studio.samples import open_copy

    file = open_copy("iris", folder)
    told = json.loads(file.read_text())
    hidden = told["graph"]["nodes"][1]
    hidden["config"]["activation"] = "bent"
    gated = {"config": {"name": "gated", "units": 8}, "id": "gated", "inputs": ["hidden"]}
    told["graph"]["nodes"].insert(2, {**gated, "type": "GatedDense"})
    told["graph"]["nodes"][3]["inputs"] = ["gated"]
    told["graph"]["nodes"][3]["config"] |= {"kernel_initializer": "alternating(0.2)"}
    rate = {"type": "Zigzag", "config": {"first": 0.01}}
    told["training"] |= {
        "epochs": 6,
        "optimizer": {"type": "Signed", "config": {"learning_rate": rate}},
        "callbacks": [{"type": "StopBelow", "config": {"loss": 0.9}}],
    }  # fmt: skip
    file.write_text(json.dumps(told))
    return file


def glassbox(*words: object) -> str:
    """What the command prints."""
    return python("-m", "studio", *words)


def python(*words: object) -> str:
    """What a process of its own prints."""
    child = subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stdout + child.stderr
    return child.stdout


@BACKENDS
def test_a_project_of_them_trains_and_is_exported(tmp_path: Path, backend: str) -> None:
    file = project(tmp_path)
    glassbox("train", file, "--backend", backend)
    (run,) = (tmp_path / "iris").glob("*.runs/*/summary.json")
    assert json.loads(run.read_text())["epochs"] < 6
    out = tmp_path / "weights.plain"
    told = json.loads(glassbox("export", file, "-o", out, "--json"))
    assert out.read_bytes().startswith(b"PLAIN")
    assert {name.split("/")[0] for name in load_npz(out.read_bytes()[5:])} == {
        "hidden", "gated", "species",
    }  # fmt: skip
    assert (told["format"], told["same"], told["written"]) == ("plain", True, True)
