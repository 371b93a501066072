"""Element types: names, sizes, codes and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from studio.engine.core.dtypes import DType
from studio.engine.core.errors import ParameterError


@pytest.mark.parametrize(
    ("dtype", "name", "code", "host", "device"),
    [
        (DType.float32, "float32", 1, 4, 4),
        (DType.float16, "float16", 2, 2, 2),
        (DType.int32, "int32", 3, 4, 4),
        (DType.uint8, "uint8", 4, 1, 1),
        (DType.bool, "bool", 5, 1, 4),
        (DType.int8, "int8", 6, 1, 1),
    ],
)
def test_dtype_states_its_name_code_and_sizes(
    dtype: DType, name: str, code: int, host: int, device: int
) -> None:
    assert dtype.name == str(dtype) == name
    assert dtype.code == code
    assert (dtype.itemsize, dtype.device_itemsize) == (host, device)
    assert dtype.np == np.dtype(name)
    assert DType.parse(name) is DType.from_code(code) is DType.of(np.dtype(name)) is dtype


def test_dtype_of_ignores_byte_order_and_takes_scalar_types() -> None:
    assert DType.of(np.dtype(">f4")) is DType.float32
    assert DType.of(np.float16) is DType.float16


def test_dtype_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ParameterError, match="float64"):
        DType.of(np.dtype(np.float64))
    with pytest.raises(ParameterError, match="got 'double'"):
        DType.parse("double")
    with pytest.raises(ParameterError, match="got 0"):
        DType.from_code(0)
    with pytest.raises(ParameterError, match="object"):
        DType.of(np.dtype(object))


def test_dtype_members_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        DType.float32 = 3  # type: ignore[misc, assignment]
