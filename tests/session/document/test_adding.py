"""Typed nets, the search for a layer, the palette and the ghost of what is not there yet."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.engine.core.errors import StudioError
from studio.engine.layers.catalog import all_layers
from studio.engine.layers.operator import Operator
from studio.session.document.adding.connection_history import DECAY, FORGOTTEN, ConnectionHistory
from studio.session.document.adding.net_text import NetError, is_net, parse_net
from studio.session.document.adding.palette import MOST_RECENT, Palette
from studio.session.document.adding.preview import AddPreview, preview_chain, preview_edit
from studio.session.document.adding.quick_add import Place, QuickAdd, entries, no_match_text
from studio.session.document.edits import layers
from studio.session.document.edits.chains import NewLayer, add_chain
from studio.session.document.edits.insertion import add_on_wire
from studio.session.document.edits.wires import add_dot, connect
from studio.session.document.finding.fuzzy import best_score, match_score
from studio.session.document.finding.layer_names import successors, type_of_word, words_for
from studio.session.document.flow import flow_of
from studio.session.document.state import DocumentState, Wire
from tests.session.document.networks import chain, net, refusal, residual

NETS = {
    "conv 16 3x3 > relu > pool 2 > dense 10": [
        ("Conv2D", {"filters": 16, "kernel_size": [3, 3]}),
        ("ReLU", {}),
        ("MaxPooling2D", {}),
        ("Dense", {"units": 10}),
    ],
    "Conv2D 16 3": [("Conv2D", {"filters": 16, "kernel_size": [3, 3]})],
    "conv 3x3 16": [("Conv2D", {"filters": 16, "kernel_size": [3, 3]})],
    "conv 16 3x3 2 same relu": [
        (
            "Conv2D",
            {
                "filters": 16,
                "kernel_size": [3, 3],
                "strides": [2, 2],
                "padding": "same",
                "activation": "relu",
            },
        )
    ],
    "conv16": [("Conv2D", {"filters": 16, "kernel_size": [3, 3]})],
    "conv 8 5x5 stride 2 no bias": [
        ("Conv2D", {"filters": 8, "kernel_size": [5, 5], "strides": [2, 2], "use_bias": False})
    ],
    "conv 8 5x5 dilation=2 padding=same": [
        (
            "Conv2D",
            {"filters": 8, "kernel_size": [5, 5], "dilation_rate": [2, 2], "padding": "same"},
        )
    ],
    "pool 3 2": [("MaxPooling2D", {"pool_size": [3, 3], "strides": [2, 2]})],
    "max pool 3x2": [("MaxPooling2D", {"pool_size": [3, 2]})],
    "drop 25%": [("Dropout", {"rate": 0.25})],
    "dropout .5": [("Dropout", {"rate": 0.5})],
    "dense 10 softmax": [("Dense", {"units": 10, "activation": "softmax"})],
    "dense 10 he_normal l2": [
        (
            "Dense",
            {"units": 10, "kernel_initializer": "he_normal", "kernel_regularizer": "l2(0.01)"},
        )
    ],
    "fc 3 activation=tanh": [("Dense", {"units": 3, "activation": "tanh"})],
    "input 28x28x1 -> flatten": [("Input", {"shape": [28, 28, 1]}), ("Flatten", {})],
    "reshape 7x7x-1": [("Reshape", {"target_shape": [7, 7, -1]})],
    "gelu | bn": [("Activation", {"activation": "gelu"}), ("BatchNormalization", {})],
    "swish": [("Activation", {"activation": "silu"})],
    "relu 6": [("ReLU", {"max_value": 6.0})],
    "concat axis=1": [("Concatenate", {"axis": 1})],
    "bn no scale": [("BatchNormalization", {"scale": False})],
    "gap keepdims": [("GlobalAveragePooling2D", {"keepdims": True})],
    "  relu\n flatten ;": [("ReLU", {}), ("Flatten", {})],
    "conv 4 3x3 init".replace(" init", ""): [("Conv2D", {"filters": 4, "kernel_size": [3, 3]})],
}


@pytest.mark.parametrize("text", NETS)
def test_a_typed_net_is_a_chain_of_layers(text):
    assert [(layer.type_name, dict(layer.config)) for layer in parse_net(text)] == NETS[text]


LISTED = [cls for cls in all_layers() if cls is not Operator]
"""Layers with an entry of their own; there is one for each operation instead of Operator."""


def test_a_typed_layer_knows_where_it_stands():
    text = "conv 4 3x3 >  dense 2"
    assert [text[layer.start : layer.end] for layer in parse_net(text)] == ["conv 4 3x3", "dense 2"]


NOT_NETS = {
    "": ("expected a layer", "", ""),
    "conx 4": ("no layer is called 'conx'", "conx", "did you mean conv"),
    "conv 4 >": ("expected a layer after the arrow", ">", ""),
    "> conv 4": ("expected a layer before the arrow", ">", ""),
    "conv 4 > > relu": ("expected a layer before the arrow", " >", ""),
    "dense ten": ("Dense does not know 'ten'", "ten", "its options: units"),
    "dense 0": ("units: expected a whole number from 1", "0", "Number of outputs."),
    "dense 2.5": ("units: expected a whole number", "2.5", ""),
    "dropout 2": ("rate: expected a number from 0", "2", "Fraction"),
    "dense 4 units=5": ("units is given twice", "5", ""),
    "dense units=": ("units: expected a whole number", "", ""),
    "dense colour=5": ("Dense does not know 'colour'", "colour", ""),
    "pool 2 2 2": ("padding: expected one of valid, same, got 2", "2", ""),
    "pool 2 2 same 2": ("MaxPooling2D has no option left for '2'", "2", "its options: pool_size"),
    "dense 3 no units": ("units is not a yes/no option", "units", ""),
    "conv 4 3x3x3": ("kernel_size: expected", "3x3x3", ""),
    "relu sideways": ("ReLU does not know 'sideways'", "sideways", ""),
    "flatten 3": ("Flatten does not know '3'", "3", ""),
}


@pytest.mark.parametrize("text", NOT_NETS)
def test_a_net_that_cannot_be_read_says_where(text):
    message, marked, hint = NOT_NETS[text]
    error = refusal(parse_net, text)
    assert isinstance(error, NetError)
    assert message in error.message
    assert text[error.start : error.end].strip() == marked.strip()
    assert hint in error.hint
    assert error.origin == f"column {error.start + 1}"


@pytest.mark.slow
@settings(max_examples=300)
@given(st.text("convdes 3x>-=.%|\n", max_size=40) | st.text(max_size=30))
def test_any_text_is_read_or_refused_with_a_place(text):
    try:
        assert parse_net(text)
    except NetError as refused:
        error = refused
    else:
        return
    assert 0 <= error.start <= max(len(text), error.end)


def test_long_nets_are_refused():
    assert "at most" in refusal(parse_net, "relu > " * 300 + "relu").message
    assert "at most" in refusal(parse_net, "x" * 10_000).message


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("conv", False),
        ("max pool", False),
        ("conv 16", True),
        ("conv > relu", True),
        ("batch norm", False),
        ("dense units=3", True),
        ("relu", False),
        ("x 3", False),
    ],
)
def test_a_query_is_a_net_when_it_has_an_arrow_or_values(text, meant):
    assert is_net(text) == meant


def test_every_layer_is_found_by_its_words():
    for cls in all_layers():
        for word in words_for(cls.__name__):
            assert type_of_word(word) == cls.__name__
            assert type_of_word(word.upper()) == cls.__name__
    words = [word for cls in all_layers() for word in words_for(cls.__name__)]
    assert sorted(words) == sorted(set(words))
    assert all(cls.words for cls in all_layers())


def test_usual_successors_are_layers():
    names = {cls.__name__ for cls in all_layers()}
    for cls in all_layers():
        assert set(cls.followers) <= names, cls
        assert set(cls.follows) <= names | {""}, cls
    assert successors("") == ("Input",)
    assert successors("Dropout") == ("Dense", "Flatten", "Conv2D")
    assert successors("Foo") == ()


FIRST = {
    "conv": "Conv2D", "relu": "ReLU", "pool": "MaxPooling2D", "bn": "BatchNormalization",
    "dense": "Dense", "fl": "Flatten", "gap": "GlobalAveragePooling2D", "drop": "Dropout",
    "add": "Add", "cat": "Concatenate", "soft": "Softmax", "mul": "Multiply",
    "pad": "ZeroPadding2D",
    "avg": "AveragePooling2D", "dw": "DepthwiseConv2D", "inp": "Input", "resh": "Reshape",
    "c2d": "Conv2D", "sigmoid": "Activation", "scale": "Rescaling",
}  # fmt: skip


@pytest.mark.parametrize("query", FIRST)
def test_the_search_finds_what_is_meant_first(query):
    offers = QuickAdd().offers(DocumentState(), query)
    assert offers[0].entry.type_name == FIRST[query]


def test_letters_must_all_occur_in_order():
    assert match_score("cv", "Conv2D") is not None
    assert match_score("vc", "Conv2D") is None
    assert best_score("xyz", ["Conv2D", "Dense"]) is None
    assert match_score("", "Conv2D") == 0.0
    better, worse = match_score("con", "Conv2D"), match_score("con", "falcon")
    assert better is not None
    assert worse is not None
    assert better > worse


def offered(place: Place, state: DocumentState | None = None, query: str = "") -> dict[str, tuple]:
    found = QuickAdd().offers(chain() if state is None else state, query, place)
    return {offer.entry.title: (offer.port, offer.shape) for offer in found}


def test_only_what_can_be_connected_is_offered():
    behind = offered(Place(source="flatten"))
    assert behind["Dense"] == ("in 1", (64,))
    assert not {"Input", "Conv2D", "MaxPooling2D"} & set(behind)
    state = chain()
    for title, (_, shape) in behind.items():
        after = layers.add_layer(state, title, after="flatten")
        new = next(i for i in after.nodes if i not in state.nodes)
        if title in ("Add", "Multiply", "Concatenate"):
            continue
        assert flow_of(after).shape(new) == shape


def test_on_a_wire_both_ends_must_fit():
    on = offered(Place(wire=Wire("conv2d", "re_lu", 0)))
    assert "Flatten" in on
    before_pool = offered(Place(wire=Wire("re_lu", "max_pooling2d", 0)))
    assert not {"Flatten", "GlobalAveragePooling2D", "Add", "Input"} & set(before_pool)
    for title in before_pool:
        after = add_on_wire(chain(), title, Wire("re_lu", "max_pooling2d", 0))
        assert flow_of(after).shape("dense") is not None


def test_in_front_of_an_input_anything_is_offered_that_may_fit():
    front = offered(Place(target="conv2d", slot=0))
    assert front["ReLU"] == ("out", None)
    assert front["Input"] == ("out", (28, 28, 1))
    loose = layers.add_layer(chain(), "Flatten", at=(0.0, 900.0))
    loose = layers.add_layer(loose, "BatchNormalization", after="flatten_1")
    assert "Input" in offered(Place(target="flatten_1"), loose)
    reshaped = net("input 4 > reshape 3x3")
    assert "Input" not in offered(Place(target="reshape", slot=0), reshaped)


def test_an_unknown_shape_excludes_nothing_that_takes_a_wire():
    state = net("input 4 > conv 4 3x3 > relu")
    behind = offered(Place(source="re_lu"), state)
    assert "Conv2D" in behind
    assert "Input" not in behind


def test_what_usually_follows_comes_first_then_the_alphabet():
    titles = list(offered(Place(source="max_pooling2d")))
    usual = [name for name in successors("MaxPooling2D") if name in titles]
    assert titles[: len(usual)] == usual
    assert titles[len(usual) :] == sorted(titles[len(usual) :])


def test_shape_of_a_merge_is_not_told_before_all_it_joins_is_known():
    shapes = {
        offer.entry.title: offer.shape
        for offer in QuickAdd().offers(chain(), "", Place(source="max_pooling2d"))
    }
    assert shapes["Flatten"] == (72,)
    assert shapes["Concatenate"] is shapes["Add"] is None


def test_what_the_user_connects_comes_before_what_is_usual():
    search = QuickAdd()
    for _ in range(2):
        search.took(chain(), "BatchNormalization", Place(source="max_pooling2d"))
    search.took(chain(), "Softmax", Place(source="max_pooling2d"))
    offers = search.offers(chain(), "", Place(source="max_pooling2d"))
    assert [o.entry.title for o in offers[:3]] == ["BatchNormalization", "Softmax", "Conv2D"]
    through = add_dot(chain(), Wire("max_pooling2d", "flatten", 0), 0.0, 0.0)
    offers = search.offers(through, "", Place(source="dot"))
    assert offers[0].entry.title == "BatchNormalization"


def test_the_history_fades_from_start_to_start(tmp_path):
    path = tmp_path / "connections.json"
    history = ConnectionHistory(path)
    for _ in range(10):
        history.note("Conv2D", "ReLU")
    history.note("Dense", "Softmax")
    history.save()
    again = ConnectionHistory(path)
    assert again.weight("Conv2D", "ReLU") == pytest.approx(10 * DECAY)
    starts = 0
    while again.weight("Dense", "Softmax") > 0:
        again.decay()
        starts += 1
        assert starts < 100
    assert DECAY**starts < FORGOTTEN / DECAY
    assert again.weight("Conv2D", "ReLU") > 0


@pytest.mark.parametrize(
    "text", ["", "{", "[[1, 2, 3]]", '[["a", "b", -1]]', "3", '[["a", "b", true]]']
)
def test_a_damaged_history_is_forgotten(tmp_path, text):
    path = tmp_path / "connections.json"
    path.write_text(text)
    history = ConnectionHistory(path)
    assert history.weight("a", "b") == 0.0
    history.note("a", "b")
    history.save()
    assert json.loads(path.read_text()) == [["a", "b", 1.0]]


def test_a_query_that_is_a_net_gives_its_layers():
    search = QuickAdd()
    assert [layer.type_name for layer in search.typed("conv 4 3x3 > relu")] == ["Conv2D", "ReLU"]
    assert search.typed("conv") == ()
    assert isinstance(refusal(search.typed, "conv 4 > xyz"), NetError)


def test_nothing_found_suggests_something():
    assert QuickAdd().offers(chain(), "qqq") == ()
    assert no_match_text("conx") == "No layer is called conx. Did you mean conv?"
    assert no_match_text("qqqqqq") == "No layer is called qqqqqq."


def test_entries_describe_themselves_from_the_declarations():
    by_title = {entry.title: entry for entry in entries()}
    for cls in LISTED:
        entry = by_title[cls.__name__]
        assert cls.__doc__ is not None
        assert cls.__doc__.startswith(entry.doc[:20])
    assert by_title["Activation gelu"].config == {"activation": "gelu"}
    assert "Activation linear" not in by_title


def test_the_palette_groups_layers_by_family():
    palette = Palette()
    groups = {group.title: [entry.title for entry in group.entries] for group in palette.groups()}
    assert groups["Data"] == ["Input", "Rescaling"]
    assert groups["Linear"] == ["Dense", "TiedDense", "Conv2D", "DepthwiseConv2D"]
    assert groups["Sequence"] == ["Masking"]
    listed = [title for titles in groups.values() for title in titles]
    assert sorted(listed) == sorted(cls.__name__ for cls in LISTED)
    assert list(groups)[-1] == "Operations"


def test_the_palette_keeps_favourites_and_recent_layers():
    palette = Palette(["Dense", "Foo"], ["Add", "Add", "Bar"])
    heard = []
    listen = lambda: heard.append(1)  # noqa: E731
    palette.changed.connect(listen)
    assert (palette.favourites, palette.recent) == (("Dense",), ("Add",))
    palette.set_favourite("ReLU", True)
    palette.set_favourite("ReLU", True)
    palette.set_favourite("Dense", False)
    for cls in LISTED:
        palette.used(cls.__name__, {})
    palette.used("Foo", {})
    assert palette.favourites == ("ReLU",)
    assert len(palette.recent) == MOST_RECENT
    assert palette.recent[0] == LISTED[-1].__name__
    assert len(heard) == 2 + len(LISTED)
    assert [group.key for group in palette.groups()][:2] == ["favourites", "recent"]


def test_the_palette_searches():
    palette = Palette()
    palette.search("pool")
    (group,) = palette.groups()
    assert [entry.title for entry in group.entries][:1] == ["MaxPooling2D"]
    palette.search("qqq")
    assert palette.groups()[0].entries == ()
    palette.search("")
    assert len(palette.groups()) > 3


def test_the_ghost_is_what_the_layer_will_be():
    state = chain()
    for type_name in [cls.__name__ for cls in all_layers() if cls.__name__ != "Input"]:
        ghost = preview_chain(state, [NewLayer(type_name, {})], "max_pooling2d")
        after = layers.add_layer(state, type_name, after="max_pooling2d")
        new = next(i for i in after.nodes if i not in state.nodes)
        found = flow_of(after).outcomes.get(new)
        assert ghost.shape == (None if found is None else found.shape)
        assert ghost.parameters == (None if found is None else found.parameters)
        assert bool(ghost.message) == (found is not None and found.error is not None)


def test_the_ghost_on_a_wire_says_what_the_whole_network_gains():
    state = net("input 8x8x4 > conv 16 3x3 same > flatten > dense 10")
    wire = Wire("conv2d", "flatten", 0)
    config = {"filters": 16, "kernel_size": [3, 3], "padding": "same"}
    ghost = preview_chain(state, [NewLayer("Conv2D", config)], wire=wire)
    assert (ghost.shape, ghost.difference, ghost.text) == (
        (8, 8, 16),
        2320,
        "+2\N{NARROW NO-BREAK SPACE}320 parameters",
    )
    shrunk = preview_chain(state, [NewLayer("MaxPooling2D", {})], wire=wire)
    after = add_on_wire(state, "MaxPooling2D", wire)
    expected = sum(o.parameters or 0 for o in flow_of(after).outcomes.values())
    before = sum(o.parameters or 0 for o in flow_of(state).outcomes.values())
    assert shrunk.difference == expected - before < 0
    lost = f"{before - expected:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    assert shrunk.text == f"\N{MINUS SIGN}{lost} parameters"


def test_the_ghost_says_what_would_not_fit():
    def ghost(type_name: str, after: str = "", wire: Wire | None = None) -> AddPreview:
        return preview_chain(chain(), [NewLayer(type_name, {})], after, wire=wire)

    assert "height, width, channels" in ghost("Conv2D", "flatten").message
    on = ghost("Flatten", wire=Wire("input", "conv2d", 0))
    assert on.message.startswith("conv2d would no longer fit: ")
    assert ghost("Flatten", wire=Wire("input", "dense", 0)).message
    assert ghost("Foo").message


def test_the_ghost_of_a_net_is_its_end():
    made = [
        NewLayer(x.type_name, x.config)
        for x in parse_net("conv 4 3x3 > pool 2 > flatten > dense 3")
    ]
    ghost = preview_chain(net("input 8x8x1"), made, "input")
    assert (ghost.shape, ghost.parameters) == ((3,), 40 + 36 * 3 + 3)
    assert ghost.text == "+151 parameters"
    after = add_chain(net("input 8x8x1"), made, after="input").state
    assert flow_of(after).shape("dense") == (3,)


def test_an_edit_can_be_weighed_before_it_is_made():
    state = chain()
    ghost = preview_edit(state, layers.set_option(state, "dense", "units", 11))
    assert ghost.text == "+73 parameters"
    assert preview_edit(state, state).text == "+0 parameters"
    merged = connect(layers.add_layer(residual(), "Add", after="add"), "input", "add_1")
    assert preview_edit(residual(), merged).difference == 0
    assert AddPreview(parameters=1).text == "+1 parameter"
    assert AddPreview().text == ""


def test_edits_refused_anywhere_are_errors_of_the_studio():
    assert isinstance(refusal(add_chain, chain(), [NewLayer("Dense", {"units": 0})]), StudioError)


def test_what_nothing_reaches_is_not_said_to_have_no_parameters() -> None:
    state = DocumentState()
    chain = [NewLayer("Conv2D", {"filters": 16}), NewLayer("Dense", {"units": 10})]
    assert preview_edit(state, add_chain(state, chain).state).text == ""
    entry = add_chain(state, [NewLayer("Input", {"shape": [8, 8, 1]})]).state
    assert preview_edit(state, entry).text == "+0 parameters"


def test_what_does_not_fit_is_not_called_unknown():
    search, state = QuickAdd(), net("input 2 > dense 3 > dense 4")
    behind = Place(source="dense")
    assert search.offers(state, "conv", behind) == ()
    said = search.why_none(state, "conv", behind)
    assert said.startswith("Conv2D does not fit here: expected an input [height, width, channels]")
    assert said.endswith("got [3].")
    assert "has no inputs" in search.why_none(state, "input", behind)
    on_wire = Place(wire=Wire("dense", "dense_1", 0))
    assert "several inputs" in search.why_none(state, "concat", on_wire)
    pictures = net("input 8x8x1 > conv 4 3x3 > pool 2")
    folded = Place(wire=Wire("conv2d", "max_pooling2d", 0))
    assert search.offers(pictures, "flatten", folded) == ()
    assert "cannot take its output" in search.why_none(pictures, "flatten", folded)
    assert search.why_none(state, "conx", behind) == no_match_text("conx")


def test_a_search_is_never_told_to_mean_what_it_says():
    state = net("input 2 > dense 3")
    for entry in entries():
        said = QuickAdd().why_none(state, entry.words[-1], Place(source="dense"))
        assert f"No layer is called {entry.words[-1]}" not in said
