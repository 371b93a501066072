"""Every operation of the table, as a layer, gives in ONNX Runtime what it gives here."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine import Input
from studio.engine.core.errors import FormatError
from studio.engine.layers.symbol import graph_of
from tests.engine.interop.onnx.running import content_of, inference, on_cpu, on_runtime
from tests.engine.layers.test_operators_of_the_table import fitting

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("name", sorted(fitting()))
def test_an_operation_answers_as_on_the_cpu(name: str) -> None:
    one = fitting()[name]
    dtypes = ["int32" if a.dtype.kind in "iu" else "float32" for a in one.inputs]
    own = [Input(a.shape[1:], dtype=d) for a, d in zip(one.inputs, dtypes, strict=True)]
    made = one.layer(*own)
    program, weights = inference(graph_of(own, made if isinstance(made, list) else [made], name))
    if name in ("bernoulli", "multinomial"):
        with pytest.raises(FormatError, match="nothing for the instruction RANDOM_UNIFORM"):
            content_of(program, weights)
        return
    rows = [a.astype(d) for a, d in zip(one.inputs, dtypes, strict=True)]
    found = on_runtime(content_of(program, weights), rows)
    for wanted, got in zip(on_cpu(program, weights, rows), found, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, 1e-5, 1e-5)
