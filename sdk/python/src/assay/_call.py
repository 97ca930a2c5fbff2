"""Requests as values. A route of the API is a function that returns a :class:`Call`; a client sends it.

So each route is described once, in :mod:`assay.routes`, and the client that blocks and the one that awaits share it.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any, Callable, Dict, Generic, Iterable, Optional, Sequence, Tuple, TypeVar, Union
from urllib.parse import quote, urlencode

from .errors import AssayError
from .results import Meta, Table

T = TypeVar("T")
Row = TypeVar("Row")

#: What a parameter may be: absent, one value, or several.
Value = Union[None, str, int, float, bool, date, Iterable[str], Iterable[float]]


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request that has not been sent, and how its response is read."""

    path: str
    query: str
    read: Callable[[Dict[str, Any], Meta], T] = field(repr=False, compare=False)

    @property
    def target(self) -> str:
        return self.path + ("?" + self.query if self.query else "")

    def with_format(self, name: str) -> str:
        """The target of the same rows in another format."""
        return self.path + "?" + "&".join(filter(None, [self.query, urlencode({"format": name})]))


@dataclass(frozen=True)
class Pages(Generic[Row]):
    """Rows of more than one response: the first request, and how the next one follows from a response."""

    first: Call[Table[Row]]
    following: Callable[[Table[Row]], Optional[Call[Table[Row]]]] = field(repr=False)

    def after(self, call: Call[Table[Row]], table: Table[Row]) -> Optional[Call[Table[Row]]]:
        """The request after a response, or None after the last one."""
        if not table.has_more:
            return None
        try:
            after = self.following(table) if table.rows else None
        except (KeyError, TypeError, ValueError):
            after = None
        if after is None or after == call:
            raise AssayError("protocol", "The server says that there are more rows, but sends none that continue.")
        return after


def path(*segments: str) -> str:
    """The path of these segments, each percent-encoded once. Dots alone are encoded too: a proxy would resolve them."""
    return "".join("/" + _segment(segment) for segment in segments)


def _segment(segment: str) -> str:
    if not isinstance(segment, str):
        raise TypeError(f"a name in a path must be a string, not {type(segment).__name__}")
    if not segment:
        raise ValueError("a name in a path must not be empty")
    return quote(segment, safe="") if segment.strip(".") else segment.replace(".", "%2E")


def query(params: Dict[str, Value]) -> str:
    """The query of the parameters that are present, with spaces as %20."""
    pairs = [(name, text) for name, value in params.items() for text in _texts(value)]
    return urlencode(pairs, quote_via=quote, safe="")


def _texts(value: Value) -> Sequence[str]:
    """A parameter as text, once for each of its values."""
    if value is None:
        return ()
    if isinstance(value, bool):
        return ("true" if value else "false",)
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        return (aware.isoformat(),)
    if isinstance(value, date):
        return (value.isoformat(),)
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (int, float, numbers.Number)):
        return (_number(value),)
    return [text for item in value for text in _texts(item)]


def _number(value: Any) -> str:
    """A number, also one of NumPy, without an exponent: the API takes none."""
    if isinstance(value, numbers.Integral):
        return str(int(value))
    return format(value if isinstance(value, Decimal) else Decimal(repr(float(value))), "f")


def joined(values: Union[None, str, Sequence[float]]) -> Optional[str]:
    """Several numbers in one parameter, separated by commas."""
    if values is None or isinstance(values, str):
        return values
    return ",".join(map(_number, values))
