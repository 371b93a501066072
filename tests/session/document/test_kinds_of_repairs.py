from __future__ import annotations

import re

import pytest

from studio.graph_editor.editing.fix_chips import MOST_CHIPS
from studio.session.document.checks.validation import validate
from studio.session.document.repairs.search import with_fixes
from studio.session.document.report import Fix
from tests.session.document.faulty_graphs import FAULTY, Faulty

POOL = "GlobalAveragePooling2D"
WIDTH = {"units", "filters", "depth_multiplier"}
WINDOW = {"kernel_size", "pool_size", "dilation_rate"}
EQUAL = {*WIDTH, "padding", "strides", "Conv2D", "Dense", "Reshape", "Flatten"}

NAMED = (
    (r"Flatten", {"Flatten"}),
    (r"Rescaling", {"Rescaling"}),
    (r"pooling", {POOL}),
    (r"Reshape", {"Reshape"}),
    (r"'same'", {"padding"}),
    (r"window smaller", WINDOW),
    (r"make it narrower", WIDTH),
    (r"its input smaller", {"MaxPooling2D"}),
    (r"its shape smaller", {"shape"}),
    (r"the shape of the data", {"shape"}),
    (r"dimensions equal", EQUAL),
    (r"(set axis|axis at -1|-1 (is|joins))", {"axis"}),
    (r"product of the new shape", {"target_shape"}),
    (r"^connect a layer", {"add", "connect"}),
    (r"^connect (them|the output)", {"connect"}),
    (r"delete them", {"delete"}),
    (r"mark one (as )?output", {"mark"}),
    (r"mark one or more", {"mark all", "mark"}),
    (r"remove an input", {"delete"}),
    (r"^map an array", {"map", "unmark"}),
    (r"the class weights of each output", {"use"}),
    (r"^the (in|out)puts are", {"leave out"}),
    (r"merge them", {"Add", "Concatenate"}),
    (r"stop sharing parameters", {"own layer"}),
    (r"add an Input", {"Input"}),
    (r"remove the augmentation", {"augment"}),
    (r"give the last layer", WIDTH),
    (r"use sigmoid", {"activation"}),
    (r"one output per class", {"units"}),
    (r"set from_logits", {"from_logits"}),
    (r"or end in s", {"activation"}),
    (r"or remove the s", {"activation", "remove"}),
    (r"use a loss for numbers", {"follow"}),
    (r"choose other metrics", {"follow", "unweighted"}),
    (r"^choose a loss", {"follow", "loss"}),
    (r"remove the class weights", {"remove"}),
    (r"make a layer trainable", {"train one"}),
    (r"add a layer with parameters", {"Dense"}),
)
"""Words of a hint, and the kinds of repair of which one does what they say."""

NO_REMEDY = ("its outputs are d",)
"""Hints that name nothing that can be done to the network."""

FIRST = {
    "convolution, pooling, dense": ["Flatten", POOL],
    "two dense layers on a picture": ["Flatten", POOL],
    "softmax behind dense on a picture": ["Flatten", POOL],
    "dense without flatten": ["Flatten", POOL],
    "one number of a picture": ["Flatten", POOL],
    "dense on a large picture": [POOL, "Flatten"],
    "ends in pooling": ["Flatten", POOL],
    "ends in a convolution": [POOL, "Flatten"],
    "ends in a convolution, one number": ["Flatten", POOL],
    "conv behind flatten": ["remove", "Reshape", "Dense"],
    "global pooling behind flatten": ["remove", "Reshape", "give up"],
    "residual of more channels": ["Conv2D", "filters", "Concatenate"],
    "channels excited without a reshape": ["Reshape", POOL, "Flatten"],
    "concat of two sizes": ["padding", "strides"],
    "add of other channels": ["filters", "Conv2D", "Concatenate"],
    "pooled away": ["padding", "pool_size", "remove", "give up"],
    "two ends": ["mark all", "mark", "Add"],
    "many ends": ["mark all", "mark", "Concatenate"],
    "two inputs": ["delete"],
    "add of one": ["connect", "give up"],
    "reshape with _TWO open sides": ["target_shape", "Flatten"],
    "everything frozen": ["train one", "train all"],
    "seven of ten classes": ["units", "Dense"],
}
"""Kinds that are offered first, in this order."""


def fixes_of(fault: Faulty) -> tuple[Fix, ...]:
    report = with_fixes(validate(fault.state, fault.facts), fault.state, fault.facts)
    return report.problems[0].fixes


def hint_of(fault: Faulty) -> str:
    return validate(fault.state, fault.facts).problems[0].hint


def of_name(name: str) -> Faulty:
    return next(fault for fault in FAULTY if fault.name == name)


@pytest.mark.parametrize("fault", FAULTY, ids=lambda fault: fault.name)
def test_repairs_differ_in_kind_but_for_a_choice_between_layers(fault):
    fixes = fixes_of(fault)
    kinds = [fix.kind for fix in fixes]
    distinct = list(dict.fromkeys(kinds))
    again = [kind for kind in distinct if kinds.count(kind) > 1]
    assert set(again) <= {"connect", "mark", "delete", "loss", "train one"}
    ways = [kind for kind in distinct if kind != "give up"]
    assert [kind for kind in kinds if kind != "give up"][: len(ways)] == ways
    behind = fixes[kinds.index("give up") + 1 :] if "give up" in kinds else ()
    assert not any(validate(fix.apply(fault.state), fault.facts).is_valid for fix in behind)


@pytest.mark.parametrize("fault", FAULTY, ids=lambda fault: fault.name)
def test_a_remedy_the_message_names_is_among_the_first_repairs(fault):
    hint = hint_of(fault)
    shown = {fix.kind for fix in fixes_of(fault)[:MOST_CHIPS]}
    wanted = [(words, kinds) for words, kinds in NAMED if re.search(words, hint)]
    assert wanted or hint in NO_REMEDY
    assert [words for words, kinds in wanted if not kinds & shown] == []


@pytest.mark.parametrize("name", FIRST)
def test_the_most_usual_repair_comes_first(name):
    kinds = [fix.kind for fix in fixes_of(of_name(name))]
    assert kinds[: len(FIRST[name])] == FIRST[name]


def test_flatten_stands_where_the_picture_ends_and_not_behind_what_works_on_it():
    state = of_name("two dense layers on a picture").state
    flatten = fixes_of(of_name("two dense layers on a picture"))[0].apply(state)
    assert flatten.nodes["flatten"].sources == ("max_pooling2d",)
    assert flatten.nodes["dense"].sources == ("flatten",)
