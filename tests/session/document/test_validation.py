from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.engine.core.errors import StudioError
from studio.engine.layers.dense import Dense
from studio.engine.layers.graph import Port
from studio.engine.train.network.programs import Programs
from studio.engine.train.project.task import Task
from studio.samples import sample_names, sample_root
from studio.session.document.checks.validation import validate
from studio.session.document.document import Document
from studio.session.document.edits import layers, removal, wires
from studio.session.document.edits.layers import bypass
from studio.session.document.edits.sections import set_data, set_training
from studio.session.document.edits.wires import connect, disconnect
from studio.session.document.flow import Outcome, flow_of, outcome
from studio.session.document.report import DataFacts
from studio.session.document.state import DocumentState, Wire
from tests.session.document.faulty_graphs import DIGITS, FAULTY, MOONS
from tests.session.document.networks import chain, net, residual, share
from tests.session.document.random_edits import Editor


@pytest.mark.parametrize("fault", FAULTY, ids=lambda fault: fault.name)
def test_a_faulty_graph_has_its_one_problem_where_it_begins(fault):
    report = validate(fault.state, fault.facts)
    found = [(p.id, p.severity, p.node, p.port) for p in report.problems]
    assert found == [(fault.id, fault.severity, fault.node, fault.port)]
    assert report.is_valid == (fault.severity == "warning")
    problem = report.problems[0]
    assert problem.message
    assert problem.hint
    if problem.node:
        assert report.status(problem.node).state == fault.severity
        assert report.status(problem.node).message == problem.message


def test_there_are_at_least_sixty_faulty_graphs_of_every_kind():
    assert len(FAULTY) >= 60
    assert len({fault.id for fault in FAULTY}) >= 25
    assert len({fault.name for fault in FAULTY}) == len(FAULTY)


def test_the_engine_refuses_every_graph_with_an_error_of_its_own_rules():
    for fault in FAULTY:
        own = fault.id.split(".")[0] in ("shape", "link", "network", "layer")
        if own and fault.severity == "error":
            with pytest.raises(StudioError):
                Document(fault.state).project().graph.check()


def test_layers_downstream_of_an_error_wait_for_it():
    state = net("input 4 > conv 4 3x3 > relu > dense 3")
    report = validate(state)
    assert [report.status(i).state for i in state.nodes] == ["ok", "error", "waiting", "waiting"]
    assert report.status("dense").message == "waiting for conv2d"
    assert report.status("dense").shape is None
    assert report.parameters is None
    assert len(report.problems) == 1


def test_two_errors_apart_are_both_said():
    state = net("input 4 > conv 4 3x3")
    state = layers.add_layer(state, "MaxPooling2D", after="input")
    state = layers.add_layer(state, "Add", after="conv2d")
    state = connect(state, "max_pooling2d", "add", check_shapes=False)
    report = validate(state)
    assert [p.node for p in report.problems] == ["conv2d", "max_pooling2d"]
    assert report.status("add").message == "waiting for conv2d and max_pooling2d"


def test_what_no_output_needs_is_not_reached_and_no_problem():
    state = layers.mark_output(chain(), "flatten")
    report = validate(state)
    assert (report.status("dense").state, report.status("dense").message) == (
        "unreached",
        "not reached",
    )
    assert report.status("dense").shape == (10,)
    assert report.is_valid
    assert report.parameters == 80
    assert "dense" not in report.order


def test_a_layer_that_lies_ready_is_no_problem():
    state = layers.add_layer(chain(), "Conv2D", at=(0.0, 500.0))
    report = validate(state)
    assert report.problems == ()
    assert report.status("conv2d_1").state == "unreached"


def test_a_cut_chain_ends_where_data_ends():
    report = validate(disconnect(chain(), "flatten", 0))
    assert report.outputs == (Port("max_pooling2d"),)
    (problem,) = report.problems
    assert (problem.id, problem.node, problem.severity) == ("link.unfed", "flatten", "warning")
    assert problem.message == "no data reaches flatten and dense"


def test_dots_and_bypassed_layers_hand_shapes_on():
    state = wires.add_dot(bypass(chain(), ["re_lu"]), Wire("re_lu", "max_pooling2d", 0), 0.0, 0.0)
    report = validate(state)
    assert report.is_valid
    assert report.status("dot").shape == report.status("re_lu").shape == (6, 6, 8)
    assert report.parameters == validate(chain()).parameters


def test_a_dot_without_source_holds_up_what_it_feeds():
    state = wires.add_dot(chain(), Wire("re_lu", "max_pooling2d", 0), 0.0, 0.0)
    state = layers.mark_output(disconnect(state, "dot", 0), "dense")
    report = validate(state)
    assert [(p.id, p.node) for p in report.problems] == [("link.missing", "dot")]
    assert report.status("dense").message == "waiting for dot"


def test_a_shared_layer_counts_once():
    state = net("input 4 > dense 6")
    state = share(state, "dense", "again", "input")
    state = layers.add_layer(state, "Add", after="dense")
    state = connect(state, "again", "add")
    report = validate(state)
    assert (report.parameters, report.status("dense").parameters) == (30, 30)
    assert report.status("again").parameters == 0
    assert Document(state).project().graph.parameter_count() == 30


def test_frozen_and_running_numbers_are_not_trained():
    state = layers.freeze(net("input 4 > dense 6 > bn > dense 2"), ["dense"])
    report = validate(state)
    assert (report.parameters, report.trained_parameters) == (30 + 24 + 14, 12 + 14)


def test_facts_about_the_data_are_checked_only_once_they_are_known():
    document = Document(net("input 28x28x1 > flatten > dense 3"))
    heard = []
    listen = lambda: heard.append(1)  # noqa: E731
    document.report_changed.connect(listen)
    assert document.report.is_valid
    document.set_data_facts(DIGITS)
    assert [p.id for p in document.report.problems] == ["data.input_shape", "output.classes"]
    document.set_data_facts(DIGITS)
    assert heard == [1]
    document.set_data_facts(None)
    assert document.report.is_valid
    assert heard == [1, 1]


FITTING = {
    "one per class": (net("input 8x8x1 > flatten > dense 10"), DIGITS, {}),
    "softmax": (net("input 8x8x1 > flatten > dense 10 softmax"), DIGITS, {}),
    "softmax layer": (net("input 8x8x1 > flatten > dense 10 > softmax"), DIGITS, {}),
    "one for two classes": (net("input 2 > dense 1 sigmoid"), MOONS, {}),
    "raw one for two classes": (net("input 2 > dense 1"), MOONS, {}),
    "binary loss of rows": (
        net("input 2 > dense 2 sigmoid"),
        MOONS,
        {"loss": "BinaryCrossentropy"},
    ),
    "squared error of classes": (net("input 2 > dense 2"), MOONS, {"loss": "MeanSquaredError"}),
    "three numbers": (
        net("input 5 > dense 3"),
        DataFacts((5,), "table", 0, 3),
        {"metrics": ["mae"]},
    ),
    "balanced classes": (net("input 2 > dense 2"), MOONS, {"class_weights": "balanced"}),
}


@pytest.mark.parametrize("name", FITTING)
def test_what_fits_the_data_is_no_problem(name):
    state, facts, training = FITTING[name]
    assert validate(set_training(state, training), facts).problems == ()


@pytest.mark.parametrize("name", sample_names())
def test_sample_projects_have_no_problem(name):
    document = Document.open(sample_root() / name / f"{name}.glassbox")
    project = document.project()
    assert project.data is not None
    dataset = project.data.open(document.folder)
    classes = len(dataset.class_names)
    document.set_data_facts(DataFacts(dataset.sample_shape, dataset.kind, classes))
    assert document.report.problems == ()
    assert document.report.parameters == project.graph.parameter_count()
    assert document.report.order == tuple(node.id for node in project.graph.order())


def compiles(state: DocumentState, data: str) -> bool:
    """Whether the engine itself can lower the training program."""
    try:
        task = Task.of_project(Document(set_data(state, {"source": data})).project())
        Programs(task).lowered("train")
    except StudioError:
        return False
    return True


@pytest.mark.parametrize(
    "fault",
    [f for f in FAULTY if f.facts in (DIGITS, MOONS) and f.severity == "error" and f.lowered],
    ids=lambda fault: fault.name,
)
def test_errors_against_the_data_are_errors_of_the_engine_too(fault):
    lenient = fault.name == "one output for ten classes"
    assert compiles(fault.state, "digits" if fault.facts is DIGITS else "moons") == lenient


MASKED = ["Masking", "Softmax", "BatchNormalization", "Concatenate", "Add", "Dense", "Flatten"]


def test_a_mask_that_a_layer_refuses_is_an_error_at_it():
    state = net("input 4x3 > masking > dense 3 > softmax > dense 2")
    report, graph = validate(state), Document(state).project().graph
    with pytest.raises(StudioError) as error:
        graph.check()
    (problem,) = report.problems
    assert (problem.id, problem.node) == ("shape.mask", "softmax")
    assert (problem.message, problem.hint) == (error.value.message, error.value.hint)
    # What comes behind is known all the same.
    assert report.status("dense_1").shape == (4, 2)
    assert validate(layers.bypass(state, ["masking"])).is_valid
    fed = disconnect(state, "softmax", 0)
    with pytest.raises(StudioError, match="expected a mask for the elements"):
        connect(fed, "dense", "softmax")


@pytest.mark.slow
@pytest.mark.parametrize("masked", [False, True])
@settings(max_examples=80)
@given(seed=st.integers(0, 1 << 32), steps=st.integers(0, 25))
def test_what_is_valid_runs_and_what_runs_is_valid(masked, seed, steps):
    editor, state = Editor(seed), residual()
    if masked:
        editor.types = MASKED
        state = net("input 4x3 > masking > dense 3")
    for _ in range(steps):
        state = editor.step(state)[1]
    report, graph = validate(state), Document(state).project().graph
    error = None
    try:
        graph.check()
    except StudioError as found:
        error = found
    assert report.is_valid == (error is None)
    if error is not None and "a mask" in error.message:
        said = [p for p in report.problems if p.message == error.message]
        assert error.who in [state.nodes[p.node].name for p in said]
    if error is None:
        assert report.parameters == graph.parameter_count()
        shapes = graph.shapes()
        assert {i: report.status(i).shape for i in shapes} == shapes


@pytest.mark.slow
def test_only_rules_of_changed_layers_are_asked_again():
    state = net("input 16x16x4 > " + " > ".join(["conv 4 3x3 same"] * 150))
    validate(state)
    before = outcome.cache_info().misses
    after = layers.set_option(state, "conv2d_75", "use_bias", False)
    assert isinstance(flow_of(after).outcomes["conv2d_149"], Outcome)
    assert outcome.cache_info().misses - before == 1
    wide = layers.set_option(after, "conv2d_75", "filters", 6)
    flow_of(wide)
    assert outcome.cache_info().misses - before == 3


def test_a_deleted_layer_leaves_no_status():
    report = validate(removal.delete(chain(), ["re_lu"]))
    assert "re_lu" not in report.nodes
    assert report.status("re_lu").state == "unreached"


@pytest.mark.parametrize(
    ("method", "found", "said"),
    [
        ("output_shape", IndexError("tuple index out of range"), "IndexError: tuple index"),
        ("output_shape", None, "TypeError: expected a shape, got None"),
        ("output_shape", [3], "TypeError: expected a shape, got [3]"),
        ("parameters", 3, "TypeError: 'int' object is not iterable"),
    ],
)
def test_a_layer_whose_code_fails_is_a_problem_of_its_node(monkeypatch, method, found, said):
    def fail(*_args):
        if isinstance(found, Exception):
            raise found
        return found

    state = net("input 4 > dense 5 > relu > dense 3")
    outcome.cache_clear()
    monkeypatch.setattr(Dense, method, fail)
    document = Document(DocumentState())
    document.apply("Paste", state)
    outcome.cache_clear()
    problem = document.report.problems[0]
    assert (problem.id, problem.severity) == ("layer.failed", "error")
    assert problem.message.startswith(f"the code of Dense failed: {said}")
    assert document.report.status(problem.node).state == "error"
    assert [document.report.status(i).state for i in state.nodes][2:] == ["waiting", "waiting"]
    document.undo()
    assert not document.state.nodes
