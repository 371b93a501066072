"""Testing networks trained for real: measures against plain NumPy, questions, recorded runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studio.engine.core.errors import DataError
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.shaping import Flatten
from studio.engine.optim.losses import MeanAbsoluteError, MeanSquaredError
from studio.engine.train.devices import open_backend
from studio.engine.train.network.measures import (
    Classification,
    PositionClassification,
    Regression,
    class_shares,
    classify,
    regress,
)
from studio.engine.train.network.network import Network
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.weights import initial_weights
from studio.session.core.held_out import SHARED_NAME
from studio.session.evaluation.answers import answers
from studio.session.evaluation.evaluation import LATEST, EvaluationModel
from studio.session.evaluation.results import Choice, measure, output_of, part_of
from studio.session.runs.runs import RunList
from tests.engine.train.small_tasks import DIGITS, SPIRALS
from tests.engine.train.two_inputs import two_inputs
from tests.session.training.bench import TrainingBench


def digits_net(**options: object) -> LayerGraph:
    graph = LayerGraph("digits")
    x = graph.add(Flatten(), graph.add(Input((8, 8, 1))))
    x = graph.add(Dense(32, "relu"), x)
    graph.outputs = (graph.add(Dense(10, **{"activation": "softmax", **options}), x),)
    return graph


class TestBench(TrainingBench):
    __test__ = False

    def __init__(self, folder: Path, *args: object, **options: object) -> None:
        super().__init__(folder, *args, **options)  # type: ignore[arg-type]
        self.runs = RunList(self.model, self.scheduler, self.tasks, self.errors.append)
        self.evaluation = EvaluationModel(self.model, self.runs, self.tasks, self.preferences)
        self.runs.follow()

    def test(self) -> None:
        self.train()
        self.until(lambda: self.evaluation.status in ("ready", "failed"))
        assert self.evaluation.error is None

    def asked(self) -> None:
        self.until(lambda: self.evaluation.answer is not None)

    def close(self) -> None:
        self.evaluation.close()
        self.runs.close()
        super().close()


@pytest.fixture
def benches() -> Iterator[list[TestBench]]:
    made: list[TestBench] = []
    yield made
    for bench in made:
        bench.close()


@pytest.fixture
def digits(tmp_path: Path, benches: list[TestBench]) -> TestBench:
    benches.append(TestBench(tmp_path, digits_net(), DIGITS, epochs=3, batch_size=32))
    benches[0].test()
    return benches[0]


# -- measures -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_test_part_is_measured_when_a_training_has_ended(digits: TestBench) -> None:
    results = digits.evaluation.results
    assert results is not None
    assert digits.evaluation.part == "test"
    outcome = results.outcome
    assert isinstance(outcome, Classification)
    network = digits.model.network
    assert network is not None
    task, outputs = network.use(lambda t: (t.task, t.predict(t.task.test.inputs[0])))
    truth = task.test.targets[0]
    assert results.metrics["accuracy"] == pytest.approx((outputs.argmax(axis=1) == truth).mean())
    assert outcome.accuracy == pytest.approx(results.metrics["accuracy"])
    assert outcome.losses.mean() == pytest.approx(results.metrics["loss"], rel=1e-4)
    expected = np.zeros((10, 10), int)
    for right, said in zip(truth, outputs.argmax(axis=1), strict=True):
        expected[right, said] += 1
    np.testing.assert_array_equal(outcome.confusion(), expected)
    assert outcome.confidence == pytest.approx(outputs.max(axis=1))
    assert results.steps == digits.model.status.steps
    assert len(results) == len(truth)


def test_the_run_remembers_what_it_reached(digits: TestBench) -> None:
    results = digits.evaluation.results
    assert results is not None
    digits.until(lambda: bool(digits.runs.runs) and bool(digits.runs.runs[0].test))
    assert digits.runs.runs[0].test == pytest.approx(dict(results.metrics))


def test_logits_are_made_shares(tmp_path: Path, benches: list[TestBench]) -> None:
    graph = digits_net(activation="linear")
    bench = TestBench(tmp_path, graph, DIGITS, epochs=2, batch_size=64)
    benches.append(bench)
    bench.test()
    results = bench.evaluation.results
    assert results is not None
    assert isinstance(results.outcome, Classification)
    np.testing.assert_allclose(results.outcome.shares.sum(axis=1), 1.0, rtol=1e-9)
    assert results.outcome.losses.mean() == pytest.approx(results.metrics["loss"], rel=1e-4)


def test_one_output_for_two_classes_is_two_shares(tmp_path: Path, benches: list[TestBench]) -> None:
    graph = LayerGraph("binary")
    x = graph.add(Dense(8, "tanh"), graph.add(Input((2,))))
    graph.outputs = (graph.add(Dense(1, "sigmoid"), x),)
    bench = TestBench(tmp_path, graph, SPIRALS, epochs=3)
    benches.append(bench)
    bench.test()
    results = bench.evaluation.results
    assert results is not None
    assert isinstance(results.outcome, Classification)
    assert results.outcome.shares.shape == (len(results), 2)
    assert results.outcome.accuracy == pytest.approx(results.metrics["accuracy"])
    assert results.outcome.losses.mean() == pytest.approx(results.metrics["loss"], rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [MeanSquaredError(), MeanAbsoluteError()], ids=["mse", "mae"])
def test_numbers_are_measured_by_their_errors(
    loss: MeanSquaredError, tmp_path: Path, benches: list[TestBench], rng: np.random.Generator
) -> None:
    rows = rng.normal(size=(200, 3))
    target = rows @ [1.0, -2.0, 0.5] + 0.25
    lines = [
        "a,b,c,y",
        *(",".join(f"{v:.6f}" for v in (*r, t)) for r, t in zip(rows, target, strict=True)),
    ]
    (tmp_path / "line.csv").write_text("\n".join(lines))
    graph = LayerGraph("line")
    graph.outputs = (graph.add(Dense(1), graph.add(Input((3,)))),)
    data = {"source": "csv", "path": "line.csv", "label": "y", "task": "regression"}
    bench = TestBench(tmp_path, graph, data, epochs=60, batch_size=16, loss=loss,
                      optimizer={"type": "Adam", "config": {"learning_rate": 0.03}})  # fmt: skip
    benches.append(bench)
    bench.test()
    results = bench.evaluation.results
    assert results is not None
    outcome = results.outcome
    assert isinstance(outcome, Regression)
    measures = outcome.measures()
    error = outcome.predicted - outcome.truth
    assert measures["mean absolute error"] == pytest.approx(np.abs(error).mean())
    assert measures["root mean square error"] == pytest.approx(np.sqrt((error**2).mean()))
    assert measures["largest error"] == pytest.approx(np.abs(error).max())
    assert measures["fraction of variance explained (R²)"] > 0.99
    assert outcome.losses.mean() == pytest.approx(results.metrics["loss"], rel=1e-4)
    subject = bench.evaluation.subject
    assert subject is not None
    assert [field.name for field in subject.form] == ["a", "b", "c"]
    bench.evaluation.questions.ask_values([1.0, 0.0, 0.0])
    bench.asked()
    assert bench.evaluation.answer is not None
    assert bench.evaluation.answer.values[0, 0] == pytest.approx(1.25, abs=0.1)
    assert bench.evaluation.answer.best == ()


def test_outputs_that_stand_for_no_class_have_names_of_their_own(
    tmp_path: Path, benches: list[TestBench]
) -> None:
    graph = LayerGraph("too many")
    graph.outputs = (graph.add(Dense(12, "softmax"), graph.add(Input((4,)))),)
    iris = TestBench(tmp_path, graph, {"source": "iris"}, epochs=1)
    benches.append(iris)
    iris.test()
    results, subject = iris.evaluation.results, iris.evaluation.subject
    assert results is not None
    assert subject is not None
    outcome = results.outcome
    assert isinstance(outcome, Classification)
    assert outcome.names[:3] == subject.task.class_names
    assert outcome.names[3:] == tuple(f"output {n}" for n in range(3, 12))
    counts = outcome.confusion()
    assert counts.shape == (12, 12)
    assert counts.sum() == len(results)
    iris.evaluation.questions.ask_sample(0)
    iris.asked()
    answer = iris.evaluation.answer
    assert answer is not None
    assert answer.classes == outcome.names
    assert answer.best[0] == outcome.names[outcome.predicted[0]]


def test_what_is_no_number_is_the_likeliest_of_nothing() -> None:
    outputs = np.array([[np.nan, 0.3, 0.7], [0.9, 0.1, np.nan]])
    found = classify(outputs, np.array([2, 0]), ("a", "b", "c"), logits=False)
    assert found.predicted.tolist() == [2, 0]


def test_a_certain_and_wrong_answer_has_a_finite_loss() -> None:
    found = classify(np.array([[1.0, 0.0]]), np.array([1]), ("a", "b"), logits=False)
    assert found.losses[0] == pytest.approx(-np.log(1e-7))


def test_shares_of_logits_are_those_of_a_softmax_in_float64(rng: np.random.Generator) -> None:
    logits = rng.normal(0.0, 300.0, (20, 5))
    found = class_shares(logits, 5, logits=True)
    wide = logits.astype(np.longdouble)
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found, (powers / powers.sum(axis=1, keepdims=True)).astype(float))
    single = class_shares(np.array([[0.0], [800.0], [-800.0]]), 2, logits=True)
    assert single.tolist() == [[0.5, 0.5], [0.0, 1.0], [1.0, 0.0]]


def test_variance_of_constant_targets_explains_nothing() -> None:
    found = regress(np.ones((4, 1)), np.ones((4, 1)), MeanSquaredError())
    assert np.isnan(found.measures()["fraction of variance explained (R²)"])


# -- the samples --------------------------------------------------------------------------------


def test_samples_are_chosen_and_ordered(digits: TestBench) -> None:
    evaluation = digits.evaluation
    results = evaluation.results
    assert results is not None
    outcome = results.outcome
    assert isinstance(outcome, Classification)
    every = evaluation.samples
    assert every is not None
    assert np.all(np.diff(outcome.losses[every]) <= 0)
    heard: list[int] = []

    def hear() -> None:
        heard.append(1)

    evaluation.chosen_changed.connect(hear)
    evaluation.choose(Choice("as in the data", wrong_only=True))
    wrong = evaluation.samples
    assert wrong is not None
    assert heard
    np.testing.assert_array_equal(wrong, np.flatnonzero(outcome.predicted != outcome.truth))
    truth, said = int(outcome.truth[wrong[0]]), int(outcome.predicted[wrong[0]])
    cell = Choice("least confident", truth=truth, predicted=said)
    assert cell.is_cell
    evaluation.choose(cell)
    found = evaluation.samples
    assert found is not None
    assert len(found) == outcome.confusion()[truth, said]
    assert np.all(np.diff(outcome.confidence[found]) >= 0)
    evaluation.choose(replace(cell, order="smallest loss", truth=-1, predicted=-1))
    assert evaluation.samples is not None
    assert np.all(np.diff(outcome.losses[evaluation.samples]) >= 0)


def test_the_test_part_says_that_it_was_validated_on(digits: TestBench) -> None:
    subject = digits.evaluation.subject
    assert subject is not None
    assert subject.parts == ("test", "training")
    assert [subject.part_title(part) for part in subject.parts] == [SHARED_NAME, "training"]


def test_a_validation_part_of_its_own_can_be_measured(
    tmp_path: Path, benches: list[TestBench]
) -> None:
    options = {"validation": "tail", "epochs": 1, "batch_size": 32}
    benches.append(TestBench(tmp_path, digits_net(), DIGITS, **options))
    benches[0].test()
    subject = benches[0].evaluation.subject
    assert subject is not None
    assert subject.parts == ("test", "validation", "training")
    assert subject.part_title("test") == "test"


def test_other_parts_can_be_measured(digits: TestBench) -> None:
    evaluation = digits.evaluation
    evaluation.choose_part("training")
    digits.until(lambda: evaluation.results is not None and evaluation.results.part == "training")
    network = digits.model.network
    assert network is not None
    samples = network.use(lambda t: part_of(t.task, "training"))
    assert evaluation.results is not None
    assert samples is not None
    assert len(evaluation.results) == len(samples)


# -- questions ----------------------------------------------------------------------------------


def test_an_image_file_is_answered(digits: TestBench, tmp_path: Path) -> None:
    evaluation = digits.evaluation
    results = evaluation.results
    assert results is not None
    outcome = results.outcome
    assert isinstance(outcome, Classification)
    sample = int(np.argmin(outcome.losses))
    pixels = np.rint(results.inputs[0][sample, :, :, 0] * (255 / 16)).astype(np.uint8)
    path = tmp_path / "mine.png"
    Image.fromarray(pixels).save(path)
    evaluation.questions.ask_files([path])
    digits.asked()
    answer = evaluation.answer
    assert answer is not None
    assert answer.names == ("mine.png",)
    assert answer.best == (outcome.names[outcome.truth[sample]],)
    np.testing.assert_allclose(answer.values[0], outcome.shares[sample], atol=1e-3)


def test_a_file_that_is_no_image_is_refused_in_a_sentence(
    digits: TestBench, tmp_path: Path
) -> None:
    path = tmp_path / "mine.png"
    path.write_bytes(b"no picture")
    digits.evaluation.questions.ask_files([path])
    digits.until(lambda: digits.evaluation.questions.error is not None)
    assert digits.evaluation.answer is None
    assert "mine.png" in str(digits.evaluation.questions.error)


def test_a_sample_is_answered_as_it_was_measured(digits: TestBench) -> None:
    results = digits.evaluation.results
    assert results is not None
    assert isinstance(results.outcome, Classification)
    digits.evaluation.questions.ask_sample(7)
    digits.asked()
    assert digits.evaluation.answer is not None
    np.testing.assert_allclose(
        digits.evaluation.answer.values[0], results.outcome.shares[7], rtol=1e-5, atol=1e-7
    )


def test_only_the_latest_of_many_questions_is_answered(digits: TestBench) -> None:
    answers: list[tuple[str, ...]] = []

    def hear() -> None:
        if digits.evaluation.answer is not None:
            answers.append(digits.evaluation.answer.names)

    digits.evaluation.questions.answered.connect(hear)
    rows = np.zeros((1, 8, 8, 1), np.uint8)
    for number in range(50):
        digits.evaluation.questions.ask_rows((f"question {number}",), rows)
    digits.until(lambda: ("question 49",) in answers)
    assert answers == [("question 0",), ("question 49",)]


def test_pictures_can_be_drawn_on_and_tables_typed(
    digits: TestBench, tmp_path: Path, benches: list[TestBench]
) -> None:
    subject = digits.evaluation.subject
    assert subject is not None
    assert subject.sheet is not None
    assert subject.form == ()
    assert not subject.is_plane
    iris = TestBench(tmp_path / "iris", iris_net(), {"source": "iris"}, saved=False, epochs=2)
    benches.append(iris)
    iris.test()
    subject = iris.evaluation.subject
    assert subject is not None
    assert subject.sheet is None
    assert len(subject.form) == 4
    samples = subject.task.training.inputs[0]
    for option, values in zip(subject.form, samples.T, strict=True):
        assert option.default == pytest.approx(np.median(values))
        assert option.doc == f"From {values.min():g} to {values.max():g} in the data"
        assert option.label == option.name
    with pytest.raises(DataError, match="number"):
        iris.evaluation.questions.ask_values([1.0, float("nan"), 0.0, 0.0])


def iris_net() -> LayerGraph:
    graph = LayerGraph("iris")
    graph.outputs = (graph.add(Dense(3, "softmax"), graph.add(Input((4,)))),)
    return graph


def test_a_plane_shows_what_the_network_says_everywhere(
    tmp_path: Path, benches: list[TestBench]
) -> None:
    bench = TestBench(tmp_path, epochs=2)
    benches.append(bench)
    bench.test()
    subject = bench.evaluation.subject
    assert subject is not None
    assert subject.is_plane
    plane = subject.planes[0]
    assert plane is not None
    network = bench.model.network
    assert network is not None
    x = np.linspace(*plane.x, 96)[30]
    y = np.linspace(*plane.y, 96)[70]
    said = network.use(lambda t: t.predict(np.array([[x, y]], np.float32)))
    np.testing.assert_allclose(plane.values[70, 30], said[0], rtol=1e-4)


# -- during and after ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_network_can_be_asked_while_it_trains_and_trains_on_the_same(
    tmp_path: Path, benches: list[TestBench]
) -> None:
    asked = TestBench(tmp_path / "a", digits_net(), DIGITS, saved=False, epochs=4)
    quiet = TestBench(tmp_path / "b", digits_net(), DIGITS, saved=False, epochs=4)
    benches += [asked, quiet]
    asked.model.step_batch()
    asked.until_state("paused")
    asked.evaluation.measure()
    asked.until(lambda: asked.evaluation.status == "ready")
    results = asked.evaluation.results
    assert results is not None
    assert set(results.metrics) == {"loss", "accuracy"}
    assert not asked.evaluation.is_stale
    asked.model.step_batch()
    asked.until(lambda: asked.evaluation.is_stale)
    asked.model.start()
    asked.until_state("finished")
    quiet.train()
    mine, theirs = asked.model.curves, quiet.model.curves
    assert mine is not None
    assert theirs is not None
    for name in ("loss", "val_loss", "val_accuracy"):
        np.testing.assert_array_equal(
            mine.segments[0].epochs[name].values, theirs.segments[0].epochs[name].values
        )


def test_a_recorded_run_is_tested_like_the_network_it_was(digits: TestBench) -> None:
    digits.until(lambda: bool(digits.runs.runs))
    first = digits.runs.runs[0].name
    before = digits.evaluation.results
    digits.test()
    digits.until(lambda: len(digits.runs.runs) == 2)
    digits.evaluation.test_run(first)
    digits.until(lambda: digits.evaluation.status == "ready")
    assert digits.evaluation.run == first
    results = digits.evaluation.results
    assert results is not None
    assert before is not None
    np.testing.assert_allclose(results.outcome.losses, before.outcome.losses, rtol=1e-4, atol=1e-6)
    digits.evaluation.test_run(LATEST)
    digits.until(lambda: digits.evaluation.status == "ready")
    assert digits.evaluation.run == LATEST


def test_a_new_training_takes_the_place_of_what_was_tested(digits: TestBench) -> None:
    digits.model.start()
    assert digits.evaluation.results is None
    assert digits.evaluation.status == "waiting"
    digits.until(lambda: digits.evaluation.status == "ready")


def test_nothing_can_be_tested_before_a_training(tmp_path: Path, benches: list[TestBench]) -> None:
    bench = TestBench(tmp_path)
    benches.append(bench)
    assert bench.evaluation.why_not() == "no training was run yet"
    bench.evaluation.measure()
    assert bench.evaluation.status == "nothing"


def test_a_metric_belongs_to_the_output_with_the_longest_fitting_name() -> None:
    names = ("size", "size_of", "which")
    assert output_of("size_loss", names) == "size"
    assert output_of("size_of_loss", names) == "size_of"
    assert output_of("loss", names) == ""


def test_classes_of_positions_are_measured(tmp_path: Path) -> None:
    """A class for each pixel, as of masks: against counts made one pixel after the other."""
    rng = np.random.default_rng(0)
    names = ("ground", "cell", "edge")
    masks = rng.integers(0, len(names), (20, 4, 5))
    np.savez(tmp_path / "data.npz", x=rng.normal(size=(20, 4, 5, 2)), mask=masks)
    graph = LayerGraph("masks")
    ending = Dense(3, "softmax", name="mask")
    graph.outputs = (graph.add(ending, graph.add(Input((4, 5, 2), name="x"))),)
    data = {
        "source": "arrays", "path": "data.npz", "inputs": {"x": "x"},
        "targets": {"mask": {"array": "mask", "class_names": list(names)}},
    }  # fmt: skip
    project = Project.new("masks", graph, data)
    project.path = tmp_path / "masks.glassbox"
    task = Task.of_project(project)
    with (
        open_backend("cpu") as device,
        Trained.of_weights(task, device.backend, initial_weights(graph, 0)) as trained,
    ):
        results = measure(trained, "training", lambda _done, _all: None)
        part = task.training
        assert part is not None
        outputs = trained.predict(part.inputs[0])
        (said,) = answers(trained, ("two",) * 2, (part.inputs[0][:2],))
    outcome = results.outcome
    assert isinstance(outcome, PositionClassification)
    found = outputs.argmax(-1)
    counts = np.zeros((len(names), len(names)), int)
    for truth, predicted in zip(part.targets[0].ravel(), found.ravel(), strict=True):
        counts[truth, predicted] += 1
    np.testing.assert_array_equal(outcome.confusion(), counts)
    assert outcome.accuracy == pytest.approx(results.metrics["accuracy"], rel=1e-5)
    assert outcome.losses.mean() == pytest.approx(results.metrics["loss"], rel=1e-4)
    kept = Choice(truth=0, predicted=1, order="as in the data").indices(outcome)
    wanted = ((part.targets[0] == 0) & (found == 1)).any(axis=(1, 2))
    np.testing.assert_array_equal(kept, np.flatnonzero(wanted))
    assert said.positions == 20
    assert said.classes == names
    np.testing.assert_allclose(said.values.sum(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(said.values[:, -1], outputs[:2, ..., -1].mean((1, 2)), rtol=1e-5)


def test_several_outputs_are_measured_beside_a_training(tmp_path: Path) -> None:
    task = Task.of_project(Project.load(two_inputs(tmp_path, loss_weights={"total": 0.5})))
    with open_backend("cpu") as device, Network(task, device.backend) as network:
        trained = Trained(network)
        alone = measure(trained, "test", lambda _done, _all: None)
        beside = measure(trained, "test", lambda _done, _all: None, beside_training=True)
    assert beside.metrics.keys() == alone.metrics.keys()
    for name, value in alone.metrics.items():
        assert beside.metrics[name] == pytest.approx(value, rel=1e-4), name
    assert alone.shown_metrics.keys() == {"accuracy", "loss", "total_loss"}
    assert alone.shown_metrics["total_loss"] == alone.metrics["loss"]
    other = replace(alone, output=1)
    assert other.shown_metrics.keys() == {"loss", "total_loss"}
    assert other.outcome is alone.outcomes[1]
