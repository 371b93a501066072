"""Addresses of clusters, and the files that TLS needs; nothing is connected to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import dask
import pytest

from studio.engine.core.errors import BackendError, ParameterError
from studio.engine.scale.sweep.connection import (
    checked_address,
    require_dask,
    require_tls_files,
)
from tests.engine.scale.sweep.certificates import Certificates

# Before anything is set: it adds its defaults when it is imported.
pytest.importorskip("distributed")
ADDRESS = "tls://example.org:8786"
TLS = "distributed.comm.tls"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.make(tmp_path_factory.mktemp("own"), "own")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.make(tmp_path_factory.mktemp("stranger"), "stranger")


def refusal(settings: Mapping[str, object]) -> ParameterError:
    """What is said of a configuration with which no connection can be made."""
    with dask.config.set(settings), pytest.raises(ParameterError) as found:
        require_tls_files(ADDRESS)
    assert found.value.who == "--cluster"
    assert "\n" not in found.value.message
    return found.value


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("127.0.0.1:8786", "tcp://127.0.0.1:8786"),
        ("localhost:1", "tcp://localhost:1"),
        ("tcp://[::1]:8786", "tcp://[::1]:8786"),
        (ADDRESS, ADDRESS),
    ],
)
def test_an_address_has_its_protocol(given: str, expected: str) -> None:
    assert checked_address(given) == expected


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("", "expected an address such as tls://host:8786"),
        ("8786", "expected an address"),
        ("tls://host", "expected an address"),
        ("127.0.0.1:x", "expected an address"),
        ("tcp://:8786", "expected an address"),
        ("tcp://127.0.0.1.example.com:8786", "is reached without TLS"),
        ("tls://host:0", "expected an address"),
        ("tls://host:70000", "expected an address"),
        ("ucx://127.0.0.1:8786", "expected an address"),
        ("10.0.0.1:8786", "is reached without TLS, which is allowed on this machine only"),
        ("tcp://example.org:8786", "is reached without TLS"),
        ("tcp://[fe80::1]:8786", "is reached without TLS"),
    ],
)
def test_an_address_that_is_none_or_leads_over_a_network_is_refused(
    address: str, said: str
) -> None:
    with pytest.raises(ParameterError, match="--cluster") as found:
        checked_address(address)
    assert said in found.value.message


def test_files_that_fit_together_are_taken(own: Certificates, tmp_path: Path) -> None:
    with dask.config.set(own.settings()):
        require_tls_files(ADDRESS)
    # The key may stand behind the certificate, and each file may be given as its text.
    both = tmp_path / "both.pem"
    both.write_bytes(own.certificate.read_bytes() + own.key.read_bytes())
    with dask.config.set(
        own.settings() | {f"{TLS}.client.cert": str(both), f"{TLS}.client.key": None}
    ):
        require_tls_files(ADDRESS)
    texts = {f"{TLS}.ca-file": own.authority, f"{TLS}.client.cert": own.certificate}
    with dask.config.set(own.settings() | {name: path.read_text() for name, path in texts.items()}):
        require_tls_files(ADDRESS)


@pytest.mark.parametrize("name", ["ca-file", "client.cert"])
def test_a_file_that_is_not_named_is_asked_for(own: Certificates, name: str) -> None:
    error = refusal(own.settings() | {f"{TLS}.{name}": None})
    assert error.message == f"Dask's configuration names no {name} for TLS"
    variable = {"ca-file": "CA_FILE", "client.cert": "CLIENT__CERT"}[name]
    assert f"set {TLS}.{name}, or DASK_DISTRIBUTED__COMM__TLS__{variable}" in error.hint


@pytest.mark.parametrize("name", ["ca-file", "client.cert", "client.key"])
def test_a_file_that_is_not_there_is_named(own: Certificates, tmp_path: Path, name: str) -> None:
    path = tmp_path / "gone.pem"
    error = refusal(own.settings() | {f"{TLS}.{name}": str(path)})
    assert f"{path}, the {name} of Dask's configuration, cannot be read: No such file" in (
        error.message
    )
    error = refusal(own.settings() | {f"{TLS}.{name}": "gone.pem"})
    assert error.hint.startswith("give its absolute path")


def test_files_that_do_not_fit_are_named(
    own: Certificates, stranger: Certificates, tmp_path: Path
) -> None:
    junk = tmp_path / "junk.pem"
    junk.write_text("nothing of the kind", encoding="utf-8")

    def said(**files: Path | None) -> str:
        changed = {f"{TLS}.{name.replace('_', '.')}": path and str(path)
                   for name, path in files.items()}  # fmt: skip
        return refusal(own.settings() | changed).message

    ca = refusal(own.settings() | {f"{TLS}.ca-file": str(junk)}).message
    assert ca == f"{junk}, the ca-file of Dask's configuration, is not in PEM form"
    assert said(client_cert=junk) == f"{junk} holds no certificate, or {own.key} no key"
    assert said(client_key=stranger.key) == (
        f"{stranger.key} is not the key of the certificate {own.certificate}"
    )
    assert "holds no key, and Dask's configuration names no client.key" in said(client_key=None)
    # Nobody is asked for it: a window has no terminal.
    assert "has a passphrase, which Dask cannot take" in said(client_key=own.locked())


def test_other_settings_of_tls_are_checked(own: Certificates) -> None:
    error = refusal(own.settings() | {f"{TLS}.min-version": 7})
    assert "the TLS settings of Dask's configuration are wrong" in error.message
    assert "min-version=7 is not supported" in error.message
    error = refusal(own.settings() | {f"{TLS}.ciphers": "NONE-SUCH"})
    assert "the TLS settings of Dask's configuration are wrong" in error.message


def test_a_configuration_may_demand_tls() -> None:
    require_tls_files("tcp://127.0.0.1:8786")
    with (
        dask.config.set({"distributed.comm.require-encryption": True}),
        pytest.raises(ParameterError, match="Dask's configuration demands it"),
    ):
        require_tls_files("tcp://127.0.0.1:8786")


def test_a_damaged_configuration_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise ValueError(f"A {name} config file is malformed:\n  in line 2")

    monkeypatch.setattr("importlib.import_module", broken)
    with pytest.raises(BackendError, match="Dask cannot be configured: Val") as found:
        require_dask()
    assert "\n" not in found.value.message
