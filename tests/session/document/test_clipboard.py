from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise

import pytest

from studio.engine.core.errors import FormatError
from studio.session.document.cards.geometry import bounds
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.edits import comments, layers, places
from studio.session.document.edits.wires import add_dot
from studio.session.document.files.clipboard import copy_text, paste, paste_mapped
from studio.session.document.state import DocumentState, Wire
from tests.session.document.networks import chain, refusal, residual, share

READ = """
import sys
from studio.session.document.files.clipboard import paste
from studio.session.document.state import DocumentState
state = paste(DocumentState(), sys.stdin.read())
sys.stdout.write(" ".join(f"{n.id}:{n.type_name}" for n in state.nodes.values()))
"""


def test_copied_layers_are_readable_text():
    text = copy_text(chain(), ["conv2d", "re_lu"])
    document = json.loads(text)
    assert (document["format"], document["version"]) == ("glassbox-layers", 1)
    assert [node["id"] for node in document["nodes"]] == ["conv2d", "re_lu"]
    assert document["nodes"][0]["config"]["filters"] == 8
    assert copy_text(chain(), ["gone"]) == ""


def test_pasted_layers_are_wired_among_themselves():
    state = paste(chain(), copy_text(chain(), ["conv2d", "re_lu"]))
    assert state.nodes["re_lu_1"].sources == ("conv2d_1",)
    assert state.nodes["conv2d_1"].sources == ()
    assert broken_rules(state) == ()


def test_pasting_may_keep_the_inputs():
    text = copy_text(chain(), ["conv2d", "re_lu"])
    assert paste(chain(), text, keep_inputs=True).nodes["conv2d_1"].sources == ("input",)
    assert paste(DocumentState(), text, keep_inputs=True).nodes["conv2d"].sources == ()


def test_pasting_into_another_document_keeps_everything_else():
    state = comments.add_note(
        add_dot(residual(), Wire("input", "add", 1), 5.0, 6.0), 1.0, 2.0, "why"
    )
    state = layers.freeze(layers.collapse(state, ["conv2d"]), ["conv2d_1"])
    state = layers.set_preview(state, ["add"], "full")
    copy = paste(DocumentState(), copy_text(state, state.nodes))
    assert dict(copy.nodes) == dict(state.nodes)


def test_layers_are_pasted_at_a_point_and_never_hide_each_other():
    text = copy_text(chain(), ["conv2d", "re_lu"])
    state = chain()
    for _ in range(4):
        state = paste(state, text, (1000.0, 800.0))
    first = bounds(state.nodes[i] for i in ("conv2d_1", "re_lu_1"))
    assert first is not None
    assert (first.x + first.width / 2, first.y + first.height / 2) == (1000.0, 800.0)
    found = [(node.x, node.y) for node in state.nodes.values()]
    assert len(set(found)) == len(found)


def test_a_copy_never_lies_nearly_on_another():
    text = copy_text(chain(), ["conv2d"])
    state = DocumentState()
    for number in range(6):
        state = paste(state, text, (1000.0 + number, 800.0 - number))
    found = sorted((node.x, node.y) for node in state.nodes.values())
    gaps = [max(b[0] - a[0], abs(b[1] - a[1])) for a, b in pairwise(found)]
    assert min(gaps) >= 16


def test_layers_pasted_in_place_lie_aside():
    state = paste(chain(), copy_text(chain(), ["dense"]))
    assert (state.nodes["dense_1"].x, state.nodes["dense_1"].y) != (
        state.nodes["dense"].x, state.nodes["dense"].y,
    )  # fmt: skip
    moved = places.move(chain(), {"dense": (5000.0, 0.0)})
    again = paste(moved, copy_text(chain(), ["dense"]))
    assert again.nodes["dense_1"].x == chain().nodes["dense"].x


def test_shared_layers_are_shared_again_when_copied_together():
    state = share(chain(), "dense", "again", "flatten")
    together = paste_mapped(state, copy_text(state, ["dense", "again"]))
    assert together.state.nodes[together.ids["again"]].shares == together.ids["dense"]
    alone = paste_mapped(state, copy_text(state, ["again"]))
    assert alone.state.nodes[alone.ids["again"]].shares == ""
    assert broken_rules(together.state) == broken_rules(alone.state) == ()


@pytest.mark.slow
def test_another_process_reads_the_copy():
    found = subprocess.run(
        [sys.executable, "-c", READ], input=copy_text(chain(), ["conv2d", "dense"]),
        capture_output=True, text=True, check=True, env=dict(os.environ),
    )  # fmt: skip
    assert found.stdout == "conv2d:Conv2D dense:Dense"


GOOD = copy_text(chain(), ["dense"])
BROKEN = {
    "cut off": (GOOD[:60], "broken JSON", "line "),
    "a comma too many": (
        GOOD.replace('"id": "dense",', '"id": "dense",,'), "broken JSON", "line 10, column 21",
    ),
    "another document": ('{"format": "x"}', "the clipboard holds no layers", ""),
    "a list": ("[1, 2]", "the clipboard holds no layers", ""),
    "newer": (GOOD.replace('"version": 1', '"version": 3'), "from a newer version", ""),
    "unknown field": (
        GOOD.replace('"version": 1', '"version": 1, "colour": 2'), "unknown field 'colour'", "",
    ),
    "unknown layer": (GOOD.replace('"Dense"', '"Foo"'), "unknown layer 'Foo'", ""),
    "wrong option": (GOOD.replace('"units": 10', '"units": 0'), "units: expected", ""),
    "wrong id": (GOOD.replace('"id": "dense"', '"id": "a b"'), "1 to 64", ""),
    "no nodes": ('{"format": "glassbox-layers", "version": 1}', "expected a list", ""),
    "half a surrogate": ('{"format": "\\ud800"}', "half of a surrogate", ""),
    "plain words": ("conv 16 > relu", "the clipboard holds no layers", ""),
    "nothing": ("", "the clipboard holds no layers", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_text_is_refused_with_its_place(name):
    text, message, origin = BROKEN[name]
    error = refusal(paste, chain(), text)
    assert message in error.message
    assert error.origin.startswith(origin)


def test_text_with_a_lone_surrogate_is_refused():
    assert isinstance(refusal(paste, chain(), "\ud800"), FormatError)
