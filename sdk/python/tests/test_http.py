"""Requests and responses, with servers that are slow, wrong or hostile."""

from __future__ import annotations

import asyncio
import base64
import gzip
import select
import socket
import ssl
import subprocess
import threading
from decimal import Decimal
from pathlib import Path
from typing import Callable, List, Tuple

import pytest

from assay import AssayError, AsyncClient, Cache, Client, Download, routes
from conftest import PRICE, Serve, header, response


def fails(client: Client) -> AssayError:
    """The error of a request."""
    with client, pytest.raises(AssayError) as caught:
        client.gpu_price("H100 SXM")
    return caught.value


def test_sends_what_the_api_expects(serve: Serve) -> None:
    server = serve(PRICE)
    with Client(server.url + "/prices/", key="sk_live_secret") as client:
        price = client.gpu_price("H100 SXM", region="eu-west", as_of="2026-10-01")
    assert price.data["index_value"] == 1.9478
    request = server.requests[0]
    assert request.startswith("GET /prices/api/gpu/H100%20SXM?region=eu-west&as_of=2026-10-01 HTTP/1.1\r\n")
    assert header(request, "Authorization") == "Bearer sk_live_secret"
    assert header(request, "User-Agent") == "assay-python/0.6.0"
    assert header(request, "Accept") == "application/json"
    assert header(request, "Host") == f"127.0.0.1:{server.port}"
    assert request.count("Accept-Encoding") == 1


def test_without_a_key_sends_none(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_KEY", "sk_live_environment")
    server = serve(PRICE, PRICE)
    monkeypatch.setenv("ASSAY_URL", server.url)
    with Client() as client:
        client.gpu_price("H100 SXM")
    with Client(key="") as client:
        client.gpu_price("H100 SXM")
    assert [header(request, "Authorization") for request in server.requests] == ["Bearer sk_live_environment", None]


@pytest.mark.parametrize(
    "name, target",
    [
        ("H100 SXM", "/api/gpu/H100%20SXM"),
        ("RTX 6000 Ada/48", "/api/gpu/RTX%206000%20Ada%2F48"),
        ("..", "/api/gpu/%2E%2E"),
        (".", "/api/gpu/%2E"),
        ("100%25?x#y", "/api/gpu/100%2525%3Fx%23y"),
        ("é\r\nX-Evil: 1", "/api/gpu/%C3%A9%0D%0AX-Evil%3A%201"),
    ],
)
def test_a_name_stays_in_its_segment(serve: Serve, name: str, target: str) -> None:
    server = serve(PRICE)
    with Client(server.url) as client:
        client.gpu_price(name)
    assert server.requests[0].split(" ")[1] == target


def test_an_empty_name_is_refused_here() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        Client("http://127.0.0.1:1").gpu_price("")


def test_connections_are_reused(serve: Serve) -> None:
    server = serve(PRICE, PRICE, PRICE)
    with Client(server.url) as client:
        for _ in range(3):
            client.gpu_price("H100 SXM")
    assert (len(server.requests), server.connections) == (3, 1)


def test_a_connection_that_was_closed_meanwhile_is_replaced(serve: Serve) -> None:
    def close_after_it(connection: socket.socket) -> None:
        connection.sendall(PRICE)

    server = serve(close_after_it, PRICE)
    waits: List[float] = []
    with Client(server.url, sleep=waits.append) as client:
        client.gpu_price("H100 SXM")
        client.gpu_price("H100 SXM")
    assert (server.connections, waits) == (2, [])


def test_a_connection_that_is_closed_on_the_next_request_is_replaced_once(serve: Serve) -> None:
    """The server closes when the second request arrives, which no client can see before."""
    server = serve(PRICE, lambda connection: None, PRICE)
    waits: List[float] = []
    with Client(server.url, sleep=waits.append) as client:
        client.gpu_price("H100 SXM")
        client.gpu_price("H100 SXM")
    assert (server.connections, len(server.requests), waits) == (2, 3, [])


@pytest.mark.parametrize("copies", [1, 100], ids=["in the buffer", "beyond the buffer"])
def test_a_response_that_no_one_asked_for_is_not_taken_for_the_next(serve: Serve, copies: int) -> None:
    forged = PRICE.replace(b"1.9478", b"9.9999")
    server = serve(PRICE + forged * copies, PRICE)
    with Client(server.url) as client:
        client.gpu_price("H100 SXM")
        assert client.gpu_price("H100 SXM").data["index_value"] == 1.9478


# Retries


LIMITED = {"error": "Too many requests", "message": "Rate limit exceeded.", "code": "rate_limited", "request_id": "r1"}


@pytest.mark.parametrize("status, kind", [(429, "too_many"), (503, "unavailable")])
def test_waits_exactly_as_long_as_the_server_says(serve: Serve, status: int, kind: str) -> None:
    server = serve(response(status, LIMITED, Retry_After="17"), response(status, LIMITED, Retry_After="0"), PRICE)
    waits: List[float] = []
    with Client(server.url, sleep=waits.append) as client:
        client.gpu_price("H100 SXM")
    assert waits == [17, 0]


def test_waits_longer_and_longer_without_a_time(serve: Serve) -> None:
    server = serve(*[response(503, LIMITED)] * 4)
    waits: List[float] = []
    error = fails(Client(server.url, sleep=waits.append))
    assert (error.kind, error.retry_after, len(server.requests)) == ("unavailable", None, 4)
    assert len(waits) == 3
    assert all(0 <= wait <= most for wait, most in zip(waits, [0.5, 1, 2]))


@pytest.mark.parametrize("retry_after", ["61", "9" * 30, "86400"])
def test_does_not_wait_longer_than_max_wait(serve: Serve, retry_after: str) -> None:
    server = serve(response(429, LIMITED, Retry_After=retry_after), *[PRICE] * 3)
    waits: List[float] = []
    if len(retry_after) > 10:  # no number of seconds: like none
        with Client(server.url, sleep=waits.append) as client:
            client.gpu_price("H100 SXM")
        assert len(waits) == 1 and waits[0] <= 0.5
        return
    error = fails(Client(server.url, sleep=waits.append))
    assert (error.kind, error.retry_after, waits) == ("too_many", int(retry_after), [])


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 414, 500, 502])
def test_repeats_nothing_else(serve: Serve, status: int) -> None:
    server = serve(response(status, LIMITED, Retry_After="1"))
    waits: List[float] = []
    assert fails(Client(server.url, sleep=waits.append)).status == status
    assert waits == []


def test_repeats_when_no_connection_is_possible() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    waits: List[float] = []
    error = fails(Client(f"http://127.0.0.1:{port}", retries=2, sleep=waits.append))
    assert (error.kind, error.status, len(waits)) == ("connection", None, 2)
    assert "refused" in str(error)


def test_repeats_when_the_server_closes_before_it_responds(serve: Serve) -> None:
    server = serve(lambda connection: None, PRICE)
    waits: List[float] = []
    with Client(server.url, sleep=waits.append) as client:
        client.gpu_price("H100 SXM")
    assert len(waits) == 1


def test_does_not_repeat_a_response_that_breaks_off(serve: Serve) -> None:
    server = serve(lambda connection: connection.sendall(PRICE[:-10]), PRICE)
    error = fails(Client(server.url))
    assert (error.kind, len(server.requests)) == ("connection", 1)
    assert "ended within the response" in str(error)


def test_the_awaiting_client_waits_the_same(serve: Serve) -> None:
    server = serve(response(429, LIMITED, Retry_After="17"), lambda connection: None, PRICE)
    waits: List[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def run() -> None:
        async with AsyncClient(server.url, sleep=sleep) as client:
            assert (await client.gpu_price("H100 SXM")).data["index_value"] == 1.9478

    asyncio.run(run())
    assert waits[0] == 17 and len(waits) == 2


# Time


def drip(connection: socket.socket) -> None:
    """Sends a header that never ends, often enough for any limit on a single read, until the client leaves."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    for _ in range(1000):
        if select.select([connection], [], [], 0.01)[0]:
            return
        connection.sendall(b"x")


def drip_body(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n")
    drip(connection)


def silent(connection: socket.socket) -> None:
    select.select([connection], [], [], 10)


@pytest.mark.parametrize("reply", [drip, drip_body, silent])
def test_an_attempt_ends_in_time(serve: Serve, reply: Callable[[socket.socket], None]) -> None:
    server = serve(reply)
    assert fails(Client(server.url, timeout=0.2, retries=0)).kind == "timeout"


def test_canceling_closes_the_connection(serve: Serve) -> None:
    gone = threading.Event()

    def wait_for_the_end(connection: socket.socket) -> None:
        if connection.recv(1) == b"":
            gone.set()

    server = serve(wait_for_the_end)

    async def run() -> None:
        client = AsyncClient(server.url)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.gpu_price("H100 SXM"), 0.1)
        assert await asyncio.get_running_loop().run_in_executor(None, gone.wait, 10)
        await client.close()

    asyncio.run(run())


# Responses of something else


@pytest.mark.parametrize(
    "reply, says",
    [
        (response(200, b"<html>Sign in</html>", "text/html"), "'text/html', not JSON"),
        (response(200, b'{"success":true,"data":{"a'), "not valid JSON"),
        (response(200, b"[1,2]"), "not a JSON object"),
        (response(200, b'{"data":{"index_value":NaN}}'), "not valid JSON"),
        (response(200, b'{"data":' + b"[" * 100_000), "not valid JSON"),
        (response(200, b'{"data":{"a":' + b"9" * 100_000 + b"}}"), "not valid JSON"),
        (response(200, b'{"success":true}'), "no object of data"),
        (response(200, b'\xff{"data":{}}'), "not valid JSON"),
        (response(200, b"plain text", Content_Encoding="gzip"), "not valid gzip"),
        (response(200, b"x", Content_Encoding="br"), "'br', which was not asked for"),
        (response(301, b"", Location="https://evil.example/?\x1b[2J"), "redirects to 'https://evil.example/?"),
        (response(304), "redirects to 'nowhere'"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", "HTTPException"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "BadStatusLine"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", "LineTooLong"),
    ],
    ids=["page", "truncated", "array", "nan", "deep", "long", "no data", "utf-8", "no gzip", "brotli", "redirect",
         "not modified", "many headers", "no http", "long header"],
)
def test_a_response_that_is_not_ours_is_said_to_be(serve: Serve, reply: bytes, says: str) -> None:
    server = serve(reply)
    error = fails(Client(server.url, retries=0))
    assert error.kind == "protocol"
    assert says in str(error)
    assert "\x1b" not in str(error) and len(str(error)) < 400


@pytest.mark.parametrize(
    "status, kind",
    [
        (400, "invalid"),
        (401, "unauthorized"),
        (502, "unavailable"),
        (503, "unavailable"),
        (204, "protocol"),
        (520, "protocol"),
    ],
)
def test_an_error_of_a_proxy_has_its_status(serve: Serve, status: int, kind: str) -> None:
    server = serve(response(status, b"<html>Bad gateway</html>", "text/html"))
    error = fails(Client(server.url, retries=0))
    assert (error.kind, error.status) == (kind, status)
    assert "without the body of an Assay error" in str(error)
    assert "html" not in str(error)


def test_an_error_shows_nothing_that_moves_the_terminal(serve: Serve) -> None:
    body = {"error": "x", "message": "a\x1b[2Jb\u202ec\n" + "x" * 5000, "code": "\x07", "request_id": 5}
    body["allowed"] = [1, "\x00"]
    error = fails(Client(serve(response(400, body)).url))
    assert str(error).isprintable() and len(str(error)) < 1100
    assert (error.code, error.request_id, error.allowed) == ("\\u0007", "", ("\\u0000",))


def test_an_error_has_what_the_server_said(serve: Serve) -> None:
    body = {
        "error": "Unauthorized",
        "message": "API key required for dates before 2026-08-01.",
        "code": "outside_free_window",
        "request_id": "abc",
        "param": "startDate",
        "allowed": ["x", "y"],
        "free_from": "2026-08-01",
        "later": {"field": 1},
    }
    error = fails(Client(serve(response(401, body)).url))
    assert (error.kind, error.status, error.code) == ("unauthorized", 401, "outside_free_window")
    assert error.request_id == "abc"
    assert (error.param, error.allowed, error.free_from) == ("startDate", ("x", "y"), "2026-08-01")
    assert error.details["later"] == {"field": 1}
    assert str(error) == "API key required for dates before 2026-08-01. (401, outside_free_window, request abc)"


def test_a_small_response_cannot_fill_the_memory(serve: Serve) -> None:
    bomb = gzip.compress(b"0" * 50_000_000)
    server = serve(response(200, bomb, Content_Encoding="gzip"))
    error = fails(Client(server.url, max_bytes=1_000_000))
    assert error.kind == "protocol" and "larger than 1000000 bytes" in str(error)


def test_an_endless_response_is_cut(serve: Serve) -> None:
    def endless(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                connection.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
        except OSError:
            pass

    error = fails(Client(serve(endless).url, max_bytes=1_000_000))
    assert error.kind == "protocol" and "larger than" in str(error)


@pytest.mark.parametrize("cut", [1, 9, 20])
def test_compressed_responses_are_read_whole_or_not_at_all(serve: Serve, cut: int) -> None:
    body = PRICE.split(b"\r\n\r\n", 1)[1]
    packed = gzip.compress(body[:50]) + gzip.compress(body[50:])
    server = serve(*[response(200, each, Content_Encoding="gzip") for each in (packed, packed[:-cut])])
    with Client(server.url) as client:
        assert client.gpu_price("H100 SXM").data["index_value"] == 1.9478
        with pytest.raises(AssayError, match="ended within the response"):
            client.gpu_price("H100 SXM")


def test_unknown_fields_and_words_survive(serve: Serve) -> None:
    body = {"success": True, "access": "platinum", "granularity": "weekly", "later": 1, "has_more": "perhaps",
            "data": [{"timestamp": "2027-01-01T00:00:00.000Z", "index_value": 2, "sentiment": {"mood": "calm"}}]}
    with Client(serve(response(200, body)).url) as client:
        table = client.index_history("H100 SXM")
    assert (table.access, table.granularity, table.has_more) == ("platinum", "weekly", False)
    assert table.envelope["later"] == 1
    assert table[0]["sentiment"] == {"mood": "calm"}  # type: ignore[typeddict-item]
    assert "sentiment_mood" in repr(table) and "calm" in table._repr_html_()


def test_exact_numbers(serve: Serve) -> None:
    price = response(200, b'{"success":true,"data":{"index_value":0.1000}}')
    with Client(serve(price).url, decimal=True) as client:
        value: object = client.gpu_price("H100 SXM").data["index_value"]
    assert value == Decimal("0.1") and isinstance(value, Decimal)


# Cache


def test_the_cache_is_asked_only_for_what_changed(serve: Serve) -> None:
    tagged = PRICE.replace(b"\r\n\r\n", b'\r\nETag: "v1"\r\n\r\n', 1)
    changed = tagged.replace(b"1.9478", b"2.0001").replace(b"v1", b"v2")
    server = serve(tagged, response(304, ETag='"v1"'), changed, PRICE)
    with Client(server.url, cache=True) as client:
        first = client.gpu_price("H100 SXM")
        first.data["index_value"] = 0  # what a caller changes stays with the caller
        assert client.gpu_price("H100 SXM").data["index_value"] == 1.9478
        assert client.gpu_price("H100 SXM").data["index_value"] == 2.0001
        client.gpu_price("H200")
    assert [header(request, "If-None-Match") for request in server.requests] == [None, '"v1"', '"v1"', None]


def test_two_keys_share_no_response(serve: Serve) -> None:
    tagged = PRICE.replace(b"\r\n\r\n", b'\r\nETag: "v1"\r\n\r\n', 1)
    server, shared = serve(tagged, tagged), Cache()
    for key in ("sk_prem_one", "sk_live_two"):
        with Client(server.url, key=key, cache=shared) as client:
            client.gpu_price("H100 SXM")
    assert [header(request, "If-None-Match") for request in server.requests] == [None, None]
    assert "2 of 256 entries" in repr(shared)


def test_the_cache_has_bounds(serve: Serve) -> None:
    tagged = PRICE.replace(b"\r\n\r\n", b'\r\nETag: "v1"\r\n\r\n', 1)
    size = len(PRICE.split(b"\r\n\r\n", 1)[1])
    for cache, names, kept in [
        (Cache(entries=2), "a b c a", [None, None, None, None]),
        (Cache(entries=2), "a b a c a", [None, None, '"v1"', None, '"v1"']),
        (Cache(size=size), "a b a", [None, None, None]),
        (Cache(size=size - 1), "a a", [None, None]),
    ]:
        server = serve(*[tagged] * 5)
        with Client(server.url, cache=cache) as client:
            for name in names.split():
                client.gpu_price(name)
        assert [header(request, "If-None-Match") for request in server.requests] == kept


def test_a_response_too_large_for_the_cache_leaves_the_others(serve: Serve) -> None:
    tagged = PRICE.replace(b"\r\n\r\n", b'\r\nETag: "v1"\r\n\r\n', 1)
    large = response(200, {"data": {"gpu_name": "x" * 1000}}, ETag='"v2"')
    server = serve(tagged, large, tagged)
    with Client(server.url, cache=Cache(size=1000)) as client:
        for name in "aba":
            client.gpu_price(name)
    assert header(server.requests[2], "If-None-Match") == '"v1"'


def test_a_response_that_was_confirmed_stays_longest(serve: Serve) -> None:
    tagged, confirmed = PRICE.replace(b"\r\n\r\n", b'\r\nETag: "v1"\r\n\r\n', 1), response(304)
    server = serve(tagged, tagged, confirmed, tagged, confirmed)
    with Client(server.url, cache=Cache(entries=2)) as client:
        for name in "abaca":
            assert client.gpu_price(name).data["index_value"] == 1.9478


def test_an_etag_that_would_be_another_header_is_not_kept(serve: Serve) -> None:
    folded = PRICE.replace(b"\r\n\r\n", b'\r\nETag: "v1\r\n X-Evil: 1"\r\n\r\n', 1)
    server = serve(folded, PRICE)
    with Client(server.url, cache=True) as client:
        client.gpu_price("H100 SXM")
        client.gpu_price("H100 SXM")
    assert header(server.requests[1], "If-None-Match") is None


# Tables


def test_a_table_is_checked_and_saved(serve: Serve, tmp_path: Path) -> None:
    named = {"Content_Disposition": 'attachment; filename="assay-gpu-h100.csv"'}
    evil = {"Content_Disposition": 'attachment; filename="../../.bashrc"'}
    server = serve(response(200, b"a,b\r\n", "text/csv", **named), response(200, b"", "text/csv", **evil), PRICE)
    with Client(server.url) as client:
        download = client.table(routes.index_history("H100 SXM", limit=3), "csv")
        assert download.text() == "a,b\r\n"
        assert download.save(tmp_path) == str(tmp_path / "assay-gpu-h100.csv")
        assert (tmp_path / "assay-gpu-h100.csv").read_bytes() == b"a,b\r\n"
        assert download.save(tmp_path / "other.csv") == str(tmp_path / "other.csv")
        with pytest.raises(OSError):
            download.save(tmp_path / "missing" / "other.csv")
        (tmp_path / "folder").mkdir()
        with pytest.raises(OSError):
            Download(b"x", "..", "text/csv").save(tmp_path / "folder")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["assay-gpu-h100.csv", "folder", "other.csv"]
        assert list((tmp_path / "folder").iterdir()) == []
        assert client.table(routes.gpu_types()).name == "assay.csv"
        with pytest.raises(AssayError, match="this route has no parquet tables"):
            client.table(routes.latest_publication(), "parquet")
        with pytest.raises(ValueError, match="'xlsx' is no format of tables: use csv, ndjson, parquet"):
            client.table(routes.gpu_types(), "xlsx")  # type: ignore[arg-type]
    assert server.requests[0].split(" ")[1] == "/api/gpu/H100%20SXM/index-history?limit=3&format=csv"


# Paging


def points(*times: str, more: bool, granularity: str = "hourly") -> bytes:
    rows = [{"timestamp": f"2026-01-01T{each}.000Z", "index_value": 1.5} for each in times]
    return response(200, {"success": True, "granularity": granularity, "has_more": more, "data": rows})


def test_ranges_continue_after_the_last_row_in_the_same_grain(serve: Serve) -> None:
    server = serve(points("01:00:00", "02:00:00", more=True), points("03:00:00", more=False, granularity="hourly"))
    with Client(server.url) as client:
        rows = list(client.each_point("H100 SXM", granularity="auto", end_date="2026-02-01", page_size=2))
    assert [row["timestamp"][11:13] for row in rows] == ["01", "02", "03"]
    assert server.requests[1].split(" ")[1] == (
        "/api/gpu/H100%20SXM/index-history?startDate=2026-01-01T02%3A00%3A00.001000%2B00%3A00&endDate=2026-02-01"
        "&granularity=hourly&limit=2"
    )


@pytest.mark.parametrize(
    "second",
    [
        points("01:00:00", more=True),
        points("00:30:00", more=True),
        points(more=True),
        response(200, {"has_more": True, "data": [{"index_value": 1}]}),
        response(200, {"has_more": True, "data": [{"timestamp": "tomorrow"}]}),
    ],
    ids=["the same row", "an earlier row", "no rows", "no time", "no instant"],
)
def test_pages_that_do_not_continue_end(serve: Serve, second: bytes) -> None:
    server = serve(points("01:00:00", more=True), second)
    with Client(server.url) as client:
        with pytest.raises(AssayError, match="sends none that continue"):
            list(client.each_hourly_point("H100 SXM"))


def test_a_cursor_that_stays_ends_the_list(serve: Serve) -> None:
    page = response(200, {"has_more": True, "next": "c1", "data": [{}]})
    with Client(serve(page, page).url) as client:
        with pytest.raises(AssayError, match="sends none that continue"):
            list(client.each_correction())


def test_rows_are_requested_as_they_are_used(serve: Serve) -> None:
    server = serve(points("01:00:00", more=True))
    with Client(server.url) as client:
        assert next(client.each_point("H100 SXM"))["index_value"] == 1.5
    assert len(server.requests) == 1


# TLS and proxies


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Tuple[str, str]:
    """A certificate of 127.0.0.1 that no one has signed, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=assay"
    subprocess.run(
        [*command.split(), "-addext", "subjectAltName=IP:127.0.0.1,DNS:assay.example", "-keyout", key, "-out", cert],
        check=True,
        capture_output=True,
    )
    return cert, key


def over_tls(certificate: Tuple[str, str], reply: bytes) -> Callable[[socket.socket], None]:
    """Responds to two requests over TLS, on a connection of which the client has sent nothing yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)

    def respond(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            for _ in range(2):
                secure.recv(65536)
                secure.sendall(reply)

    return respond


def listen(respond: Callable[[socket.socket], None]) -> Tuple[int, threading.Thread]:
    """Accepts one connection and hands it on, whatever becomes of it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with listener:
            connection, _ = listener.accept()
        with connection:
            try:
                respond(connection)
            except OSError:
                pass

    thread = threading.Thread(target=accept)
    thread.start()
    return listener.getsockname()[1], thread


def test_tls(certificate: Tuple[str, str]) -> None:
    port, thread = listen(over_tls(certificate, PRICE))
    context = ssl.create_default_context(cafile=certificate[0])
    with Client(f"https://127.0.0.1:{port}", ssl_context=context) as client:
        assert client.gpu_price("H100 SXM").data["index_value"] == 1.9478
        assert client.gpu_price("H100 SXM").data["index_value"] == 1.9478
    thread.join(10)


def test_a_certificate_that_is_not_valid_is_final(certificate: Tuple[str, str]) -> None:
    port, thread = listen(over_tls(certificate, PRICE))
    waits: List[float] = []
    error = fails(Client(f"https://127.0.0.1:{port}", sleep=waits.append))
    assert (error.kind, waits) == ("connection", [])
    assert "certificate" in str(error)
    thread.join(10)


def test_an_http_proxy_gets_the_whole_address(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve(PRICE)
    monkeypatch.setenv("http_proxy", f"http://me:p%40ss@127.0.0.1:{proxy.port}")
    with Client("http://assay.example/prices") as client:
        client.gpu_price("H100 SXM")
    request = proxy.requests[0]
    assert request.startswith("GET http://assay.example/prices/api/gpu/H100%20SXM HTTP/1.1\r\n")
    assert header(request, "Host") == "assay.example"
    assert header(request, "Proxy-Authorization") == "Basic " + base64.b64encode(b"me:p@ss").decode()


def test_an_https_proxy_sees_neither_key_nor_request(
    certificate: Tuple[str, str], serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tunnel(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        over_tls(certificate, PRICE)(connection)

    proxy = serve(tunnel)
    monkeypatch.setenv("https_proxy", proxy.url)
    context = ssl.create_default_context(cafile=certificate[0])
    with Client("https://assay.example", key="sk_live_secret", ssl_context=context) as client:
        assert client.gpu_price("H100 SXM").data["index_value"] == 1.9478
    assert proxy.requests[0].startswith("CONNECT assay.example:443 ")
    assert "secret" not in proxy.requests[0]


@pytest.mark.parametrize("no_proxy", ["", "assay.example", "*"])
def test_no_proxy(serve: Serve, monkeypatch: pytest.MonkeyPatch, no_proxy: str) -> None:
    server = serve(PRICE)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", no_proxy)
    with Client(server.url) as client:  # on loopback
        client.gpu_price("H100 SXM")


def test_a_client_that_was_closed_sends_nothing(serve: Serve) -> None:
    server = serve()
    client = Client(server.url)
    client.close()
    with pytest.raises(RuntimeError, match="the client is closed"):
        client.gpu_price("H100 SXM")
    assert server.requests == []


def test_threads_share_a_client(serve: Serve) -> None:
    lock = threading.Lock()
    server = serve(*[PRICE] * 40)
    seen: List[str] = []
    with Client(server.url) as client:

        def work() -> None:
            for _ in range(10):
                data = client.gpu_price("H100 SXM").data
                with lock:
                    seen.append(data["gpu_name"])

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert seen == ["H100 SXM"] * 40
    assert server.connections <= 4
