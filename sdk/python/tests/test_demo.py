"""Every method against the real program."""

from __future__ import annotations

import asyncio
import csv
import inspect
import io
import json
import re
import urllib.request
from typing import Any, Callable, Dict, Iterator, List, Set, Tuple
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from assay import AssayError, AsyncClient, Cache, Client, Record, Table, routes
from assay._call import Call, Pages
from conftest import Demo

H100 = "H100 SXM"

#: A request of each method: its arguments, and a column that its rows or its object must have. Those of the first list
#: count under the limit of 60 requests a minute, so each of them is sent once.
PUBLIC: List[Tuple[str, Tuple[Any, ...], Dict[str, Any], str]] = [
    ("gpu_types", (), {}, "gpu_name"),
    ("free_gpu_types", (), {}, "gpu_name"),
    ("regions", (), {}, "region"),
    ("token_types", (), {}, "lab"),
    ("free_token_types", (), {}, "label"),
    ("memory_types", (), {}, "memory_type"),
    ("coding_products", (), {}, "seriesLabels"),
    ("gpu_price", (H100,), {"region": "us-east"}, "index_value"),
    ("gpu_prices", (), {"as_of": "2026-11-01T12:01:00Z"}, "last_updated"),
    ("daily_index", ("H200",), {"date": "2026-10-30"}, "index_value"),
    ("daily_index_all", (), {}, "gpu_type"),
    ("previous_daily_index", (H100,), {}, "index_value"),
    ("index_history", (H100,), {"start_date": "2026-10-01", "granularity": "hourly", "limit": 5}, "timestamp"),
    ("h100_history", (), {"order": "desc", "limit": 3}, "timestamp"),
    ("otpi", (), {"lab": "openai", "start_date": "2026-10-20", "end_date": "2026-10-22"}, "indexPerMtok"),
    ("methodology", (), {}, "text"),
    ("latest_publication", (), {}, "version"),
    ("notices", (), {"limit": 2}, "text"),
]
KEYED: List[Tuple[str, Tuple[Any, ...], Dict[str, Any], str]] = [
    ("health", (), {}, "status"),
    ("nearest_value", (H100, "2026-06-30"), {}, "index_value"),
    ("history_simple", (H100,), {"start_date": "2026-10-01", "limit": 2}, "timestamp"),
    ("history_range", (H100,), {"limit": 2}, "daily_stats"),
    ("hourly_history", (H100,), {"start_date": "2026-10-30", "end_date": "2026-10-30"}, "timestamp"),
    ("realtime", (H100,), {"minutes": 5}, "gpu_hours"),
    ("rolling_average", (H100,), {}, "average_usd_per_hour"),
    ("rolling_average_history", (H100,), {"limit": 2}, "average_usd_per_hour"),
    ("volatility", (H100, "2026-10-01", "2026-10-05"), {"window_days": 10}, "rolling_volatility"),
    ("volume_metrics", (H100,), {"limit": 2, "partial": True}, "utilization_ratio"),
    ("gpu_utilization", (), {}, "avg_7d"),
    ("memory_index", (), {"type": "mem_ddr5_16gb"}, "price"),
    ("memory_history", ("DDR5 16Gb (2Gx8) 4800/5600",), {"limit": 2}, "price"),
    ("coding_index", ("cc-prs",), {}, "value"),
    ("coding_history", ("cc-vs-codex",), {"limit": 2}, "value2"),
    ("workload", (), {"lab": "openai", "family": "all", "window_days": 1, "limit": 2}, "cCents"),
    ("bulk", (), {"dataset": "gpu-daily"}, "sha256"),
    ("determination", (H100,), {"date": "2026-10-30", "revision": 0}, "hash"),
    ("sites", (), {"lat": 38.9, "lng": -77.4, "radius_km": 100, "limit": 2}, "distance_km"),
    ("sites_aggregate", (), {"by": "gpu_type"}, "site_count"),
    ("sites_map", (), {"bbox": [-10, 35, 30, 70]}, "features"),
]

#: What the demo has none of.
EMPTY: List[Tuple[str, Tuple[Any, ...], Dict[str, Any]]] = [
    ("corrections", (), {"gpu_type": H100}),
    ("family_corrections", ("models",), {}),
]


@pytest.fixture(scope="module")
def client(demo: Demo) -> Iterator[Client]:
    with Client(demo.url, key=demo.full) as made:
        yield made


def raw(demo: Demo, target: str) -> Any:
    """A response as another HTTP client reads it."""
    request = urllib.request.Request(demo.url + target, headers={"Authorization": "Bearer " + demo.full})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def content(result: Any) -> Any:
    return result.rows if isinstance(result, Table) else result.data


@pytest.mark.parametrize("name, args, options, column", PUBLIC + KEYED, ids=[each[0] for each in PUBLIC + KEYED])
def test_a_method(client: Client, demo: Demo, name: str, args: Any, options: Any, column: str) -> None:
    result = getattr(client, name)(*args, **options)
    assert isinstance(result, (Table, Record)) and result.meta.synthetic and result.meta.request_id
    rows = result.rows if isinstance(result, Table) else [result.data]
    assert rows and all(column in row for row in rows)
    assert repr(result) and "<table" in result._repr_html_()
    if (name, args, options, column) in KEYED and name != "health":
        body = raw(demo, getattr(routes, name)(*args, **options).target)
        found = body.get("data", body.get("sites"))
        assert content(result) == ([found] if isinstance(result, Table) and isinstance(found, dict) else found)
        assert {**result.envelope, "x": 0} == {**{k: v for k, v in body.items() if k not in ("data", "sites")}, "x": 0}


@pytest.mark.parametrize("name, args, options", EMPTY, ids=[each[0] for each in EMPTY])
def test_a_method_without_rows(client: Client, name: str, args: Any, options: Any) -> None:
    table = getattr(client, name)(*args, **options)
    assert table.rows == [] and table.next and not table.has_more
    assert list(getattr(client, "each_" + name[:-1])(*args, **options)) == []
    assert "reason" in table.to_pandas().columns


def test_the_proofs_of_the_log(client: Client) -> None:
    record = client.determination(H100, date="2026-10-30")
    proof = client.log_inclusion(record.data["hash"])
    assert proof.data["tree_size"] > proof.data["leaf_index"]
    assert client.log_consistency(1, proof.data["tree_size"]).data["hashes"]


def test_a_value_that_is_not_final_has_no_record(client: Client) -> None:
    with pytest.raises(AssayError) as caught:
        client.value_determination("otpi", "openai", "2026-10-30")
    assert caught.value.kind == "no_data"


def test_every_method_has_a_test() -> None:
    tested = {each[0] for each in [*PUBLIC, *KEYED]} | {each[0] for each in EMPTY}
    tested |= {"log_inclusion", "log_consistency", "value_determination"}
    assert {name for name, _ in calls()} == tested


# The description of the API


def calls() -> List[Tuple[str, Callable[..., Call[Any]]]]:
    """The functions of assay.routes that make one request."""
    return [(name, f) for name, f in functions() if str(inspect.signature(f).return_annotation).startswith("Call[")]


def functions() -> List[Tuple[str, Callable[..., Any]]]:
    """The functions of assay.routes that both clients have as methods."""
    found = [(name, f) for name, f in vars(routes).items() if inspect.isfunction(f) and f.__module__ == routes.__name__]
    return [(name, f) for name, f in found if name[0] != "_" and name != "stream_target"]


#: What a client of market data has no methods for: an account's own things, pages of the server, files of the log, and a
#: deprecated name.
LEFT_OUT = (
    r"/api/(session|account|keys|usage|create-api-key|alerts|webhooks|share-links|watchlist|views|day-index|stream|gpu-overview)\b.*"
    r"|/(livez|readyz|openapi\..*|log/.*|api/bulk/.+|mcp|llms.*|docs/.*|s/.*|embed/.*|oembed)"
)

#: Other spellings of gpuType, and what table() sends.
ALIASES = {"gpu", "gpu_name", "format"}


def sample(name: str) -> Any:
    return {"bbox": [1, 2, 3, 4], "partial": True}.get(name, "x")


def described(demo: Demo) -> Dict[str, Set[str]]:
    """The query parameters of every path of the API description."""
    description = raw(demo, "/openapi.json")
    found = {}
    for path, item in description["paths"].items():
        if "get" not in item or re.fullmatch(LEFT_OUT, path):
            continue
        names = set()
        for parameter in item["get"].get("parameters", []):
            while "$ref" in parameter:
                parameter = description["components"]["parameters"][parameter["$ref"].rsplit("/", 1)[1]]
            if parameter["in"] == "query" and parameter["name"] not in ALIASES:
                names.add(parameter["name"])
        # gpu_type is another spelling too, but of sites it is the parameter.
        found[path] = names - {"gpu_type"} if "gpuType" in names else names
    return found


def test_every_route_has_a_method_with_all_its_parameters(demo: Demo) -> None:
    made: Dict[str, Set[str]] = {}
    for _, route in calls():
        call = route(**{name: sample(name) for name in inspect.signature(route).parameters})
        path = unquote(urlsplit(call.target).path)
        made[path] = {name for name, _ in parse_qsl(call.query)}
    wanted = {re.sub(r"\{\w+\}", "x", path): names for path, names in described(demo).items()}
    assert made == wanted


def test_both_clients_have_every_route() -> None:
    assert len(functions()) == len(calls()) + 6
    for name, route in functions():
        for kind in (Client, AsyncClient):
            method = getattr(kind("http://127.0.0.1:1"), name)
            assert method.__doc__ == route.__doc__ and method.__doc__
            assert inspect.signature(method).parameters == inspect.signature(route).parameters, name


def test_the_awaiting_client_gets_the_same(client: Client, demo: Demo) -> None:
    async def run() -> List[Any]:
        async with AsyncClient(demo.url, key=demo.full) as waiting:
            sent = [getattr(waiting, name)(*args, **options) for name, args, options, _ in KEYED]
            return list(await asyncio.gather(*sent))

    for result, (name, args, options, _) in zip(asyncio.run(run()), KEYED):
        if name != "health":
            assert content(result) == content(getattr(client, name)(*args, **options)), name


# More than one response


def test_ranges_join_without_gap_or_repetition(client: Client) -> None:
    whole = client.hourly_history(H100, start_date="2026-09-01", end_date="2026-09-30")
    pieces = list(client.each_hourly_point(H100, start_date="2026-09-01", end_date="2026-09-30", page_size=97))
    assert pieces == whole.rows and len(pieces) > 700
    days = list(client.each_point(H100, start_date="2026-10-25", granularity="auto", page_size=50))
    assert len(days) == len({row["timestamp"] for row in days}) > 150
    assert len(list(client.each_hourly_point(H100))) == 169 or len(list(client.each_hourly_point(H100))) == 168


def test_sites_and_notices_to_the_end(client: Client) -> None:
    first = client.sites(country="us", limit=1)
    sites = list(client.each_site(country="us", page_size=40))
    assert len(sites) == first.envelope["total"] > 40
    notices = list(client.each_notice(page_size=5))
    assert [row["number"] for row in notices] == list(range(len(notices), 0, -1)) and len(notices) > 5


def test_the_awaiting_iterators(demo: Demo) -> None:
    async def run() -> List[Any]:
        async with AsyncClient(demo.url, key=demo.full) as client:
            return [site async for site in client.each_site(country="Norway", page_size=1)]

    assert len(asyncio.run(run())) > 1


# The rest


def test_tables_have_the_rows_of_the_json(client: Client) -> None:
    route = routes.memory_history("mem_ddr5_16gb", limit=10)
    rows = client.memory_history("mem_ddr5_16gb", limit=10).rows
    lines = [json.loads(line) for line in client.table(route, "ndjson").text().splitlines()]
    assert lines == rows
    columns = list(csv.DictReader(io.StringIO(client.table(route).text(), newline="")))
    assert [float(row["price"]) for row in columns] == [row["price"] for row in rows]
    parquet = client.table(route, "parquet")
    assert parquet.content[:4] == parquet.content[-4:] == b"PAR1"
    assert parquet.name.endswith(".parquet")


def test_errors_name_what_is_wrong(demo: Demo, client: Client) -> None:
    with pytest.raises(AssayError) as caught:
        client.history_simple("H100")
    assert (caught.value.kind, caught.value.code, caught.value.status) == ("invalid", "unknown_gpu", 400)
    assert H100 in caught.value.allowed
    for key, kind, code in [("", "unauthorized", "key_required"), (demo.revoked, "unauthorized", "inactive_key")]:
        with Client(demo.url, key=key) as other, pytest.raises(AssayError) as caught:
            other.history_simple(H100)
        assert (caught.value.kind, caught.value.code) == (kind, code)
        assert caught.value.request_id
    with Client(demo.url, key=demo.premium) as premium, pytest.raises(AssayError) as caught:
        premium.hourly_history(H100)
    assert (caught.value.kind, caught.value.code) == ("forbidden", "full_required")
    with Client(demo.url) as free, pytest.raises(AssayError) as caught:
        free.index_history(H100, start_date="2026-01-01")
    assert (caught.value.code, caught.value.free_from) == ("outside_free_window", "2026-08-01")
    with pytest.raises(AssayError) as caught:
        client.family_corrections("..")
    assert caught.value.status in (400, 404)


def test_the_server_confirms_what_the_cache_holds(demo: Demo) -> None:
    cache = Cache()
    with Client(demo.url, key=demo.full, cache=cache) as client:
        first, second = (client.memory_history("mem_ddr5_16gb") for _ in range(2))
    assert first.rows == second.rows and first is not second
    assert "1 of 256 entries" in repr(cache)


def test_the_past_is_as_it_was(client: Client) -> None:
    """The demo publishes its history at once, so that nothing was known before."""
    latest = client.latest_publication().data["version"]
    assert client.coding_index("cc-prs", as_of="2026-11-01T12:01:00.500Z").data["value"] > 0
    with pytest.raises(AssayError) as caught:
        client.latest_publication(as_of="2020-01-01")
    assert latest > 0 and caught.value.kind == "no_data"


def test_pages_are_values() -> None:
    assert isinstance(routes.each_point(H100), Pages)
    assert repr(routes.h100_history(limit=2)) == "Call(path='/api/h100-history', query='limit=2')"
