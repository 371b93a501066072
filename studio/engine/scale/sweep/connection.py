"""Reaches a Dask cluster of the user's: its address, TLS, and whether its workers can train.

Dask is imported when a cluster is reached, so that an address can be checked without it.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import logging
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from studio import __version__
from studio.engine.core.errors import BackendError, ParameterError, in_one_line, quoted
from studio.engine.core.process_identity import ProcessIdentity, own_identity
from studio.engine.train.project.project import Project

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 20.0
_PROTOCOLS = ("tcp", "tls")
_WHO = "cluster"


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
    """BackendError where the package that reaches a cluster is not installed."""
    if importlib.util.find_spec("distributed") is None:
        raise BackendError(
            "clusters need the package distributed, which is not installed",
            who=_WHO,
            hint='pip install "glassbox-studio[scale]"',
        )


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

    # A connection that is lost is told of once, in a sentence.
    for name in ("distributed", "distributed.client", "distributed.core"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as error:
        raise BackendError(
            f"there is no Dask cluster at {address}: {in_one_line(error)}", who=_WHO
        ) from error


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
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
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
    """ParameterError for TLS where Dask's configuration does not name its files."""
    if not address.startswith("tls://"):
        return
    from distributed import Security

    try:
        found = Security().get_connection_args("client").get("ssl_context")
        why = "" if found is not None else "it names none"
    except (OSError, ValueError, TypeError) as error:
        why = in_one_line(error)
    if why:
        raise ParameterError(
            f"TLS needs the files that Dask's configuration names: {why}",
            who=_WHO,
            hint="set distributed.comm.tls in Dask's configuration (ca-file, client.cert, "
            "client.key)",
        )


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
