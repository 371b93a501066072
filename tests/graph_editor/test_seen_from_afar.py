"""What is done with a layer is seen at every zoom, not only from near."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QImage

from tests.graph_editor.hands import SHIFT, Hands
from tests.session.document.networks import chain

Pixels = npt.NDArray[np.int64]


def seen(hands: Hands, node: str) -> Pixels:
    """A layer as it stands on the screen, nothing selected and nothing under the pointer."""
    hands.click(hands.nowhere())
    hands.qtbot.wait(1)
    canvas = hands.canvas
    item = canvas.graph.nodes[node]
    area = item.area.translated(item.pos())
    corners = (canvas.view_point(area.topLeft()), canvas.view_point(area.bottomRight()))
    first, last = (QPoint(round(at.x()), round(at.y())) for at in corners)
    image = canvas.viewport().grab(QRect(first, last)).toImage()
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    found = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.width(), 4)
    return found[:, :, :3].astype(np.int64)


@pytest.mark.parametrize("zoom", [0.15, 0.4, 1.0], ids=["block", "afar", "near"])
def test_a_bypassed_layer_is_only_a_frame(hands: Hands, zoom: float) -> None:
    hands.open(chain(), zoom=zoom)
    before = seen(hands, "conv2d")
    hands.click(hands.body("conv2d"))
    hands.key(Qt.Key.Key_M)
    assert hands.state.nodes["conv2d"].bypassed
    after = seen(hands, "conv2d")
    ground = hands.canvas.graph.colours.canvas
    wanted = (ground.blue(), ground.green(), ground.red())
    inside = (slice(2, -2), slice(2, -2))
    assert np.abs(before[inside] - wanted).sum(axis=2).mean() > 30
    assert (np.abs(after[inside] - wanted).sum(axis=2) < 9).mean() > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("zoom", [0.4, 1.0], ids=["afar", "near"])
@pytest.mark.parametrize("collapsed", [False, True], ids=["open", "collapsed"])
def test_a_frozen_layer_has_its_sign(hands: Hands, zoom: float, collapsed: bool) -> None:
    hands.open(chain(), zoom=zoom)
    hands.click(hands.body("conv2d"))
    if collapsed:
        hands.studio.actions.trigger("graph.collapse")
        assert hands.state.nodes["conv2d"].collapsed
    before = seen(hands, "conv2d")
    hands.click(hands.body("conv2d"))
    hands.key(Qt.Key.Key_F, SHIFT)
    assert hands.state.nodes["conv2d"].frozen
    after = seen(hands, "conv2d")
    assert before.shape == after.shape
    changed = np.argwhere(np.abs(after - before).sum(axis=2) > 60)
    assert len(changed) > 12
    # The sign stands at the right.
    assert (changed[:, 1] > before.shape[1] * 0.75).sum() > 8
