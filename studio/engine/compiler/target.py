"""What passes may know about a device: plain data, so that programs are the same everywhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """Alignments, limits and layout choices of a kind of device.

    Attributes:
        name: ``cpu`` or ``gl``.
        pad_convolution_inputs: give inputs of padded convolutions a zero halo.
        max_storage_bytes: largest single tensor.
        offset_alignment: bytes a storage offset must be a multiple of.
    """

    name: str
    pad_convolution_inputs: bool
    max_storage_bytes: int
    offset_alignment: int


CPU = Target("cpu", pad_convolution_inputs=True, max_storage_bytes=1 << 40, offset_alignment=64)
"""The NumPy backend."""

GL = Target(
    "gl", pad_convolution_inputs=True, max_storage_bytes=(1 << 31) - 256, offset_alignment=256
)
"""Any OpenGL 4.3 device."""
