"""Devices to plan for where none is open: the limits of a common GPU, and those of llvmpipe."""

from __future__ import annotations

from dataclasses import dataclass

from studio.engine.compiler.target import GL, GL_SOFTWARE, Target
from studio.engine.gl.kernels.specs import SHIPPED, Choices, DeviceCaps


@dataclass(frozen=True)
class Limits:
    """What a driver allows a kernel.

    Attributes:
        name: the device, as people call it.
        storage_blocks: storage buffers of one kernel.
        shared_bytes: shared memory of a work group.
    """

    name: str
    storage_blocks: int
    shared_bytes: int


REFERENCE_DEVICES = {
    GL.name: Limits("a GPU with 48 KiB of shared memory", 96, 48 << 10),
    GL_SOFTWARE.name: Limits("llvmpipe", 16, 32 << 10),
}
"""The device that stands for every OpenGL target, by the target's name."""


def caps_of(
    target: Target, storage_blocks: int, shared_bytes: int, choices: Choices = SHIPPED
) -> DeviceCaps:
    """What the choice of kernels may depend on, for a device of some limits.

    Args:
        target: the kind of device.
        storage_blocks: storage buffers its driver allows one kernel.
        shared_bytes: shared memory it allows a work group.
        choices: what was measured on it.
    """
    return DeviceCaps(
        is_software=target.is_software,
        # Kernels keep to what OpenGL 4.3 promises, so that one tested here runs everywhere.
        storage_blocks=8,
        offered_blocks=max(min(storage_blocks, 12), 8),
        shared_bytes=max(min(shared_bytes, 48 << 10), 32 << 10),
        choices=choices,
    )


def reference_caps(target: Target) -> DeviceCaps:
    """The capabilities of the device that stands for an OpenGL target."""
    limits = REFERENCE_DEVICES[target.name]
    return caps_of(target, limits.storage_blocks, limits.shared_bytes)
