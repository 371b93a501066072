"""A new error is seen in the inspector at once, however small it is and wherever it is scrolled."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from studio.session.core import entities
from studio.session.document.edits.layers import set_options
from studio.session.studio import Studio
from studio.ui.panes.inspector.node_head import TroubleBand
from studio.ui.panes.inspector.pane import InspectorPane
from studio.widgets.forms.number_editors import NumberField
from tests.ui.fixtures import shown

PROJECT = Path(__file__).resolve().parents[4] / "projects" / "digits-cnn" / "digits-cnn.glassbox"
HEIGHT = 150
TOO_LARGE = {"kernel_size": [50, 50], "padding": "valid"}
"""Options that a picture of 8 by 8 has no room for."""


@pytest.fixture
def pane(studio: Studio, qtbot: QtBot) -> InspectorPane:
    studio.open(PROJECT)
    made = InspectorPane(studio)
    qtbot.addWidget(made)
    made.resize(300, HEIGHT)
    shown(qtbot, made)
    qtbot.waitUntil(lambda: studio.compilation.result is not None)
    qtbot.waitUntil(lambda: made.graph_view.settings.forms[0].rows != ())
    return made


def area_of(widget: QWidget) -> QScrollArea:
    found = widget.parentWidget()
    while not isinstance(found, QScrollArea):
        assert found is not None
        found = found.parentWidget()
    return found


def whole_in_sight(widget: QWidget) -> bool:
    seen = widget.visibleRegion().boundingRect()
    return seen.height() == widget.height() > 0


def field(pane: InspectorPane, qtbot: QtBot, name: str) -> QLineEdit:
    """A field at the lower edge of what is seen, with the keyboard."""

    def found() -> list[QLineEdit]:
        return [each for each in pane.findChildren(NumberField, name) if each.isVisible()]

    qtbot.waitUntil(lambda: bool(found()))
    (line,) = found()
    area = area_of(line)
    area.verticalScrollBar().setValue(0)
    area.ensureWidgetVisible(line, 0, 0)
    line.setFocus(Qt.FocusReason.MouseFocusReason)
    qtbot.waitUntil(line.hasFocus)
    line.selectAll()
    return line


def test_why_a_value_is_refused_is_scrolled_to(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    line = field(pane, qtbot, "field_batch_size")
    qtbot.keyClicks(line, "99999999999")
    qtbot.keyClick(line, Qt.Key.Key_Return)
    refusals = pane.findChildren(QLabel, "refusal_batch_size")
    (refusal,) = (each for each in refusals if not each.isHidden())
    qtbot.waitUntil(lambda: whole_in_sight(refusal))
    assert "99999999999" in refusal.text()


def conv(studio: Studio, pane: InspectorPane, qtbot: QtBot) -> str:
    node = next(n for n in studio.document.state.layers() if n.type_name == "Conv2D")
    studio.bus.select([entities.node(node.id)])
    qtbot.waitUntil(lambda: [n.id for n in pane.inspector.nodes] == [node.id])
    return node.id


def test_what_is_wrong_above_is_told_in_a_line_and_clicked_to(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    node = conv(studio, pane, qtbot)
    (band,) = pane.findChildren(TroubleBand)
    trouble = pane.node_view.head.trouble
    area = area_of(pane.node_view)
    area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())
    assert band.isHidden()
    document = studio.document
    document.apply("Change", set_options(document.state, node, TOO_LARGE))
    qtbot.waitUntil(lambda: not trouble.isHidden())
    qtbot.waitUntil(band.isVisible)
    assert whole_in_sight(band)
    assert band.whole == trouble.text.text().partition("\n")[0]
    assert band.whole in band.toolTip()
    # What is being changed stays where it is.
    assert area.verticalScrollBar().value() > 0
    qtbot.mouseClick(band, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not trouble.text.visibleRegion().isEmpty())
    qtbot.waitUntil(band.isHidden)
    area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())
    qtbot.waitUntil(band.isVisible)
    document.undo()
    qtbot.waitUntil(band.isHidden)


def test_what_is_wrong_below_is_told_at_the_lower_edge(
    studio: Studio, pane: InspectorPane, qtbot: QtBot
) -> None:
    node = conv(studio, pane, qtbot)
    pane.resize(300, 80)
    document = studio.document
    document.apply("Change", set_options(document.state, node, TOO_LARGE))
    (band,) = pane.findChildren(TroubleBand)
    qtbot.waitUntil(band.isVisible)
    assert whole_in_sight(band)
    assert whole_in_sight(pane.node_view.head.name)
    pane.resize(300, 900)
    qtbot.waitUntil(band.isHidden)
    assert whole_in_sight(pane.node_view.head.trouble.text)


def test_in_a_high_pane_there_is_no_line(studio: Studio, pane: InspectorPane, qtbot: QtBot) -> None:
    pane.resize(300, 900)
    node = conv(studio, pane, qtbot)
    document = studio.document
    document.apply("Change", set_options(document.state, node, TOO_LARGE))
    trouble = pane.node_view.head.trouble
    qtbot.waitUntil(lambda: whole_in_sight(trouble.text))
    (band,) = pane.findChildren(TroubleBand)
    assert band.isHidden()
