"""Draws a sheet of a tensor from a snapshot where it lies, in a context that shares buffers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from studio.engine.core.errors import BackendError
from studio.engine.gl.device import constants as const
from studio.engine.gl.device.entry_points import EntryPoints, prototype
from studio.engine.gl.glsl.files import load
from studio.engine.gl.shader.source import included
from studio.engine.runtime.live_sheet import Sheet

if TYPE_CHECKING:
    from studio.engine.core.descriptor import ShapeDescriptor
    from studio.engine.gl.live.live import GlSnapshot

PALETTE = 264
"""Colours the shader knows: 256 of the map, then those of `SPECIAL`, in this order."""
SPECIAL = ("empty", "under", "over", "nan", "stripe", "plus", "minus", "ground")

_VERTEX_SHADER, _FRAGMENT_SHADER = 0x8B31, 0x8B30
_TRIANGLES, _DYNAMIC_DRAW = 0x0004, 0x88E8
_OFF = (0x0B71, 0x0C11, 0x0BE2, 0x0B44, 0x0B90)
"""Depth, scissor, blending, culling, stencil: states a window may have left on."""
_VERTEX = """#version 430
void main() {
    vec2 at = vec2((gl_VertexID << 1) & 2, gl_VertexID & 2);
    gl_Position = vec4(at * 2.0 - 1.0, 0.0, 1.0);
}
"""


@dataclass(frozen=True)
class View:
    """How a sheet is put on a target of pixels.

    Attributes:
        sheet: what is shown.
        across: tiles in a row of tiles.
        gap: cells between tiles.
        left: pixel of the sheet's left edge.
        top: pixel of its upper edge, from the top.
        cell: width and height of a cell in pixels.
        low: value of the first colour.
        high: value of the last.
        choice: what stands for a cell of many elements: 0 the largest in size, 1 the greatest, 2
            the least.
    """

    sheet: Sheet
    across: int = 1
    gap: int = 1
    left: float = 0.0
    top: float = 0.0
    cell: tuple[float, float] = (1.0, 1.0)
    low: float = 0.0
    high: float = 1.0
    choice: int = 0

    def scaled(self, factor: float) -> View:
        """The same on a target of so many pixels to one of this."""
        cell = (self.cell[0] * factor, self.cell[1] * factor)
        return replace(self, left=self.left * factor, top=self.top * factor, cell=cell)


@dataclass(frozen=True)
class Source:
    """A storage to draw from.

    Attributes:
        name: the driver's number of the buffer.
        offset: byte where the storage begins.
        nbytes: its bytes.
        descriptor: how the elements lie in it.
        fence: what to wait for on the device, 0 for nothing.
    """

    name: int
    offset: int
    nbytes: int
    descriptor: ShapeDescriptor
    fence: int = 0

    @classmethod
    def of(cls, snapshot: GlSnapshot) -> Self:
        """The storage of a snapshot."""
        buffer = snapshot.buffer
        return cls(buffer.name, 0, buffer.nbytes, snapshot.descriptor, snapshot.fence)


class SheetPainter:
    """Draws with objects of its own in the context current when it is made; on its thread.

    Args:
        load: the platform's address lookup.

    Raises:
        BackendError: the driver refuses the program; says what it said.
    """

    def __init__(self, load: Callable[[str], int]) -> None:
        self.gl = EntryPoints(load)
        self._draw = _bound(load, "glDrawArrays", (ctypes.c_uint, ctypes.c_int, ctypes.c_int))
        self._viewport = _bound(load, "glViewport", (ctypes.c_int,) * 4)
        self._disable = _bound(load, "glDisable", (ctypes.c_uint,))
        self._bind_array = _bound(load, "glBindVertexArray", (ctypes.c_uint,))
        self._delete_arrays = _bound(load, "glDeleteVertexArrays", (ctypes.c_int, ctypes.c_void_p))
        name = ctypes.c_uint()
        _bound(load, "glGenVertexArrays", (ctypes.c_int, ctypes.c_void_p))(1, ctypes.byref(name))
        self._array = name.value
        self._program = self._link()
        names = (ctypes.c_uint * 2)()
        self.gl.gen_buffers(2, names)
        self._view_block, self._palette = names[0], names[1]
        self.set_palette(np.zeros((PALETTE, 4), np.uint8))

    def set_palette(self, colours: npt.NDArray[np.uint8]) -> None:
        """Use these colours, [`PALETTE`, 4] as red, green, blue, alpha."""
        if colours.shape != (PALETTE, 4):
            raise ValueError(f"a palette has {PALETTE} colours, got {colours.shape}")
        data = np.ascontiguousarray(colours)
        self.gl.bind_buffer(const.SHADER_STORAGE_BUFFER, self._palette)
        self.gl.buffer_data(
            const.SHADER_STORAGE_BUFFER, data.nbytes, data.ctypes.data, _DYNAMIC_DRAW
        )

    def draw(self, source: Source, view: View, width: int, height: int) -> None:
        """Fill the bound framebuffer of that many pixels; waits on the device, not here."""
        gl = self.gl
        if source.fence:
            gl.wait_sync(source.fence, 0, const.TIMEOUT_IGNORED)
        data = _view_block(source, view, height)
        gl.bind_buffer(const.UNIFORM_BUFFER, self._view_block)
        gl.buffer_data(const.UNIFORM_BUFFER, len(data), data, _DYNAMIC_DRAW)
        # Rebinding makes contents written in another context visible here.
        words = -(-source.nbytes // 4) * 4
        gl.bind_buffer_range(
            const.SHADER_STORAGE_BUFFER, 0, source.name, source.offset, max(words, 4)
        )
        gl.bind_buffer_range(const.SHADER_STORAGE_BUFFER, 1, self._palette, 0, 4 * PALETTE)
        gl.bind_buffer_range(const.UNIFORM_BUFFER, 0, self._view_block, 0, len(data))
        for state in _OFF:
            self._disable(state)
        gl.use_program(self._program)
        self._bind_array(self._array)
        self._viewport(0, 0, width, height)
        self._draw(_TRIANGLES, 0, 3)
        self._bind_array(0)
        gl.use_program(0)
        gl.check("drawing a tensor")

    def fence(self) -> int:
        """A flushed fence behind what was drawn, to return with the snapshot."""
        made = self.gl.fence_sync(const.SYNC_GPU_COMMANDS_COMPLETE, 0)
        self.gl.flush()
        return made or 0

    def release(self) -> None:
        """Delete what was made; the context is current."""
        names = (ctypes.c_uint * 2)(self._view_block, self._palette)
        self.gl.delete_buffers(2, names)
        self._delete_arrays(1, ctypes.byref(ctypes.c_uint(self._array)))
        self.gl.delete_program(self._program)

    def _link(self) -> int:
        gl = self.gl
        program = gl.create_program()
        shaders = []
        for kind, text in ((_VERTEX_SHADER, _VERTEX), (_FRAGMENT_SHADER, _fragment_text())):
            shader = gl.create_shader(kind)
            encoded = text.encode("ascii")
            gl.shader_source(
                shader, 1, (ctypes.c_char_p * 1)(encoded), (ctypes.c_int * 1)(len(encoded))
            )
            gl.compile_shader(shader)
            self._require(gl.get_shaderiv, gl.get_shader_info_log, shader, const.COMPILE_STATUS)
            gl.attach_shader(program, shader)
            shaders.append(shader)
        gl.link_program(program)
        self._require(gl.get_programiv, gl.get_program_info_log, program, const.LINK_STATUS)
        for shader in shaders:
            gl.detach_shader(program, shader)
            gl.delete_shader(shader)
        return program

    def _require(
        self, ask: Callable[..., None], fetch: Callable[..., None], handle: int, status: int
    ) -> None:
        good = ctypes.c_int()
        ask(handle, status, ctypes.byref(good))
        if good.value:
            return
        room = ctypes.create_string_buffer(4096)
        fetch(handle, len(room), None, room)
        said = room.value.decode("utf-8", "replace").strip()
        raise BackendError(
            f"the driver refuses the shader that draws tensors: {said}",
            who="gl",
            hint="turn off drawing from device memory in the preferences",
        )


def _fragment_text() -> str:
    body = load("live", "sheet_fragment.glsl")
    libraries = [load("lib", name) for name in included(body)]
    lines = [line for line in body.splitlines() if not line.startswith("#include")]
    return "\n".join(["#version 430", *libraries, *lines]) + "\n"


def _view_block(source: Source, view: View, height: int) -> bytes:
    descriptor, sheet = source.descriptor, view.sheet
    walk = sheet.walk(descriptor.strides, descriptor.offset)
    whole: Sequence[int] = (
        descriptor.dtype.code, walk.base, max(1, view.across), view.gap,
        walk.tiles.count, walk.tiles.stride, walk.rows.count, walk.rows.stride,
        walk.columns.count, walk.columns.stride, min(walk.channels.count, 3), walk.channels.stride,
        *walk.block, view.choice, height,
    )  # fmt: skip
    scale, lift = colours_per_unit(view.low, view.high)
    parts = (view.left, view.top, *view.cell, view.low, view.high, scale, lift)
    return np.array(whole, np.int32).tobytes() + np.array(parts, np.float32).tobytes()


def colours_per_unit(low: float, high: float) -> tuple[np.float32, np.float32]:
    """How many of 255 steps of colour a unit of value takes, 0 where the range is none; the lift.

    Values are lifted before they are measured: a range wider than the largest float32 has ends
    that cannot be subtracted as they are.
    """
    first, last, lift = np.float32(low), np.float32(high), np.float32(1)
    with np.errstate(all="ignore"):
        if not np.isfinite(last - first):
            lift = np.float32(0.25)
        reach = last * lift - first * lift
        scale = np.float32(255) / reach if reach > 0 else np.float32(0)
    return (scale if np.isfinite(scale) else np.float32(0)), lift


def _bound(load: Callable[[str], int], name: str, arguments: tuple[Any, ...]) -> Any:
    address = load(name)
    if not address:
        raise BackendError(f"the OpenGL driver has no function {name}", who="gl")
    return prototype(None, arguments)(address)
