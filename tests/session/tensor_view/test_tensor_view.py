"""What a tensor view shows of tensors of every kind, and what can be done with it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.core.tensor import Role, Tensor
from studio.engine.runtime.backend import Backend
from studio.engine.train.loop.trainer import Trainer
from studio.session.core import entities
from studio.session.live.sources import HeldWeights
from studio.session.tensor_view.choice import tensor_choices
from studio.session.tensor_view.colours import MINUS, NAN, OVER, PLUS, UNDER, colour_map, palette
from studio.session.tensor_view.layout import Region
from studio.session.tensor_view.picture import bars_of, exact_number, short_number, tight_number
from studio.session.tensor_view.tensor_view import TensorViewModel
from studio.session.tensor_view.words import aside_text, statistics_text
from tests.engine.train.small_tasks import task
from tests.session.live.bench import Running, Studio, asked_for
from tests.session.tensor_view.desk import settled, showing

GROUND = (16, 18, 22)


def naive_pixel(value: float, low: float, high: float, signed: bool) -> list[int]:
    colours = colour_map("diverging" if signed else "sequential")
    share = (value - low) / (high - low)
    return [*colours[int(np.floor(share * 255 + 0.5))].tolist(), 255]


@pytest.mark.parametrize(
    "shape", [(), (7,), (5, 6), (3, 4, 5), (2, 3, 4, 5), (2, 2, 3, 4, 3), (2, 1, 2, 3, 2, 3)],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool", "float16"])
def test_every_rank_and_type_has_a_picture(
    studio: Studio, shape: tuple[int, ...], dtype: str, rng: np.random.Generator
) -> None:
    array = np.asarray(rng.integers(0, 2, shape)).astype(dtype)
    view = showing(studio, array)
    settled(studio, view)
    assert view.statistics is not None
    assert view.statistics.count == array.size
    picture = view.picture()
    assert picture is not None
    assert picture.pixels.shape[2] == 4
    frame = view.frame
    assert frame is not None
    assert frame.tile is not None
    assert frame.tile.values is not None
    assert frame.tile.values.dtype == array.dtype


def test_a_matrix_has_the_colours_of_its_values(studio: Studio, rng: np.random.Generator) -> None:
    array = rng.uniform(-2, 3, (9, 11)).astype(np.float32)
    view = showing(studio, array)
    settled(studio, view)
    picture = view.picture()
    assert picture is not None
    reach = float(np.abs(array).max())
    assert (view.colours.low, view.colours.high) == (-reach, reach)
    for row, column in itertools.product(range(9), range(11)):
        wanted = naive_pixel(float(array[row, column]), -reach, reach, True)
        assert np.abs(picture.pixels[row, column].astype(int) - wanted).max() <= 2


def test_tiles_are_placed_with_gaps_between(studio: Studio) -> None:
    array = np.arange(5 * 2 * 3, dtype=np.float32).reshape(5, 2, 3)
    view = showing(studio, array)
    settled(studio, view)
    picture, sheet_layout = view.picture(), view.sheet_layout
    assert picture is not None
    assert sheet_layout is not None
    low, high = 0.0, 29.0
    seen = np.zeros((picture.rows, picture.columns), bool)
    for tile, row, column in itertools.product(range(5), range(2), range(3)):
        level, side = divmod(tile, sheet_layout.across)
        at = level * 3 + row, side * 4 + column
        seen[at] = True
        wanted = naive_pixel(float(array[tile, row, column]), low, high, False)
        assert picture.pixels[at].tolist() == wanted
    assert (picture.pixels[~seen] == [*GROUND, 255]).all()


def test_numbers_that_are_none_have_exact_colours(studio: Studio) -> None:
    array = np.array([[np.nan, np.inf, -np.inf], [-1.0, 0.0, 1.0]], np.float32)
    view = showing(studio, array, size=(3.0, 2.0))
    settled(studio, view)
    view.move_range(high=0.5)
    picture = view.picture()
    assert picture is not None
    table = palette("diverging")
    np.testing.assert_array_equal(picture.pixels[0], table[[NAN, PLUS, MINUS]])
    np.testing.assert_array_equal(picture.pixels[1], table[[UNDER, 128, OVER]])
    assert (picture.over, picture.under) == (1, 1)
    assert picture.marks() == []
    view.set_size(300.0, 200.0)
    settled(studio, view)
    large = view.picture()
    assert large is not None
    kinds = {(mark.row, mark.column): mark.kind for mark in large.marks()}
    assert kinds == {(0, 0): NAN, (0, 1): PLUS, (0, 2): MINUS, (1, 0): UNDER, (1, 2): OVER}
    np.testing.assert_array_equal(large.pixels[1], table[[0, 128, 255]])


def test_nothing_but_nan_is_shown_as_that(studio: Studio) -> None:
    view = showing(studio, np.full((4, 4), np.nan, np.float32))
    settled(studio, view)
    picture = view.picture()
    assert picture is not None
    assert (picture.kinds == NAN).all()
    assert statistics_text(view.statistics) == "16 elements · 16 NaN"


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0, 2)], ids=str)
def test_an_empty_tensor_shows_nothing(studio: Studio, shape: tuple[int, ...]) -> None:
    view = showing(studio, np.empty(shape, np.float32))
    assert view.sheet_layout is not None
    picture = view.picture()
    assert picture is None or picture.pixels.size == 0
    view.pointing.nudge(1, 0)
    assert view.pointing.index is None


def test_a_vector_has_bars(studio: Studio) -> None:
    view = showing(studio, np.array([1.0, -2.0, np.nan, np.inf, 0.5], np.float32))
    settled(studio, view)
    assert view.frame is not None
    assert view.frame.tile is not None
    bars = bars_of(view.frame.tile)
    assert [bar.kind for bar in bars] == [0, 0, NAN, PLUS, 0]
    assert [bar.low for bar in bars[:2]] == [1.0, -2.0]


def test_a_large_tensor_is_coarse_and_says_so(studio: Studio, rng: np.random.Generator) -> None:
    array = rng.uniform(-0.5, 0.5, (900, 1000)).astype(np.float32)
    array[640, 5], array[10, 990] = -3.0, np.nan
    view = showing(studio, array)
    settled(studio, view)
    sheet_layout, picture = view.sheet_layout, view.picture()
    assert sheet_layout is not None
    assert picture is not None
    block = sheet_layout.sheet.block[0]
    assert block == 6
    assert aside_text(sheet_layout, view.choice) == (
        "a pixel shows 6 \N{MULTIPLICATION SIGN} 6 elements: the largest magnitude"
    )
    assert picture.kinds[640 // 6, 5 // 6] == 0
    assert picture.kinds[10 // 6, 990 // 6] == NAN
    least = picture.kinds
    view.choose("greatest")
    greatest = view.picture()
    assert greatest is not None
    assert greatest.kinds[640 // 6, 5 // 6] > 128
    assert not np.array_equal(greatest.kinds, least)
    view.zoom(Region(600, 0, 60, 80))
    settled(studio, view)
    assert view.sheet_layout is not None
    assert view.sheet_layout.sheet.exact
    assert view.frame is not None
    assert view.frame.tile is not None
    np.testing.assert_array_equal(view.frame.tile.low[0, :, :, 0], array[600:660, :80])


def test_kernels_lie_as_people_draw_them(studio: Studio, rng: np.random.Generator) -> None:
    array = rng.standard_normal((3, 3, 4, 8)).astype(np.float32)
    view = showing(studio, array, role=Role.PARAM)
    settled(studio, view)
    assert view.frame is not None
    assert view.frame.tile is not None
    np.testing.assert_array_equal(
        view.frame.tile.low[..., 0], np.moveaxis(array[:, :, 0], -1, 0)
    )  # fmt: skip
    assert [(s.axis, s.count) for s in view.sliders] == [(2, 4)]


def test_a_picture_that_was_held_is_the_last_seen_once_its_weights_are_gone(
    studio: Studio,
) -> None:
    view = TensorViewModel(studio.live, studio.tasks)
    view.set_active(True)
    studio.live.rest_on(HeldWeights("one", lambda: {"t": np.ones((2, 3), np.float32)}))
    view.show(entities.tensor("t"))
    studio.until(lambda: view.badge == "AT REST · one")
    studio.live.rest_on(HeldWeights("another", dict))
    studio.until(lambda: view.badge == "LAST SEEN · one")
    view.hold()
    studio.until(lambda: view.badge == "HELD · one")
    view.hold()
    studio.until(lambda: view.badge == "LAST SEEN · one")


def test_a_training_is_held_and_compared_with(studio: Studio, cpu: Backend) -> None:
    with Trainer(task(), cpu) as trainer:
        running = Running(studio, trainer)
        view = TensorViewModel(studio.live, studio.tasks)
        view.set_active(True)
        assert view.why_not_hold()
        view.show(entities.tensor("dense/kernel"))
        studio.until(lambda: view.frame is not None)
        running.step()
        studio.until(lambda: view.frame and view.frame.snapshot.moment.step == 1)
        assert view.badge == "LIVE · step 1"
        first = trainer.network.session.read("dense/kernel").result()
        view.hold()
        studio.until(lambda: view.frame and view.frame.state == "held")
        assert view.badge == "HELD · step 1"
        taps = trainer.network.live.taps
        captures = taps[0].captures
        running.step(3)
        studio.scheduler.advance(1.0)
        assert taps[0].captures <= captures + 1
        assert view.badge == "HELD · step 1"
        assert view.frame is not None
        np.testing.assert_array_equal(view.frame.snapshot.array(), first)
        view.set_slice("[0:2]")
        settled(studio, view)
        assert view.frame.tile is not None
        np.testing.assert_array_equal(view.frame.tile.low[0, :, :, 0], first[:2])
        view.compare()
        asked_for(studio, trainer, 1)
        running.step()
        studio.until(lambda: view.frame and view.frame.snapshot.moment.step == 5)
        now = trainer.network.session.read("dense/kernel").result()
        np.testing.assert_array_equal(view.frame.snapshot.array(), now - first)
        assert view.badge == "LIVE · step 5 \N{MINUS SIGN} held step 1"
        view.compare()
        studio.until(lambda: "held" not in view.badge)
        running.finish()
        studio.live.ended()
        view.close()


def test_a_view_behind_an_instruction_says_so(studio: Studio, cpu: Backend) -> None:
    from studio.session.compile.provenance import Provenance

    with Trainer(task(), cpu) as trainer:
        running = Running(studio, trainer)
        program = trainer.network.program("train")
        (update,) = (i for i, line in enumerate(program) if line.mnemonic == "BEGIN_UPDATE")
        view = TensorViewModel(studio.live, studio.tasks)
        view.set_active(True)
        view.show(entities.tensor("dense/kernel"))
        view.look_after(Provenance(program).key_of(update))
        asked_for(studio, trainer, 1)
        # Which step is the first to be seen depends on when the training hears of the wish.
        studio.until(lambda: (view.frame and view.frame.state == "after") or running.step())
        assert view.badge.startswith("AFTER · step ")
        assert view.badge.endswith(f" · after #{update}")
        view.look_live()
        studio.until(lambda: view.frame and view.frame.state == "live")
        running.finish()
        studio.live.ended()
        studio.until(lambda: view.is_stale)
        assert view.badge.startswith("LAST SEEN · step")
        view.close()


def test_what_can_be_chosen() -> None:
    tensors = [Tensor(0, "x", (2,)), Tensor(1, "w", (2,))]
    found = tensor_choices(tensors, frozenset({1}))
    assert [entity.key for entity in found] == ["x", "w", "w.grad"]


@pytest.mark.parametrize(
    ("value", "short", "exact"),
    [
        (np.float32(0.1), "0.1", "0.1"),
        (np.float32(-1234567.0), "\N{MINUS SIGN}1.2e6", "-1.234567e+06"),
        (np.float32(np.nan), "NaN", "NaN"),
        (np.float32(-np.inf), "\N{MINUS SIGN}Inf", "-Inf"),
        (np.int32(-16777217), "-16777217", "-16777217"),
        (np.uint8(200), "200", "200"),
        (np.bool_(True), "1", "1"),
        (np.float16(0.1), "0.1", "0.1"),
        (np.float32(1e-9), "1e-9", "1e-09"),
    ],
)
def test_numbers_as_text(value: np.generic, short: str, exact: str) -> None:
    assert short_number(value) == short
    assert exact_number(value) == exact


def test_nothing_chosen_says_what_to_do(studio: Studio) -> None:
    view = TensorViewModel(studio.live, studio.tasks)
    assert view.status.text == "No tensor is chosen"
    assert view.badge == "NO IMAGE YET"
    assert view.picture() is None
    view.pointing.at(3, 3)
    view.turn(1)
    with pytest.raises(ParameterError):
        view.pointing.go_to("0")


@pytest.mark.parametrize(
    ("value", "text"),
    [(-0.0053, "\N{MINUS SIGN}5e-3"), (0.25, "0.2"), (0.0, "0"), (1e-30, "1e-30"), (7, "7"),
     (123456, "1e5"), (np.nan, "NaN"), (-np.inf, "\N{MINUS SIGN}Inf"), (-0.1, "\N{MINUS SIGN}0.1")],
)  # fmt: skip
def test_a_number_is_written_in_as_little_room_as_there_can_be(value: float, text: str) -> None:
    assert tight_number(value) == text
