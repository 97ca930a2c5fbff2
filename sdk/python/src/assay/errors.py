"""The one error type of the client, and how a response becomes one."""

from __future__ import annotations

import json
from email.message import Message
from typing import Any, Dict, Mapping, Optional, Tuple

from ._text import plain

#: The kind of each status. ``no_data`` is a 404 too; its code tells it apart.
_KINDS = {
    400: "invalid",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    414: "uri_too_long",
    429: "too_many",
    500: "internal",
    502: "unavailable",  # this one and 504 are of proxies
    503: "unavailable",
    504: "unavailable",
}

#: A longer wait is not a wait: ten digits are three centuries.
_MAX_DIGITS = 10


class AssayError(Exception):
    """A request that failed.

    ``kind`` is one word to decide by. It follows from the response:

    ==================  ======================================================
    invalid             400: fix the request; see ``param`` and ``allowed``
    unauthorized        401: a key is missing, wrong or inactive; see ``code``
    forbidden           403: the plan does not include it
    not_found           404: no such region, route or name
    no_data             404: nothing on file
    method_not_allowed  405
    conflict            409: a cursor is of a history that was replaced
    too_large           413
    uri_too_long        414
    too_many            429: over the rate limit; see ``retry_after``
    internal            500: a fault of the server
    unavailable         503: the server starts, is busy or has no database;
                        502 and 504: a proxy does not reach it
    ==================  ======================================================

    or, without a response of Assay, from what happened:

    ==================  ======================================================
    connection          no connection, or it ended early
    timeout             no complete response in time
    protocol            a response that is not one of Assay's
    ==================  ======================================================

    Later servers may have other kinds.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        status: Optional[int] = None,
        code: str = "",
        request_id: str = "",
        retry_after: Optional[int] = None,
        param: str = "",
        allowed: Tuple[str, ...] = (),
        free_from: str = "",
        details: Optional[Mapping[str, Any]] = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        #: A sentence for people.
        self.message = message
        #: The HTTP status, if there was a response.
        self.status = status
        #: A stable word of the server, finer than ``kind``.
        self.code = code
        #: What to quote in a report.
        self.request_id = request_id
        #: Seconds after which the request may succeed, if the server said so.
        self.retry_after = retry_after
        #: The parameter that is wrong, if it is one.
        self.param = param
        #: The values that ``param`` takes, where they can be listed.
        self.allowed = allowed
        #: The first day that needs no key, when an earlier one was requested.
        self.free_from = free_from
        #: The body of the error as the server sent it.
        self.details: Mapping[str, Any] = details or {}
        #: Whether the same request may be sent again without asking the caller.
        self._may_retry = status in (429, 503)

    def __str__(self) -> str:
        marks = [str(self.status)] if self.status else []
        marks += [self.code] if self.code else []
        marks += ["request " + self.request_id] if self.request_id else []
        return self.message + (f" ({', '.join(marks)})" if marks else "")

    def __reduce__(self) -> Tuple[Any, ...]:
        return _restore, (self.kind, self.message, dict(vars(self)))


def _restore(kind: str, message: str, fields: Dict[str, Any]) -> AssayError:
    error = AssayError(kind, message)
    vars(error).update(fields)
    return error


def before_response(kind: str, message: str) -> AssayError:
    """An error of an attempt that the server has sent nothing for, so that it may be repeated."""
    error = AssayError(kind, message)
    error._may_retry = True
    return error


def from_response(status: int, headers: Message, body: bytes) -> AssayError:
    """The error that a response with a status other than 200 or 304 means."""
    retry_after = _seconds(headers.get("Retry-After", ""))
    if 300 <= status < 400:
        target = plain(headers.get("Location", "nowhere"), 80)
        message = f"The server redirects to {target!r}, which Assay never does: check the address of the server."
        return AssayError("protocol", message, status=status)
    fields = _fields(body)
    if fields is None:
        message = f"HTTP status {status} without the body of an Assay error: a proxy may have sent it."
        return AssayError(_KINDS.get(status, "protocol"), message, status=status, retry_after=retry_after)
    code = _word(fields, "code")
    return AssayError(
        "no_data" if code == "no_data" else _KINDS.get(status, "invalid" if status < 500 else "internal"),
        plain(str(fields["message"]), 1000),
        status=status,
        code=code,
        request_id=_word(fields, "request_id"),
        retry_after=retry_after,
        param=_word(fields, "param"),
        allowed=_words(fields.get("allowed")),
        free_from=_word(fields, "free_from"),
        details=fields,
    )


def _fields(body: bytes) -> Optional[Dict[str, Any]]:
    """The members of an error body, or None if it is not one of ours."""
    try:
        fields = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if isinstance(fields, dict) and isinstance(fields.get("error"), str) and isinstance(fields.get("message"), str):
        return fields
    return None


def _word(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return plain(value, 200) if isinstance(value, str) else ""


def _words(value: Any) -> Tuple[str, ...]:
    return tuple(plain(word, 200) for word in value if isinstance(word, str)) if isinstance(value, list) else ()


def _seconds(text: str) -> Optional[int]:
    """The seconds of a Retry-After header. Assay sends no dates, and what is not a number is no promise."""
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        return None
    return int(text)
