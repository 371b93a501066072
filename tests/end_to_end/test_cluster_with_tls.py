"""Sweeps and trainings over TLS: by the command, by the window's models, and what is refused."""

from __future__ import annotations

import http.server
import json
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dask
import pytest

from studio.engine.core.errors import BackendError
from studio.engine.scale.remote.mirror import TICKET
from studio.engine.scale.sweep.connection import open_client
from studio.engine.scale.sweep.folder import cluster_of
from studio.engine.scale.sweep.planning import Wishes
from studio.session.document.document import Document
from studio.session.sweeps.records import SweepRecord
from tests.cli.test_processes import START, environment, posix
from tests.cli.test_sweeping import PATIENCE, cluster, same
from tests.engine.scale.sweep.certificates import Certificates
from tests.session.sweeps.sweep_bench import SweepBench, iris
from tests.session.training.bench import TrainingBench

pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, posix]
GRID = ("--vary", "hidden.units=4,8", "--sampler", "grid", "--workers", "1")


@dataclass(frozen=True)
class Reached:
    """A cluster with TLS.

    Attributes:
        address: of its scheduler.
        own: certificates that its processes and its users have.
    """

    address: str
    own: Certificates


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reached]:
    folder = tmp_path_factory.mktemp("tls")
    own = Certificates.make(folder, "own")
    with cluster(folder / "cluster", 1, "tls", **own.environment()) as (address, _):
        assert address.startswith("tls://127.0.0.1:")
        yield Reached(address, own)


@pytest.fixture
def _known(secured: Reached, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes that a test starts find the certificates where users of Dask have them."""
    for name, value in secured.own.environment().items():
        monkeypatch.setenv(name, value)


def answered(*words: str, folder: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    answer = subprocess.run(
        [*START, *words, "--backend", "cpu"], cwd=folder, env=environment(), capture_output=True,
        check=False, timeout=PATIENCE, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert answer.returncode == code, answer.stderr
    assert "Traceback" not in answer.stderr
    return answer


@pytest.mark.usefixtures("_known")
def test_a_sweep_and_a_training_by_the_command(secured: Reached, tmp_path: Path) -> None:
    project = iris(tmp_path, epochs=2)
    whole = json.loads(answered("sweep", "iris", *GRID, "--json", folder=tmp_path).stdout)
    there = answered(
        "sweep", "iris", *GRID, "--json", "--cluster", secured.address, folder=tmp_path
    )
    found = json.loads(there.stdout)
    assert same(found) == same(whole)
    assert {each["state"] for each in found["trials"]} == {"finished"}
    assert cluster_of(tmp_path / found["sweep"]) == secured.address
    assert cluster_of(tmp_path / whole["sweep"]) == ""
    words = ("train", "iris", "--cluster", secured.address, "--json")
    trained = json.loads(answered(*words, folder=tmp_path).stdout)
    assert trained["outcome"] == "finished"
    run = tmp_path / trained["run"]
    assert run.parent == project.with_suffix(".runs")
    assert (run / "checkpoints/final.safetensors").is_file()
    assert not (run / TICKET).exists()


@pytest.mark.usefixtures("_known")
def test_a_sweep_of_the_window_goes_on_where_it_was(secured: Reached, tmp_path: Path) -> None:
    bench = SweepBench(Document.open(iris(tmp_path)))
    model = bench.model

    def stop() -> SweepRecord:
        """What is known of it once its process is gone."""
        model.stop()
        bench.until(lambda: not model.is_busy and model.chosen and not model.chosen.holder)
        assert model.chosen is not None
        return model.chosen

    try:
        wishes = Wishes(("epochs=1,100000",), sampler="grid", workers=1, keep=0, seed=7,
                        synchronous=True)  # fmt: skip
        model.ask_check(wishes, secured.address)
        bench.until(lambda: bench.checks and bench.checks[-1].plan is not None)
        model.start(wishes, cluster=secured.address)
        bench.until(lambda: "training" in bench.states())
        record = stop()
        assert record.plan is not None
        plan = record.plan
        assert (plan.keep, plan.seed, plan.synchronous) == (0, 7, True)
        assert record.cluster == secured.address
        model.resume(record)
        bench.until(lambda: "training" in bench.states())
        found = stop()
        assert (found.plan, found.cluster) == (plan, secured.address)
        # Asked to, it goes on here; that is written down, too.
        model.resume(found, cluster="")
        bench.until(lambda: "training" in bench.states())
        assert stop().cluster == ""
        assert bench.errors == []
    finally:
        bench.close()


@pytest.mark.usefixtures("_known")
def test_a_training_of_the_window(secured: Reached, tmp_path: Path) -> None:
    bench = TrainingBench(tmp_path, epochs=3)
    try:
        bench.model.place.use_cluster(secured.address)
        bench.model.start()
        bench.until(lambda: bench.model.state in ("finished", "failed", "stopped"), PATIENCE)
        assert (bench.model.state, bench.errors) == ("finished", [])
        run = bench.model.run
        assert run is not None
        assert [record["epoch"] for record in run.metrics()] == [0, 1, 2]
        assert bench.model.curves is not None
        assert not (run.path / TICKET).exists()
    finally:
        bench.close()


def test_a_window_without_certificates_says_so(
    secured: Reached, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in secured.own.environment():
        monkeypatch.delenv(name, raising=False)
    bench = TrainingBench(tmp_path, epochs=3)
    try:
        bench.model.place.use_cluster(secured.address)
        bench.model.start()
        bench.until(lambda: bench.model.state == "failed", PATIENCE)
        error = bench.endings[-1].error
        assert error is not None
        assert error.message == "Dask's configuration names no ca-file for TLS"
    finally:
        bench.close()


# -- what is refused ---------------------------------------------------------------------------


def refusal(address: str, **settings: object) -> BackendError:
    """What is said of a cluster that cannot be reached with such a configuration."""
    with dask.config.set(settings), pytest.raises(BackendError, match="--cluster") as found:
        open_client(address)
    assert "\n" not in found.value.message
    return found.value


def test_what_does_not_trust_or_is_not_trusted_is_named(secured: Reached, tmp_path: Path) -> None:
    stranger, own = Certificates.make(tmp_path, "stranger"), secured.own.settings()
    error = refusal(
        secured.address, **own | {"distributed.comm.tls.ca-file": str(stranger.authority)}
    )
    assert f"the certificate of the cluster at {secured.address} is not trusted" in error.message
    assert "distributed.comm.tls.ca-file" in error.hint
    files = {"cert": stranger.certificate, "key": stranger.key}
    strange = {f"distributed.comm.tls.client.{name}": str(path) for name, path in files.items()}
    error = refusal(secured.address, **own | strange)
    assert "does not take this certificate, or has no TLS" in error.message
    plain = secured.address.replace("tls://", "tcp://")
    error = refusal(plain)
    assert f"the connection was ended by what answers at {plain}" in error.message
    assert "a cluster with TLS is reached by tls://" in error.hint


def test_a_refused_command_leaves_nothing(secured: Reached, tmp_path: Path) -> None:
    project = iris(tmp_path)
    before = sorted(project.parent.iterdir())
    for words in (("sweep", "iris", *GRID), ("train", "iris")):
        said = answered(*words, "--cluster", secured.address, folder=tmp_path, code=2).stderr
        assert "glassbox: [--cluster] Dask's configuration names no ca-file for TLS" in said
    assert sorted(project.parent.iterdir()) == before


def test_what_is_no_scheduler_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.engine.scale.sweep.connection.ANSWER_SECONDS", 1.0)
    # Dask's client waits for it without end; the port of a dashboard is such a server.
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), http.server.BaseHTTPRequestHandler
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            error = refusal(f"tcp://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            thread.join()
    assert "is no Dask scheduler" in error.message
    assert "not that of its dashboard" in error.hint
