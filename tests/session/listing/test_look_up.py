"""Finding rows by text, and going to an index, a register or a name."""

from __future__ import annotations

import pytest

from studio.engine.core.errors import ParameterError
from studio.engine.core.tensor import Ref
from studio.session.listing.look_up import find_rows, go_to
from tests.instruction_view.programs import rows_of


@pytest.mark.parametrize("text", ["7", "i7", "#7", " 7 "])
def test_an_index_leads_to_its_row(text: str) -> None:
    assert go_to(rows_of("picture"), text) == (7, None)


def test_a_register_leads_to_its_producer() -> None:
    rows = rows_of("picture")
    ref = rows.program.tensors.named("max_pooling2d/output").ref
    found = go_to(rows, str(ref))
    assert rows.mnemonic(found.row) == "MAXPOOL2D"
    assert found.ref == ref
    assert rows.mnemonic(go_to(rows, f"{ref}.grad").row) == "GRADS_LINEAR"


def test_the_name_of_a_tensor_leads_where_its_register_does() -> None:
    rows = rows_of("picture")
    ref = rows.program.tensors.named("conv2d/output").ref
    assert go_to(rows, "conv2d/output") == go_to(rows, str(ref))
    assert go_to(rows, "conv2d/output.grad").ref == Ref(ref.id, True)


def test_layers_and_mnemonics_lead_to_the_next_of_them() -> None:
    rows = rows_of("picture")
    first = go_to(rows, "conv2d").row
    second = go_to(rows, "conv2d", first).row
    assert first < second
    assert rows.mnemonic(go_to(rows, "update_adam").row) == "UPDATE_ADAM"
    last = rows.rows_of("conv2d")[-1]
    assert go_to(rows, "conv2d", last).row == first


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected"),
        ("999", "no instruction 999: the last one is"),
        ("0xfff", "no register 0xfff"),
        ("con2d", "nothing is named 'con2d'"),
    ],
)
def test_what_is_not_there_is_said(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        go_to(rows_of("picture"), text)
    if text == "con2d":
        assert "conv2d" in caught.value.hint


def test_find_looks_into_lines_layers_and_names() -> None:
    rows = rows_of("picture")
    relu = find_rows(rows, "ReLU")
    assert {rows.mnemonic(i) for i in relu} == {"RELU", "GRADS_RELU"}
    assert set(rows.rows_of("dense")) <= set(find_rows(rows, "dense"))
    kernel = rows.program.tensors.named("conv2d/kernel").id
    expected = [
        i for i, line in enumerate(rows.program) if any(r.id == kernel for r in line.operands)
    ]
    assert list(find_rows(rows, "conv2d/kernel")) == expected
    assert find_rows(rows, "  ") == ()
    assert find_rows(rows, "nowhere") == ()
