"""Server-sent events: from bytes, in pieces of any size, to events. As the HTML standard says it."""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional

#: A line or an event that is longer is not one of Assay's.
MAX_SIZE = 1 << 20

#: An id is sent back in a header. A longer one is not one of Assay's, and is ignored.
_MAX_ID = 1024

_LINE_END = re.compile(rb"\r\n|\n|\r")


class Message(NamedTuple):
    """An event as it was received."""

    id: str
    event: str
    data: str


class Parser:
    """Reads a stream of events. ``last_event_id`` and ``retry`` (seconds) are what the stream has said last."""

    def __init__(self, last_event_id: str = "") -> None:
        self.last_event_id = last_event_id
        self.retry: Optional[float] = None
        self._line = bytearray()  # the line that has not ended yet
        self._after_return = False  # a line feed that comes next belongs to the line end before
        self._first = True
        self._id = last_event_id
        self._event = ""
        self._data: List[str] = []
        self._size = 0

    def feed(self, piece: bytes) -> List[Message]:
        """The events that end within the next piece of the stream, or ValueError if it is no stream of events."""
        messages = []
        start = 0
        if self._after_return and piece:
            start = 1 if piece.startswith(b"\n") else 0
            self._after_return = False
        for end in _LINE_END.finditer(piece, start):
            self._line += piece[start : end.start()]
            start = end.end()
            message = self._end_line()
            if message is not None:
                messages.append(message)
        self._after_return = piece.endswith(b"\r")
        self._line += piece[start:]
        self._check(len(self._line))
        return messages

    def _end_line(self) -> Optional[Message]:
        self._check(len(self._line))
        line = self._line.decode("utf-8", "replace")
        self._line.clear()
        if self._first:
            line = line[1:] if line.startswith("\ufeff") else line
            self._first = False
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        self._field(name, value[1:] if value.startswith(" ") else value)
        return None

    def _field(self, name: str, value: str) -> None:
        """Takes a field. One without a name is a comment, and a name that is not known is ignored."""
        if name == "event":
            self._event = value
        elif name == "data":
            self._size += len(value)
            self._check(self._size)
            self._data.append(value)
        elif name == "id" and "\0" not in value and len(value) <= _MAX_ID:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry = int(value[:9]) / 1000

    def _dispatch(self) -> Optional[Message]:
        self.last_event_id = self._id
        event, data = self._event or "message", self._data
        self._event, self._data, self._size = "", [], 0
        return Message(self.last_event_id, event, "\n".join(data)) if data else None

    def _check(self, size: int) -> None:
        if size > MAX_SIZE:
            raise ValueError(f"an event of more than {MAX_SIZE} bytes")
