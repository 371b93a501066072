"""The preview of augmentation is what a training draws for the same sample, seed and epoch."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from studio.engine.compiler.lower_augment import Augmentation, Flip, Noise, Shift
from studio.engine.core.errors import ShapeError
from studio.engine.core.tensor import Ref
from studio.engine.train.data.builtin import load_digits
from studio.engine.train.data.normalization import make_normalization
from studio.engine.train.devices import open_backend
from studio.engine.train.network.data_feeder import DataFeeder
from studio.engine.train.network.network import Network
from studio.engine.train.project.data_settings import DataSettings
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.session.core.scheduling import ManualScheduler
from studio.session.core.tasks import TaskList
from studio.session.data.augmentation import AugmentationPreview, augmented
from studio.session.data.data import DataModel
from studio.session.document.document import Document
from tests.engine.train.two_inputs import two_inputs

SAMPLE = Path(__file__).resolve().parents[3] / "projects" / "digits-mlp" / "digits-mlp.glassbox"

STEPS: tuple[Augmentation, ...] = (Shift(rows=2, cols=1), Flip(), Noise(deviation=0.05))


def batch_of_training(seed: int, epoch: int, rows: int) -> np.ndarray:
    """The first rows of an unshuffled epoch as they reach the network in a training."""
    project = Project.load(SAMPLE)
    project.data = DataSettings({"source": "digits"}, "unit", 0.2, 0, STEPS)
    task = Task.of_project(project)
    assert task.training is not None
    with open_backend("cpu") as opened, Network(task, opened.backend) as network:
        name = "input/output"
        program = network.programs.compile(
            "train", 0, opened.backend.target, keep=frozenset({name})
        )
        network.initialise(seed)
        feeder = DataFeeder(network, "train", task.training, rows, seed, 1 << 30)
        step_range = next(iter(feeder.step_ranges(epoch, shuffle=False)))
        feeder.position(step_range, step=0, epoch=epoch, record=0)
        ref = next(t.id for t in program.tensors.values() if t.name == name)
        program = replace(program, outputs=(*program.outputs, ref))
        executable = opened.backend.compile(program, network.session, rows)
        executable.run()
        values = np.array(executable.fetch(Ref(ref)).result())
        executable.close()
    return values


@pytest.mark.slow
@pytest.mark.parametrize("epoch", [0, 3])
def test_the_preview_is_what_a_training_gets(epoch: int) -> None:
    expected = batch_of_training(seed=11, epoch=epoch, rows=16)
    settings = DataSettings({"source": "digits"}, "unit", 0.2, 0, STEPS)
    digits = load_digits()
    kept, _ = digits.parts(settings.test_fraction, settings.split_seed)
    norm = make_normalization("unit", kept.x, kept.value_range)
    made = augmented(kept.x[:16], range(16), STEPS, norm, seed=11, epochs=epoch + 1)
    np.testing.assert_allclose(norm.apply(made.after[:, epoch]), expected, atol=1e-6)


def test_flips_turn_pictures_about_and_leave_the_rest() -> None:
    digits = load_digits()
    norm = make_normalization("unit", digits.x, digits.value_range)
    rows = digits.x[:24]
    made = augmented(rows, range(24), [Flip()], norm, seed=5, epochs=3)
    same = np.isclose(made.after, made.before[:, None], atol=1e-4).all(axis=(2, 3, 4))
    turned = np.isclose(made.after, made.before[:, None, :, ::-1], atol=1e-4).all(axis=(2, 3, 4))
    assert (same | turned).all()
    assert 0.3 < turned.mean() < 0.7
    assert not (same[:, 0] == same[:, 1]).all(), "every epoch draws anew"


def test_what_is_drawn_depends_on_the_samples_place_not_on_its_page() -> None:
    digits = load_digits()
    norm = make_normalization("unit", digits.x, digits.value_range)
    whole = augmented(digits.x[:6], range(6), STEPS, norm, seed=9, epochs=2)
    part = augmented(digits.x[3:6], [3, 4, 5], STEPS, norm, seed=9, epochs=2)
    np.testing.assert_array_equal(part.after, whole.after[3:])


def test_tables_are_refused_in_the_engines_own_words() -> None:
    rows = np.zeros((2, 4), np.float32)
    with pytest.raises(ShapeError, match="expected images"):
        augmented(rows, [0, 1], [Flip()], make_normalization("none", rows), seed=0, epochs=1)


@pytest.mark.parametrize("turns", [(False, True), (True, False), (True, True)])
def test_the_input_with_images_is_previewed_whichever_the_first_is(
    tmp_path: Path, turns: tuple[bool, bool]
) -> None:
    """Whether data or network name the row or the picture first: the picture is augmented."""
    project = Project.load(two_inputs(tmp_path))
    assert project.data is not None
    inputs = project.data.reference["inputs"]
    assert isinstance(inputs, dict)
    of_network, of_data = turns
    if of_network:
        nodes = project.graph.nodes
        project.graph.nodes = {key: nodes[key] for key in sorted(nodes, key=lambda k: k != "row")}
    turned = dict(project.data.reference)
    if of_data:
        turned["inputs"] = dict(reversed(inputs.items()))
    project.data = replace(project.data, reference=turned, augment=(Flip(),), normalization="unit")
    clock = ManualScheduler()
    tasks = TaskList(clock)
    document = Document.of_project(project)
    data = DataModel(lambda: document, tasks)
    preview = AugmentationPreview(lambda: document, data, clock, tasks)
    try:
        data.follow(document)
        deadline = time.monotonic() + 60.0
        while preview.result is None and time.monotonic() < deadline:
            clock.advance(0.02)
            time.sleep(0.001)
        assert preview.error is None
        assert preview.result is not None
        assert preview.result.before.shape == (4, 8, 8, 1)
        assert preview.result.after.max() == pytest.approx(preview.result.before.max(), abs=1e-4)
    finally:
        tasks.close()
