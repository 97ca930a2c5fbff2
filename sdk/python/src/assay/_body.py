"""Bodies of responses: read within bounds, decompressed within bounds, and parsed."""

from __future__ import annotations

import http.client
import json
import zlib
from decimal import Decimal
from typing import Any, Dict, List, NoReturn

from .errors import AssayError

_PIECE = 64 << 10


def read(response: http.client.HTTPResponse, most: int) -> bytes:
    """The body as it was sent, of at most that many bytes."""
    pieces: List[bytes] = []
    size = 0
    while True:
        piece = response.read(_PIECE)
        if not piece:
            break
        size += len(piece)
        if size > most:
            raise _too_large(most)
        pieces.append(piece)
    if response.length:  # read with a size reports no end that comes too early
        raise http.client.IncompleteRead(b"")
    return b"".join(pieces)


def decode(body: bytes, encoding: str, most: int) -> bytes:
    """The body as it was before it was compressed. A small one may decompress to more than the memory holds, so that is
    bounded too."""
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise AssayError("protocol", f"The response is encoded as {encoding[:20]!r}, which was not asked for.")
    pieces: List[bytes] = []
    size = 0
    while body:
        stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            piece = stream.decompress(body, most - size + 1)
        except zlib.error:
            raise AssayError("protocol", "The response is not valid gzip.") from None
        size += len(piece)
        if size > most:
            raise _too_large(most)
        if not stream.eof:
            raise AssayError("connection", "The connection ended within the response.")
        pieces.append(piece)
        body = stream.unused_data
    return b"".join(pieces)


def _too_large(most: int) -> AssayError:
    return AssayError(
        "protocol",
        f"The response is larger than {most} bytes: ask for fewer rows, or set max_bytes of the client.",
    )


def parse(text: bytes, media_type: str, decimal: bool) -> Dict[str, Any]:
    """The JSON object of a response. What is something else comes from something else than Assay."""
    if media_type != "application/json":
        message = f"The response is {media_type[:60]!r}, not JSON: is the address that of an Assay server?"
        raise AssayError("protocol", message)
    try:
        value = load(text.decode("utf-8"), decimal)
    except ValueError:
        raise AssayError("protocol", "The response is not valid JSON.") from None
    if not isinstance(value, dict):
        raise AssayError("protocol", "The response is not a JSON object.")
    return value


def load(text: str, decimal: bool) -> Any:
    """The value of a JSON text, or ValueError, also if it is too deep or has numbers that do not fit."""
    try:
        return json.loads(text, parse_float=Decimal if decimal else None, parse_constant=_refuse)
    except (RecursionError, ArithmeticError):
        raise ValueError("too deep, or a number does not fit") from None


def _refuse(word: str) -> NoReturn:
    """Python reads NaN and Infinity, which JSON does not have, and no price is."""
    raise ValueError(word)
