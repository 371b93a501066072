"""What is said of a training that ended without an error and learned nothing."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from studio.engine.compiler.lower_data import DataSpec, Source
from studio.engine.core.dtypes import DType
from studio.engine.core.errors import NumericError
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.shaping import Flatten
from studio.engine.optim.losses import Loss
from studio.engine.runtime.backend import Backend
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.data.samples import Samples
from studio.engine.train.loop.trainer import Trainer, TrainingResult
from studio.engine.train.loop.verdict import LossTrace, Verdict, guessing_loss
from studio.engine.train.model.model_data import sources_of
from studio.engine.train.network.network import STATE_ROLES
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder
from studio.engine.train.settings import TrainingSettings
from studio.samples import open_copy
from tests.engine.train.small_tasks import DIGITS, SPIRALS, cnn, mlp, project, task

SAMPLES = ("digits-mlp", "digits-cnn", "digits-resnet", "spirals", "iris")
OPTIMIZERS = ("SGD", "Momentum", "RMSprop", "Adam")


def optimizer(name: str, rate: float) -> dict[str, object]:
    if name == "Momentum":
        return {"type": "SGD", "config": {"learning_rate": rate, "momentum": 0.9}}
    return {"type": name, "config": {"learning_rate": rate}}


def trained(made: Task, backend: Backend) -> TrainingResult | None:
    """How a training ended; None where it broke at a number that is none."""
    try:
        with Trainer(made, backend) as trainer:
            return trainer.run()
    except NumericError:
        return None


def dense(inputs: int, units: tuple[int, ...], outputs: int, hidden: str, last: str) -> LayerGraph:
    graph = LayerGraph("net")
    x = graph.add(Input((inputs,)))
    for count in units:
        x = graph.add(Dense(count, hidden), x)
    graph.outputs = (graph.add(Dense(outputs, last), x),)
    return graph


def regression(loss: str, hidden: str, settings: dict[str, object]) -> Task:
    """Two numbers to be predicted from three."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(160, 3)).astype(np.float32)
    y = np.stack([x[:, 0] * x[:, 1] + 3, np.sin(x[:, 2]) - 1], axis=1).astype(np.float32)
    samples = Samples((x,), (y,))
    spec = DataSpec(sources_of(samples.inputs), sources_of(samples.targets))
    graph = dense(3, (12,), 2, hidden, "linear")
    made = TrainingSettings(**{"epochs": 2, "batch_size": 16, **settings})
    return Task("numbers", graph, made, spec, (Loss.resolve(loss),), (), (), samples)


def networks(settings: dict[str, object]) -> dict[str, Task]:
    """One of each kind of network and loss."""
    both = {"epochs": 2, **settings}
    binary = {**both, "loss": {"type": "BinaryCrossentropy", "config": {"from_logits": True}}}
    logits = {"type": "SparseCategoricalCrossentropy", "config": {"from_logits": True}}
    return {
        "logistic": task(dense(2, (), 2, "relu", "softmax"), SPIRALS, **both),
        "tanh": task(mlp(), SPIRALS, **both),
        "relu": task(dense(2, (12, 12), 2, "relu", "softmax"), SPIRALS, **both),
        "sigmoid": task(dense(2, (12,), 2, "sigmoid", "softmax"), SPIRALS, **both),
        "logits": task(dense(2, (12,), 2, "relu", "linear"), SPIRALS, loss=logits, **both),
        "binary": task(dense(2, (12,), 1, "tanh", "linear"), SPIRALS, **binary),
        "shares": task(mlp(), SPIRALS, loss="CategoricalCrossentropy", **both),
        "squares of shares": task(mlp(), SPIRALS, loss="MeanSquaredError", **both),
        "squares": regression("MeanSquaredError", "tanh", settings),
        "squares, relu": regression("MeanSquaredError", "relu", settings),
        "distances": regression("MeanAbsoluteError", "tanh", settings),
    }


# -- guessing -----------------------------------------------------------------------------------


def numbers_task(
    loss: object,
    y: np.ndarray,
    outputs: int,
    classes: tuple[float, ...] = (),
    weights: np.ndarray | None = None,
) -> Task:
    x = np.zeros((len(y), 2), np.float32)
    own = () if weights is None else (weights,)
    samples = Samples((x,), (y,), own)
    targets = (Source(y.shape[1:], DType.of(y.dtype)),)
    by_class = (classes,) if classes else ()
    shapes = ((),) if own else ()
    spec = DataSpec(sources_of((x,)), targets, class_weights=by_class, sample_weights=shapes)
    graph = dense(2, (), outputs, "relu", "linear")
    settings = TrainingSettings(batch_size=4)
    return Task("guess", graph, settings, spec, (Loss.resolve(loss),), (), (), samples)


LABELS = np.array([0, 0, 0, 1], np.int32)
ROWS = np.array([[1, 0], [3, 0], [5, 4], [7, 0]], np.float32)
HALF = math.log(2)
QUARTER = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))


@pytest.mark.parametrize(
    ("loss", "targets", "outputs", "wanted"),
    [
        ("SparseCategoricalCrossentropy", LABELS, 2, QUARTER),
        ("SparseCategoricalCrossentropy", np.eye(2, dtype=np.float32)[LABELS], 2, QUARTER),
        ("CategoricalCrossentropy", LABELS, 3, QUARTER),
        ({"type": "CategoricalCrossentropy", "config": {"label_smoothing": 1.0}}, LABELS, 2, HALF),
        ("BinaryCrossentropy", LABELS, 1, QUARTER),
        ({"type": "BinaryCrossentropy", "config": {"label_smoothing": 1.0}}, LABELS, 1, HALF),
        ("MeanSquaredError", ROWS, 2, (5 + 3) / 2),
        ({"type": "MeanSquaredError", "config": {"sum_halves": True}}, ROWS, 2, 4 * (5 + 3) / 2),
        ("MeanSquaredError", LABELS, 2, 0.75 * 0.25),
        ("MeanAbsoluteError", ROWS, 2, (2 + 1) / 2),
    ],
)
def test_guessing_is_the_best_constant(
    loss: object, targets: np.ndarray, outputs: int, wanted: float
) -> None:
    assert guessing_loss(numbers_task(loss, targets, outputs)) == pytest.approx(wanted)


def test_weights_count_in_guessing_as_in_training(cpu: Backend) -> None:
    """The network that has learned the shares, and nothing else, has the loss of guessing."""
    sparse = {"type": "SparseCategoricalCrossentropy", "config": {"from_logits": True}}
    classes, weights = (1.0, 3.0), np.array([1, 2, 1, 0.5], np.float32)
    made = numbers_task(sparse, LABELS, 2, classes, weights)
    share = 4 / (4 + 1.5)
    with Trainer(made.with_settings(epochs=1, optimizer="SGD"), cpu) as trainer:
        bias = np.log(np.array([share, 1 - share], np.float32))
        weights_given = {
            t.name: bias if t.shape == (2,) else np.zeros(t.shape, np.float32)
            for t in trainer.network.tensors("train")
        }
        trainer.begin_with(weights_given)
        found = trainer.run().history["loss"][0]
    assert guessing_loss(made) == pytest.approx(found, rel=1e-5)


def test_targets_it_cannot_tell_of_have_no_guess() -> None:
    assert guessing_loss(numbers_task("MeanSquaredError", ROWS, 3)) is None
    assert guessing_loss(numbers_task("MeanSquaredError", np.array([0, 9], np.int32), 2)) is None


# -- what is kept of the losses -----------------------------------------------------------------


def test_start_and_end_are_of_so_many_rows() -> None:
    trace = LossTrace(4)
    assert math.isnan(trace.start)
    assert math.isnan(trace.end)
    for losses in np.split(np.arange(40, dtype=np.float32), (3, 4, 17)):
        trace.add(losses)
    assert trace.start == 1.5
    assert (trace.end_steps, trace.end) == (16, 31.5)
    trace.begin_epoch()
    trace.add(np.array([7.0], np.float32))
    assert (trace.start, trace.end_steps, trace.end) == (1.5, 1, 7.0)


# -- what is recognised -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("rate", [1e3, 1e6])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_absurd_rate_is_recognised(name: str, rate: float, cpu: Backend) -> None:
    for kind, made in networks({"optimizer": optimizer(name, rate)}).items():
        result = trained(made, cpu)
        if result is None:
            continue
        verdict = result.verdict
        if verdict is None:
            # Shares cannot be far off: the squares tell little where the answers are right.
            assert kind == "squares of shares"
            assert result.last["accuracy"] > 0.62
            continue
        assert verdict.kind in ("diverged", "stuck"), kind
        assert verdict.rate == pytest.approx(rate)
        assert verdict.suggested_rate == (0.01 if name in ("SGD", "Momentum") else 0.001)
        assert verdict.guess is not None
        assert verdict.loss >= 0.98 * verdict.guess


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_rate_that_moves_nothing_is_recognised(name: str, cpu: Backend) -> None:
    for kind, made in networks({"optimizer": optimizer(name, 1e-9)}).items():
        result = trained(made, cpu)
        assert result is not None
        guess = guessing_loss(made)
        assert guess is not None
        if result.last["loss"] < 0.98 * guess:
            continue
        verdict = result.verdict
        assert verdict is not None, kind
        assert verdict.kind == "unmoved"
        assert verdict.change is not None
        assert verdict.change < 1e-3
        assert verdict.suggested_rate > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_usual_rate_is_not(name: str, cpu: Backend) -> None:
    usual = 0.01 if name in ("SGD", "Momentum") else 0.001
    for kind, made in networks({"optimizer": optimizer(name, usual)}).items():
        for seed in range(3):
            result = trained(made.with_settings(seed=seed), cpu)
            assert result is not None
            assert result.verdict is None, (kind, seed, result.verdict)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_no_sample_is_accused_after_one_epoch(name: str, cpu: Backend, tmp_path: Path) -> None:
    _no_alarm(name, range(1), cpu, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_no_sample_is_accused_with_ten_seeds(name: str, cpu: Backend, tmp_path: Path) -> None:
    _no_alarm(name, range(1, 10), cpu, tmp_path)


def _no_alarm(name: str, seeds: range, cpu: Backend, folder: Path) -> None:
    opened = Project.load(open_copy(name, folder))
    for seed in seeds:
        made = Task.of_project(opened.with_training(epochs=1, seed=seed))
        result = trained(made, cpu)
        assert result is not None
        assert result.verdict is None, (seed, result.verdict)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [10.0, 100.0, 1e4, 1e6])
@pytest.mark.parametrize("name", SAMPLES)
def test_absurd_rates_are_recognised_in_every_sample(
    name: str, rate: float, cpu: Backend, tmp_path: Path
) -> None:
    opened = Project.load(open_copy(name, tmp_path)).with_training(epochs=1)
    for kind in OPTIMIZERS:
        made = Task.of_project(opened).with_settings(optimizer=optimizer(kind, rate))
        result = trained(made, cpu)
        assert result is None or result.verdict is not None, (kind, result)


def test_a_network_with_normalisation_at_an_absurd_rate(cpu: Backend) -> None:
    result = trained(task(cnn(), DIGITS, epochs=1, optimizer=optimizer("Adam", 1e6)), cpu)
    assert result is not None
    assert result.verdict is not None
    assert result.verdict.kind == "diverged"


# -- what is said -------------------------------------------------------------------------------


def adam_at_a_million(cpu: Backend) -> Verdict:
    graph = LayerGraph("digits")
    x = graph.add(Flatten(), graph.add(Input((8, 8, 1))))
    graph.outputs = (graph.add(Dense(10, "softmax"), graph.add(Dense(16, "relu"), x)),)
    made = task(graph, DIGITS, epochs=1, batch_size=32, optimizer=optimizer("Adam", 1e6))
    with Trainer(made, cpu) as trainer:
        result = trainer.run()
    assert result.verdict is not None
    return result.verdict


@pytest.mark.slow
def test_the_evidence_is_in_the_sentence(cpu: Backend) -> None:
    verdict = adam_at_a_million(cpu)
    assert verdict.headline == "Training did not learn"
    assert verdict.gradients == 4
    assert verdict.zero_gradients >= 3
    for words in (
        f"loss {verdict.loss:#.3g} over the last 12 steps", f"{verdict.start:#.3g} at the start",
        "guessing gives 2.30", f"{verdict.zero_gradients} of 4 parameter tensors are zero",
        "learning rate 1e+06",
    ):  # fmt: skip
        assert words in verdict.text
    assert verdict.hint == "set the learning rate to 0.001 and train again"


class StateAtTheEnd(Callback):
    """Remembers what the network holds when its last step is done."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self.kept: dict[str, np.ndarray] = {}

    def on_train_end(self) -> None:
        self.kept = self._trainer.network.read(STATE_ROLES)


def test_the_network_is_left_as_it_was(cpu: Backend) -> None:
    made = task(mlp(), SPIRALS, epochs=1, optimizer=optimizer("Adam", 1e6))
    with Trainer(made, cpu) as trainer:
        before = StateAtTheEnd(trainer)
        trainer.callbacks.append(before)
        assert trainer.run().verdict is not None
        after = trainer.network.read(STATE_ROLES)
    assert before.kept.keys() == after.keys()
    assert all(np.array_equal(before.kept[k], after[k], equal_nan=True) for k in after)


def test_the_summary_of_the_run_holds_it(cpu: Backend, tmp_path: Path) -> None:
    wrong = project(epochs=1, optimizer=optimizer("Adam", 1e6))
    wrong.path = tmp_path / "wrong.glassbox"
    wrong.save(wrong.path)
    for rate, expected in ((1e6, True), (0.01, False)):
        made = wrong.with_training(optimizer=optimizer("Adam", rate), epochs=2)
        run = RunFolder.create(made)
        with Trainer(Task.of_project(made), cpu, run=run) as trainer:
            verdict = trainer.run().verdict
        assert (verdict is not None) == expected
        written = json.loads((run.path / "summary.json").read_text())
        assert written["state"] == "finished"
        if verdict is None:
            assert written["verdict"] is None
        else:
            assert written["verdict"]["text"] == verdict.text
            assert written["verdict"]["suggested_learning_rate"] == 0.001


def test_a_continued_training_is_measured_from_its_own_start(cpu: Backend, tmp_path: Path) -> None:
    wrong = project(epochs=1, optimizer=optimizer("Adam", 1e6))
    wrong.path = tmp_path / "wrong.glassbox"
    wrong.save(wrong.path)
    run = RunFolder.create(wrong)
    with Trainer(Task.of_project(wrong), cpu, run=run) as trainer:
        first = trainer.run().verdict
    checkpoint = run.last_checkpoint()
    assert first is not None
    assert checkpoint is not None
    more = Task.of_project(wrong.with_training(epochs=2))
    with Trainer(more, cpu, run=run) as trainer:
        trainer.resume(checkpoint)
        second = trainer.run().verdict
    assert second is not None
    assert second.start == first.start
    assert second.start < 2


def test_nothing_is_said_before_an_epoch_is_done(cpu: Backend) -> None:
    with Trainer(task(mlp(), epochs=3, optimizer=optimizer("Adam", 1e6)), cpu) as trainer:
        trainer.control.step(2)
        trainer.control.call(trainer.control.stop)
        result = trainer.run()
    assert result.outcome == "stopped"
    assert result.verdict is None
