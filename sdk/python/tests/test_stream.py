"""Following the stream, with servers that speak its contract and servers that do not."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from typing import Any, Callable, List

import pytest

from assay import AssayError, AsyncClient, Client, Event
from conftest import Reply, Serve, header, response

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"


def sse(name: str, data: Any, id: str = "") -> bytes:
    return (f"id: {id}\n" if id else "").encode() + f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def stream(*pieces: bytes, chunked: bool = False, stay: bool = False) -> Reply:
    """A response with these pieces of a stream. It ends after them, or stays open until the client leaves."""

    def send(connection: socket.socket) -> None:
        connection.sendall(HEAD + (b"Transfer-Encoding: chunked\r\n\r\n" if chunked else b"\r\n"))
        for piece in pieces:
            connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        if stay:
            connection.recv(1)

    return send


HELLO = sse("hello", {"success": True, "access": "full", "version": 7, "heartbeat_seconds": 15})
HOUR = sse("hour", {"gpu_type": "H100 SXM", "index_value": 1.9}, "7-1")
DAY = sse("day", {"gpu_type": "H100 SXM", "index_value": 2.0}, "7-2")


def bye(reason: str) -> bytes:
    return sse("bye", {"reason": reason, "message": f"because of {reason}"})


@pytest.mark.parametrize("chunked", [False, True])
def test_events_arrive_as_they_are_sent(serve: Serve, chunked: bool) -> None:
    server = serve(stream(HELLO, b": heartbeat\n\n", HOUR[:30], HOUR[30:], DAY, chunked=chunked, stay=True))
    with Client(server.url, key="sk_live_secret") as client:
        with client.stream(event=["hour", "day"], gpu="H100 SXM", region="global") as events:
            assert next(events) == Event("7-1", "hour", {"gpu_type": "H100 SXM", "index_value": 1.9})
            assert next(events).id == "7-2"
            assert events.hello["access"] == "full"
    request = server.requests[0]
    assert request.startswith("GET /api/stream?event=hour&event=day&gpu=H100%20SXM&region=global HTTP/1.1\r\n")
    assert header(request, "Accept") == "text/event-stream"
    assert header(request, "Authorization") == "Bearer sk_live_secret"
    assert header(request, "Last-Event-ID") is None


def test_reconnects_and_continues(serve: Serve) -> None:
    server = serve(
        stream(HELLO, HOUR),
        response(503, {"error": "Service unavailable", "message": "Starting."}, Retry_After="5"),
        stream(HELLO, DAY, bye("shutdown")),
        stream(b"retry: 0\n\n", sse("gap", {"reason": "too old", "catch_up": "/api/corrections"}, "9-1"), stay=True),
    )
    waits: List[float] = []
    with Client(server.url, sleep=waits.append) as client, client.stream(last_event_id="6-9") as events:
        assert [next(events).event for _ in range(3)] == ["hour", "day", "gap"]
    assert [header(request, "Last-Event-ID") for request in server.requests] == ["6-9", "7-1", "7-1", "7-2"]
    assert waits[1] == 5 and 0 <= waits[0] <= 1 and 0 <= waits[2] <= 1


def test_a_retry_time_of_the_server_counts(serve: Serve) -> None:
    server = serve(stream(b"retry: 20000\n\n", HOUR), stream(HOUR), stream(DAY, stay=True))
    waits: List[float] = []
    with Client(server.url, sleep=waits.append) as client, client.stream() as events:
        assert [next(events).event for _ in range(3)] == ["hour", "hour", "day"]
    assert len(waits) == 2 and all(0 <= wait <= 20 for wait in waits)


def test_waits_grow_while_nothing_arrives(serve: Serve) -> None:
    server = serve(*[stream(HELLO)] * 8, stream(HOUR, stay=True))
    waits: List[float] = []
    with Client(server.url, sleep=waits.append) as client, client.stream() as events:
        next(events)
    assert len(waits) == 8
    assert all(wait <= min(30, 2**i) for i, wait in enumerate(waits))


def test_a_revoked_key_ends_it(serve: Serve) -> None:
    server = serve(stream(HELLO, HOUR, bye("key_revoked")))
    with Client(server.url) as client, client.stream() as events:
        assert next(events).event == "hour"
        with pytest.raises(AssayError, match="because of key_revoked") as caught:
            next(events)
        assert list(events) == []
    assert (caught.value.kind, caught.value.code) == ("unauthorized", "key_revoked")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "status, kind", [(400, "invalid"), (401, "unauthorized"), (403, "forbidden"), (404, "not_found")]
)
def test_what_will_not_change_ends_it(serve: Serve, status: int, kind: str) -> None:
    refusal = response(status, {"error": "No", "message": "No.", "code": "no", "request_id": "r"})
    server = serve(stream(HELLO, HOUR), refusal)
    with Client(server.url, sleep=lambda seconds: None) as client, client.stream() as events:
        next(events)
        with pytest.raises(AssayError) as caught:
            next(events)
    assert (caught.value.kind, len(server.requests)) == (kind, 2)


def test_a_server_that_was_never_reached_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    waits: List[float] = []
    with Client(f"http://127.0.0.1:{port}", retries=2, sleep=waits.append) as client, client.stream() as events:
        with pytest.raises(AssayError) as caught:
            next(events)
    assert (caught.value.kind, len(waits)) == ("connection", 2)


def test_a_stream_begins_in_time(serve: Serve) -> None:
    """The silence that is allowed within a stream is longer than what its beginning may take."""
    server = serve(lambda connection: connection.recv(1) and None, stream(HOUR, stay=True))
    started = time.monotonic()
    with Client(server.url, timeout=0.1, sleep=lambda seconds: None) as client, client.stream() as events:
        assert next(events).event == "hour"
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    "reply, says",
    [
        (response(200, {"success": True}), "no stream of events"),
        (stream(b"data: hello\n\n"), "not a JSON object"),
        (stream(b"data: [1]\n\n"), "not a JSON object"),
        (stream(b"data: " + b"[" * 100_000 + b"\n\n"), "not a JSON object"),
        (stream(b"x" * 2_000_000), "more than 1048576 bytes"),
    ],
    ids=["json", "text", "array", "deep", "endless"],
)
def test_what_is_no_stream_ends_it(serve: Serve, reply: Reply, says: str) -> None:
    with Client(serve(reply).url) as client, client.stream() as events:
        with pytest.raises(AssayError, match=says) as caught:
            next(events)
    assert caught.value.kind == "protocol"


def test_silence_is_noticed(serve: Serve) -> None:
    quick = sse("hello", {"heartbeat_seconds": 0.01})
    server = serve(stream(quick, stay=True), stream(HOUR, stay=True))
    started = time.monotonic()
    with Client(server.url, sleep=lambda seconds: None) as client, client.stream() as events:
        assert next(events).event == "hour"
    assert time.monotonic() - started < 20  # a minute without the heartbeats


def test_a_stream_that_was_connected_waits_as_long_as_it_takes(serve: Serve) -> None:
    page = response(502, b"<html>Bad gateway</html>", "text/html")
    limited = response(429, {"error": "x", "message": "Too many."}, Retry_After="900")
    server = serve(stream(HELLO, HOUR), *[page] * 5, limited, stream(DAY, stay=True))
    waits: List[float] = []
    with Client(server.url, sleep=waits.append, retries=0) as client, client.stream() as events:
        assert [next(events).event for _ in range(2)] == ["hour", "day"]
    assert len(waits) == 7 and waits[-1] == 900


@pytest.mark.parametrize("heartbeat", [-1, 0, 1e9, "15", None, True])
def test_a_strange_heartbeat_is_ignored(serve: Serve, heartbeat: object) -> None:
    server = serve(stream(sse("hello", {"heartbeat_seconds": heartbeat}), HOUR, stay=True))
    with Client(server.url) as client, client.stream() as events:
        assert next(events).event == "hour"


def test_events_that_are_not_known_are_handed_on(serve: Serve) -> None:
    server = serve(stream(sse("eclipse", {"of": "the sun"}, "8-1"), stay=True))
    with Client(server.url) as client, client.stream() as events:
        assert next(events) == Event("8-1", "eclipse", {"of": "the sun"})


def in_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.mark.parametrize("chunked", [False, True])
def test_another_thread_ends_it(serve: Serve, chunked: bool) -> None:
    received = threading.Event()

    def then_close() -> None:
        received.wait(10)
        events.close()

    server = serve(stream(HELLO, HOUR, chunked=chunked, stay=True))
    with Client(server.url) as client:
        events = client.stream()
        closer = in_thread(then_close)
        for event in events:
            assert event.event == "hour"
            received.set()
        closer.join(10)


def test_closing_ends_a_wait(serve: Serve) -> None:
    """Without a test's own sleep: the stream waits to reconnect, for up to 30 seconds."""
    server = serve(stream(b"retry: 30000\n\n", HOUR))
    with Client(server.url) as client:
        events = client.stream()
        next(events)
        closer = in_thread(events.close)
        assert list(events) == []
        closer.join(10)


# Awaiting


def test_the_awaiting_client_follows(serve: Serve) -> None:
    server = serve(stream(b"retry: 0\n\n", HELLO, HOUR), stream(HELLO, DAY, bye("key_revoked")))

    async def run() -> List[str]:
        seen: List[str] = []
        async with AsyncClient(server.url) as client, client.stream() as events:
            with pytest.raises(AssayError, match="key_revoked"):
                async for event in events:
                    seen.append(event.event)
        return seen

    assert asyncio.run(run()) == ["hour", "day"]
    assert header(server.requests[1], "Last-Event-ID") == "7-1"


def test_canceling_ends_the_stream(serve: Serve) -> None:
    gone = threading.Event()

    def open_stream(connection: socket.socket) -> None:
        connection.sendall(HEAD + b"\r\n" + HELLO + HOUR)
        connection.recv(1)
        gone.set()

    server = serve(open_stream)

    async def run() -> None:
        async with AsyncClient(server.url) as client:
            events = client.stream()
            assert (await events.__anext__()).event == "hour"
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(events.__anext__(), 0.1)
            assert await asyncio.get_running_loop().run_in_executor(None, gone.wait, 10)

    asyncio.run(run())


def test_many_streams_do_not_block_requests(serve: Serve) -> None:
    count = 40
    server = serve(*[stream(HELLO, HOUR, stay=True)] * count)

    async def run() -> None:
        async with AsyncClient(server.url) as client:
            streams = [client.stream() for _ in range(count)]
            await asyncio.gather(*[each.__anext__() for each in streams])
            waiting = [asyncio.create_task(each.__anext__()) for each in streams]
            server.add(response(200, {"data": {"index_value": 1}}))
            assert (await client.gpu_price("H100 SXM")).data["index_value"] == 1
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(run())
