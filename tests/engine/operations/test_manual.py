"""The pages and the stub of operations are current, and name what TensorFlow.js has."""

from __future__ import annotations

import json

import pytest

from studio.engine.operations import OPERATIONS
from studio.engine.operations.manual import manual
from tests.engine.operations.tfjs_table import (
    ABSENT,
    ELSEWHERE,
    functions,
    names_of_package,
    own_names,
    page,
)
from tests.engine.ops.stub import stub


def test_the_page_of_operations_is_current(golden):
    golden("../../docs/operations.md", manual())


def test_the_page_of_tensorflow_js_is_current(golden):
    golden("../../docs/operations-tfjs.md", page())


def test_the_stub_of_operations_at_once_is_current(golden):
    golden("../../studio/engine/ops/__init__.pyi", stub())


def test_every_function_of_tensorflow_js_is_in_one_list():
    lists = (set(own_names()), set(ELSEWHERE), set(ABSENT))
    assert set().union(*lists) == set(functions())
    assert sum(map(len, lists)) == len(functions())
    assert len(functions()) > 200


def test_there_are_as_many_operations_as_were_asked_for():
    assert len(OPERATIONS) >= 200


@pytest.mark.peers
def test_the_recorded_names_are_those_of_the_package(golden):
    golden("../recorded/tfjs/operations.json", json.dumps(names_of_package(), indent=0) + "\n")
