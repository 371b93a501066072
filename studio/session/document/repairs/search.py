"""Finding repairs: candidates are tried on a copy, and only those that help are offered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TypeAlias

from studio.engine.core.errors import StudioError
from studio.session.document.checks.rule_checks import input_shapes
from studio.session.document.checks.validation import validate
from studio.session.document.flow import downstream, flow_of
from studio.session.document.repairs import (
    data_repairs,
    link_repairs,
    merge_repairs,
    shape_repairs,
)
from studio.session.document.repairs.candidate import (
    GIVE_UP,
    NEWEST,
    Broken,
    Candidate,
    shape_list,
)
from studio.session.document.repairs.shape_repairs import bypass_repairs
from studio.session.document.report import DataFacts, Fix, Problem, Report
from studio.session.document.state import DocumentState

Generator: TypeAlias = Callable[[Broken], Iterator[Candidate]]

_Cost: TypeAlias = tuple[bool, int, bool, int]
"""What orders repairs: not valid then, how much it changes, far too large, place among all."""

MOST_FIXES = 6
MOST_TRIED = 60

MOST_NEW_PARAMETERS = 4_000_000
"""A repair that adds more stands behind others that change as much, however usual it is."""

GENERATORS: Mapping[str, Generator] = {
    "link.missing": link_repairs.missing_repairs,
    "link.output": link_repairs.absent_output_repairs,
    "link.unfed": link_repairs.unfed_repairs,
    "layer.shared_sizes": link_repairs.shared_repairs,
    "network.no_input": link_repairs.no_input_repairs,
    "network.no_layers": link_repairs.nothing_follows_repairs,
    "network.several_ends": link_repairs.several_ends_repairs,
    "shape.rank": shape_repairs.rank_repairs,
    "shape.dtype": shape_repairs.dtype_repairs,
    "shape.window": shape_repairs.window_repairs,
    "shape.axis": shape_repairs.axis_repairs,
    "shape.reshape": shape_repairs.reshape_repairs,
    "shape.size": shape_repairs.size_repairs,
    "shape.merge": merge_repairs.merge_repairs,
    "shape.concat": merge_repairs.concat_repairs,
    "data.input_shape": data_repairs.input_shape_repairs,
    "data.several_inputs": link_repairs.several_inputs_repairs,
    "data.several_outputs": link_repairs.several_outputs_repairs,
    "data.no_input_array": data_repairs.no_input_array_repairs,
    "data.no_target_array": data_repairs.no_target_array_repairs,
    "data.unknown_input": data_repairs.unknown_input_repairs,
    "data.unknown_output": data_repairs.unknown_output_repairs,
    "data.augment": data_repairs.augment_repairs,
    "output.absent": link_repairs.absent_mark_repairs,
    "output.classes": data_repairs.width_repairs,
    "output.more_than_classes": data_repairs.width_repairs,
    "output.rank": data_repairs.rank_repairs,
    "output.targets": data_repairs.targets_repairs,
    "output.softmax_of_one": data_repairs.softmax_of_one_repairs,
    "loss.softmax_twice": data_repairs.twice_repairs,
    "loss.sigmoid_twice": data_repairs.twice_repairs,
    "loss.no_shares": data_repairs.no_shares_repairs,
    "loss.needs_classes": data_repairs.loss_repairs,
    "metrics.form": data_repairs.metrics_repairs,
    "training.class_weights": data_repairs.class_weights_repairs,
    "training.class_weights_for": data_repairs.class_weights_for_repairs,
    "training.outputs": data_repairs.outputs_repairs,
    "training.no_loss": data_repairs.loss_repairs,
    "training.nothing_to_train": data_repairs.train_again_repairs,
}
"""What may repair each problem, by its id."""


def with_fixes(report: Report, state: DocumentState, facts: DataFacts | None) -> Report:
    """The report, its problems able to look for their repairs when they are asked."""
    search = partial(find_fixes, state, facts, report)
    return replace(report, problems=tuple(replace(p, search=search) for p in report.problems))


def find_fixes(
    state: DocumentState, facts: DataFacts | None, report: Report, problem: Problem
) -> tuple[Fix, ...]:
    """Repairs of a problem that make the network valid, or move the error strictly downstream.

    Those that make it valid come first, then those that change least, then the most usual, which
    is the order of the generators. One of each kind is offered; then, where only the user knows
    which layer is meant, the other choices; removing the layer itself is
    the last of those that make the network valid.
    """
    generator = GENERATORS.get(problem.id)
    if generator is None:
        return ()
    found: list[tuple[_Cost, Candidate, Fix]] = []
    named = None if facts is None else facts.under(state.data)
    candidates = _candidates(generator, Broken(state, named, problem))
    for index, candidate in enumerate(islice(candidates, MOST_TRIED)):
        tried = _tried(state, facts, report, problem, candidate)
        if tried is not None:
            fix, after = tried
            heavy = _added_parameters(report, after) > MOST_NEW_PARAMETERS
            found.append(((not after.is_valid, candidate.rank, heavy, index), candidate, fix))
    found.sort(key=lambda item: item[0])
    valid = sum(not cost[0] for cost, _, _ in found)
    return _one_of_each_kind([(candidate, fix) for _, candidate, fix in found], valid)


def _one_of_each_kind(found: Sequence[tuple[Candidate, Fix]], valid: int) -> tuple[Fix, ...]:
    """The repairs to offer, of which the first so many make the network valid."""
    first: list[Fix] = []
    others: list[Fix] = []
    last: list[Fix] = []
    beyond: list[Fix] = []
    seen: set[tuple[str, str]] = set()
    for index, (candidate, fix) in enumerate(found):
        known = any(kind == candidate.kind for kind, _ in seen)
        if (candidate.kind, candidate.choice) in seen or (known and not candidate.choice):
            continue
        seen.add((candidate.kind, candidate.choice))
        if index >= valid and last and candidate.rank != GIVE_UP and not known:
            beyond.append(fix)
        else:
            (last if candidate.rank == GIVE_UP else others if known else first).append(fix)
    room = max(0, MOST_FIXES - len(first) - len(last) - len(beyond))
    return (*first, *others[:room], *last, *beyond)[:MOST_FIXES]


def _added_parameters(before: Report, after: Report) -> int:
    return (after.parameters or 0) - (before.parameters or 0)


def _candidates(generator: Generator, broken: Broken) -> Iterator[Candidate]:
    if broken.problem.id.startswith("shape."):
        yield from bypass_repairs(broken)
    yield from generator(broken)


def _tried(
    state: DocumentState,
    facts: DataFacts | None,
    report: Report,
    problem: Problem,
    candidate: Candidate,
) -> tuple[Fix, Report] | None:
    """The candidate as a fix, and what checks say then; None when it does not help."""
    try:
        after = candidate.apply(state)
    except StudioError:
        return None
    if after == state:
        return None
    found = validate(after, facts)
    fresh = _new_problems(report, found)
    if not _helps(state, problem, after, found, fresh):
        return None
    about = candidate.about or problem.node
    effect = candidate.effect or _effect(state, after, found, about, fresh)
    return Fix(candidate.text, effect, candidate.apply, candidate.kind), found


def _new_problems(report: Report, found: Report) -> list[Problem]:
    before = {(p.id, p.node) for p in report.problems}
    return [p for p in found.problems if (p.id, p.node) not in before]


def _helps(
    state: DocumentState,
    problem: Problem,
    after: DocumentState,
    found: Report,
    fresh: list[Problem],
) -> bool:
    """Whether the problem is gone, and new ones are strictly downstream of it."""
    if any((p.id, p.node) == (problem.id, problem.node) for p in found.problems):
        return False
    if problem.severity == "error":
        fresh = [p for p in fresh if p.severity == "error"]
    if not fresh:
        return True
    if not problem.node or problem.severity == "warning":
        return False
    beyond = downstream(state, [problem.node])
    if problem.node in after.nodes:
        beyond |= downstream(after, [problem.node])
    return all(p.node in beyond - {problem.node} for p in fresh)


def _effect(
    before: DocumentState, after: DocumentState, found: Report, about: str, fresh: list[Problem]
) -> str:
    """What comes of a repair, in numbers."""
    added = [i for i in after.nodes if i not in before.nodes]
    about = (added[-1] if added else "") if about == NEWEST else about
    flow, parts = flow_of(after), []
    node, outcome = after.nodes.get(about), flow.outcomes.get(about)
    if node is not None and outcome is not None and outcome.shape is not None:
        shapes = input_shapes(node, flow)
        if len(shapes) == 1 and len(shapes[0]) == 1:
            count = shapes[0][0]
            parts.append(f"{node.name} gets {_count(count)} input{'' if count == 1 else 's'}")
        elif shapes:
            parts.append(f"{node.name} gets {' and '.join(map(shape_list, shapes))}")
        else:
            parts.append(f"{node.name} gives {shape_list(outcome.shape)}")
        if outcome.parameters and not node.bypassed:
            parts.append(f"{_count(outcome.parameters)} parameters")
    new = sum(flow.outcomes[i].parameters or 0 for i in added if i in flow.outcomes and i != about)
    if new:
        parts.append(f"{_count(new)} new parameters")
    if not parts and found.parameters is not None:
        parts.append(f"the network has {_count(found.parameters)} parameters")
    left = next((p for p in fresh if p.severity == "error"), None)
    if left is not None:
        name = after.nodes[left.node].name if left.node in after.nodes else "network"
        parts.append(f"then {name}: {left.message}")
    return ", ".join(parts)


def _count(number: int) -> str:
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
