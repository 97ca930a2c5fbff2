"""Following the stream: what blocks in it, for both clients.

A :class:`Follower` hands out one event after the other, for as long as the stream may be read. It reconnects with the
id of the last event, so that none is missing and none comes twice. It ends with an error when trying again cannot help:
the key was revoked, is wrong or may not read the stream, or no connection was possible at all.
"""

from __future__ import annotations

import http.client
import threading
from collections import deque
from decimal import Decimal
from typing import Any, Callable, Deque, Dict, NamedTuple, Optional

from . import _body, _connection, _text
from ._connection import Deadline, Exchange, Idle
from ._retry import backoff
from ._session import Session, stream_headers
from ._sse import Message, Parser
from .errors import AssayError

#: The first wait before it reconnects is at most that long, in seconds, unless the server says another time; then the
#: least and the most that the server may say. Later waits grow to the most.
_RETRY, _LEAST_RETRY, _MOST_RETRY = 1.0, 0.1, 30.0

#: A server that asks to wait longer than an hour is asked again after an hour.
_MOST_WAIT = 3600

#: That many heartbeats may be missing. Before the server has said how often they come, a minute of silence is too long.
_HEARTBEATS, _SILENCE = 3, 60.0

#: Errors after which the stream is tried again. A later server may have other kinds: they are final.
_PASSING = {"connection", "timeout", "too_many", "unavailable", "internal"}


class Event(NamedTuple):
    """An event of the stream."""

    #: What to continue from, as ``last_event_id``.
    id: str
    #: ``print``, ``hour``, ``day``, ``price``, ``correction``, ``observation``, ``notice``, or ``gap``: what follows
    #: does not continue what was received, so that everything shown must be loaded again. A newer server may have
    #: others.
    event: str
    data: Dict[str, Any]


class Follower:
    """Follows the stream, blocking. Only ``close`` may be called by another thread."""

    def __init__(
        self, session: Session, target: str, last_event_id: Optional[str], sleep: Optional[Callable[[float], None]]
    ) -> None:
        self._session, self._target = session, target
        self._closed = threading.Event()
        self._sleep = sleep or self._wait
        self._parser = Parser(last_event_id or "")
        self._ready: Deque[Message] = deque()
        self._exchange: Optional[Exchange] = None
        self._response: Optional[http.client.HTTPResponse] = None
        self._silence = Idle(_SILENCE)
        self._failures = 0
        self._connected = False
        self.hello: Dict[str, Any] = {}

    def next(self) -> Optional[Event]:
        """The next event, or None when the stream was closed here."""
        while not self._closed.is_set():
            try:
                if self._response is None:
                    self._connect()
                while self._ready:
                    event = self._take(self._ready.popleft())
                    if event is not None:
                        return event
                self._receive()
            except AssayError as error:
                self._disconnect()
                self._pause(error)
        self._disconnect()
        return None

    def close(self) -> None:
        """Ends the stream. A thread that waits in ``next`` returns."""
        self._closed.set()
        exchange = self._exchange
        if exchange is not None:
            exchange.abort()

    def release(self) -> None:
        """Closes the connection. ``next`` must not be running."""
        self._disconnect()

    def _connect(self) -> None:
        self._ready.clear()
        self._parser = _continue(self._parser)
        self._exchange = Exchange(self._session.pool, lambda: self._silence, fresh=True)
        if self._closed.is_set():  # before there was an exchange that close could abort
            self._exchange.abort()
        self._silence.opening = Deadline(self._session.options.timeout)
        headers = stream_headers(self._parser.last_event_id)
        self._response = response = self._exchange.get(self._target, headers, self._session.key)
        if response.status != 200:
            raise self._session.error(response)
        if response.headers.get_content_type() != "text/event-stream":
            raise AssayError("protocol", "The server sends no stream of events.")
        self._silence.opening = None
        self._connected = True

    def _receive(self) -> None:
        """Reads what has arrived."""
        assert self._response is not None
        try:
            piece = self._response.read1(64 << 10)
        except (OSError, http.client.HTTPException) as error:
            raise _connection.explain(error, started=True) from None
        if not piece:
            raise AssayError("connection", "The server has ended the stream.")
        try:
            self._ready.extend(self._parser.feed(piece))
        except ValueError as error:
            raise AssayError("protocol", f"The stream has {error}.") from None

    def _take(self, message: Message) -> Optional[Event]:
        """The event of a message, if it is for the caller."""
        event = Event(message.id, message.event, self._parse(message.data))
        if event.event == "hello":
            self.hello = event.data
            self._expect_heartbeats(event.data.get("heartbeat_seconds"))
            return None
        self._failures = 0
        if event.event == "bye":
            raise _bye(event.data)
        return event

    def _parse(self, data: str) -> Dict[str, Any]:
        try:
            value = _body.load(data, self._session.options.decimal)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise AssayError("protocol", "The stream has an event whose data is not a JSON object.")
        return value

    def _expect_heartbeats(self, seconds: Any) -> None:
        if isinstance(seconds, (int, float, Decimal)) and 0 < seconds <= 3600:
            self._silence.seconds = max(_HEARTBEATS * float(seconds), 0.1)

    def _pause(self, error: AssayError) -> None:
        """Waits until the next attempt, or raises an error that is final."""
        if self._closed.is_set():
            return
        self._failures += 1
        if self._is_final(error):
            self._closed.set()
            raise error
        if error.retry_after is not None:
            self._sleep(float(min(error.retry_after, _MOST_WAIT)))
            return
        retry = self._parser.retry
        base = _RETRY if retry is None else min(max(retry, _LEAST_RETRY), _MOST_RETRY)
        self._sleep(backoff(self._failures, base, _MOST_RETRY, self._session.options.retry.chance))

    def _is_final(self, error: AssayError) -> bool:
        """Whether trying again cannot help. A stream that was never connected is given up like any other request."""
        policy = self._session.options.retry
        if error.kind not in _PASSING:
            return True
        return not self._connected and (self._failures > policy.retries or (error.retry_after or 0) > policy.max_wait)

    def _wait(self, seconds: float) -> None:
        self._closed.wait(seconds)

    def _disconnect(self) -> None:
        if self._response is not None:
            self._response.close()
            self._response = None
        if self._exchange is not None:
            self._exchange.fail()


def _continue(before: Parser) -> Parser:
    """A parser for a new connection. The id and the retry time of the one before still count."""
    parser = Parser(before.last_event_id)
    parser.retry = before.retry
    return parser


def _bye(data: Dict[str, Any]) -> AssayError:
    """Why the server has closed the stream. Only a revoked key is final."""
    reason, message = data.get("reason"), data.get("message")
    text = _text.plain(message, 1000) if isinstance(message, str) and message else "The server has closed the stream."
    if reason == "key_revoked":
        return AssayError("unauthorized", text, code="key_revoked")
    return AssayError("connection", text, code=_text.plain(reason, 60) if isinstance(reason, str) else "")
