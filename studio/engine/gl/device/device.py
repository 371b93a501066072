"""What the OpenGL device is and what it allows, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from studio.engine.core.machine_memory import host_memory
from studio.engine.gl.device import constants as const
from studio.engine.gl.device.preflight import software_notice, software_renderer

if TYPE_CHECKING:
    from studio.engine.gl.device.entry_points import EntryPoints

# Beyond 2 GiB drivers were seen to crash rather than to refuse, whatever limit they report.
LARGEST_BUFFER_BYTES = 2**31 - 256
# Drivers report 16 to 256; sub-allocating at 256 everywhere makes programs the same everywhere.
SLICE_ALIGNMENT = 256
# The share of memory the engine takes at most, leaving room for the desktop and for other programs.
_BUDGET_SHARE = 0.8
_SHARED_MEMORY_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One OpenGL device: names, limits and extensions.

    Attributes:
        renderer: the driver's name of the device.
        vendor: who made the driver.
        version: the full version text of the driver.
        gl_version: (major, minor) of the context.
        glsl_version: the shading language's version text.
        origin: how the context was opened (``EGL device 0``).
        is_software: True when a CPU does the work.
        notice: one sentence to show about the device, empty when there is nothing to say.
        max_storage_bytes: the most a shader may see through one binding, bytes.
        max_buffer_bytes: the most one buffer may hold, bytes.
        slice_alignment: what offsets of bound ranges are multiples of, bytes.
        max_uniform_bytes: the most one uniform block may hold, bytes.
        max_storage_blocks: storage buffers one compute program may use.
        max_uniform_blocks: uniform blocks one compute program may use.
        max_group_count: work groups per axis of one dispatch.
        max_group_size: invocations per axis of one work group.
        max_group_invocations: invocations of one work group in all.
        shared_memory_bytes: shared memory of one work group.
        memory_bytes: device memory free when the context opened, None where unknown.
        budget_bytes: what the engine allows itself of it.
        extensions: the driver's extensions, sorted.
    """

    renderer: str
    vendor: str
    version: str
    gl_version: tuple[int, int]
    glsl_version: str
    origin: str
    is_software: bool
    notice: str
    max_storage_bytes: int
    max_buffer_bytes: int
    slice_alignment: int
    max_uniform_bytes: int
    max_storage_blocks: int
    max_uniform_blocks: int
    max_group_count: tuple[int, int, int]
    max_group_size: tuple[int, int, int]
    max_group_invocations: int
    shared_memory_bytes: int
    memory_bytes: int | None
    budget_bytes: int
    extensions: tuple[str, ...]

    @property
    def keeps_programs(self) -> bool:
        """Whether the driver keeps compiled programs on disk itself, better than we could.

        NVIDIA's makes machine code of a binary it is given only at the first dispatch, one program
        after another: 3 s for the 87 of ResNet-20 on an H200, against 0.03 s from its own cache.
        """
        return self.vendor.startswith("NVIDIA")

    @property
    def fingerprint(self) -> str:
        """Text that changes with device or driver; keys caches and measured choices."""
        return f"{self.vendor}|{self.renderer}|{self.version}|{self.glsl_version}"

    def to_json(self) -> dict[str, Any]:
        """The same as JSON-ready plain data."""
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(self).items()
        }


def read_device_info(gl: EntryPoints, origin: str = "") -> DeviceInfo:
    """Ask the driver what it is and what it allows.

    Args:
        gl: entry points of the context, current on this thread.
        origin: how the context was opened.

    Raises:
        BackendError: the driver reported an error while being asked.
    """
    renderer = gl.string(const.RENDERER)
    is_software = software_renderer(renderer) is not None
    memory = _free_device_memory(gl)
    reported = gl.integer64(const.MAX_SHADER_STORAGE_BLOCK_SIZE)
    info = DeviceInfo(
        renderer=renderer,
        vendor=gl.string(const.VENDOR),
        version=gl.string(const.VERSION),
        gl_version=gl.version,
        glsl_version=gl.string(const.SHADING_LANGUAGE_VERSION),
        origin=origin,
        is_software=is_software,
        notice=software_notice(renderer),
        # The least OpenGL 4.3 promises is 16 MiB; a driver that answers nonsense gets that.
        max_storage_bytes=min(max(reported, 2**24), LARGEST_BUFFER_BYTES),
        max_buffer_bytes=LARGEST_BUFFER_BYTES,
        slice_alignment=max(
            SLICE_ALIGNMENT,
            gl.integer(const.SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT),
            gl.integer(const.UNIFORM_BUFFER_OFFSET_ALIGNMENT),
        ),
        max_uniform_bytes=gl.integer(const.MAX_UNIFORM_BLOCK_SIZE),
        max_storage_blocks=gl.integer(const.MAX_COMPUTE_SHADER_STORAGE_BLOCKS),
        max_uniform_blocks=gl.integer(const.MAX_COMPUTE_UNIFORM_BLOCKS),
        max_group_count=_three(gl, const.MAX_COMPUTE_WORK_GROUP_COUNT),
        max_group_size=_three(gl, const.MAX_COMPUTE_WORK_GROUP_SIZE),
        max_group_invocations=gl.integer(const.MAX_COMPUTE_WORK_GROUP_INVOCATIONS),
        shared_memory_bytes=gl.integer(const.MAX_COMPUTE_SHARED_MEMORY_SIZE),
        memory_bytes=memory,
        budget_bytes=_budget(memory),
        extensions=tuple(sorted(gl.extensions)),
    )
    gl.check("reading the device's limits")
    return info


def _three(gl: EntryPoints, name: int) -> tuple[int, int, int]:
    return (
        gl.indexed_integer(name, 0),
        gl.indexed_integer(name, 1),
        gl.indexed_integer(name, 2),
    )


def _free_device_memory(gl: EntryPoints) -> int | None:
    """Free memory of the device in bytes where the driver tells (NVIDIA, AMD)."""
    for extension, name in (
        ("GL_NVX_gpu_memory_info", const.GPU_MEMORY_INFO_CURRENT_AVAILABLE_NVX),
        ("GL_ATI_meminfo", const.VBO_FREE_MEMORY_ATI),
    ):
        if extension in gl.extensions:
            # The answer counts KiB in 32 bits, as unsigned.
            kibibytes = gl.integer(name) & 0xFFFFFFFF
            if kibibytes:
                return kibibytes * 1024
    return None


def _budget(device_memory: int | None) -> int:
    """Bytes the engine may allocate: a share of the device's memory, else of the machine's."""
    if device_memory is not None:
        return int(device_memory * _BUDGET_SHARE)
    return int(host_memory() * _SHARED_MEMORY_SHARE)
