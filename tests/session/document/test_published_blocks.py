"""Blocks published to the palette: their files, and how they are placed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from studio.engine.core.errors import FormatError
from studio.session.document.adding.palette import Palette
from studio.session.document.adding.published_blocks import (
    PublishedBlocks,
    block_offer,
    place_block,
)
from studio.session.document.adding.quick_add import NOWHERE, Place
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.edits.blocks import group, rename_block
from studio.session.document.edits.layers import set_option
from studio.session.document.levels import contents, ports_in
from studio.session.document.state import DocumentState, Wire
from tests.session.document.networks import chain, net


def stem(filters: int = 8) -> DocumentState:
    """A chain whose convolution is in a block of that name."""
    state = set_option(group(chain(), ["conv2d", "re_lu"]), "conv2d", "filters", filters)
    return rename_block(state, "block", "stem")


@pytest.fixture
def blocks(tmp_path: Path) -> PublishedBlocks:
    made = PublishedBlocks(tmp_path / "config" / "blocks")
    assert not made.publish(stem(), "block")
    return made


def files(blocks: PublishedBlocks) -> list[Path]:
    assert blocks.folder is not None
    return sorted(blocks.folder.iterdir())


def test_a_block_is_found_again_in_another_session(blocks: PublishedBlocks):
    other = Palette(blocks=PublishedBlocks(blocks.folder))
    assert [entry.title for entry in other.blocks] == ["stem"]
    assert next(g for g in other.groups() if g.key == "blocks").title == "Blocks"
    other.search("ste")
    assert "stem" in [entry.title for entry in other.groups()[0].entries]
    assert "2 layers" in other.blocks[0].doc


def test_without_blocks_the_palette_has_no_such_group(tmp_path: Path):
    made = Palette(blocks=PublishedBlocks(tmp_path / "none"))
    assert [g.key for g in made.groups()] == [g.key for g in Palette().groups()]
    assert not (tmp_path / "none").exists()


def test_placed_it_has_free_names_and_its_wires_inside(blocks: PublishedBlocks):
    text = blocks.entries[0].block
    made = place_block(stem(), text, NOWHERE)
    assert broken_rules(made.state) == ()
    assert made.state.nodes[made.block].name == "stem_1"
    inside = [node for node in contents(made.state, made.block) if node.is_layer]
    assert [node.name for node in inside] == ["conv2d_1", "re_lu_1"]
    assert inside[1].sources == (inside[0].id,)
    again = place_block(made.state, text, NOWHERE, level=made.block).state
    assert broken_rules(again) == ()
    assert any(n.is_block and n.parent == made.block for n in again.nodes.values())


def test_placed_behind_a_layer_it_is_fed_by_it_where_it_fits(blocks: PublishedBlocks):
    entry = blocks.entries[0]
    images = net("input 8x8x1 > flatten")
    made = place_block(images, entry.block, Place(source="input"))
    assert ports_in(made.state, made.block)[0].sources == ("input",)
    offer = block_offer(images, entry, Place(source="input"))
    assert offer is not None
    assert offer.port == "in 1"
    alone = place_block(images, entry.block, Place(source="flatten"))
    assert ports_in(alone.state, alone.block)[0].sources == ()
    assert broken_rules(alone.state) == ()
    assert block_offer(images, entry, Place(source="flatten")) is None
    on_wire = place_block(images, entry.block, Place(wire=Wire("input", "flatten", 0)))
    assert broken_rules(on_wire.state) == ()


def test_the_same_name_replaces_and_another_window_sees_it(blocks: PublishedBlocks):
    other = PublishedBlocks(blocks.folder)
    assert "8" in other.entries[0].block
    assert blocks.publish(stem(24), "block")
    assert len(files(blocks)) == 1
    assert other.reread()
    assert not other.reread()
    made = place_block(DocumentState(), other.entries[0].block, NOWHERE)
    assert made.state.nodes["conv2d"].config["filters"] == 24
    assert not blocks.publish(rename_block(stem(), "block", "a\\b: ..\u00e4"), "block")
    assert [entry.title for entry in PublishedBlocks(blocks.folder).entries] == [
        "a\\b: ..\u00e4", "stem",
    ]  # fmt: skip


def test_removed_it_is_gone_and_gone_already_is_no_error(blocks: PublishedBlocks):
    other = PublishedBlocks(blocks.folder)
    assert other.entries
    blocks.remove("stem")
    assert blocks.entries == ()
    other.remove("stem")
    assert other.entries == ()
    assert files(blocks) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[:40], "broken JSON"),
        (lambda text: "", "the file holds no layers"),
        (lambda text: "\x00\x01", "the file holds no layers"),
        (lambda text: text.replace('"version": 2', '"version": 99'), "newer version"),
        (lambda text: json.dumps({**json.loads(text), "nodes": []}), "holds no block"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_once_and_kept(blocks: PublishedBlocks, change, said):
    path = files(blocks)[0]
    broken = change(path.read_text())
    path.write_text(broken)
    assert blocks.reread()
    assert blocks.entries == ()
    (problem,) = blocks.new_problems()
    assert said in problem
    assert str(path) in problem
    blocks.reread()
    assert blocks.new_problems() == ()
    assert not blocks.publish(stem(), "block")
    assert path.read_text() == broken
    assert [entry.title for entry in blocks.entries] == ["stem"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_in_a_read_only_folder_nothing_changes(blocks: PublishedBlocks):
    assert blocks.folder is not None
    blocks.folder.chmod(0o555)
    try:
        with pytest.raises(FormatError, match="permission denied"):
            blocks.publish(stem(24), "block")
        with pytest.raises(FormatError, match="cannot remove the block: permission denied"):
            blocks.remove("stem")
        assert [entry.title for entry in blocks.entries] == ["stem"]
    finally:
        blocks.folder.chmod(0o755)


def test_where_no_folder_can_be_made_publishing_says_so(tmp_path: Path):
    (tmp_path / "config").write_text("a file")
    made = PublishedBlocks(tmp_path / "config" / "blocks")
    assert made.entries == ()
    with pytest.raises(FormatError, match="cannot write the file"):
        made.publish(stem(), "block")
    assert made.entries == ()
    (problem,) = made.new_problems()
    assert "Published blocks cannot be read" in problem
