"""Inputs of unknown length in the window's document: their data's length, or one clear problem."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from studio.engine import Conv2D, Dense, GlobalAveragePooling2D, Input, Model, Project, Reshape
from studio.engine.compiler.lower_data import Source
from studio.engine.core.tensor import TensorType
from studio.engine.layers.graph import Port
from studio.session.core.quantities import TIMES
from studio.session.data.offers import input_offer
from studio.session.document.adding.preview import preview_chain
from studio.session.document.adding.quick_add import Place, QuickAdd
from studio.session.document.cards.lines import shape_label, spoken_shape
from studio.session.document.checks.lengths import shown_type
from studio.session.document.checks.validation import validate
from studio.session.document.document import Document
from studio.session.document.edits import layers, sections
from studio.session.document.edits.chains import NewLayer
from studio.session.document.files.project_file import project_of_state
from studio.session.document.report import DataFacts
from studio.session.preview.network import Samples, run_part, working_part


@pytest.fixture
def document(tmp_path: Path) -> Document:
    x = Input((None, 4), name="tokens")
    y = Conv2D(6, (3, 1), name="conv")(Reshape((-1, 1, 4), name="wide")(x))
    graph = Model(x, Dense(2, name="head")(GlobalAveragePooling2D(name="mean")(y))).graph
    return Document.open(Project("sequences", graph).save(tmp_path / "sequences.glassbox"))


def test_without_data_the_input_says_what_is_missing(document: Document) -> None:
    (problem,) = document.report.problems
    assert (problem.id, problem.node) == ("input.unknown_length", "tokens")
    assert problem.message == "its shape [None,4] has an unknown length"
    shape = document.report.status("conv").shape
    assert shape is not None
    assert shape_label(shape) == TIMES.join(("None", "1", "6"))
    assert spoken_shape(shape) == "any length by 1 by 6"
    assert document.report.status("mean").shape == (6,)


def test_data_says_the_length(document: Document) -> None:
    state = sections.set_data(document.state, {"source": "digits"})
    report = validate(state, DataFacts((12, 4), classes=2))
    assert report.problems == ()
    assert report.status("tokens").shape == (12, 4)
    assert report.status("conv").shape == (10, 1, 6)
    # While the data is being read nothing is wrong yet.
    assert validate(state).problems == ()


def test_data_that_is_too_short_or_no_such_samples_is_a_problem_where_it_is(
    document: Document,
) -> None:
    state = sections.set_data(document.state, {"source": "digits"})
    (problem,) = validate(state, DataFacts((2, 4), classes=2)).problems
    assert problem.node == "conv"
    assert "at least 3 rows" in problem.message
    (problem,) = validate(state, DataFacts((12, 5), classes=2)).problems
    assert problem.node == "tokens"
    assert problem.message == "the data has samples [12,5], the input takes [None,4]"


def test_data_of_any_length_needs_no_offer(document: Document) -> None:
    assert input_offer(document.state, (12, 4)) is None
    offer = input_offer(document.state, (12, 5))
    assert offer is not None
    assert offer.why.endswith("takes [None,4].")


def test_weights_that_would_depend_on_the_length_are_a_problem_at_their_layer() -> None:
    x = Input((6, 4), name="tokens")
    document = Document.of_project(
        Project("flat", Model(x, Dense(2, name="head")(Reshape((-1,))(x))).graph)
    )
    state = layers.set_option(document.state, "tokens", "shape", [None, 4])
    state = sections.set_data(state, {"source": "digits"})
    (problem,) = validate(state, DataFacts((12, 4), classes=2)).problems
    assert (problem.id, problem.node) == ("shape.unknown_length", "head")
    assert "unknown length of the input 'tokens' [None,4]" in problem.message


def test_the_document_saves_none(document: Document, tmp_path: Path) -> None:
    project = project_of_state(document.state)
    assert project.graph.input_shapes == {"tokens": (None, 4)}
    document.save(tmp_path / "again.glassbox")
    assert Project.load(tmp_path / "again.glassbox").graph.input_shapes == {"tokens": (None, 4)}


def test_what_could_be_added_shows_none(document: Document) -> None:
    preview = preview_chain(document.state, [NewLayer("Dense", {"units": 5})], after="tokens")
    assert preview.shape is not None
    assert shape_label(preview.shape) == TIMES.join(("None", "5"))
    offers = QuickAdd().offers(document.state, "", Place("tokens"))
    found = {each.entry.type_name: each.shape for each in offers}
    assert found["BatchNormalization"] == (*preview.shape[:1], 4)
    assert shown_type(document.state, Port("mean")) == TensorType((-1, 6))


def test_previews_have_the_length_of_the_data(document: Document) -> None:
    state = sections.set_data(document.state, {"source": "digits"})
    report = validate(state, DataFacts((12, 4), classes=2))
    rows = np.random.default_rng(0).normal(size=(3, 12, 4)).astype(np.float32)
    samples = Samples("", ("tokens",), (Source((12, 4)),), (rows,))
    part = working_part(state, report, samples)
    assert part is not None
    found, _ = run_part(part, samples, 0, [Port("conv"), Port("mean")])
    assert found[Port("conv")].shape == (3, 10, 1, 6)
    mean = found[Port("conv")].astype(np.float64).mean(axis=(1, 2))
    np.testing.assert_allclose(found[Port("mean")].astype(np.float64), mean, rtol=1e-5, atol=1e-6)
