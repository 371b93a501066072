from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.engine.core.errors import FormatError, StudioError
from studio.engine.layers.graph import Port
from studio.engine.layers.graph_json import graph_to_json
from studio.engine.train.project.project import Project
from studio.samples import sample_names, sample_root
from studio.session.document.cards.geometry import box_of
from studio.session.document.document import Change, Document
from studio.session.document.edits import comments, layers, places, sections, wires
from studio.session.document.edits.layers import bypass
from studio.session.document.edits.wires import connect, disconnect
from studio.session.document.errors import ReadOnlyError
from studio.session.document.state import DocumentState, Wire
from tests.session.document.networks import chain, net, refusal, residual, share
from tests.session.document.networks import wires as drawn


def sample(name: str) -> Path:
    return sample_root() / name / f"{name}.glassbox"


def saved(state: DocumentState, tmp_path: Path) -> Document:
    """The document of a state, saved and opened again."""
    path = tmp_path / "saved.glassbox"
    Document(state).save(path)
    return Document.open(path)


def altered(tmp_path: Path, change) -> Path:
    """The digits-cnn sample with something changed in its document."""
    document = json.loads(sample("digits-cnn").read_text("utf-8"))
    change(document)
    path = tmp_path / "altered.glassbox"
    path.write_text(json.dumps(document), "utf-8")
    return path


@pytest.mark.parametrize("name", sample_names())
def test_opening_and_saving_a_sample_changes_nothing(name, tmp_path):
    document = Document.open(sample(name))
    assert document.warnings == ()
    assert not document.dirty
    document.save(tmp_path / "copy.glassbox")
    assert (tmp_path / "copy.glassbox").read_bytes() == sample(name).read_bytes()


DRAWINGS = {
    "dot": lambda s: wires.add_dot(s, Wire("conv2d", "re_lu", 0), 10.0, 20.5),
    "bypassed": lambda s: bypass(s, ["re_lu"]),
    "collapsed": lambda s: layers.collapse(s, ["dense"]),
    "preview": lambda s: layers.set_preview(s, ["dense"], "full"),
    "lying ready": lambda s: layers.add_layer(s, "Dropout", at=(0.0, 400.0)),
    "cut in two": lambda s: disconnect(s, "flatten", 0),
    "note": lambda s: comments.add_note(s, 5.0, 6.0, "why \N{WHITE SMILING FACE}"),
    "frame": lambda s: comments.add_frame(s, ["conv2d", "re_lu"], text="stem"),
    "marked end": lambda s: layers.mark_output(s, "dense"),
    "output in the middle": lambda s: layers.mark_output(s, "flatten"),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_that_says_more_is_saved_and_opened_as_it_was(name, tmp_path):
    state = sections.set_training(DRAWINGS[name](chain()), {})
    project = Document(state).project()
    assert project.canvas is not None
    again = saved(state, tmp_path)
    assert again.state == state
    assert again.warnings == ()
    assert not again.dirty


PLAIN = {
    "chain": chain(),
    "residual": residual(),
    "moved": places.move(chain(), {"dense": (1.25, -3.0)}),
    "shared": share(chain(), "dense", "again", "flatten").replaced(
        outputs=(Port("dense"), Port("again"))
    ),
    "frozen": layers.freeze(chain(), ["dense"]),
    "renamed": layers.rename(chain(), "dense", "head"),
    "empty": DocumentState(),
    "two ends": layers.add_layer(chain(), "Softmax", after="flatten"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_drawing_that_says_no_more_is_left_out(name, tmp_path):
    state = sections.set_training(PLAIN[name], {})
    assert Document(state).project().canvas is None
    assert saved(state, tmp_path).state == state


def test_what_runs_is_the_drawing_without_dots_and_bypassed_layers(tmp_path):
    state = wires.add_dot(bypass(chain(), ["re_lu"]), Wire("conv2d", "re_lu", 0), 0.0, 0.0)
    graph = Document(state).project().graph
    assert list(graph.nodes) == ["input", "conv2d", "max_pooling2d", "flatten", "dense"]
    assert graph.nodes["max_pooling2d"].inputs[0].node == "conv2d"
    graph.check()


def test_a_drawing_of_another_network_is_left_out(tmp_path):
    path = tmp_path / "a.glassbox"
    Document(bypass(chain(), ["re_lu"])).save(path)
    document = json.loads(path.read_text("utf-8"))
    document["graph"]["nodes"][1]["config"]["filters"] = 3
    path.write_text(json.dumps(document), "utf-8")
    opened = Document.open(path)
    assert opened.warnings == (
        "the layout of the canvas could not be read: it belongs to another network",
    )
    assert "re_lu" not in opened.state.nodes
    assert opened.state.nodes["conv2d"].config["filters"] == 3
    assert opened.read_only == ""


BROKEN_CANVAS = {
    "another version": {"version": 9},
    "no list": {"version": 1, "nodes": "x"},
    "unknown field": {"version": 1, "nodes": [{"id": "a", "colour": 1}]},
    "unknown kind": {"version": 1, "nodes": [{"id": "a", "kind": "cloud"}]},
    "place out of reach": {"version": 1, "nodes": [{"id": "a", "kind": "dot", "x": 1e9}]},
    "place is no number": {"version": 1, "nodes": [{"id": "a", "kind": "dot", "x": True}]},
    "twice": {"version": 1, "nodes": [{"id": "a", "kind": "dot"}] * 2},
    "unknown layer": {"version": 1, "nodes": [{"id": "a", "type": "Foo", "config": {"name": "a"}}]},
    "wrong option": {
        "version": 1,
        "nodes": [{"id": "a", "type": "Dense", "config": {"name": "a", "units": 0}}],
    },
    "no name": {"version": 1, "nodes": [{"id": "a", "type": "ReLU"}]},
    "shares nothing": {
        "version": 1,
        "nodes": [{"id": "a", "type": "ReLU", "config": {"name": "a"}, "shares": "b"}],
    },
    "loop": {"version": 1, "nodes": [{"id": "a", "kind": "dot", "inputs": ["a"]}]},
    "from nowhere": {"version": 1, "nodes": [{"id": "a", "kind": "dot", "inputs": ["b"]}]},
    "outputs": {"version": 1, "nodes": [], "outputs": ["gone"]},
}


@pytest.mark.parametrize("name", BROKEN_CANVAS)
def test_a_broken_drawing_is_left_out_with_a_word(name, tmp_path):
    path = altered(tmp_path, lambda d: d.update(canvas=BROKEN_CANVAS[name]))
    opened = Document.open(path)
    assert len(opened.warnings) == 1
    assert opened.warnings[0].startswith("the layout of the canvas could not be read: ")
    assert opened.state == Document.open(sample("digits-cnn")).state


@pytest.mark.parametrize("canvas", [3, [1], {"a": {"b": [[[[[[[[[[[[[1]]]]]]]]]]]]]}}])
def test_a_canvas_section_of_another_form_is_an_error(canvas, tmp_path):
    path = altered(tmp_path, lambda d: d.update(canvas=canvas))
    error = refusal(Document.open, path)
    assert isinstance(error, FormatError)
    assert "canvas" in error.origin


def test_layers_without_a_place_are_laid_out(tmp_path):
    opened = Document.open(altered(tmp_path, lambda d: d.update(layout={})))
    boxes = [box_of(node) for node in opened.state.nodes.values()]
    assert not any(a.overlaps(b) for a in boxes for b in boxes if a is not b)
    assert not opened.dirty


BY_OUTPUT = {
    "loss": {"digit": {"type": "CategoricalCrossentropy", "config": {"from_logits": True}}},
    "metrics": {"digit": ["Accuracy"]},
    "loss_weights": {"digit": 0.5},
}


def test_training_settings_by_output_are_edited_around_and_saved_unharmed(tmp_path):
    def change(found):
        found["training"].update(BY_OUTPUT)
        found["version"] = 2

    document = Document.open(altered(tmp_path, change))
    document.apply("Edit", layers.set_option(document.state, "conv1", "filters", 3))
    document.apply("Edit", sections.set_training(document.state, {"epochs": 3}))
    document.save(tmp_path / "again.glassbox")
    written = json.loads((tmp_path / "again.glassbox").read_text("utf-8"))
    assert written["version"] == 2
    assert {name: written["training"][name] for name in BY_OUTPUT} == BY_OUTPUT
    plain = sections.set_training(document.state, dict.fromkeys(BY_OUTPUT))
    document.apply("Edit", plain)
    document.save(tmp_path / "plain.glassbox")
    assert json.loads((tmp_path / "plain.glassbox").read_text("utf-8"))["version"] == 1


def test_data_by_name_is_edited_around_and_saved_unharmed(tmp_path):
    data = {
        "source": "arrays",
        "path": "none.npz",
        "inputs": {"input": {"array": "x", "normalization": "unit"}},
        "targets": {"digit": "y"},
        "test_fraction": 0.25,
    }

    def change(found):
        found.update(data=data, version=2)

    document = Document.open(altered(tmp_path, change))
    changed = {**document.state.data.plain(), "split_seed": 4}
    document.apply("Edit", sections.set_data(document.state, changed))
    document.save(tmp_path / "again.glassbox")
    written = json.loads((tmp_path / "again.glassbox").read_text("utf-8"))
    assert written["version"] == 2
    assert written["data"] == {**data, "split_seed": 4}


def test_a_newer_file_is_opened_for_looking_only(tmp_path):
    path = altered(tmp_path, lambda d: d.update(version=5, colours={"a": 1}))
    document = Document.open(path)
    assert document.read_only.startswith(
        "the file was written by a newer Glassbox (format version 5"
    )
    # Why it is read-only is shown as long as it is open: it is no warning that passes.
    assert document.warnings == ()
    assert list(document.state.nodes) == list(Document.open(sample("digits-cnn")).state.nodes)
    before = path.read_bytes()
    edited = layers.set_option(document.state, "digit", "units", 3)
    for call, args in ((document.apply, ("Edit", edited)), (document.save, ())):
        assert isinstance(refusal(call, *args), ReadOnlyError)
    assert path.read_bytes() == before
    assert not document.dirty


def test_a_newer_file_that_is_not_understood_says_so(tmp_path):
    error = refusal(
        Document.open, altered(tmp_path, lambda d: d.update(version=7, graph={"layers": 3}))
    )
    assert "written by version 7 of the format" in error.message


def test_an_unknown_layer_is_named_and_nothing_is_lost(tmp_path):
    def change(document):
        document["graph"]["nodes"][2] |= {"type": "Foo", "config": {"name": "conv2", "depth": 4}}

    path = altered(tmp_path, change)
    document = Document.open(path)
    assert document.read_only == "opened 8 of 9 layers; missing: Foo"
    node = document.state.nodes["conv2"]
    assert (node.type_name, node.config["depth"], node.sources) == ("Foo", 4, ("conv1",))
    assert drawn(document.state) == drawn(Document.open(sample("digits-cnn")).state)
    assert [(p.id, p.node) for p in document.report.problems] == [("layer.unknown", "conv2")]
    assert document.report.status("digit").message == "waiting for conv2"
    assert isinstance(refusal(document.save), ReadOnlyError)


DAMAGED = {
    "no json": (lambda path: path.write_text("{"), "broken JSON"),
    "another file": (lambda path: path.write_text('{"format": "x"}'), "not a Glassbox project"),
    "nothing": (lambda path: path.unlink(), ""),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_an_error(name, tmp_path):
    path = altered(tmp_path, lambda d: None)
    damage, message = DAMAGED[name]
    damage(path)
    error = refusal(Document.open, path)
    assert isinstance(error, StudioError)
    assert message in error.message


WRONG = {
    "wire from nowhere": (lambda n: n[2].update(inputs=["gone"]), "comes from nowhere"),
    "loop": (lambda n: n[1].update(inputs=["conv2"]), "form a loop"),
    "two of a name": (lambda n: n[2]["config"].update(name="conv1"), "are called 'conv1'"),
    "too many wires": (lambda n: n[2].update(inputs=["conv1", "input"]), "takes 1 wires"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_graph_that_cannot_be_drawn_is_an_error_that_names_the_file(name, tmp_path):
    change, message = WRONG[name]
    path = altered(tmp_path, lambda d: change(d["graph"]["nodes"]))
    error = refusal(Document.open, path)
    assert message in error.message
    assert error.origin == str(path)


def test_saving_makes_the_document_clean(tmp_path):
    document = Document(chain())
    document.apply("Write", sections.set_notes(document.state, "a"))
    saved_signal = []
    listen = lambda: saved_signal.append(document.dirty)  # noqa: E731
    document.saved.connect(listen)
    assert document.dirty
    assert "no file name" in refusal(document.save).message
    document.save(tmp_path / "a.glassbox")
    assert (saved_signal, document.dirty, document.path) == (
        [False],
        False,
        tmp_path / "a.glassbox",
    )
    document.undo()
    assert document.dirty
    document.redo()
    assert not document.dirty


def test_a_failed_save_leaves_the_document_dirty(tmp_path):
    document = Document(chain())
    document.apply("Write", sections.set_notes(document.state, "a"))
    with pytest.raises(FormatError):
        document.save(tmp_path / "missing" / "a.glassbox")
    assert document.dirty
    assert document.path is None


def test_a_project_made_in_python_is_a_document():
    project = Project.load(sample("iris"))
    document = Document.of_project(project)
    assert graph_to_json(document.project().graph) == graph_to_json(project.graph)
    assert document.project().data.to_json() == project.data.to_json()
    assert document.folder == project.folder


def test_a_document_tells_of_every_change_once():
    document = Document(chain())
    heard: list[Change] = []
    listen = lambda change: heard.append(change)  # noqa: E731
    document.changed.connect(listen)
    document.apply("Add", layers.add_layer(document.state, "Softmax", after="dense"))
    document.apply("Nothing", document.state)
    document.begin_gesture("Drag")
    document.apply("Move", places.move(document.state, {"softmax": (1.0, 1.0)}))
    document.apply("Move", places.move(document.state, {"softmax": (2.0, 2.0)}))
    document.undo()
    document.undo()
    texts = [change.text for change in heard]
    assert texts == ["Add", "Move", "Move", "Cancel Move", "Undo Add"]
    assert heard[0].added == ("softmax",)
    assert heard[3].moved == ("softmax",)
    assert heard[4].removed == ("softmax",)
    assert document.state == chain()


def test_moving_things_does_not_announce_another_report():
    document = Document(chain())
    heard = []
    listen = lambda: heard.append(document.report.is_valid)  # noqa: E731
    document.report_changed.connect(listen)
    before = document.report
    document.apply("Move", places.move(document.state, {"dense": (1.0, 1.0)}))
    assert heard == []
    assert document.report.nodes == before.nodes
    document.apply("Cut", disconnect(document.state, "dense", 0))
    document.apply("Wire", connect(document.state, "flatten", "dense"))
    assert heard == [True, True]


def test_a_new_document_is_empty_and_clean():
    document = Document.new("first")
    assert (document.title, dict(document.state.nodes), document.dirty) == ("first", {}, False)
    assert document.project().training.epochs == 10
    assert document.uuid != Document.new().uuid


def test_sections_are_checked():
    state = net("input 4 > dense 3")
    assert sections.set_data(state, {"source": "iris"}).data["source"] == "iris"
    assert "source" in refusal(sections.set_data, state, {"source": "moon"}).message
    assert "epochs" in refusal(sections.set_training, state, {"epochs": 0}).message
    assert "unknown option" in refusal(sections.set_training, state, {"speed": 1}).message
    with_rate = sections.set_training(
        state, {"optimizer": {"type": "Adam", "config": {"learning_rate": 0.1}}}
    )
    assert sections.training_of(with_rate).optimizer.learning_rate == 0.1
    assert sections.set_training(with_rate, {}) == with_rate
    assert "200 characters" in refusal(sections.set_name, state, " ").message


def test_a_project_without_a_name_is_called_like_its_file(tmp_path: Path) -> None:
    document = Document.new()
    assert document.title == "untitled"
    document.save(tmp_path / "ours.glassbox")
    assert document.title == "ours"
    named = document.state.replaced(name="Mine")
    document.apply("Rename project", named)
    assert document.title == "Mine"


@pytest.mark.parametrize(
    ("name", "file", "named"),
    [("untitled", "b", "b"), ("a", "b", "b"), ("Mine", "b", "Mine"), ("a", "b\u200bc", "a")],
)
def test_a_project_that_is_called_like_its_file_is_called_like_the_next(
    tmp_path: Path, name: str, file: str, named: str
) -> None:
    document = Document(chain().replaced(name=name))
    document.save(tmp_path / "a.glassbox")
    document.apply("Name it", document.state.replaced(notes="more"))
    heard: list[Change] = []
    hear = heard.append
    document.changed.connect(hear)
    document.save_as(tmp_path / f"{file}.glassbox")
    assert document.state.name == named
    assert [change.sections for change in heard] == [{"name"}] * (named != name)
    assert document.history.texts == ("Name it",)
    assert not document.dirty
    assert Document.open(tmp_path / f"{file}.glassbox").state.name == named
    document.undo()
    assert document.state.name == named
    document.redo()
    assert not document.dirty
