"""Actions on data and exports say why they cannot be done, and do what they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from studio.engine.core.errors import StudioError
from studio.session.actions import data as data_actions
from studio.session.actions import export as export_actions
from studio.session.core.action_table import ActionRegistry
from studio.session.data.data import DataModel
from studio.session.document.edits.layers import add_layer
from studio.session.export.exporting import ExportModel, form_named
from tests.session.desk import Desk


class ActionDesk(Desk):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.said: list[StudioError] = []
        self.actions = ActionRegistry(self.said.append)
        self.data = DataModel(self.current, self.tasks)
        self.exports = ExportModel(self.current, self.tasks, lambda: None, memory=folder / "e.json")
        studio = SimpleNamespace(data=self.data, exporting=self.exports, fail=self.failures.append)
        self.actions.attach(data_actions.ACTIONS, studio)
        self.actions.attach(export_actions.ACTIONS, studio)
        self.data.follow(self.document)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[ActionDesk]:
    made = ActionDesk(tmp_path)
    yield made
    made.tasks.close()


def test_every_action_has_a_text_a_tip_and_its_own_key(desk: ActionDesk) -> None:
    assert desk.actions.conflicts() == []
    for spec in desk.actions:
        assert spec.text[0].isupper()
        assert spec.tip.endswith(".")


def test_data_is_chosen_fitted_and_removed_by_actions(desk: ActionDesk) -> None:
    assert desk.actions.why_not("data.remove") == data_actions.NO_DATA
    assert desk.actions.why_not("data.fit_input") == "no data is open"
    told: list[str] = []
    hear = told.append
    desk.actions.changed.connect(hear)
    assert desk.actions.trigger("data.use_spirals")
    desk.settle()
    assert "data.fit_input" in told
    assert desk.actions.trigger("data.fit_input")
    assert desk.actions.why_not("data.fit_input") == "the input already fits"
    assert [n.type_name for n in desk.document.state.layers()] == ["Input"]
    assert desk.actions.trigger("data.reload")
    desk.settle()
    assert desk.data.status == "ready"
    assert desk.actions.trigger("data.remove")
    assert desk.document.state.data is None
    assert desk.said == []


def test_export_again_needs_an_export_and_a_training(desk: ActionDesk, tmp_path: Path) -> None:
    assert "nothing was exported" in desk.actions.why_not("export.again")
    desk.exports.pictures["svg"] = lambda: b"<svg/>"
    desk.document.apply("Add", add_layer(desk.document.state, "Flatten"))
    desk.exports.export(form_named("svg"), tmp_path / "g.svg")
    assert desk.actions.why_not("export.again") == ""
    (tmp_path / "g.svg").unlink()
    assert desk.actions.trigger("export.again")
    assert (tmp_path / "g.svg").read_bytes() == b"<svg/>"
