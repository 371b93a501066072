"""Tensors looked at during real trainings: what views get, how often, and what it costs."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path

import numpy as np
import pytest

from studio.engine.core.tensor import Shape
from studio.engine.formats.checkpoint import Checkpoint
from studio.engine.runtime.backend import Backend
from studio.engine.runtime.live import ArraySnapshot, Moment
from studio.engine.runtime.live_sheet import Pick, Sheet
from studio.engine.train.devices import open_backend
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.weights import initial_weights
from studio.session.compile.provenance import Provenance
from studio.session.core import entities
from studio.session.live.channel import Past
from studio.session.live.scheduler import TimeSpent
from studio.session.live.sources import HeldWeights, NetworkAtRest, initial
from tests.engine.train.small_tasks import DIGITS, cnn, equal_bytes, task
from tests.session.live.bench import Running, Studio, asked_for, map_of, opened, shown


def test_a_view_follows_the_training_step_by_step(studio: Studio, cpu: Backend) -> None:
    with Trainer(task(), cpu) as trainer:
        running = Running(studio, trainer)
        view = opened(studio, "dense/kernel", sheets=map_of, element=(1, 0))
        studio.until(lambda: view.frame is not None)
        for _ in range(3):
            running.step()
            step = running.steps
            studio.until(lambda s=step: view.frame and view.frame.snapshot.moment.step == s)
            frame = view.frame
            assert frame is not None
            weights = trainer.network.session.read("dense/kernel").result()
            np.testing.assert_array_equal(shown(view), weights)
            assert frame.tile is not None
            np.testing.assert_array_equal(frame.tile.low[0, :, :, 0], weights)
            assert frame.statistics is not None
            assert frame.statistics.high == weights.max()
            assert frame.value == weights[1, 0]
            assert (frame.state, frame.label) == ("live", f"step {step}")
        running.finish()
        studio.live.ended()


@pytest.mark.slow
def test_a_paused_training_shows_what_is_there_and_says_what_is_not(
    studio: Studio, cpu: Backend
) -> None:
    with Trainer(task(cnn(), DIGITS, epochs=1), cpu) as trainer:
        running = Running(studio, trainer)
        running.step(2)
        kernel = opened(studio, "conv2d/kernel")
        early = opened(studio, "conv2d/output")
        studio.until(lambda: kernel.frame is not None)
        assert kernel.frame is not None
        assert kernel.frame.snapshot.moment.step == 2
        studio.until(lambda: early.status.hint or early.frame)
        running.step()
        studio.until(lambda: early.frame is not None or early.status.state == "compiling")
        running.finish()
        studio.live.ended()


def test_what_a_paused_training_is_asked_for_is_of_the_step_it_then_stands_at(
    studio: Studio, cpu: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Trainer(task(cnn(), DIGITS, epochs=1), cpu) as trainer:
        running, control = Running(studio, trainer), trainer.control
        running.step(2)
        session, call, asked = trainer.network.session, control.call, []
        weights = {2: session.read("conv2d/kernel").result().copy()}

        def call_behind_another_step(function: Callable[[], object]) -> Future[object]:
            if not asked:
                asked.append(function)
                control.step()
                while call(lambda: trainer.loop.total_step).result(30) == 2:
                    pass
            return call(function)

        monkeypatch.setattr(control, "call", call_behind_another_step)
        view = studio.live.open(entities.Entity("tensor", "conv2d/kernel"))
        seen: list[tuple[int, np.ndarray]] = []

        def see() -> None:
            if view.frame is not None:
                seen.append((view.frame.snapshot.moment.step, shown(view)))

        view.changed.connect(see)
        view.want(active=True)
        studio.until(lambda: seen)
        weights[3] = session.read("conv2d/kernel").result().copy()
        assert not np.array_equal(weights[2], weights[3])
        for step, array in seen:
            np.testing.assert_array_equal(array, weights[step])
        running.finish()
        studio.live.ended()


@pytest.mark.slow
def test_a_picture_of_an_earlier_step_is_not_called_current_while_a_training_stands_still(
    studio: Studio, cpu: Backend
) -> None:
    with Trainer(task(cnn(), DIGITS, epochs=100), cpu) as trainer:
        running = Running(studio, trainer)
        view = opened(studio, "conv2d/output")
        view.want(active=True, interval=3600.0)
        asked_for(studio, trainer, 1)
        running.step()
        studio.until(lambda: view.status.state == "live" and view.frame)
        assert view.frame is not None
        assert view.frame.snapshot.moment.step == running.steps
        # The first of them is looked at, the last is not; by then other tensors lie there.
        asked_for(studio, trainer, 1)
        running.step(3)
        studio.until(lambda: view.status.text.startswith("It was not read in the last step"))
        assert view.frame.snapshot.moment.step < running.steps
        view.want(sheets=map_of, element=(0, 0, 0, 0))
        studio.until(lambda: view.frame and view.frame.wish.element)
        studio.until(lambda: view.status.state == "waiting")
        running.step()
        studio.until(lambda: view.status.state == "live")
        assert view.frame.snapshot.moment.step == running.steps
        trainer.control.stop()
        running.future.result(60)
        studio.live.ended()


def test_a_view_of_a_paused_training_never_asks_for_a_start(studio: Studio, cpu: Backend) -> None:
    with Trainer(task(), cpu) as trainer:
        running = Running(studio, trainer)
        running.step(2)
        texts: set[str] = set()
        view = studio.live.open(entities.tensor("dense/kernel"))

        def look() -> None:
            texts.add(f"{view.status.text} {view.status.hint}")

        view.changed.connect(look)
        look()
        view.want(active=True, sheets=map_of)
        studio.until(lambda: view.status.state == "live")
        studio.live.budget.set_quiet(True)
        studio.live.budget.set_quiet(False)
        look()
        studio.until(lambda: view.status.state == "live")
        assert view.frame is not None
        assert view.frame.snapshot.moment.step == 2
        assert not any("Start a training" in text for text in texts), texts
        running.finish()
        studio.live.ended()


def test_while_a_training_is_prepared_its_first_step_is_waited_for(
    studio: Studio, cpu: Backend
) -> None:
    view = opened(studio, "dense/output")
    studio.until(lambda: view.status.hint == "Start a training")
    studio.live.expect(True)
    studio.until(lambda: view.status.text == "Appears with the first step")
    assert view.status.hint == ""
    assert studio.live.open(entities.tensor("dense/bias")).status == view.status
    studio.live.expect(False)
    studio.until(lambda: view.status.hint == "Start a training")


def test_the_last_pictures_lie_behind_one_another(studio: Studio, cpu: Backend) -> None:
    with Trainer(task(), cpu) as trainer:
        running = Running(studio, trainer)
        view = studio.live.open(entities.tensor("dense/kernel"), past=3)
        view.want(active=True)
        studio.until(lambda: view.frame is not None)
        wanted = [trainer.network.session.read("dense/kernel").result().copy()]
        for count in (1, 2, 3, 4):
            running.step()
            studio.until(lambda n=count: view.frame and view.frame.snapshot.moment.step == n)
            wanted.append(trainer.network.session.read("dense/kernel").result().copy())
            np.testing.assert_array_equal(shown(view), np.stack(wanted[-3:]))
            assert view.frame is not None
            number = min(count + 1, 3)
            assert view.frame.label == f"{number} snapshots up to step {count}"
        running.finish()
        studio.live.ended()


def test_large_tensors_have_fewer_past_pictures() -> None:
    past = Past(100)
    for step in range(6):
        array = np.full((1024, 1280), step, np.float32)
        made = past.add(ArraySnapshot("t", array, moment=Moment(step, -1)))
    assert made.array()[:, 0, 0].tolist() == [3, 4, 5]
    again = past.add(ArraySnapshot("t", np.zeros((2, 2), np.float32), moment=Moment(9, -1)))
    assert again.shape == (1, 2, 2)
    anew = past.add(ArraySnapshot("t", np.ones((2, 2), np.float32), moment=Moment(1, -1)))
    assert anew.array().tolist() == [[[1, 1], [1, 1]]]
    same = past.add(ArraySnapshot("t", np.full((2, 2), 7, np.float32), moment=Moment(1, -1)))
    assert same.array().tolist() == [[[7, 7], [7, 7]]]


def test_gradients_and_instructions_are_looked_at(studio: Studio, cpu: Backend) -> None:
    with Trainer(task(), cpu) as trainer:
        running = Running(studio, trainer)
        provenance = Provenance(trainer.network.program("train"))
        (update,) = {
            index for index, line in enumerate(trainer.network.program("train"))
            if line.mnemonic == "BEGIN_UPDATE"
        }  # fmt: skip
        gradient = opened(studio, "dense/kernel.grad")
        before = studio.live.open(entities.tensor("dense/kernel"), after=provenance.key_of(update))
        before.want(active=True)
        old = trainer.network.session.read("dense/kernel").result()
        asked_for(studio, trainer, 2)
        assert gradient.status.state == "waiting"
        running.step()
        studio.until(lambda: gradient.frame and before.frame)
        np.testing.assert_array_equal(shown(before), old)
        assert before.frame is not None
        assert before.frame.label == f"step 1 · after #{update}"
        assert before.frame.state == "after"
        assert gradient.frame is not None
        assert gradient.frame.snapshot.grad
        lost = studio.live.open(entities.tensor("dense/kernel"), after="train/nothing/0")
        lost.want(active=True)
        studio.until(lambda: lost.status.state == "missing")
        assert "instruction" in lost.status.text
        running.finish()
        studio.live.ended()


def test_a_fused_tensor_is_kept_by_a_recompile_that_says_so(studio: Studio, cpu: Backend) -> None:
    made = task(cnn(), DIGITS, epochs=1, batch_size=64)
    with Trainer(made, cpu) as plain:
        plain.run()
        wanted = plain.read_weights()
    kept: list[frozenset[str]] = []
    listener = kept.append
    studio.live.kept_changed.connect(listener)
    texts: set[str] = set()
    with Trainer(made, cpu) as trainer:
        running = Running(studio, trainer)
        program = trainer.network.program("train")
        names = [t.name for t in program.tensors.values() if t.register]
        assert names
        views = [opened(studio, name) for name in names]

        def look() -> None:
            texts.update(view.status.text for view in views)

        for view in views:
            view.changed.connect(look)
        studio.until(lambda: texts)
        running.step(2)
        studio.until(lambda: kept and kept[-1] >= set(names))
        asked_for(studio, trainer, len(names))
        running.step(2)
        studio.until(lambda: all(view.frame for view in views))
        assert any("fused kernel" in text and "recompiling" in text for text in texts)
        running.finish()
        studio.live.ended()
        assert equal_bytes(trainer.read_weights(), wanted)


def test_an_unknown_tensor_says_so(studio: Studio, cpu: Backend) -> None:
    with Trainer(task(), cpu) as trainer:
        running = Running(studio, trainer)
        view = opened(studio, "nothing/here")
        studio.until(lambda: view.status.state == "missing")
        assert "no tensor of this name" in view.status.text
        running.finish()
        studio.live.ended()


def test_hidden_views_and_quiet_cost_nothing(studio: Studio, cpu: Backend) -> None:
    with Trainer(task(epochs=20), cpu) as trainer:
        running = Running(studio, trainer)
        view = opened(studio, "dense/kernel")
        running.step()
        studio.until(lambda: view.frame is not None)
        view.want(active=False)
        running.step(3)
        taps = trainer.network.live.taps
        studio.until(lambda: len(taps) == 1)
        (tap,) = taps
        captures = tap.captures
        running.step(3)
        assert tap.captures <= captures + 1
        studio.live.budget.set_quiet(True)
        assert view.status.state == "quiet"
        view.want(active=True)
        captures = tap.captures
        running.step(4)
        assert tap.captures <= captures + 1
        studio.live.budget.set_quiet(False)
        step = running.steps
        running.step()
        studio.until(lambda: view.frame and view.frame.snapshot.moment.step > step)
        running.finish()
        studio.live.ended()


@pytest.mark.slow
def test_pictures_keep_their_distance(studio: Studio, cpu: Backend) -> None:
    with Trainer(task(epochs=2000), cpu) as trainer:
        running = Running(studio, trainer, paused=False)
        view = opened(studio, "dense/kernel")
        seen: list[float] = []

        def note() -> None:
            seen.append(time.perf_counter())

        view.changed.connect(note)
        studio.until(lambda: len(seen) > 6)
        (tap,) = trainer.network.live.taps
        passed = time.perf_counter() - seen[0]
        assert tap.captures <= passed / 0.1 + 3
        trainer.control.stop()
        running.future.result(30)
        studio.live.ended()


@pytest.mark.slow
def test_steps_by_hand_are_looked_at_however_soon(studio: Studio, cpu: Backend) -> None:
    with Trainer(task(), cpu) as trainer:
        running = Running(studio, trainer)
        view = studio.live.open(entities.Entity("tensor", "dense/kernel.grad"))
        view.want(active=True, interval=3600.0)
        for _ in range(3):
            asked_for(studio, trainer, 1)
            running.step()
            step = running.steps
            studio.until(lambda s=step: view.frame and view.frame.snapshot.moment.step == s)
        running.finish()
        studio.live.ended()


def test_weights_are_shown_without_a_training_and_say_whose_they_are(
    studio: Studio, cpu: Backend
) -> None:
    made = task(epochs=1)
    view = opened(studio, "dense/kernel", sheets=map_of)
    gradient = opened(studio, "dense/kernel.grad")
    studio.until(lambda: view.status.hint)
    studio.live.rest_on(initial(made))
    studio.until(lambda: view.frame is not None)
    assert view.frame is not None
    assert (view.frame.label, view.frame.state) == ("initial weights", "resting")
    first = initial_weights(made.graph, made.settings.seed)
    np.testing.assert_array_equal(shown(view), first["dense/kernel"])
    studio.until(lambda: "when the training runs" in gradient.status.text)

    with Trainer(made, cpu) as trainer:
        running = Running(studio, trainer)
        running.step(2)
        studio.until(lambda: view.frame and view.frame.state == "live")
        running.finish()
        steps = trainer.loop.total_step
        studio.live.ended(NetworkAtRest(trainer.network, "the trained network", steps))
        studio.until(lambda: view.frame and view.frame.label == "the trained network")
        np.testing.assert_array_equal(shown(view), trainer.read_weights()["dense/kernel"])


def row(at: int) -> Callable[[Shape], tuple[Sheet, ...]]:
    """One row of a table."""

    def wanted(shape: Shape) -> tuple[Sheet, ...]:
        return (Sheet(shape, (Pick(at, 1, 1), Pick(0, 1, shape[1])), rows=0, columns=1),)

    return wanted


@pytest.mark.parametrize("grad", [False, True])
def test_other_slices_are_drawn_of_what_was_seen_last(
    studio: Studio, cpu: Backend, grad: bool
) -> None:
    entity = entities.tensor("dense/kernel" if grad else "dense/output", grad=grad)
    with Trainer(task(), cpu) as trainer:
        running = Running(studio, trainer)
        view = studio.live.open(entity)
        view.want(active=True, sheets=row(0), element=(1, 1))
        asked_for(studio, trainer, 1)
        running.step()
        studio.until(lambda: view.frame is not None)
        running.finish()
        studio.live.ended()
    studio.until(lambda: view.status.state == "waiting")
    assert view.frame is not None
    last, label = shown(view).copy(), view.frame.label
    for at in (1, 0):
        view.want(sheets=row(at), element=(at, 0))
        studio.until(lambda a=at: view.frame and view.frame.place == (a, 0))
        studio.until(lambda: view.status.state == "waiting")
        frame = view.frame
        assert frame is not None
        assert frame.tile is not None
        np.testing.assert_array_equal(frame.tile.low[0, 0, :, 0], last[at])
        assert frame.value == last[at, 0]
        assert (frame.state, frame.label) == ("live", label)
        assert "when the training runs" in view.status.text


@pytest.mark.slow
def test_what_was_seen_last_is_let_go_when_there_is_something_newer(
    studio: Studio, cpu: Backend
) -> None:
    view = opened(studio, "dense/output", sheets=row(0))
    kept = []
    for _ in range(2):
        with Trainer(task(), cpu) as trainer:
            running = Running(studio, trainer)
            asked_for(studio, trainer, 1)
            running.step()
            studio.until(lambda: view.frame and view.status.state == "live")
            running.finish()
            studio.live.ended()
        studio.until(lambda: view.status.state == "waiting")
        view.want(sheets=row(1))
        studio.until(lambda: view.frame.wish is view.wish and view.status.state == "waiting")
        kept.append(weakref.ref(view.frame.snapshot))
    gc.collect()
    assert kept[0]() is None
    view.close()
    studio.until(lambda: gc.collect() is not None and kept[1]() is None)


def test_weights_that_cannot_be_made_are_told_in_the_view(studio: Studio, tmp_path: Path) -> None:
    (tmp_path / "bad.safetensors").write_bytes(b"nothing of the kind")
    view = opened(studio, "dense/kernel")

    def damaged() -> dict[str, np.ndarray]:
        return dict(Checkpoint.load(tmp_path / "bad.safetensors").tensors)

    studio.live.rest_on(HeldWeights("weights of a damaged file", damaged))
    studio.until(lambda: view.status.state == "missing")


def test_views_can_be_compared_with_what_was_held(studio: Studio, cpu: Backend) -> None:
    with Trainer(task(), cpu) as trainer:
        running = Running(studio, trainer)
        view = opened(studio, "dense/kernel", sheets=map_of)
        studio.until(lambda: view.frame is not None)
        before = shown(view).copy()
        assert view.frame is not None
        from studio.engine.runtime.live import ArraySnapshot

        view.want(minus=ArraySnapshot("dense/kernel", before))
        running.step()
        studio.until(lambda: view.frame and view.frame.snapshot.moment.step == 1)
        after = trainer.network.session.read("dense/kernel").result()
        np.testing.assert_array_equal(shown(view), after - before)
        running.finish()
        studio.live.ended()


@pytest.mark.slow
def test_the_training_has_the_same_bits_with_views_open(studio: Studio, cpu: Backend) -> None:
    made = task(cnn(), DIGITS, epochs=2, batch_size=64)
    with Trainer(made, cpu) as trainer:
        trainer.run()
        wanted = trainer.read_weights()
    with Trainer(made, cpu) as trainer:
        names = [t.name for t in trainer.network.program("train").tensors.values()]
        views = [opened(studio, name) for name in names]
        running = Running(studio, trainer, paused=False)
        while wait([running.future], 0.01).not_done:
            studio.scheduler.advance(0.01)
        running.future.result()
        studio.live.ended()
        assert equal_bytes(trainer.read_weights(), wanted)
        for view in views:
            view.close()


def test_closing_everything_in_the_middle_of_a_training(cpu: Backend) -> None:
    studio = Studio()
    with Trainer(task(epochs=5000), cpu) as trainer:
        running = Running(studio, trainer, paused=False)
        views = [opened(studio, n) for n in ("dense/kernel", "dense/output", "dense/kernel.grad")]
        studio.until(lambda: any(view.frame for view in views))
        studio.close()
        assert trainer.network.live.taps == ()
        assert not running.future.done()
        trainer.control.stop()
        running.future.result(30)


def test_a_training_may_end_before_anybody_says_so(studio: Studio) -> None:
    with open_backend("cpu") as device:
        trainer = Trainer(task(epochs=1), device.backend)
        running = Running(studio, trainer, paused=False)
        view = opened(studio, "dense/kernel")
        running.future.result(30)
        trainer.close()
        studio.scheduler.advance(1.0)
        studio.live.ended()
    studio.live.rest_on(initial(task()))
    studio.until(lambda: view.frame and view.frame.state == "resting")


def test_time_spent_forgets_what_is_long_ago() -> None:
    now = [0.0]
    spent = TimeSpent(2.0, lambda: now[0])
    spent.add(0.1)
    now[0] = 1.0
    spent.add(0.3)
    assert spent.share == pytest.approx(0.2)
    now[0] = 2.5
    assert spent.share == pytest.approx(0.15)
    now[0] = 4.0
    assert spent.share == 0.0


@pytest.mark.slow
@pytest.mark.gl
def test_views_on_opengl_read_back_only_what_they_show(studio: Studio) -> None:
    with open_backend("gl") as device, Trainer(task(epochs=1), device.backend) as trainer:
        running = Running(studio, trainer)
        view = opened(studio, "dense/kernel", sheets=map_of, element=(3, 1))
        studio.until(lambda: view.frame is not None)
        running.step()
        studio.until(lambda: view.frame and view.frame.snapshot.moment.step == 1)
        weights = trainer.network.session.read("dense/kernel").result()
        frame = view.frame
        assert frame is not None
        assert frame.tile is not None
        np.testing.assert_array_equal(frame.tile.low[0, :, :, 0], weights)
        assert frame.value == weights[3, 1]
        running.finish()
        studio.live.ended()
        np.testing.assert_array_equal(shown(view), weights)


@pytest.mark.gl
def test_a_picture_drawn_by_the_device_is_there_behind_the_end_too(studio: Studio) -> None:
    with open_backend("gl") as device, Trainer(task(epochs=1), device.backend) as trainer:
        running = Running(studio, trainer)
        view = opened(studio, "dense/kernel", sheets=map_of, from_device=True)
        asked_for(studio, trainer, 1)
        running.step()
        studio.until(lambda: view.frame and view.frame.snapshot.moment.step == 1)
        assert view.frame is not None
        assert not view.frame.tiles
        weights = trainer.network.session.read("dense/kernel").result()
        running.trainer.control.stop()
        running.future.result(60)
        studio.live.ended()
        assert view.frame.tile is not None
        np.testing.assert_array_equal(view.frame.tile.low[0, :, :, 0], weights)
