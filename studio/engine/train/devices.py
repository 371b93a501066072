"""Opens the device a user asked for, or the one that suits, and says why in one sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from studio.engine.core.closing import Closing
from studio.engine.core.errors import BackendError, ParameterError, quoted
from studio.engine.core.near_names import did_you_mean
from studio.engine.cpu.backend import CpuBackend
from studio.engine.cpu.machine.execution_config import ExecutionConfig
from studio.engine.cpu.machine.threads import usable_threads
from studio.engine.runtime.backend import Backend
from studio.engine.runtime.exchange import Exchange

if TYPE_CHECKING:
    from studio.engine.gl.device.context import ContextProvider

Choice: TypeAlias = Literal["auto", "gl", "cpu"]

CHOICES = ("auto", "gl", "cpu")


@dataclass(frozen=True)
class Opened(Closing):
    """A backend, and one sentence about why it is this one; a context manager that closes it."""

    backend: Backend
    why: str

    def close(self) -> None:
        """Release the device."""
        self.backend.close()


def open_backend(
    choice: str = "auto",
    provider: ContextProvider | None = None,
    *,
    in_order: bool = False,
    compiled: bool = True,
    threads: int | None = None,
    exchange: Exchange | None = None,
) -> Opened:
    """Open a backend.

    Args:
        choice: ``cpu``; ``gl`` for any OpenGL 4.3, software included; ``auto`` for OpenGL on
            hardware and the CPU otherwise.
        provider: who opens the context where OpenGL is used; a standalone one by default.
        in_order: run kernels in the program's order, with the least memory; a CPU always does.
        compiled: whether a CPU may use loops compiled by Numba. A few samples are answered sooner
            without, as loading Numba takes about half a second.
        threads: of a CPU; all that it has by default. Numbers depend on how many they are.
        exchange: brings this worker of a training and others together, None where it is alone.

    Raises:
        ParameterError: another choice.
        BackendError: ``gl`` was asked for and cannot be had; one sentence says why.
    """
    if choice not in CHOICES:
        raise ParameterError(
            f"expected one of {', '.join(CHOICES)}, got {quoted(choice)}",
            who="backend",
            hint=did_you_mean(choice, CHOICES),
        )
    if choice == "cpu":
        return _cpu("as chosen", compiled=compiled, threads=threads, exchange=exchange)
    order = ", kernels in program order" if in_order else ""
    if choice == "gl":
        backend, software = _open_gl(provider, in_order, exchange)
        why = f"training on {backend.device}, as chosen{order}{_aside(software)}"
        return Opened(backend, why)
    try:
        backend, software = _open_gl(provider, in_order, exchange)
    except BackendError as error:
        return _cpu(error.message, compiled=compiled, threads=threads, exchange=exchange)
    if not software:
        return Opened(backend, f"training on {backend.device} with OpenGL{order}")
    backend.close()
    return _cpu(software, compiled=compiled, threads=threads, exchange=exchange)


def _cpu(reason: str, *, compiled: bool, threads: int | None, exchange: Exchange | None) -> Opened:
    config = ExecutionConfig.of_machine() if compiled else ExecutionConfig(usable_threads())
    if threads is not None:
        config = replace(config, threads=threads)
    backend: Backend = cast("Backend", CpuBackend(config=replace(config, exchange=exchange)))
    return Opened(backend, f"training on the CPU: {reason}")


def _aside(software: str) -> str:
    return " (software: the CPU backend is faster here)" if software else ""


def _open_gl(
    provider: ContextProvider | None, in_order: bool, exchange: Exchange | None
) -> tuple[Backend, str]:
    """The OpenGL backend, and a sentence where it runs in software."""
    # moderngl is loaded only where OpenGL is wanted and its libraries are there.
    from studio.engine.gl.device.preflight import check_libraries

    found = check_libraries()
    if not found.ok:
        raise BackendError(found.problem, who="OpenGL", hint=found.hint)
    from studio.engine.gl.backend import GlBackend
    from studio.engine.gl.device.context import StandaloneProvider

    if provider is None and exchange is not None:
        provider = StandaloneProvider(place=exchange.place_on_host)
    opened = GlBackend(provider, in_order=in_order, exchange=exchange)
    return cast("Backend", opened), opened.info.notice if opened.info.is_software else ""
