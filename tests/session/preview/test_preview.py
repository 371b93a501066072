"""Previews of layers: against networks written out in NumPy, and over edits, undo and training."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studio.engine.layers.activation_layers import Activation
from studio.engine.layers.dense import Dense
from studio.engine.layers.dropout import Dropout
from studio.engine.layers.graph import LayerGraph, Port
from studio.engine.layers.inputs import Input
from studio.engine.layers.shaping import Flatten
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.weights import initial_weights
from studio.session.compile.compilation import Compilation
from studio.session.core.scheduling import ManualScheduler
from studio.session.core.tasks import TaskList
from studio.session.document.document import Document
from studio.session.document.edits.layers import bypass, freeze, mark_output, rename, set_option
from studio.session.document.edits.places import move_by
from studio.session.document.edits.removal import delete
from studio.session.document.edits.sections import set_data, set_training
from studio.session.live.sources import NetworkAtRest
from studio.session.live.tensors import LiveTensors
from studio.session.preview.network import content_hashes, run_part, samples_of, working_part
from studio.session.preview.preview import (
    INITIAL,
    SIZE,
    NodePreviews,
    Preview,
    origin_of,
    thumbnail,
)
from studio.session.tensor_view.colours import colour_map
from tests.engine.layers.several_outputs import cut_digits, split_layer
from tests.engine.train.two_inputs import two_inputs

DIGITS = {"source": "digits", "normalization": "unit"}


def network(units: int = 12) -> LayerGraph:
    graph = LayerGraph("small")
    x = graph.add(Input((8, 8, 1)))
    x = graph.add(Flatten(), x)
    x = graph.add(Dense(units), x)
    x = graph.add(Activation("tanh"), x)
    x = graph.add(Dropout(0.5), x)
    graph.outputs = (graph.add(Dense(10, "softmax"), x),)
    return graph


def written_out(task: Task, weights: dict[str, np.ndarray], rows: np.ndarray) -> dict[str, object]:
    """Every layer's output in float64, from stored weights (dense kernels [out, in])."""
    source = task.spec.inputs[0]
    x = rows.astype(np.float64) * np.array(source.scale) + np.array(source.shift)
    flat = x.reshape(len(x), -1)
    dense = flat @ weights["dense/kernel"].T.astype(np.float64) + weights["dense/bias"]
    hidden = np.tanh(dense)
    logits = hidden @ weights["dense_1/kernel"].T.astype(np.float64) + weights["dense_1/bias"]
    shares = np.exp(logits - logits.max(1, keepdims=True))
    return {
        "input": x, "flatten": flat, "dense": dense, "activation": hidden, "dropout": hidden,
        "dense_1": shares / shares.sum(1, keepdims=True),
    }  # fmt: skip


def outputs(*node_ids: str) -> list[Port]:
    """The first output of each layer."""
    return [Port(node_id) for node_id in node_ids]


class Bench:
    """A document, its compiles and its previews, with a clock turned by hand."""

    def __init__(self, given: Project | None = None) -> None:
        self.clock = ManualScheduler()
        self.tasks = TaskList(self.clock)
        self.compilation = Compilation(self.clock, self.tasks)
        self.live = LiveTensors(self.clock, self.tasks)
        self.previews = NodePreviews(self.clock, self.tasks, self.compilation, self.live)
        settings = {"epochs": 2000, "batch_size": 64}
        project = given or Project.new("small", network(), DIGITS, settings)
        self.document = Document.of_project(project)
        self.told: list[str] = []
        self.previews.changed.connect(self._hear)
        self.compilation.follow(self.document)
        self.previews.follow(self.document)

    def _hear(self, node_ids: tuple[str, ...]) -> None:
        self.told += node_ids

    def until(self, wanted: Callable[[], object], seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not wanted():
            assert time.monotonic() < deadline, "it did not come"
            self.clock.advance(0.02)
            time.sleep(0.001)

    def want(self, *node_ids: str) -> None:
        self.previews.want(outputs(*node_ids))

    def picture(self, node_id: str) -> Preview | None:
        return self.previews.picture(Port(node_id))

    def fresh(self, *node_ids: str) -> bool:
        found = [self.picture(node_id) for node_id in node_ids]
        return all(each is not None and not each.stale for each in found)

    def ids(self) -> list[str]:
        return [node.id for node in self.document.state.layers()]

    def close(self) -> None:
        self.previews.close()
        self.live.close()
        self.compilation.follow(None)
        self.tasks.close()


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.close()


def test_every_layer_makes_what_numpy_makes(bench: Bench) -> None:
    bench.until(lambda: bench.compilation.result is not None)
    result = bench.compilation.result
    assert result is not None
    samples = samples_of(result.task)
    assert samples is not None
    part = working_part(bench.document.state, bench.document.report, samples)
    assert part is not None
    found, trained = run_part(part, samples, 0, outputs(*bench.ids()))
    assert not trained
    weights = initial_weights(result.task.graph, 0)
    for node_id, wanted in written_out(result.task, weights, samples.rows[0]).items():
        np.testing.assert_allclose(found[Port(node_id)], wanted, rtol=1e-4, atol=1e-6)


def test_pictures_come_before_any_training(bench: Bench) -> None:
    ids = bench.ids()
    bench.want(*ids)
    bench.until(lambda: bench.fresh(*ids))
    assert set(bench.told) >= set(ids)
    found = bench.picture("dense")
    assert found is not None
    assert found.text.endswith("initial weights")
    assert found.rgba.dtype == np.uint8
    assert found.rgba.shape[2] == 4
    assert found.rgba.shape[1] <= SIZE[0]


def test_each_of_several_outputs_has_a_picture_of_its_own() -> None:
    with split_layer():
        bench = Bench(cut_digits())
        try:
            cut = [Port("cut"), Port("cut", 1), Port("cut", 2)]
            bench.previews.want([*cut, Port("dropout")])
            made = (*cut[:2], Port("dropout"))
            bench.until(lambda: None not in map(bench.previews.picture, made))
            first, second, through = map(bench.previews.picture, made)
            assert first is not None
            assert second is not None
            assert through is not None
            assert first.rgba.shape != second.rgba.shape
            np.testing.assert_array_equal(second.rgba, through.rgba)
            assert bench.previews.picture(cut[2]) is None
            # What no layer has is not asked for again and again.
            bench.clock.advance(5.0)
            assert not bench.tasks.running
            result = bench.compilation.result
            assert result is not None
            samples = samples_of(result.task)
            assert samples is not None
            part = working_part(bench.document.state, bench.document.report, samples)
            assert part is not None
            found, _ = run_part(part, samples, 0, cut)
            assert set(found) == set(cut[:2])
            source = result.task.spec.inputs[0]
            flat = (samples.rows[0] * np.array(source.scale)).reshape(8, 64)
            np.testing.assert_allclose(found[cut[0]], flat[:, :20], rtol=1e-6)
            np.testing.assert_allclose(found[cut[1]], flat[:, 20:], rtol=1e-6)
        finally:
            bench.close()


def test_a_bypassed_layer_shows_the_output_that_feeds_it() -> None:
    with split_layer():
        bench = Bench(cut_digits())
        try:
            bench.document.apply("Bypass", bypass(bench.document.state, ["dropout"]))
            bench.previews.want([Port("dropout"), Port("cut", 1)])
            bench.until(lambda: bench.fresh("dropout"))
            through, second = map(bench.previews.picture, (Port("dropout"), Port("cut", 1)))
            assert through is not None
            assert second is not None
            assert through.rgba is second.rgba
        finally:
            bench.close()


def test_only_what_is_wanted_is_made(bench: Bench) -> None:
    bench.want("dense")
    bench.until(lambda: bench.fresh("dense"))
    assert bench.picture("dense_1") is None


def test_an_edit_marks_what_it_changes_and_undo_has_the_old_picture_at_once(bench: Bench) -> None:
    ids = bench.ids()
    bench.want(*ids)
    bench.until(lambda: bench.fresh(*ids))
    before = {node_id: bench.picture(node_id) for node_id in ids}
    document = bench.document
    bench.told.clear()
    document.apply("Units", set_option(document.state, "dense", "units", 20))
    stale = {n for n in ids if (p := bench.picture(n)) is not None and p.stale}
    assert stale == {"dense", "activation", "dropout", "dense_1"}
    assert stale <= set(bench.told)
    for node_id in stale:
        kept, old = bench.picture(node_id), before[node_id]
        assert kept is not None
        assert old is not None
        assert kept.rgba is old.rgba
    bench.until(lambda: bench.fresh(*ids))
    new = bench.picture("dense")
    assert new is not None
    assert before["dense"] is not None
    assert new.rgba.tobytes() != before["dense"].rgba.tobytes()
    document.undo()
    assert bench.fresh(*ids)
    for node_id in ids:
        found, old = bench.picture(node_id), before[node_id]
        assert found is not None
        assert old is not None
        assert found.rgba is old.rgba
    document.redo()
    assert bench.fresh(*ids)


def test_a_network_of_two_inputs_has_previews_of_every_layer(tmp_path: Path) -> None:
    bench = Bench(Project.load(two_inputs(tmp_path)))
    try:
        ids = bench.ids()
        bench.want(*ids)
        bench.until(lambda: bench.fresh(*ids))
        result = bench.compilation.result
        assert result is not None
        task = result.task
        samples = samples_of(task)
        assert samples is not None
        assert samples.nodes == ("picture", "row")
        part = working_part(bench.document.state, bench.document.report, samples)
        assert part is not None
        found, _ = run_part(part, samples, 0, outputs(*ids))
        weights = initial_weights(task.graph, 0)
        picture, row = (each.astype(np.float64) for each in samples.rows)
        seen = np.maximum(picture.reshape(len(row), -1) @ weights["seen/kernel"].T, 0.0)
        np.testing.assert_allclose(
            found[Port("joined")], np.hstack([seen, row]), rtol=1e-4, atol=1e-5
        )
        total = row @ weights["total/kernel"].T
        np.testing.assert_allclose(found[Port("total")], total, rtol=1e-4, atol=1e-6)
    finally:
        bench.close()


def test_an_input_without_data_leaves_the_rest_its_previews(tmp_path: Path) -> None:
    bench = Bench(Project.load(two_inputs(tmp_path)))
    try:
        ids = bench.ids()
        bench.want(*ids)
        bench.until(lambda: bench.fresh(*ids))
        result, state = bench.compilation.result, bench.document.state
        assert result is not None
        samples = samples_of(result.task)
        assert samples is not None
        half = replace(samples, nodes=("picture",), sources=samples.sources[:1],
                       rows=samples.rows[:1])  # fmt: skip
        part = working_part(state, bench.document.report, half)
        assert part is not None
        assert set(part.inputs) == {"picture", "flat", "seen"}
        assert run_part(part, half, 0, outputs("seen"))[0][Port("seen")].shape == (8, 16)
    finally:
        bench.close()


def test_moving_and_renaming_change_no_picture(bench: Bench) -> None:
    ids = bench.ids()
    bench.want(*ids)
    bench.until(lambda: bench.fresh(*ids))
    document = bench.document
    document.apply("Move", move_by(document.state, ids, 40, 10))
    assert bench.fresh(*ids)
    document.apply("Rename", rename(document.state, "dense", "hidden"))
    assert bench.fresh(*ids)
    document.apply("Freeze", freeze(document.state, ["dense"]))
    assert bench.fresh(*ids)


def test_another_seed_is_another_picture(bench: Bench) -> None:
    bench.want("flatten", "dense")
    bench.until(lambda: bench.fresh("flatten", "dense"))
    old = bench.picture("dense")
    document = bench.document
    training = {**document.state.training, "seed": 7}
    document.apply("Seed", set_training(document.state, training))
    bench.until(lambda: bench.fresh("flatten", "dense"))
    new = bench.picture("dense")
    assert old is not None
    assert new is not None
    assert old.rgba.tobytes() != new.rgba.tobytes()


def test_quick_edits_are_waited_out(bench: Bench) -> None:
    bench.want("dense")
    bench.until(lambda: bench.fresh("dense"))
    started: list[str] = []
    original = bench.tasks.start

    def start(title: str, *args: object, **named: object) -> object:
        started.append(title)
        return original(title, *args, **named)  # type: ignore[arg-type]

    bench.tasks.start = start  # type: ignore[method-assign,assignment]
    document = bench.document
    for units in range(20, 30):
        document.apply("Units", set_option(document.state, "dense", "units", units), "scrub")
        bench.clock.advance(0.1)
    assert started.count("Preview layers") == 0
    bench.until(lambda: bench.fresh("dense"))
    assert started.count("Preview layers") == 1


def test_a_broken_network_is_shown_as_far_as_it_goes(bench: Bench) -> None:
    ids = bench.ids()
    bench.want(*ids)
    bench.until(lambda: bench.fresh(*ids))
    document = bench.document
    document.apply("Output", mark_output(document.state, "dense_1", True))
    document.apply("Cut", delete(document.state, ["activation"], heal=False))
    document.apply("Units", set_option(document.state, "dense", "units", 20))
    assert not document.report.is_valid
    assert not bench.fresh("dense")
    bench.until(lambda: bench.fresh("input", "flatten", "dense"))
    last = bench.picture("dense_1")
    assert last is not None
    assert last.stale


def test_bypassed_layers_show_what_passes_them(bench: Bench) -> None:
    bench.want("dense", "activation")
    bench.until(lambda: bench.fresh("dense", "activation"))
    document = bench.document
    document.apply("Bypass", bypass(document.state, ["activation"]))
    through, source = bench.picture("activation"), bench.picture("dense")
    assert through is not None
    assert source is not None
    assert through.rgba is source.rgba


def test_hashes_are_the_same_in_every_process_and_follow_the_wires(bench: Bench) -> None:
    state = bench.document.state
    assert content_hashes(state, 0, "d") == content_hashes(state, 0, "d")
    for seed, data in ((1, "d"), (0, "e")):
        other = content_hashes(state, seed, data)
        assert all(other[n] != h for n, h in content_hashes(state, 0, "d").items())


@pytest.mark.slow
def test_trained_weights_are_used_while_and_after_training(bench: Bench) -> None:
    bench.want("dense_1")
    bench.until(lambda: bench.fresh("dense_1"))
    first = bench.picture("dense_1")
    assert first is not None
    task = bench.compilation.result.task  # type: ignore[union-attr]
    with open_backend("cpu") as device, Trainer(task, device.backend) as trainer:
        future = trainer.start()
        bench.live.started(trainer)
        seen: set[bytes] = set()

        def several() -> bool:
            found = bench.picture("dense_1")
            if found is not None and found.text.endswith("training"):
                seen.add(found.rgba.tobytes())
            return len(seen) >= 3

        bench.until(several)
        trainer.control.stop()
        wait([future], 60)
        weights = trainer.read_weights()
        resting = NetworkAtRest(trainer.network, "weights of run x", trainer.loop.total_step)
        bench.live.ended(resting)
        bench.until(
            lambda: (
                (p := bench.picture("dense_1")) is not None and p.text.endswith("weights of run x")
            )
        )
        samples = samples_of(task)
        assert samples is not None
        part = working_part(bench.document.state, bench.document.report, samples)
        assert part is not None
        found, trained = run_part(part, samples, 0, outputs("dense_1"), origin_of(bench.live).read)
        assert trained
        wanted = written_out(task, weights, samples.rows[0])["dense_1"]
        np.testing.assert_allclose(found[Port("dense_1")], wanted, rtol=1e-4, atol=1e-6)
        bench.live.ended()
        bench.live.rest_on(None)
    bench.until(lambda: bench.fresh("dense_1"))
    again = bench.picture("dense_1")
    assert again is not None
    assert again.rgba is first.rgba
    assert origin_of(bench.live) is INITIAL


@pytest.mark.slow
def test_the_training_has_the_same_bits_with_previews(bench: Bench) -> None:
    bench.until(lambda: bench.compilation.result is not None)
    task = bench.compilation.result.task.with_settings(epochs=60)  # type: ignore[union-attr]
    found = []
    for watched in (False, True):
        with open_backend("cpu") as device, Trainer(task, device.backend) as trainer:
            future = trainer.start()
            if watched:
                bench.live.started(trainer)
                bench.want(*bench.ids())
            while wait([future], 0.02).not_done:
                bench.clock.advance(0.5)
            bench.live.ended()
            weights = trainer.read_weights()
            found.append({name: values.tobytes() for name, values in weights.items()})
    assert found[0] == found[1]


def test_without_data_there_are_no_pictures() -> None:
    bench = Bench()
    try:
        bench.document.apply("No data", set_data(bench.document.state, None))
        bench.until(lambda: bench.compilation.result is not None)
        bench.want(*bench.ids())
        bench.clock.advance(1.0)
        assert all(bench.picture(node_id) is None for node_id in bench.ids())
    finally:
        bench.close()


@pytest.mark.parametrize(
    "shape", [(8, 10), (8, 8, 8, 1), (8, 6, 6, 16), (4, 12, 5), (3, 2000), (2, 64, 64, 3), (5,)],
    ids=str,
)  # fmt: skip
def test_a_thumbnail_fits_a_layer_s_body(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    made = thumbnail(rng.standard_normal(shape).astype(np.float32), image=False)
    rows, columns, four = made.rgba.shape
    assert four == 4
    assert 0 < rows <= SIZE[1]
    assert 0 < columns <= SIZE[0]


def test_a_thumbnail_is_seen_through_between_its_tiles() -> None:
    made = thumbnail(np.zeros((1, 4, 4, 2), np.float32), image=False)
    alpha = made.rgba[..., 3]
    scale = made.rgba.shape[1] // 9
    assert (alpha[:, : 4 * scale] == 255).all()
    assert (alpha[:, 4 * scale : 5 * scale] == 0).all()
    assert (alpha[:, 5 * scale :] == 255).all()


def test_a_thumbnail_has_the_colours_of_the_values() -> None:
    values = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    made = thumbnail(values, image=False)
    scale = made.rgba.shape[1] // 4
    table = colour_map("sequential")
    for row in range(3):
        for column in range(4):
            pixel = made.rgba[row * scale + scale // 2, column * scale + scale // 2, :3]
            wanted = table[int(np.floor(float(values[row, column]) * 255 + 0.5))]
            np.testing.assert_array_equal(pixel, wanted)
    assert made.text == "0 … 1"
    bad = thumbnail(np.full((2, 2), np.nan, np.float32), image=False)
    assert bad.text == "no finite values, 4 NaN or Inf"
    assert (bad.rgba[..., :3] == [255, 0, 255]).all()
