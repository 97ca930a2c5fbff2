"""Instants and days, as the API sends them and as Python has them."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import NewType, Union

#: An instant as the API sends it: RFC 3339 in UTC with milliseconds, ``2026-02-03T21:00:00.000Z``.
Instant = NewType("Instant", str)

#: A day as the API sends it: ``2026-02-03``.
Day = NewType("Day", str)

#: What parameters of time take: a day, an instant, or either as text. A ``datetime`` without a zone is UTC, as it is
#: everywhere in the API.
Time = Union[str, date, datetime]


def parse_instant(text: str) -> datetime:
    """The instant as a ``datetime`` in UTC."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)


def parse_day(text: str) -> date:
    """The day as a ``date``."""
    return date.fromisoformat(text)
