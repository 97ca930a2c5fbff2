"""What the client that blocks and the one that awaits have in common: how one request is sent once."""

from __future__ import annotations

import http.client
import re
import ssl
from dataclasses import dataclass
from email.message import Message
from typing import Callable, Dict, Optional, Tuple, TypeVar

from . import _body, _connection, _text
from ._cache import Cache, Stored
from ._call import Call
from ._connection import Deadline, Exchange, Pool
from ._retry import Policy
from ._settings import Origin, read_key
from ._version import __version__
from .errors import AssayError, from_response
from .results import Download, Meta

T = TypeVar("T")

USER_AGENT = "assay-python/" + __version__

#: The media types of tables, and their file extensions.
TABLES = {"csv": "text/csv", "ndjson": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}

_JSON = "application/json"

#: More of an error is not read.
_MAX_ERROR = 64 << 10

_ETAG = re.compile(r'"[!#-~]*"')
_FILE_NAME = re.compile(r'filename="([A-Za-z0-9][A-Za-z0-9._-]{0,199})"')


@dataclass(frozen=True)
class Options:
    """The options of a client."""

    timeout: float
    retry: Policy
    cache: Optional[Cache]
    decimal: bool
    max_bytes: int


class Session:
    """A server, a key and the connections to it."""

    def __init__(
        self, base_url: Optional[str], key: Optional[str], options: Options, tls: Optional[ssl.SSLContext]
    ) -> None:
        self.origin, self.key, self.options = Origin(base_url), read_key(key), options
        self.pool = Pool(self.origin, tls)

    def describe(self, name: str) -> str:
        """The client without its key."""
        return f"{name}({self.origin.url!r}, {'with' if self.key else 'without'} a key)"

    def exchange(self) -> Exchange:
        return Exchange(self.pool, lambda: Deadline(self.options.timeout))

    def reads(self, call: Call[T]) -> Callable[[Exchange], T]:
        """What sends a request and reads its result."""

        def attempt(exchange: Exchange) -> T:
            stored, meta = self._send(exchange, call.target, _JSON)
            return call.read(_body.parse(stored.body, stored.media_type, self.options.decimal), meta)

        return attempt

    def table(self, exchange: Exchange, call: Call[object], format: str) -> Download:
        """Sends a request for a table and reads it."""
        wanted = TABLES.get(format)
        if wanted is None:
            raise ValueError(f"{format!r} is no format of tables: use {', '.join(TABLES)}")
        stored, _ = self._send(exchange, call.with_format(format), wanted)
        if stored.media_type != wanted:
            message = f"The server sent {stored.media_type[:60]!r}: this route has no {format} tables."
            raise AssayError("protocol", message)
        return Download(stored.body, stored.name or "assay." + format, wanted)

    def _send(self, exchange: Exchange, target: str, accept: str) -> Tuple[Stored, Meta]:
        cache, url = self.options.cache, self.origin.url + target
        known = cache.get(url, self.key) if cache else None
        headers = {"User-Agent": USER_AGENT, "Accept": accept, "Accept-Encoding": "gzip"}
        if known:
            headers["If-None-Match"] = known.etag
        response = exchange.get(target, headers, self.key)
        try:
            stored = self._read(response, known)
        except (OSError, http.client.HTTPException) as error:
            exchange.fail()
            raise _connection.explain(error, started=True) from None
        except BaseException:
            exchange.fail()
            raise
        exchange.finish(response)
        if cache and stored.etag:
            cache.put(url, self.key, stored)
        return stored, self._meta(response.headers)

    def _read(self, response: http.client.HTTPResponse, known: Optional[Stored]) -> Stored:
        """The response, or the one that is known if it has not changed."""
        if response.status == 304 and known:
            _body.read(response, 0)
            return known
        if response.status != 200:
            raise self.error(response)
        most, headers = self.options.max_bytes, response.headers
        body = _body.decode(_body.read(response, most), headers.get("Content-Encoding", "").lower(), most)
        name = _FILE_NAME.search(headers.get("Content-Disposition", ""))
        etag = headers.get("ETag", "")
        return Stored(
            etag if _ETAG.fullmatch(etag) else "", headers.get_content_type(), name.group(1) if name else "", body
        )

    def error(self, response: http.client.HTTPResponse) -> AssayError:
        """The error of a response. Its body helps, and is not needed."""
        try:
            encoding = response.headers.get("Content-Encoding", "").lower()
            body = _body.decode(_body.read(response, _MAX_ERROR), encoding, _MAX_ERROR)
        except (AssayError, OSError, http.client.HTTPException):
            body = b""
        return from_response(response.status, response.headers, body)

    def _meta(self, headers: Message) -> Meta:
        stale = headers.get("X-Assay-Stale", "")
        return Meta(
            request_id=_text.plain(headers.get("X-Request-Id", ""), 64),
            synthetic=headers.get("X-Assay-Synthetic") == "true",
            stale_seconds=int(stale) if re.fullmatch(r"[0-9]{1,9}", stale) else 0,
            decimal=self.options.decimal,
        )


def stream_headers(last_event_id: str) -> Dict[str, str]:
    headers = {"User-Agent": USER_AGENT, "Accept": "text/event-stream", "Cache-Control": "no-store"}
    if last_event_id:
        headers["Last-Event-ID"] = last_event_id
    return headers
