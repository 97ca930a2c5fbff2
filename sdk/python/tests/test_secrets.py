"""The key is sent to the server and shown to no one. Settings that are wrong are refused before anything is sent."""

from __future__ import annotations

import asyncio
import copy
import gc
import http.client
import json
import pickle
import pprint
import traceback
from typing import Any, Callable, List

import pytest

from assay import AssayError, AsyncClient, Cache, Client
from conftest import PRICE, Serve, response

KEY = "sk_live_4fQz8K_hunter2"


def async_client(url: str) -> Any:
    return AsyncClient(url, key=KEY, cache=True)


def client(url: str) -> Any:
    return Client(url, key=KEY, cache=True)


@pytest.mark.parametrize("make", [client, async_client])
def test_nothing_that_shows_a_client_shows_its_key(make: Callable[[str], Any]) -> None:
    made = make("http://127.0.0.1:1")
    shown = [repr(made), str(made), f"{made}", pprint.pformat(vars(made)), json.dumps(vars(made), default=repr)]
    shown += [json.dumps(vars(made._session), default=str)]
    shown += [repr(made._session.key), str(made._session.key), format(made._session.key)]
    assert repr(made) == f"{type(made).__name__}('http://127.0.0.1:1', with a key)"
    for text in shown:
        assert "hunter2" not in text and "4fQz8K" not in text
    copies: List[Callable[[Any], Any]] = [pickle.dumps, copy.copy, copy.deepcopy]
    for each in (made, made._session.key):
        for make_copy in copies:
            with pytest.raises(TypeError, match="cannot be pickled"):
                make_copy(each)


def test_no_error_shows_the_key(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http.client.HTTPConnection, "debuglevel", 9)
    refusal = response(401, {"error": "Unauthorized", "message": "Invalid API key", "code": "invalid_key"})
    replies = [refusal, response(302, Location="/"), response(200, b"x", "text/html"), b"nonsense\r\n\r\n"]
    shown = ""
    with Client(serve(*replies).url, key=KEY, retries=0) as client:
        for _ in range(5):  # the last one has no reply
            try:
                client.gpu_price("H100 SXM")
            except AssayError as error:
                shown += repr(error) + str(error) + repr(vars(error))
                shown += "".join(traceback.format_exception(None, error, error.__traceback__))
                frame = error.__traceback__
                while frame is not None:  # what error reporters send home
                    shown += repr(frame.tb_frame.f_locals) if "assay" in frame.tb_frame.f_code.co_filename else ""
                    frame = frame.tb_next
    assert "invalid_key" in shown
    assert "hunter2" not in shown


def test_debugging_of_http_does_not_print_the_key(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(http.client.HTTPConnection, "debuglevel", 9)
    with Client(serve(PRICE).url, key=KEY) as client:
        client.gpu_price("H100 SXM")
    captured = capsys.readouterr()
    assert "hunter2" not in captured.out + captured.err


def test_the_cache_holds_no_key(serve: Serve) -> None:
    cache = Cache()
    tagged = PRICE.replace(b"\r\n\r\n", b'\r\nETag: "v1"\r\n\r\n', 1)
    with Client(serve(tagged).url, key=KEY, cache=cache) as client:
        client.gpu_price("H100 SXM")
    assert cache._stored and "hunter2" not in repr(vars(cache))


@pytest.mark.parametrize(
    "key", ["sk_live_hunter2\n", "sk_live_hunter2\r\nX: 1", "sk live hunter2", "sk_hunter2é", "hunter2\0"]
)
def test_a_key_that_is_none_is_refused_without_showing_it(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="the API key contains a space, a line break") as caught:
        Client("http://127.0.0.1:1", key=key)
    assert "hunter2" not in str(caught.value)
    if "\0" not in key:  # no environment can hold it
        monkeypatch.setenv("ASSAY_KEY", key)
        with pytest.raises(ValueError, match="the API key contains"):
            AsyncClient("http://127.0.0.1:1")


@pytest.mark.parametrize(
    "url, says",
    [
        ("", "set ASSAY_URL"),
        ("127.0.0.1:8080", "must begin with http:// or https://"),
        ("ftp://assay.example", "must begin with http:// or https://"),
        ("http://", "must begin with http:// or https:// and a host"),
        ("http://me:hunter2@assay.example", "must not contain a name or password"),
        ("http://hunter2@assay.example", "must not contain a name or password"),
        ("http://assay.example?key=hunter2", "must not contain a query or a fragment"),
        ("http://assay.example/#hunter2", "must not contain a query or a fragment"),
        ("http://assay.example/?", "must not contain a query or a fragment"),
        ("http://assay.example:99999", "must be a number from 0 to 65535"),
        ("http://assay.example:http", "must be a number from 0 to 65535"),
        ("http://assay.example/a b", "contains a space"),
        ("http://assay.example\r\nX: 1", "contains a space"),
    ],
)
def test_an_address_that_is_none_is_refused(url: str, says: str) -> None:
    for make in (Client, AsyncClient):
        with pytest.raises(ValueError, match=says) as caught:
            make(url)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "options, says",
    [
        ({"timeout": 0}, "timeout must be more than 0"),
        ({"timeout": float("nan")}, "timeout must be more than 0"),
        ({"retries": -1}, "retries must be a whole number from 0 to 100"),
        ({"retries": 1.5}, "retries must be a whole number from 0 to 100"),
        ({"max_wait": -1}, "max_wait must be from 0"),
        ({"max_bytes": 0}, "max_bytes must be at least 1"),
    ],
)
def test_options_have_bounds(options: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Client("http://127.0.0.1:1", **options)


def test_nothing_is_left_open(serve: Serve) -> None:
    """Sockets that are not closed are warnings here, and warnings are errors."""
    server = serve(PRICE, PRICE, response(404, {"error": "x", "message": "y"}), b"nonsense\r\n\r\n")
    with Client(server.url, retries=0) as client:
        client.gpu_price("H100 SXM")
    with Client(server.url, retries=0) as client:
        client.gpu_price("H100 SXM")
        for _ in range(2):
            with pytest.raises(AssayError):
                client.gpu_price("H100 SXM")

    async def run() -> None:
        async with AsyncClient(server.url, retries=0) as client:
            with pytest.raises(AssayError):
                await client.gpu_price("H100 SXM")

    asyncio.run(run())
    gc.collect()
