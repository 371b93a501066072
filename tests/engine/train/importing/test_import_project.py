"""A file of a model becomes a project with a run, whole or not at all."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import numpy as np
import pytest

from studio.engine import import_model
from studio.engine.core.errors import CheckpointError, DataError, FormatError, StudioError
from studio.engine.interop.reading import holds_model, model_format, model_names
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import LayerGraph
from studio.engine.layers.inputs import Input
from studio.engine.layers.named_parameters import public_weights
from studio.engine.layers.symbol import graph_of, input_symbol
from studio.engine.optim.losses import SparseCategoricalCrossentropy
from studio.engine.optim.optimizers import Adam
from studio.engine.runtime.backend import Backend
from studio.engine.train.callbacks.callback import Callback
from studio.engine.train.importing.project import default_project, import_project
from studio.engine.train.importing.report import FILE, saved_report
from studio.engine.train.loop.starting import begin_as_set
from studio.engine.train.loop.trainer import Trainer
from studio.engine.train.model.model import Model
from studio.engine.train.network.trained import Trained
from studio.engine.train.project.project import Project
from studio.engine.train.project.task import Task
from studio.engine.train.runs.run_folder import RunFolder, latest_run
from studio.engine.train.runs.weights_origin import origin_of_run
from studio.engine.train.weights import initial_weights
from tests.engine.train.importing.model_format import WORD, seeded_format, write_seeded
from tests.engine.train.small_tasks import mlp

ADAM = {
    "optimizer": "adam", "loss": {"dense_1": "sparse_categorical_crossentropy"},
    "metrics": {"dense_1": ["accuracy"]}, "steps": 7,
}  # fmt: skip


@pytest.fixture
def source(seeded: None, tmp_path: Path) -> Path:
    (tmp_path / "from").mkdir()
    return write_seeded(
        tmp_path / "from" / "net.seeded", mlp(), training=ADAM,
        facts={"class_names": '["left", "right"]'}, left_out=["a layer that only trains: noise"],
    )  # fmt: skip


def everything_in(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*"))


@pytest.mark.slow
def test_a_model_becomes_a_project_and_a_run_with_its_weights(
    source: Path, tmp_path: Path, cpu: Backend
) -> None:
    heard: list[tuple[float | None, str]] = []
    target = tmp_path / "made.glassbox"
    made = import_project(source, target, lambda share, text: heard.append((share, text)))
    opened = Project.load(target)
    assert made.project.path == target
    assert (opened.name, opened.graph.name, opened.data) == ("mlp", "mlp", None)
    assert latest_run(opened) == made.run
    weights = initial_weights(mlp(), 5)
    rows = np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)
    hidden = np.tanh(rows @ weights["dense/kernel"].astype(float).T + weights["dense/bias"])
    logits = hidden @ weights["dense_1/kernel"].astype(float).T + weights["dense_1/bias"]
    shares = np.exp(logits)
    with Trained.of_run(made.run, cpu) as trained:
        answers = trained.predict(rows)
    np.testing.assert_allclose(answers, shares / shares.sum(1, keepdims=True), atol=1e-6)
    assert origin_of_run(made.run).brief == "weights imported from net.seeded, final.safetensors"
    assert heard[0][0] == 0.0
    shares_heard = [share for share, _ in heard if share is not None]
    assert shares_heard == sorted(shares_heard)
    assert not [name for name in everything_in(tmp_path) if name.endswith(".tmp")]


def test_how_it_was_compiled_and_what_it_says_are_kept(source: Path, tmp_path: Path) -> None:
    made = import_project(source, tmp_path / "made.glassbox")
    settings = Project.load(tmp_path / "made.glassbox").training
    assert isinstance(settings.optimizer, Adam)
    assert isinstance(settings.loss, SparseCategoricalCrossentropy)
    assert settings.begin_with == "imported"
    assert 'class names: ["left", "right"]' in made.project.notes
    report = saved_report(made.run)
    assert report == made.report
    assert report.lines() == [
        "net.seeded: seeds, version 1, 3 layers", "left out: a layer that only trains: noise",
    ]  # fmt: skip


def test_a_model_without_training_has_the_usual_settings(seeded: None, tmp_path: Path) -> None:
    source = write_seeded(tmp_path / "net.seeded", mlp())
    settings = import_project(source, tmp_path / "made.glassbox").project.training
    assert (settings.loss, settings.metrics) == (None, None)


def test_settings_that_are_unknown_here_are_left_out_and_said(seeded: None, tmp_path: Path) -> None:
    training = {"loss": {"dense_1": "no_such_loss"}}
    source = write_seeded(tmp_path / "net.seeded", mlp(), training=training)
    made = import_project(source, tmp_path / "made.glassbox")
    assert made.project.training.loss is None
    assert "no_such_loss" in made.report.left_out[-1]
    assert saved_report(made.run) == made.report


def test_nested_models_become_blocks(seeded: None, tmp_path: Path) -> None:
    from studio.engine import Model

    inner_in = input_symbol((3,))
    inner = Model(inner_in, Dense(4)(inner_in), name="inner")
    outer_in = input_symbol((3,))
    graph = graph_of([outer_in], [Dense(2)(inner(outer_in))], "outer")
    with seeded_format() as form:
        source = write_seeded(tmp_path / "net.seeded", graph)
        found = form().read_model(source)
        found.graph.nested = graph.nested
        form.read_model = lambda _self, _path, _progress=None: found  # type: ignore[method-assign]
        import_project(source, tmp_path / "made.glassbox")
    blocks = Project.load(tmp_path / "made.glassbox").blocks
    assert {path: block.kind for path, block in blocks.items()} == {"inner": "model"}


def test_several_outputs_keep_their_losses_by_name(seeded: None, tmp_path: Path) -> None:
    graph = LayerGraph("two")
    x = graph.add(Input((2,)))
    graph.outputs = (graph.add(Dense(1, name="a"), x), graph.add(Dense(1, name="b"), x))
    training = {
        "loss": {"a": "mse", "b": None},
        "metrics": {"a": ["mae"]},
        "loss_weights": {"a": 2.0},
    }
    source = write_seeded(tmp_path / "net.seeded", graph, training=training)
    settings = import_project(source, tmp_path / "made.glassbox").project.training
    assert settings.has_no_loss("b")
    assert settings.metrics_of("b") == ()
    assert [type(each).__name__ for each in settings.metrics_of("a") or ()] == ["MeanAbsoluteError"]
    assert settings.loss_weights == {"a": 2.0}


@pytest.mark.parametrize("there", ["made.glassbox", "made.runs"])
def test_a_project_that_is_there_is_never_overwritten(
    source: Path, tmp_path: Path, there: str
) -> None:
    (tmp_path / there).write_text("mine")
    before = everything_in(tmp_path)
    with pytest.raises(DataError, match="of that name") as raised:
        import_project(source, tmp_path / "made.glassbox")
    assert "choose another name" in str(raised.value)
    assert (tmp_path / there).read_text() == "mine"
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize("at", [0.3, 0.8, 0.97])
def test_nothing_is_left_behind_when_it_is_cancelled(
    source: Path, tmp_path: Path, at: float
) -> None:
    class StoppedError(Exception):
        pass

    def stop(share: float | None, _text: str) -> None:
        if share is not None and share >= at:
            raise StoppedError

    before = everything_in(tmp_path)
    with pytest.raises(StoppedError):
        import_project(source, tmp_path / "made.glassbox", stop)
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"without": "dense/kernel"}, "there is nothing for 'dense/kernel'"),
        ({"wrong": "dense/kernel"}, r"'dense/kernel': expected \[8, 2\], got \[1, 1\]"),
        ({"wrong": "other/kernel"}, "'other/kernel' fits no layer"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    seeded: None, tmp_path: Path, fields: dict[str, str], said: str
) -> None:
    source = write_seeded(tmp_path / "net.seeded", mlp(), **fields)
    with pytest.raises(CheckpointError, match=said):
        import_project(source, tmp_path / "made.glassbox")
    assert everything_in(tmp_path) == ["net.seeded"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("net.seeded", WORD + b"{", "the network cannot be read"),
        ("net.txt", b"some words", "expected a model as .*got a file of another kind"),
        ("weights.npz", b"PK\x05\x06" + bytes(18), r"got weights \(NumPy\) \(.npz\)"),
        ("net.seeded", b"", "the network cannot be read"),
    ],
)
def test_other_and_damaged_files_are_refused_in_a_sentence(
    seeded: None, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=said):
        import_project(tmp_path / name, tmp_path / "made.glassbox")
    assert everything_in(tmp_path) == [name]


def test_missing_files_and_folders_are_named(source: Path, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"nothing\.seeded"):
        import_project(tmp_path / "nothing.seeded", tmp_path / "made.glassbox")
    with pytest.raises(DataError, match="there is no such folder"):
        import_project(source, tmp_path / "none" / "made.glassbox")
    with pytest.raises(DataError, match=r"expected a name that ends with \.glassbox"):
        import_project(source, tmp_path / "made.json")


def test_a_disk_that_refuses_the_last_step_leaves_nothing_behind(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, real = everything_in(tmp_path), Path.rename

    def rename(path: Path, target: Path) -> Path:
        if target.suffix == ".glassbox" and path.parent != target.parent:
            raise OSError(errno.EROFS, "read-only")
        return real(path, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(FormatError, match="the disk is read-only"):
        import_project(source, tmp_path / "made.glassbox")
    assert everything_in(tmp_path) == before


def test_a_project_is_named_after_its_file_or_folder() -> None:
    assert default_project("a/b/net.v2.keras", "c") == Path("c/net.glassbox")
    assert default_project("a/mobile/model.json", "c") == Path("c/mobile.glassbox")
    assert default_project("a/page.tfjs", "c") == Path("c/page.glassbox")


def test_models_are_told_by_content_else_by_name(seeded: None, tmp_path: Path) -> None:
    assert {".seeded", ".keras", ".h5", "model.json"} <= set(model_names())
    odd = write_seeded(tmp_path / "odd.name", mlp())
    assert holds_model(odd)
    (tmp_path / "shards").mkdir()
    assert not holds_model(tmp_path / "shards")
    (tmp_path / "shards" / "model.json").write_text('{"modelTopology": 3}')
    assert holds_model(tmp_path / "shards")
    (tmp_path / "damaged.KERAS").write_bytes(b"?")
    assert holds_model(tmp_path / "damaged.KERAS")
    (tmp_path / "data.json").write_text('{"a": 1}')
    (tmp_path / "w.npz").write_bytes(b"PK\x05\x06" + bytes(18))
    assert not holds_model(tmp_path / "data.json")
    assert not holds_model(tmp_path / "w.npz")
    assert model_format(tmp_path / "damaged.KERAS").name == "keras"


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"report": "other"}', b'{"report": 3', b"\xff"])
def test_a_damaged_report_is_refused(source: Path, tmp_path: Path, content: bytes) -> None:
    run = import_project(source, tmp_path / "made.glassbox").run
    (run.path / FILE).write_bytes(content)
    with pytest.raises(FormatError):
        saved_report(run)


def test_a_report_with_parts_of_other_kinds_is_read_without_them(
    source: Path, tmp_path: Path
) -> None:
    run = import_project(source, tmp_path / "made.glassbox").run
    found = json.loads((run.path / FILE).read_text())
    found |= {"layers": [3, {"name": "a\x1b[2J", "class": None}], "left_out": "all", "remarks": [1]}
    (run.path / FILE).write_text(json.dumps(found))
    report = saved_report(run)
    assert report is not None
    assert "\x1b" not in report.layers[1].name
    assert (report.left_out, report.remarks) == ((), ("",))
    (run.path / FILE).unlink()
    assert saved_report(run) is None


# -- training goes on -----------------------------------------------------------------------------

SPIRALS = {"source": "spirals", "n": 60, "noise": 0.02}


def begun(path: Path, cpu: Backend, **changes: object) -> tuple[str, dict[str, np.ndarray], int]:
    """What was said, the weights and the steps behind a training of one step."""
    made = Project.load(path)
    made = made.with_training(epochs=1, batch_size=500, **changes)
    from studio.engine.train.project.data_settings import DataSettings

    made.data = DataSettings.from_json(SPIRALS)
    with Trainer(Task.of_project(made), cpu) as trainer:
        text = begin_as_set(trainer, made)
        trainer.run()
        slots = trainer.checkpoint().tensors
        return text, dict(slots), trainer.loop.total_step


def test_a_training_begins_with_what_was_imported_and_its_optimiser_state(
    source: Path, tmp_path: Path, cpu: Backend
) -> None:
    target = tmp_path / "made.glassbox"
    import_project(source, target)
    text, tensors, steps = begun(target, cpu)
    assert text == "beginning with the weights of net.seeded, after 7 steps"
    assert steps == 8
    # Adam: v is a running mean of squares, so that one step leaves 0.999 of it at least.
    assert tensors["dense/kernel/v"].min() >= np.float32(0.02) * np.float32(0.999) * (1 - 1e-6)
    moved = np.abs(tensors["dense/kernel"] - initial_weights(mlp(), 5)["dense/kernel"]).max()
    assert 0 < moved < 0.01


def test_another_optimiser_and_fresh_weights_begin_anew(
    source: Path, tmp_path: Path, cpu: Backend
) -> None:
    target = tmp_path / "made.glassbox"
    import_project(source, target)
    text, tensors, steps = begun(target, cpu, optimizer="rmsprop")
    assert (text, steps) == ("beginning with the weights of net.seeded", 1)
    assert tensors["dense/kernel/v"].max() < 0.02
    text, tensors, steps = begun(target, cpu, begin_with="fresh")
    assert (text, steps) == ("", 1)
    fresh = initial_weights(mlp(), 0)["dense/kernel"]
    assert np.abs(tensors["dense/kernel"] - fresh).max() < 0.01


def test_a_new_last_layer_begins_fresh(source: Path, tmp_path: Path, cpu: Backend) -> None:
    target = tmp_path / "made.glassbox"
    made = import_project(source, target)
    graph = LayerGraph("mlp")
    x = graph.add(Dense(8, "tanh"), graph.add(Input((2,))))
    graph.outputs = (graph.add(Dense(3, "softmax", name="head"), x),)
    made.project.graph = graph
    made.project.training = made.project.training.replace(loss=None, metrics=None)
    made.project.save()
    text, tensors, steps = begun(target, cpu)
    assert text.endswith("after 7 steps; 2 parameters fresh: head/kernel, head/bias")
    assert steps == 8
    old = initial_weights(mlp(), 5)["dense/kernel"]
    assert np.abs(tensors["dense/kernel"] - old).max() < 0.01
    assert tensors["head/kernel/v"].max() < 0.02


def test_a_network_that_nothing_fits_and_a_project_without_imports_are_refused(
    source: Path, tmp_path: Path, cpu: Backend
) -> None:
    target = tmp_path / "made.glassbox"
    made = import_project(source, target)
    made.project.graph = mlp(units=9, outputs=4)
    made.project.save()
    with pytest.raises(CheckpointError, match="fit no parameter of this network"):
        begun(target, cpu)
    other = Project("other", mlp(), training=made.project.training)
    other.save(tmp_path / "other.glassbox")
    with pytest.raises(DataError, match="none were imported"):
        begun(tmp_path / "other.glassbox", cpu)


class Counted(Callback):
    """Notes how many steps there were in all."""

    steps = 0

    def on_train_end(self) -> None:
        assert isinstance(self.training, Trainer)
        self.steps = self.training.loop.total_step


# -- in Python ------------------------------------------------------------------------------------


def test_a_model_in_python_is_compiled_and_goes_on_where_it_stopped(
    source: Path, cpu: Backend
) -> None:
    rows = np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)
    with import_model(source, backend="cpu") as model:
        assert model.report.source == "net.seeded"
        assert model.facts == {"class_names": '["left", "right"]'}
        assert model.predict(rows).shape == (4, 2)
        counted = Counted()
        model.fit(rows, np.array([0, 1, 0, 1]), epochs=1, batch_size=4, callbacks=[counted])
        assert counted.steps == 8
        assert model.evaluate(rows, np.array([0, 1, 0, 1]), return_dict=True).keys() >= {"accuracy"}


def test_a_model_that_was_not_compiled_says_so(seeded: None, tmp_path: Path) -> None:
    with import_model(write_seeded(tmp_path / "net.seeded", mlp()), backend="cpu") as model:
        with pytest.raises(StudioError, match="compile the model"):
            model.fit(np.zeros((4, 2), np.float32), np.zeros(4))
        assert len(model.get_weights()) == 4


def test_a_model_whose_loss_is_unknown_says_so_and_predicts(seeded: None, tmp_path: Path) -> None:
    training = {"loss": {"dense_1": "no_such_loss"}}
    source = write_seeded(tmp_path / "net.seeded", mlp(), training=training)
    with import_model(source, backend="cpu") as model:
        assert "no_such_loss" in model.report.left_out[-1]
        assert model.predict(np.zeros((1, 2), np.float32)).shape == (1, 2)


def test_a_saved_import_opens_as_a_project(source: Path, tmp_path: Path) -> None:
    with import_model(source, backend="cpu") as model:
        saved = Project.load(model.save(tmp_path / "kept"))
    assert isinstance(saved.training.loss, SparseCategoricalCrossentropy)
    assert RunFolder(tmp_path / "kept.runs").path.exists() is False


def test_a_network_changed_since_its_import_is_loaded_with_what_fits(
    source: Path, tmp_path: Path
) -> None:
    made = import_project(source, tmp_path / "made.glassbox")
    with Model.load(tmp_path / "made.glassbox", backend="cpu") as model:
        kept = public_weights(mlp(), initial_weights(mlp(), 5))
        for mine, theirs in zip(model.get_weights(), kept.values(), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    made.project.graph = mlp(outputs=3)
    made.project.training = made.project.training.replace(loss=None, metrics=None)
    made.project.save()
    with (
        pytest.warns(UserWarning, match="2 parameters fresh: dense_1/kernel, dense_1/bias"),
        Model.load(tmp_path / "made.glassbox", backend="cpu") as model,
    ):
        found = model.get_weights()
    np.testing.assert_array_equal(found[0], kept["dense/kernel"])
    fresh = public_weights(mlp(outputs=3), initial_weights(mlp(outputs=3), 0))
    np.testing.assert_array_equal(found[2], fresh["dense_1/kernel"])
