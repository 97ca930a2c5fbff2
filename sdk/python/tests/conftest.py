"""What the tests share: a demo of the real program, and a server that does what a test says."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Union

import pytest

#: The moment of the demo, as in the documents of the server.
END = "2026-11-01T12:01:00Z"

#: Longer than a start takes on a busy machine.
START_SECONDS = 600

MARKET = Path(__file__).parents[3] / "scripts" / "demo-market"


class Demo(NamedTuple):
    url: str
    premium: str
    full: str
    revoked: str


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the machine must not decide a test."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name in ("ASSAY_URL", "ASSAY_KEY"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A demo of the program that ASSAY_BINARY names."""
    binary = os.environ.get("ASSAY_BINARY")
    if not binary:
        pytest.fail("set ASSAY_BINARY to the program, as `make sdk-python` does")
    folder = tmp_path_factory.mktemp("demo")
    data = str(folder / "data")
    subprocess.run([str(MARKET), data], check=True, env={**os.environ, "ASSAY_TEST_BINARY": binary})
    command = [binary, "demo", "--dir", data, "--addr", "127.0.0.1:0", "--no-feed", "--seed", "1", "--end", END]
    command += ["--keys-file", str(folder / "keys.json"), "--log-file", str(folder / "log")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
    try:
        url = _read_address(process)
        keys = json.loads((folder / "keys.json").read_text())
        yield Demo(url, keys["premium"], keys["full"], keys["revoked"])
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _read_address(process: subprocess.Popen[str]) -> str:
    """The address that the demo prints when it is ready."""
    assert process.stdout is not None
    limit = threading.Timer(START_SECONDS, process.kill)
    limit.start()
    try:
        for line in process.stdout:
            found = re.match(r"\s*address\s+(http://\S+)", line)
            if found:
                return found.group(1)
    finally:
        limit.cancel()
    pytest.fail("the demo did not start")


#: What a server sends for a request: bytes, or a function that gets the connection and is to close it or not.
Reply = Union[bytes, Callable[[socket.socket], None]]


class Server:
    """A server on loopback that sends one reply after the other, whatever is requested, and keeps the requests."""

    def __init__(self, replies: List[Reply]) -> None:
        self.requests: List[str] = []
        self.connections = 0
        self._replies = replies
        self._lock = threading.Lock()
        self._open: List[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def add(self, *replies: Reply) -> None:
        with self._lock:
            self._replies.extend(replies)

    def close(self) -> None:
        with self._lock:
            listener, opened = self._listener, list(self._open)
        for each in [listener, *opened]:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is closed already
        for thread in list(self._threads):
            thread.join(10)
            assert not thread.is_alive()
        listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self._open.append(connection)
                self.connections += 1
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                while self._respond(connection):
                    pass
            except OSError:
                pass  # the client has gone

    def _respond(self, connection: socket.socket) -> bool:
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            piece = connection.recv(65536)
            if not piece:
                return False
            request += piece
        with self._lock:
            self.requests.append(request.decode("latin-1"))
            reply = self._replies.pop(0) if self._replies else response(599, {"error": "x", "message": "none left"})
        if callable(reply):
            reply(connection)
            return False
        connection.sendall(reply)
        return b"connection: close" not in reply.lower()


def header(request: str, name: str) -> Optional[str]:
    """A header of a request."""
    found = re.search(rf"(?im)^{re.escape(name)}: (.*?)\r$", request)
    return found.group(1) if found else None


def response(
    status: int = 200, body: Union[bytes, Dict[str, Any]] = b"", media_type: str = "application/json", **headers: str
) -> bytes:
    """A response as bytes. Names of headers are written with underscores."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {media_type}", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + content


#: A response that is as it should be.
PRICE = response(
    body={
        "success": True,
        "access": "public-3mo",
        "data": {
            "gpu_name": "H100 SXM",
            "region": "",
            "index_value": 1.9478,
            "last_updated": "2026-11-01T12:00:00.000Z",
        },
    }
)


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: List[Server] = []

    def start(*replies: Reply) -> Server:
        servers.append(Server(list(replies)))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


Serve = Callable[..., Server]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="write the outputs in the README again")
