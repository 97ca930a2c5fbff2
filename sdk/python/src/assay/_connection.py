"""Connections to the server: one GET at a time, within a time limit that no slow server can stretch.

``http.client`` has a limit for each read from a socket, so a server that sends a byte now and then holds a reader for
as long as it likes. Here a :class:`Deadline` is asked before each read instead.
"""

from __future__ import annotations

import http.client
import io
import os
import selectors
import socket
import ssl
import threading
import time
from typing import Any, Callable, List, Mapping, Optional, cast

from . import _proxy, _text
from ._settings import Origin, Secret
from .errors import AssayError, before_response

#: Idle connections that are kept for the next request. More may be open at a time.
_IDLE = 8


class Deadline:
    """The time that is left for an attempt."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def left(self) -> float:
        """The seconds that are left, or socket.timeout if none are."""
        left = self._end - self._clock()
        if left <= 0:
            raise socket.timeout("the time is over")
        return left


class Idle(Deadline):
    """A limit on silence, for streams: each read may take as long. While ``opening`` is set, that counts instead."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.opening: Optional[Deadline] = None

    def left(self) -> float:
        return self.opening.left() if self.opening else self.seconds


class _TimedReader(io.RawIOBase):
    """Reads from a socket within a deadline."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, deadline: Deadline) -> None:
        self._raw, self._sock, self._deadline = raw, sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Optional[int]:
        self._sock.settimeout(self._deadline.left())
        return cast(Optional[int], cast(Any, self._raw).readinto(buffer))

    def close(self) -> None:
        self._raw.close()
        super().close()


class Connection:
    """A connection that may serve several requests, one after the other."""

    def __init__(self, http_connection: http.client.HTTPConnection, prefix: str, extra: Mapping[str, str]) -> None:
        self._http = http_connection
        self._http.debuglevel = 0  # it would print the key
        self._prefix, self._extra = prefix, extra
        self.used = False
        self._aborted = False
        # http.client forgets its own once a response is to end the connection.
        self._sock: Optional[socket.socket] = None

    def get(self, target: str, headers: Mapping[str, str], key: Secret, deadline: Deadline) -> http.client.HTTPResponse:
        """Sends a request and reads the head of the response."""

        def response(sock: socket.socket, *args: Any, **kwargs: Any) -> http.client.HTTPResponse:
            made = http.client.HTTPResponse(sock, *args, **kwargs)
            made.fp = io.BufferedReader(_TimedReader(made.fp.detach(), sock, deadline))
            return made

        self._http.response_class = response  # type: ignore[assignment]
        self._http.timeout = deadline.left()
        if self._http.sock is None:
            self._http.connect()
        self._sock = self._http.sock
        if self._aborted or self._sock is None:  # while it connected
            raise ConnectionAbortedError("the request was canceled")
        self._sock.settimeout(deadline.left())
        self._http.putrequest("GET", self._prefix + target, skip_accept_encoding=True)
        for name, value in {**headers, **self._extra}.items():
            self._http.putheader(name, value.encode("utf-8").decode("latin-1"))  # http.client takes bytes as Latin-1
        if key:
            self._http.putheader("Authorization", "Bearer " + key.reveal())
        self._http.endheaders()
        return self._http.getresponse()

    def is_alive(self) -> bool:
        """Whether it may serve another request. If there is something to read already, the server has closed it, or has
        sent what would be taken for the response to the next request."""
        sock = self._http.sock
        if sock is None:
            return False
        if isinstance(sock, ssl.SSLSocket) and sock.pending():
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(sock, selectors.EVENT_READ)
            return not selector.select(0)

    def close(self) -> None:
        self._http.close()

    def abort(self) -> None:
        """Ends what another thread is doing with the connection."""
        self._aborted = True
        sock = self._sock
        if sock is not None:
            try:
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # TLS would say goodbye first
            except OSError:
                pass  # it has ended by itself


class Pool:
    """Opens connections to one server, and keeps some of them for later requests. Threads may share it."""

    def __init__(self, origin: Origin, tls: Optional[ssl.SSLContext]) -> None:
        self._origin = origin
        self._tls = tls or (ssl.create_default_context() if origin.scheme == "https" else None)
        self._lock = threading.Lock()
        self._idle: List[Connection] = []
        self._closed = False
        self._process = os.getpid()

    def take(self) -> Connection:
        """A connection that is idle, the one used last, or a new one."""
        while True:
            with self._lock:
                self._check()
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self.open()
            if connection.is_alive():
                return connection
            connection.close()

    def open(self) -> Connection:
        """A new connection. It connects with its first request."""
        self._check()
        o = self._origin
        proxy = _proxy.find(o.scheme, o.host, o.port)
        via = proxy or o
        if o.scheme == "http":
            made = http.client.HTTPConnection(via.host, via.port)
            if proxy:
                return Connection(made, f"http://{_authority(o)}{o.path}", proxy.authorization())
            return Connection(made, o.path, {})
        secure = http.client.HTTPSConnection(via.host, via.port, context=self._tls)
        if proxy:
            secure.set_tunnel(o.host, o.port, headers=proxy.authorization())
        return Connection(secure, o.path, {})

    def give(self, connection: Connection) -> None:
        """Takes a connection back whose response was read to its end."""
        connection.used = True
        with self._lock:
            if not self._closed and os.getpid() == self._process and len(self._idle) < _IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            self._closed, idle, self._idle = True, self._idle, []
        for connection in idle:
            connection.close()

    def __del__(self) -> None:
        for connection in getattr(self, "_idle", ()):  # a client that was never closed
            connection.close()

    def _check(self) -> None:
        if self._closed:
            raise RuntimeError("the client is closed")
        if os.getpid() != self._process:  # two processes would read each other's responses
            self._idle, self._process = [], os.getpid()


def _authority(origin: Origin) -> str:
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    return host if origin.port == 80 else f"{host}:{origin.port}"


class Exchange:
    """A request and its response. Another thread may abort it."""

    def __init__(self, pool: Pool, limit: Callable[[], Deadline], fresh: bool = False) -> None:
        self._pool, self._limit, self._fresh = pool, limit, fresh
        self._connection: Optional[Connection] = None
        self._aborted = False

    def get(self, target: str, headers: Mapping[str, str], key: Secret) -> http.client.HTTPResponse:
        """The response, of which only the head was read. A connection that the server closed while it was idle is
        replaced by a new one once, without a word: the server has not seen the request."""
        deadline = self._limit()
        try:
            connection = self._use(self._pool.open() if self._fresh else self._pool.take())
            try:
                return connection.get(target, headers, key, deadline)
            except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
                if not connection.used or self._aborted:
                    raise
            connection.close()
            return self._use(self._pool.open()).get(target, headers, key, deadline)
        except (OSError, http.client.HTTPException) as error:
            self.fail()
            raise explain(error, started=False) from _cause(error)
        except BaseException:
            self.fail()
            raise

    def finish(self, response: http.client.HTTPResponse) -> None:
        """Keeps the connection for the next request, if the server does."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if response.isclosed() and not response.will_close and not self._aborted:
            self._pool.give(connection)
        else:
            response.close()
            connection.close()

    def fail(self) -> None:
        """Ends the connection: what it would send next is unknown."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def abort(self) -> None:
        self._aborted = True
        connection = self._connection
        if connection is not None:
            connection.abort()

    def _use(self, connection: Connection) -> Connection:
        self._connection = connection
        if self._aborted:
            raise ConnectionAbortedError("the request was canceled")
        return connection


def explain(error: BaseException, *, started: bool) -> AssayError:
    """The error for a connection that failed, before the response started or within it. Only before, and not if the
    server's certificate is wrong, may the request be repeated."""

    def make(kind: str, message: str) -> AssayError:
        return AssayError(kind, message) if started else before_response(kind, message)

    if isinstance(error, ssl.SSLCertVerificationError):
        return AssayError("connection", f"The certificate of the server is not valid: {error.verify_message}")
    if isinstance(error, (socket.timeout, TimeoutError)):
        return make("timeout", f"The server did not {'complete its response' if started else 'respond'} in time.")
    if isinstance(error, http.client.RemoteDisconnected) or not isinstance(error, http.client.HTTPException):
        return make("connection", f"The connection failed: {_text.plain(_reason(error), 200)}")
    if isinstance(error, http.client.IncompleteRead):
        return AssayError("connection", "The connection ended within the response.")
    return AssayError("protocol", f"The response is not HTTP as this client understands it: {type(error).__name__}")


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return str(error.strerror)
    return str(error) or type(error).__name__


def _cause(error: BaseException) -> Optional[BaseException]:
    """The error of the system is worth showing, one that quotes what the server has sent is not."""
    return error if isinstance(error, OSError) else None

