"""Events from bytes, in pieces of any size."""

from __future__ import annotations

from typing import List

import pytest

from assay._sse import MAX_SIZE, Message, Parser

HELLO = Message("", "hello", '{"a":1}')


def feed(parser: Parser, *pieces: bytes) -> List[Message]:
    return [message for piece in pieces for message in parser.feed(piece)]


STREAM = (
    b"\xef\xbb\xbf: welcome\r\n"
    b"retry: 1500\r\n"
    b'event: hello\r\ndata: {"a":1}\r\n\r\n'
    b"id: 7-1\nevent: hour\ndata: {\ndata:  \"name\": \"\xe2\x82\xac\",\ndata\ndata: \"b\": 2}\n\n"
    b": heartbeat\r\r"
    b"id: 7-2\revent:day\rdata:x\r\r"
    b"unknown: field\r\nno colon\r\n\r\n"
    b"id\ndata: without id\n\n"
    b"data: unfinished\n"
)

EVENTS = [
    HELLO,
    Message("7-1", "hour", '{\n "name": "€",\n\n"b": 2}'),
    Message("7-2", "day", "x"),
    Message("", "message", "without id"),
]


def test_a_whole_stream() -> None:
    parser = Parser()
    assert feed(parser, STREAM) == EVENTS
    assert (parser.retry, parser.last_event_id) == (1.5, "")


def test_a_stream_byte_by_byte() -> None:
    assert feed(Parser(), *[STREAM[i : i + 1] for i in range(len(STREAM))]) == EVENTS


def test_a_stream_cut_in_two_anywhere() -> None:
    for i in range(len(STREAM)):
        assert feed(Parser(), STREAM[:i], STREAM[i:]) == EVENTS, i


@pytest.mark.parametrize(
    "lines, retry, last",
    [
        (b"retry: 2000\n\n", 2.0, "start"),
        (b"retry: -1\n\n", None, "start"),
        (b"retry: 1s\n\n", None, "start"),
        (b"retry: \xd9\xa3\n\n", None, "start"),  # a digit, but not an ASCII one
        (b"retry: " + b"9" * 5000 + b"\n\n", 999_999.999, "start"),
        (b"id: a\0b\n\n", None, "start"),
        (b"id: " + b"x" * 2000 + b"\n\n", None, "start"),
        (b"id: 5\n", None, "start"),  # only the end of the event makes it count
        (b"id: 5\n\n", None, "5"),
        (b"id: \xe2\x82\xac\n\n", None, "€"),
        (b"id\n\n", None, ""),
    ],
)
def test_fields_that_are_kept(lines: bytes, retry: float, last: str) -> None:
    parser = Parser("start")
    assert parser.feed(lines) == []
    assert (parser.retry, parser.last_event_id) == (retry, last)


@pytest.mark.parametrize("size, fits", [(MAX_SIZE, True), (MAX_SIZE + 1, False)])
def test_an_event_has_a_bound(size: int, fits: bool) -> None:
    whole = [b"data:" + b"x" * (size - 5)]
    lines = [b"data:" + b"x" * (size // 4) + b"\n"] * 3 + [b"data:" + b"x" * (size - 3 * (size // 4)) + b"\n"]
    for pieces in (whole, lines):
        parser = Parser()
        if fits:
            assert feed(parser, *pieces) == []
        else:
            with pytest.raises(ValueError, match="more than 1048576 bytes"):
                feed(parser, *pieces)


def test_wrong_utf8_is_replaced() -> None:
    assert feed(Parser(), b"data: a\xff\xe2\x82b\n\n") == [Message("", "message", "a\ufffd\ufffdb")]


def test_pieces_of_a_long_line_are_read_in_time() -> None:
    """A server that sends a long line byte by byte costs as much as one that sends it at once, for each byte."""
    parser, piece = Parser(), b"x" * 16
    for _ in range(MAX_SIZE // 16):
        assert parser.feed(piece) == []


