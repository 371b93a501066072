from __future__ import annotations

import re
from dataclasses import replace

import pytest

from studio.engine.layers.graph import Port
from studio.session.document.checks.invariants import broken_rules
from studio.session.document.checks.validation import validate
from studio.session.document.edits.sections import training_of
from studio.session.document.flow import downstream, flow_of
from studio.session.document.layer_types import is_known, layer_at
from studio.session.document.repairs.search import GENERATORS, with_fixes
from studio.session.document.report import DataFacts, Fix, Report
from studio.session.document.resolve import resolve
from studio.session.document.state import CanvasNode, DocumentState
from tests.session.document.faulty_graphs import FAULTY, Faulty
from tests.session.document.networks import net


def report_of(fault: Faulty) -> Report:
    return with_fixes(validate(fault.state, fault.facts), fault.state, fault.facts)


FIXES = [
    (fault, fix)
    for fault in FAULTY
    for problem in report_of(fault).problems
    for fix in problem.fixes
]


def named(state: DocumentState, name: str) -> CanvasNode:
    return next(node for node in state.nodes.values() if node.name == name)


def added(fault: Faulty, after: DocumentState) -> list[CanvasNode]:
    return [node for i, node in after.nodes.items() if i not in fault.state.nodes]


def shown(value: object) -> str:
    if isinstance(value, tuple):
        value = list(value)
    if isinstance(value, list) and len(value) == 2 and all(v > 0 for v in value):
        return f"{value[0]}\N{MULTIPLICATION SIGN}{value[1]}"
    if isinstance(value, list):
        return "[" + ",".join(map(str, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def option(node: CanvasNode, name: str) -> str:
    return shown(layer_at(node).option_values[name])


def of_set(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    node = named(after, found["node"])
    assert option(node, found["option"]) == found["value"]
    if found["more"]:
        name, value = found["more"].split(" to ")
        assert option(node, name) == value


def of_insert(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    new = added(fault, after)
    types = [
        each.split(" ")[0] for each in found["what"].split(" and ") if is_known(each.split(" ")[0])
    ]
    times = found["where"].count(" and ") + 1 if found["where"] and len(types) == 1 else 1
    assert sorted(node.type_name for node in new) == sorted(types * times)
    for name, number in (("units", r"with (\d+) unit"), ("filters", r"with (\d+) filter")):
        stated = re.search(number, found["what"])
        if stated:
            assert stated[1] in [str(node.config.get(name)) for node in new]
    target = re.search(r"Reshape to (\S+)", found["what"])
    if target:
        assert target[1] in [shown(node.config.get("target_shape")) for node in new]
    for name in found["where"].removeprefix(" after ").split(" and ") if found["where"] else ():
        assert named(fault.state, name).id in {i for node in new for i in node.sources}


def of_remove(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    gone = named(fault.state, found["node"])
    assert set(fault.state.nodes) - set(after.nodes) == {gone.id}
    assert added(fault, after) == []


def of_delete(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    gone = set(fault.state.nodes) - set(after.nodes)
    many = re.fullmatch(r"(\d+) layers, (\w+) first", found["nodes"])
    if many:
        assert len(gone) == int(many[1])
        assert many[2] in gone
        return
    names = set(re.split(r", | and ", found["nodes"]))
    assert {fault.state.nodes[i].name for i in gone if fault.state.nodes[i].is_layer} == names


def of_make(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    before = named(fault.state, found["node"])
    assert after.nodes[before.id].type_name == found["type"]
    assert after.nodes[before.id].inputs == before.inputs
    if found["units"]:
        assert after.nodes[before.id].config["units"] == int(found["units"])


def of_connect(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    source, target = named(after, found["source"]), named(after, found["target"])
    if found["what"]:
        (node,) = added(fault, after)
        assert found["what"].startswith(node.type_name)
        assert node.sources == (source.id,)
        source = node
    assert source.id in target.sources


def of_add(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    new = added(fault, after)
    words = re.split(r", | and ", found["what"])
    types = [word.split(" ")[0] for word in words if is_known(word.split(" ")[0])]
    assert [node.type_name for node in new] == types
    units = re.search(r"with (\d+) unit", found["what"])
    if units:
        assert new[-1].config["units"] == int(units[1])
    shape = re.search(r"Input (\[\S+\])", found["what"])
    if shape:
        assert shown(new[0].config["shape"]) == shape[1]
    if found["where"] == "after":
        assert new[0].sources == (named(fault.state, found["node"]).id,)
        assert Port(new[-1].id) in resolve(after).outputs
        assert len(resolve(after).outputs) == max(1, len(resolve(fault.state).outputs))
    elif found["where"]:
        assert new[-1].id in named(after, found["node"]).sources


def of_mark(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    assert resolve(after).outputs == (Port(named(after, found["node"]).id),)


def of_mark_all(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    ends = resolve(fault.state).ends
    assert after.outputs == tuple(map(Port, ends))
    assert after.nodes == fault.state.nodes
    if "layers" in found["nodes"]:
        assert found["nodes"].startswith(f"{len(ends)} layers")
    else:
        assert found["nodes"] == " and ".join(fault.state.nodes[i].name for i in ends)


def of_join(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    *flat, node = added(fault, after)
    assert node.type_name == found["type"]
    assert {each.type_name for each in flat} == ({"Flatten"} if found["flat"] else set())
    behind = {each.id: each.sources[0] for each in flat}
    sources = [after.nodes[behind.get(i, i)].name for i in node.sources]
    assert sources == re.split(r", | and ", found["nodes"])


def of_train(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    thawed = [i for i, n in after.nodes.items() if fault.state.nodes[i].frozen and not n.frozen]
    names = found["nodes"]
    assert len(thawed) == (int(names.split(" ")[1]) if names.startswith("all") else 1)


def of_setting(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    settings = training_of(after)
    output = after.nodes[fault.node].name if fault.node else ""
    expected = {
        "Set from_logits of the loss to false": lambda: not settings.loss.from_logits,
        "Set from_logits of the loss to true": lambda: settings.loss.from_logits,
        "Choose the loss by the data": lambda: settings.loss_of(output) is None,
        "Set the loss to MeanAbsoluteError": lambda: (
            type(settings.loss_of(output)).__name__ == "MeanAbsoluteError"
        ),
        "Choose the metrics by the data": lambda: settings.metrics_of(output) is None,
        "Set the loss to MeanSquaredError": lambda: (
            type(settings.loss_of(output)).__name__ == "MeanSquaredError"
        ),
        "Remove the weighted metrics": lambda: settings.weighted_metrics_of(output) == (),
        "Remove the metrics": lambda: settings.metrics_of(output) == (),
        "Choose loss and metrics by the data": lambda: (
            (settings.loss_of(output), settings.metrics_of(output)) == (None, None)
        ),
        "Remove the class weights": lambda: settings.class_weights is None,
        "Remove the settings of missing outputs": lambda: not settings.is_by_output,
        "Remove the augmentation": lambda: "augment" not in after.data,
    }
    several = len(resolve(after).outputs) > 1 and output
    assert expected[found[0].replace(f" of {output}", "") if several else found[0]]()
    assert dict(after.nodes) == dict(fault.state.nodes)


def of_input_and_reshape(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    assert option(named(after, found["node"]), "shape") == found["shape"]
    (reshape,) = added(fault, after)
    assert option(reshape, "target_shape") == found["target"]


def of_map(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    before, data = fault.state.data, after.data
    side = "inputs" if found["array"] in before["inputs"] else "targets"
    assert data[side][found["name"]] == before[side][found["array"]]
    assert found["array"] not in data[side]


def of_leaving_out(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    gone = found["names"].split(", ")
    kept = [
        {n for s in ("inputs", "targets") for n in d[s]} for d in (fault.state.data, after.data)
    ]
    assert kept[0] - kept[1] == set(gone)


def of_unmark(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    assert set(fault.state.outputs) - set(after.outputs) == {Port(named(after, found["node"]).id)}


def of_use(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    before = training_of(fault.state).class_weights
    assert training_of(after).class_weights == {found["name"]: before}


def of_own(found: re.Match[str], fault: Faulty, after: DocumentState) -> None:
    assert after.nodes[fault.node].shares == ""
    assert len({node.name for node in after.layers()}) == len(list(after.layers()))


VERBS = (
    (
        r"Set shape of (?P<node>\S+) to (?P<shape>\S+) and insert Reshape to (?P<target>\S+)",
        of_input_and_reshape,
    ),
    (r"(Set from_logits of the loss|Choose |Remove the |Set the loss).*", of_setting),
    (r"Set (?P<option>\w+) of (?P<node>\S+) to (?P<value>\S+)(?: and (?P<more>.+))?", of_set),
    (r"Insert (?P<what>.+?)(?P<where> after .+)?", of_insert),
    (r"Remove (?P<node>\w+)(?: and the wire from \w+)?", of_remove),
    (r"Delete (?P<nodes>.+)", of_delete),
    (r"Change (?P<node>\S+) to a (?P<type>\w+) layer(?: with (?P<units>\d+) units)?", of_make),
    (r"Connect (?P<source>\S+) to (?P<target>\S+)(?: through (?P<what>.+))?", of_connect),
    (r"Add (?P<what>.+?)(?: (?P<where>after|before) (?P<node>\S+))?", of_add),
    (r"Mark (?:only )?(?P<node>\S+) as output", of_mark),
    (r"Mark (?P<nodes>.+) as outputs", of_mark_all),
    (r"Join (?P<nodes>.+) with (?P<flat>Flatten and )?(?P<type>\w+)", of_join),
    (r"Train (?P<nodes>.+) again", of_train),
    (r"Use the array of (?P<array>\w+) for (?P<name>\w+)", of_map),
    (r"Leave out the arrays? of (?P<names>.+)", of_leaving_out),
    (r"Stop (?P<node>\w+) being an output", of_unmark),
    (r"Use the class weights for (?P<name>\w+)", of_use),
    (r"Stop sharing parameters of \S+ \(use \d+\)", of_own),
)  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "fix"), FIXES, ids=lambda each: each.text if isinstance(each, Fix) else each.name
)
def test_a_fix_does_what_its_text_says(fault, fix):
    after = fix.apply(fault.state)
    assert broken_rules(after) == ()
    for pattern, check in VERBS:
        found = re.fullmatch(pattern, fix.text)
        if found:
            check(found, fault, after)
            return
    raise AssertionError(f"no check for {fix.text!r}")


@pytest.mark.parametrize(
    ("fault", "fix"), FIXES, ids=lambda each: each.text if isinstance(each, Fix) else each.name
)
def test_the_effect_of_a_fix_is_true(fault, fix):
    after = fix.apply(fault.state)
    report, flow = validate(after, fault.facts), flow_of(after)
    gets = re.match(r"(\w+) gets ([\d,]+) inputs?", fix.effect)
    if gets:
        node = named(after, gets[1])
        assert flow.shape(node.inputs[0]) == (int(gets[2].replace(",", "")),)
    counted = re.match(
        r"(\w+) g[^,]+?(?:\[\S+\](?: and \[\S+\])*)?, ([\d,]+) parameters", fix.effect
    )
    if counted:
        node = named(after, counted[1])
        expected = layer_at(node).parameters(*(flow.shape(i) for i in node.inputs))
        assert sum(p.size for p in expected) == int(counted[2].replace(",", ""))
    ends = re.match(r"the network has (\d+) outputs", fix.effect)
    if ends:
        assert len(resolve(after).outputs) == int(ends[1])
    total = re.match(r"the network has ([\d,]+) parameters", fix.effect)
    if total:
        assert report.parameters == int(total[1].replace(",", ""))
    if not report.is_valid:
        assert report.errors[0].message in fix.effect


@pytest.mark.parametrize(
    ("fault", "fix"), FIXES, ids=lambda each: each.text if isinstance(each, Fix) else each.name
)
def test_a_fix_makes_the_graph_valid_or_moves_the_error_downstream(fault, fix):
    after = fix.apply(fault.state)
    report = validate(after, fault.facts)
    assert (fault.id, fault.node) not in [(p.id, p.node) for p in report.problems]
    if fault.severity == "error" and not report.is_valid:
        beyond = downstream(fault.state, [fault.node]) | downstream(after, [fault.node])
        assert all(p.node in beyond and p.node != fault.node for p in report.errors)
    else:
        assert report.is_valid


@pytest.mark.slow
def test_nearly_every_fault_can_be_repaired():
    without = [fault.name for fault in FAULTY if not report_of(fault).problems[0].fixes]
    assert len(FAULTY) - len(without) >= 60
    assert without == []


def test_every_kind_of_problem_has_repairs():
    assert {fault.id for fault in FAULTY} <= set(GENERATORS)


def test_the_most_usual_repair_comes_first():
    fault = next(f for f in FAULTY if f.name == "dense without flatten")
    texts = [fix.label for fix in report_of(fault).problems[0].fixes]
    assert texts == [
        "Insert Flatten (d gets 64 inputs, 650 parameters)",
        "Insert GlobalAveragePooling2D (d gets 1 input, 20 parameters)",
    ]


def test_the_text_book_case_is_repaired_as_one_would():
    state = net("input 28x28x1 > dense 10")
    facts = DataFacts((28, 28, 1), "images", 10)
    (problem,) = with_fixes(validate(state, facts), state, facts).problems
    labels = [fix.label for fix in problem.fixes]
    assert (
        "Insert Flatten (dense gets 784 inputs, 7\N{NARROW NO-BREAK SPACE}850 parameters)" in labels
    )


def test_a_problem_without_generators_has_no_fixes():
    state = net("input 4 > dense 2")
    unknown = replace(state.nodes["dense"], type_name="Foo")
    state = state.with_nodes([unknown])
    (problem,) = with_fixes(validate(state), state, None).problems
    assert (problem.id, problem.fixes) == ("layer.unknown", ())
