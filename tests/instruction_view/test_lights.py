"""What a hover lights: rows by role, registers by name, gradients with their forward tensor."""

from __future__ import annotations

import pytest

from studio.engine.core.tensor import Ref
from studio.instruction_view.lights import (
    Light,
    entity_of,
    light_of,
    meant_register,
    ref_of,
)
from studio.session.core import entities
from studio.session.core.entities import Entity
from studio.session.listing.rows import ProgramRows
from tests.instruction_view.corpus import BUILDERS
from tests.instruction_view.programs import rows_of


def lit(rows: ProgramRows, entity: Entity) -> Light:
    return light_of(entity, rows, rows.origins)  # type: ignore[arg-type]


def styles_of(rows: ProgramRows, light: Light, mnemonic: str) -> dict[str, str | None]:
    row = next(i for i in range(len(rows)) if rows.mnemonic(i) == mnemonic)
    spans = rows.spans(row)
    return {
        rows.text(row)[s.start : s.end]: style
        for s, style in zip(spans, light.span_styles(row, spans), strict=True)
    }


def test_a_layer_lights_forward_backward_and_update_each_in_its_way() -> None:
    rows = rows_of("picture")
    light = lit(rows, entities.node("conv2d"))
    assert {rows.section(row): style for row, style in light.rows.items()} == {
        "forward": "solid",
        "backward": "striped",
        "update": "dotted",
    }
    assert set(light.rows) == set(rows.rows_of("conv2d"))


def test_a_tensor_lights_its_uses_and_no_other_register() -> None:
    rows = rows_of("picture")
    ref = rows.program.tensors.named("max_pooling2d/output").ref
    light = lit(rows, entity_of(rows, ref))
    assert set(light.rows) == {use.row for use in rows.uses(ref)}
    assert styles_of(rows, light, "MAXPOOL2D")[str(ref)] == "solid"
    other = rows.program.tensors.named("conv2d/output").ref
    assert styles_of(rows, light, "MAXPOOL2D")[str(other)] is None
    view = rows.program.tensors.named("flatten/output").ref
    assert styles_of(rows, light, "LINEAR")[str(view)] == "dashed"


def test_a_gradient_lights_its_forward_tensor_with_dashes() -> None:
    rows = rows_of("picture")
    ref = rows.program.tensors.named("max_pooling2d/output").ref
    light = lit(rows, entity_of(rows, ref.gradient))
    assert light.forward == ref
    assert styles_of(rows, light, "MAXPOOL2D")[str(ref)] == "dashed"
    # Its own gradient instruction names the tensor and means the gradient.
    assert styles_of(rows, light, "GRADS_MAXPOOL2D")[str(ref)] == "solid"


def test_an_update_tells_parameter_and_gradient_apart() -> None:
    rows = rows_of("picture")
    ref = rows.program.tensors.named("conv2d/kernel").ref
    of_gradient = styles_of(rows, lit(rows, entity_of(rows, ref.gradient)), "UPDATE_ADAM")
    assert (of_gradient[str(ref)], of_gradient[f"{ref}.grad"]) == ("dashed", "solid")
    of_parameter = styles_of(rows, lit(rows, entity_of(rows, ref)), "UPDATE_ADAM")
    assert (of_parameter[str(ref)], of_parameter[f"{ref}.grad"]) == ("solid", None)


def test_a_wire_lights_what_flows_through_it() -> None:
    rows = rows_of("picture")
    wire = entities.wire("conv2d", "max_pooling2d", 0)
    output = rows.program.tensors.named("conv2d/output").ref
    assert lit(rows, wire) == lit(rows, entity_of(rows, output))


def test_a_kernel_lights_the_whole_fused_group() -> None:
    rows = rows_of("picture")
    begin = next(i for i in range(len(rows)) if rows.is_group_begin(i))
    span = rows.group(begin)
    light = lit(rows, entities.kernel(rows.key(begin)))
    assert set(light.rows) == set(range(span.first, span.last + 1))


def test_nothing_and_what_is_gone_light_nothing() -> None:
    rows = rows_of("picture")
    for entity in (None, entities.tensor("gone"), entities.instruction("gone"), entities.run("r")):
        light = light_of(entity, rows, rows.origins)  # type: ignore[arg-type]
        assert not light.rows
        assert light.register is None


@pytest.mark.parametrize("name", BUILDERS)
def test_every_register_of_a_line_means_something_it_touches(name: str) -> None:
    rows = rows_of(name)
    for row in range(len(rows)):
        effects = rows.instruction(row).effects()
        touched = effects.reads | effects.writes
        for span in rows.spans(row):
            meant = meant_register(rows, row, span)
            assert meant.id == span.ref.id
            if {Ref(span.ref.id), Ref(span.ref.id, True)} & touched:
                assert meant in touched
            if meant.present:
                assert ref_of(rows, entity_of(rows, meant)) == meant
