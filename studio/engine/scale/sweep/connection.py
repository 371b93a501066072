"""Reaches a Dask cluster of the user's: its address, TLS, and whether its workers can train.

Dask is imported when a cluster is reached, so that an address can be checked without it.
"""

from __future__ import annotations

import asyncio
import importlib.util
import ipaddress
import logging
import ssl
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from studio import __version__
from studio.engine.core.errors import BackendError, ParameterError, in_one_line, quoted
from studio.engine.core.process_identity import ProcessIdentity, own_identity
from studio.engine.train.project.project import Project

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 20.0
ANSWER_SECONDS = 30.0
WORKERS_SECONDS = 20.0
"""A cluster that has just been started may have its workers a little later."""
_PROTOCOLS = ("tcp", "tls")
_WHO = "--cluster"
_TLS = "distributed.comm.tls"
_CA, _CERT, _KEY = "ca-file", "client.cert", "client.key"


@dataclass(frozen=True)
class WorkerFacts:
    """What a worker says about itself.

    Attributes:
        version: of Glassbox.
        python: its version.
        process: which process it is; another may have its address one day.
    """

    version: str
    python: str
    process: ProcessIdentity


def own_facts() -> WorkerFacts:
    """The facts of this process; run in the workers, too."""
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return WorkerFacts(__version__, python, own_identity())


def require_dask() -> None:
    """BackendError where the package that reaches a cluster is missing, or cannot be configured."""
    if importlib.util.find_spec("distributed") is None:
        raise BackendError(
            "clusters need the package distributed, which is not installed",
            who=_WHO,
            hint='pip install "glassbox-studio[scale]"',
        )
    try:
        importlib.import_module("dask")
    except ValueError as error:
        raise BackendError(
            f"Dask cannot be configured: {in_one_line(error)}",
            who=_WHO,
            hint="mend that file, or name another by DASK_CONFIG in the environment",
        ) from error


def require_sendable(project: Project) -> None:
    """ParameterError for a project that begins with weights that are not sent."""
    if project.training.begin_with == "imported":
        raise ParameterError(
            "imported weights are not sent to a cluster",
            who="begin_with",
            hint="let trainings begin with fresh weights, or train on this computer",
        )


def open_client(address: str) -> Client:
    """A client of the cluster at a checked address; BackendError where there is none."""
    from distributed import Client

    # The caller reports a lost connection itself; Dask would log it several times more.
    for name in ("distributed", "distributed.client", "distributed.core"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        asyncio.run(_reach(address))
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as error:
        why, hint = _why_not_reached(address, error)
        raise BackendError(why, who=_WHO, hint=hint) from error


async def _reach(address: str) -> None:
    """Connect once. A client would wait without end for one that answers in other words."""
    from distributed import Security
    from distributed.comm.core import connect

    made = connect(address, timeout=CONNECT_SECONDS, **Security().get_connection_args("client"))
    comm = await asyncio.wait_for(made, ANSWER_SECONDS)
    comm.abort()


def _why_not_reached(address: str, error: Exception) -> tuple[str, str]:
    """Why a cluster was not reached, and what helps."""
    found: BaseException | None = error
    causes: list[BaseException] = []
    while found is not None:
        causes.append(found)
        found = found.__cause__ or found.__context__
    refused = next((e for e in causes if isinstance(e, ssl.SSLCertVerificationError)), None)
    if refused is not None:
        return (
            f"the certificate of the cluster at {address} is not trusted: {refused.verify_message}",
            f"{_TLS}.ca-file of Dask's configuration names the authority that signed it",
        )
    if isinstance(error, TimeoutError):
        return (
            f"what answers at {address} is no Dask scheduler",
            "give the address of the scheduler, not that of its dashboard",
        )
    # A refusal that comes behind the handshake is told by its text alone.
    if any(isinstance(each, ssl.SSLError | ValueError) or "[SSL" in str(each) for each in causes):
        return (
            f"the cluster at {address} does not take this certificate, or has no TLS",
            f"{_TLS}.client.cert of Dask's configuration names the certificate",
        )
    if any(isinstance(each, ConnectionResetError) for each in causes):
        return (
            f"the connection was ended by what answers at {address}",
            "a cluster with TLS is reached by tls://…" if address.startswith("tcp") else "",
        )
    system = [each for each in causes if isinstance(each, OSError) and each.strerror]
    why = str(system[-1].strerror) if system else in_one_line(error)
    if not system and any(isinstance(each, TimeoutError) for each in causes):
        why = f"nothing answered within {CONNECT_SECONDS:g} s"
    return f"there is no Dask cluster at {address}: {why}", ""


def lost_cluster(address: str, error: Exception) -> BackendError:
    """What a sweep ends with whose cluster cannot be reached any more."""
    return BackendError(
        f"the cluster at {address} was lost: {in_one_line(error)}",
        who=_WHO,
        hint="what has ended is kept; go on with --resume, there or without --cluster here",
    )


def require_workers(client: Client, address: str) -> dict[str, WorkerFacts]:
    """The workers by their addresses; BackendError where there are none, or they cannot train."""
    found: dict[str, WorkerFacts] = {}
    try:
        client.wait_for_workers(1, timeout=WORKERS_SECONDS)
        found = client.run(own_facts)
    except TimeoutError:
        found = {}
    except Exception as error:
        raise BackendError(
            f"the workers of the cluster cannot train: {in_one_line(error)}",
            who=_WHO,
            hint=f"install Glassbox {__version__} where they run",
        ) from error
    if not found:
        raise BackendError(
            "the cluster has no workers",
            who=_WHO,
            hint=f"start one: dask worker {address}",
        )
    own = own_facts()
    for place, facts in found.items():
        if (facts.version, facts.python) != (own.version, own.python):
            raise BackendError(
                f"the worker at {place} runs Glassbox {facts.version} on Python "
                f"{facts.python}, this machine {own.version} on Python {own.python}",
                who=_WHO,
                hint="install the same versions everywhere, so that trainings are comparable",
            )
    return found


def checked_address(address: str) -> str:
    """The address with its protocol; ParameterError where it is none, or leads over a network.

    Without TLS whoever can reach the port can run programs in the cluster.
    """
    protocol, sign, rest = address.partition("://")
    if not sign:
        protocol, rest = "tcp", address
    host, colon, port = rest.rpartition(":")
    is_port = port.isascii() and port.isdecimal() and 0 < int(port) < 1 << 16
    if protocol not in _PROTOCOLS or not colon or not host or not is_port:
        raise ParameterError(
            f"expected an address such as tls://host:8786, got {quoted(address)}", who=_WHO
        )
    if protocol == "tcp" and not _is_loopback(host.strip("[]")):
        raise ParameterError(
            f"{quoted(address)} is reached without TLS, which is allowed on this machine only",
            who=_WHO,
            hint="start the cluster with TLS (Dask's documentation, TLS/SSL) and give tls://…",
        )
    return f"{protocol}://{rest}"


def require_tls_files(address: str) -> None:
    """ParameterError where Dask's configuration does not allow a connection to an address.

    For TLS it names files, which must be there and fit together.
    """
    from distributed import Security

    try:
        found = Security()
    except ValueError as error:
        raise _wrong(error) from error
    if not address.startswith("tls://"):
        if found.require_encryption:
            raise ParameterError(
                f"{address} is reached without TLS, and Dask's configuration demands it",
                who=_WHO,
                hint="give tls://…, or leave distributed.comm.require-encryption out",
            )
        return
    named = found.get_tls_config_for_role("client")
    files = {_CA: named["ca_file"], _CERT: named["cert"], _KEY: named["key"]}
    for name, path in files.items():
        _require_file(name, path)
    try:
        _try_files(*files.values())
        found.get_connection_args("client")
    except (OSError, ValueError, TypeError) as error:
        raise _wrong(error) from error


def _wrong(error: Exception) -> ParameterError:
    return ParameterError(
        f"the TLS settings of Dask's configuration are wrong: {in_one_line(error)}",
        who=_WHO,
        hint=_hint_of(_CERT),
    )


def _require_file(name: str, path: object) -> None:
    """ParameterError where a file for TLS is not named, or cannot be read."""
    if not path:
        # The key may be in the certificate's file.
        if name == _KEY:
            return
        raise ParameterError(
            f"Dask's configuration names no {name} for TLS", who=_WHO, hint=_hint_of(name)
        )
    # Dask takes a text in place of a file, too.
    if isinstance(path, str) and "\n" in path:
        return
    try:
        with Path(str(path)).open("rb"):
            pass
    except OSError as error:
        relative = "" if Path(str(path)).is_absolute() else "give its absolute path: "
        raise ParameterError(
            f"{path}, the {name} of Dask's configuration, cannot be read: {error.strerror}",
            who=_WHO,
            hint=f"{relative}{_hint_of(name)}",
        ) from error


def _try_files(ca: object, cert: object, key: object) -> None:
    """ParameterError where files for TLS hold something else, or do not fit together."""
    if any(isinstance(each, str) and "\n" in each for each in (ca, cert, key)):
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    asked: list[str] = []

    def passphrase() -> str:
        asked.append("")
        return ""

    try:
        context.load_verify_locations(str(ca))
    except ssl.SSLError as error:
        raise ParameterError(
            f"{ca}, the {_CA} of Dask's configuration, is not in PEM form",
            who=_WHO,
            hint=_hint_of(_CA),
        ) from error
    try:
        context.load_cert_chain(str(cert), str(key) if key else None, password=passphrase)
    except ssl.SSLError as error:
        message = f"{cert} holds no certificate, or {key} no key"
        if error.reason == "KEY_VALUES_MISMATCH":
            message = f"{key} is not the key of the certificate {cert}"
        elif not key:
            message = f"{cert} holds no key, and Dask's configuration names no {_KEY}"
        if asked:
            message = f"the key {key or cert} has a passphrase, which Dask cannot take"
        raise ParameterError(message, who=_WHO, hint=_hint_of(_KEY)) from error


def _hint_of(name: str) -> str:
    variable = name.replace(".", "__").replace("-", "_").upper()
    return f"set {_TLS}.{name}, or DASK_DISTRIBUTED__COMM__TLS__{variable} in the environment"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
