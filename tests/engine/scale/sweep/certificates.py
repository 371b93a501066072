"""Certificates for TLS, made by the program openssl as its users make them."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

PASSPHRASE = "open sesame"
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True)
class Certificates:
    """Of an authority, and of one whom it knows.

    Attributes:
        folder: that they lie in.
        name: that their files begin with.
    """

    folder: Path
    name: str

    @property
    def authority(self) -> Path:
        return self.folder / f"{self.name}-authority.pem"

    @property
    def certificate(self) -> Path:
        return self.folder / f"{self.name}.pem"

    @property
    def key(self) -> Path:
        return self.folder / f"{self.name}.key"

    @classmethod
    def make(cls, folder: Path, name: str) -> Certificates:
        """Make new ones; skips the test where the program is missing."""
        if shutil.which("openssl") is None:
            pytest.skip("needs the program openssl")
        made = cls(folder, name)
        secret, request = folder / f"{name}-authority.key", folder / f"{name}.request"
        _openssl(
            "req", "-x509", *_KEY, "-keyout", secret, "-out", made.authority, "-days", "2",
            "-subj", f"/CN={name} authority",
        )  # fmt: skip
        _openssl("req", "-new", *_KEY, "-keyout", made.key, "-out", request, "-subj", f"/CN={name}")
        _openssl(
            "x509", "-req", "-in", request, "-CA", made.authority, "-CAkey", secret,
            "-CAcreateserial", "-days", "2", "-out", made.certificate,
        )  # fmt: skip
        return made

    def locked(self) -> Path:
        """The key under a passphrase."""
        path = self.folder / f"{self.name}-locked.key"
        _openssl("pkey", "-in", self.key, "-aes128", "-passout", f"pass:{PASSPHRASE}", "-out", path)
        return path

    def settings(self) -> dict[str, str]:
        """What Dask's configuration says of a client, and of the cluster's processes."""
        found = {"ca-file": str(self.authority)}
        for role in ("client", "scheduler", "worker"):
            found |= {f"{role}.cert": str(self.certificate), f"{role}.key": str(self.key)}
        return {f"distributed.comm.tls.{name}": value for name, value in found.items()}

    def environment(self) -> dict[str, str]:
        """The same as variables of the environment."""
        return {
            "DASK_" + name.replace(".", "__").replace("-", "_").upper(): value
            for name, value in self.settings().items()
        }


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)
