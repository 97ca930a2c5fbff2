"""The routes of the API: one function each, that makes the request without sending it.

A client has a method of the same name and the same arguments for each, which sends it. The functions themselves are for
``table``, which gets the rows of any of them as a file::

    client.table(assay.routes.index_history("H100 SXM"), "parquet").save()

An argument that is None is not sent, so that the server decides. ``as_of`` reads the past: the response is what was
published by then.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Callable, Dict, Iterable, List, Literal, Optional, Sequence, Type, TypeVar, Union, cast

from . import _columns, rows
from ._call import Call, Pages, Value, joined, path, query
from .errors import AssayError
from .results import Meta, Record, Table
from .times import Time, parse_instant

Row = TypeVar("Row")

Granularity = Literal["daily", "hourly", "auto"]
Grain = Literal["daily", "hourly"]
Order = Literal["asc", "desc"]
Scope = Literal["neocloud", "all"]

#: Rows of a response of each_point and each_hourly_point.
_PAGE = 10_000


def _record(segments: Sequence[str], row: Type[Row], **params: Value) -> Call[Record[Row]]:
    """A request for one object."""

    def read(body: Dict[str, Any], meta: Meta) -> Record[Row]:
        data: Any = body.get("data")
        if not isinstance(data, dict):
            raise AssayError("protocol", "The response has no object of data.")
        return Record(cast(Row, data), {name: value for name, value in body.items() if name != "data"}, meta)

    return Call(path(*segments), query(params), read)


def _table(
    segments: Sequence[str], row: Type[Row], index: Optional[str] = None, *, member: str = "data", **params: Value
) -> Call[Table[Row]]:
    """A request for rows. One object instead of an array is one row."""

    def read(body: Dict[str, Any], meta: Meta) -> Table[Row]:
        data = body.get(member)
        found: List[Any] = [data] if isinstance(data, dict) else data if isinstance(data, list) else [None]
        if not all(isinstance(each, dict) for each in found):
            raise AssayError("protocol", "The response has no rows of data.")
        envelope = {name: value for name, value in body.items() if name != member}
        return Table(found, envelope, meta, columns=_columns.of(row), index=index)

    return Call(path(*segments), query(params), read)


# Health and catalogs


def health() -> Call[Record[rows.HealthState]]:
    """The state of the server. While it is not healthy this is an error of the kind ``unavailable``; its ``details``
    have the state."""

    def read(body: Dict[str, Any], meta: Meta) -> Record[rows.HealthState]:
        return Record(cast(rows.HealthState, body), {}, meta)

    return Call(path("health"), "", read)


def gpu_types() -> Call[Table[rows.GpuType]]:
    """The GPU models. Needs no key."""
    return _table(["api", "gpu-types"], rows.GpuType)


def free_gpu_types() -> Call[Table[rows.GpuType]]:
    """The GPU models whose recent daily prices need no key."""
    return _table(["api", "gpu-types-free"], rows.GpuType)


def regions() -> Call[Table[rows.Region]]:
    """The regions that GPU prices are published for."""
    return _table(["api", "regions"], rows.Region)


def token_types() -> Call[Table[rows.TokenType]]:
    """The labs with token prices."""
    return _table(["api", "token-types"], rows.TokenType)


def free_token_types() -> Call[Table[rows.TokenType]]:
    """The labs whose recent token prices need no key."""
    return _table(["api", "token-types-free"], rows.TokenType)


def memory_types() -> Call[Table[rows.MemoryType]]:
    """The types of memory."""
    return _table(["api", "memory-types"], rows.MemoryType)


def coding_products() -> Call[Table[rows.CodingProduct]]:
    """The products of coding tools: a tool and a metric, or a comparison of two tools."""
    return _table(["api", "llm-coding", "products"], rows.CodingProduct)


# GPU prices


def gpu_price(
    gpu_name: str, *, region: Optional[str] = None, as_of: Optional[Time] = None
) -> Call[Record[rows.Price]]:
    """The current price of a GPU model, in USD per GPU-hour. Free models need no key."""
    return _record(["api", "gpu", gpu_name], rows.Price, region=region, as_of=as_of)


def gpu_prices(*, region: Optional[str] = None, as_of: Optional[Time] = None) -> Call[Table[rows.Price]]:
    """The current prices of all GPU models that the caller may see."""
    return _table(["api", "gpu-prices"], rows.Price, region=region, as_of=as_of)


def daily_index(
    gpu_type: Optional[str] = None,
    *,
    date: Optional[Time] = None,
    region: Optional[str] = None,
    as_of: Optional[Time] = None,
) -> Call[Record[rows.DailyValue]]:
    """The value of a GPU model (H100 SXM unless given) on a day, or on the latest one."""
    return _record(["api", "daily-index"], rows.DailyValue, gpuType=gpu_type, date=date, region=region, as_of=as_of)


def daily_index_all(
    *, date: Optional[Time] = None, region: Optional[str] = None, as_of: Optional[Time] = None
) -> Call[Table[rows.DailyValue]]:
    """The values of all GPU models on a day, or on the latest one."""
    return _table(["api", "daily-index", "all"], rows.DailyValue, date=date, region=region, as_of=as_of)


def previous_daily_index(
    gpu_name: str, *, region: Optional[str] = None, as_of: Optional[Time] = None
) -> Call[Record[rows.DailyValue]]:
    """The value of the day before the latest. The envelope has ``latest`` and ``change_pct``."""
    return _record(["api", "daily-index", gpu_name, "previous"], rows.DailyValue, region=region, as_of=as_of)


# GPU history


def index_history(
    gpu_name: str,
    *,
    start_date: Optional[Time] = None,
    end_date: Optional[Time] = None,
    granularity: Optional[Granularity] = None,
    region: Optional[str] = None,
    as_of: Optional[Time] = None,
    order: Optional[Order] = None,
    limit: Optional[int] = None,
) -> Call[Table[rows.Point]]:
    """The values of a GPU model over time, oldest first. Free models need no key for the last three months."""
    return _table(
        ["api", "gpu", gpu_name, "index-history"], rows.Point, "timestamp",
        startDate=start_date, endDate=end_date, granularity=granularity, region=region, as_of=as_of, order=order,
        limit=limit,
    )


def h100_history(
    *,
    start_date: Optional[Time] = None,
    end_date: Optional[Time] = None,
    granularity: Optional[Granularity] = None,
    region: Optional[str] = None,
    as_of: Optional[Time] = None,
    order: Optional[Order] = None,
    limit: Optional[int] = None,
) -> Call[Table[rows.Point]]:
    """The index history of the H100 SXM."""
    return _table(
        ["api", "h100-history"], rows.Point, "timestamp",
        startDate=start_date, endDate=end_date, granularity=granularity, region=region, as_of=as_of, order=order,
        limit=limit,
    )


def nearest_value(
    gpu_name: str, datetime: Time, *, region: Optional[str] = None, as_of: Optional[Time] = None
) -> Call[Record[rows.NearestPoint]]:
    """The value nearest to an instant. The envelope has ``time_difference`` in seconds, and ``is_exact``."""
    return _record(
        ["api", "gpu", gpu_name, "history"], rows.NearestPoint, datetime=datetime, region=region, as_of=as_of
    )


def history_simple(
    gpu_name: str,
    *,
    start_date: Optional[Time] = None,
    end_date: Optional[Time] = None,
    granularity: Optional[Granularity] = None,
    limit: Optional[int] = None,
    region: Optional[str] = None,
    as_of: Optional[Time] = None,
    order: Optional[Order] = None,
) -> Call[Table[rows.Point]]:
    """The values of a GPU model over time, newest first, 100 of them unless given. Needs a key."""
    return _table(
        ["api", "gpu", gpu_name, "history-simple"], rows.Point, "timestamp",
        startDate=start_date, endDate=end_date, granularity=granularity, limit=limit, region=region, as_of=as_of,
        order=order,
    )


def history_range(
    gpu_name: str,
    *,
    start_date: Optional[Time] = None,
    end_date: Optional[Time] = None,
    granularity: Optional[Granularity] = None,
    limit: Optional[int] = None,
    region: Optional[str] = None,
    as_of: Optional[Time] = None,
    order: Optional[Order] = None,
) -> Call[Table[rows.RangePoint]]:
    """The values of a GPU model with statistics of the hours behind each, 100 of them unless given. Needs a key."""
    return _table(
        ["api", "gpu", gpu_name, "history-range"], rows.RangePoint, "exact_timestamp",
        startDate=start_date, endDate=end_date, granularity=granularity, limit=limit, region=region, as_of=as_of,
        order=order,
    )


def hourly_history(
    gpu_name: str,
    *,
    start_date: Optional[Time] = None,
    end_date: Optional[Time] = None,
    limit: Optional[int] = None,
    region: Optional[str] = None,
    as_of: Optional[Time] = None,
    order: Optional[Order] = None,
) -> Call[Table[rows.Point]]:
    """The hourly values of a GPU model, of the last 7 days unless given. Needs a Full key."""
    return _table(
        ["api", "gpu", gpu_name, "hourly"], rows.Point, "timestamp",
        startDate=start_date, endDate=end_date, limit=limit, region=region, as_of=as_of, order=order,
    )


def realtime(
    gpu_name: str,
    *,
    minutes: Optional[int] = None,
    region: Optional[str] = None,
    as_of: Optional[Time] = None,
    order: Optional[Order] = None,
) -> Call[Table[rows.RealtimePrint]]:
    """The index of the last minutes, one row a minute. The envelope has the ``latest``. Needs a Full key."""
    return _table(
        ["api", "gpu", gpu_name, "realtime"], rows.RealtimePrint, "timestamp",
        minutes=minutes, region=region, as_of=as_of, order=order,
    )


def rolling_average(
    gpu_name: str, *, region: Optional[str] = None, as_of: Optional[Time] = None
) -> Call[Record[rows.RollingAverage]]:
    """The mean of the hourly values of the last 24 hours. Needs a Full key."""
    return _record(["api", "gpu", gpu_name, "rolling-24h-average"], rows.RollingAverage, region=region, as_of=as_of)


def rolling_average_history(
    gpu_name: str,
    *,
    start_date: Optional[Time] = None,
    end_date: Optional[Time] = None,
    region: Optional[str] = None,
    as_of: Optional[Time] = None,
    order: Optional[Order] = None,
    limit: Optional[int] = None,
) -> Call[Table[rows.RollingAverage]]:
    """The rolling averages at the daily fixings. Needs a key."""
    return _table(
        ["api", "gpu", gpu_name, "rolling-24h-average", "history"], rows.RollingAverage, "timestamp",
        startDate=start_date, endDate=end_date, region=region, as_of=as_of, order=order, limit=limit,
    )


# Analytics


def volatility(
    gpu_name: str,
    start_date: Time,
    end_date: Time,
    *,
    window_days: Optional[int] = None,
    granularity: Optional[Granularity] = None,
    region: Optional[str] = None,
    as_of: Optional[Time] = None,
    order: Optional[Order] = None,
    limit: Optional[int] = None,
) -> Call[Table[rows.VolatilityPoint]]:
    """The annualized volatility of a GPU model, newest first. Needs a key."""
    return _table(
        ["api", "gpu", gpu_name, "volatility"], rows.VolatilityPoint, "exact_timestamp",
        startDate=start_date, endDate=end_date, windowDays=window_days, granularity=granularity, region=region,
        as_of=as_of, order=order, limit=limit,
    )


def volume_metrics(
    gpu_name: str,
    *,
    start_date: Optional[Time] = None,
    end_date: Optional[Time] = None,
    granularity: Optional[Granularity] = None,
    region: Optional[str] = None,
    as_of: Optional[Time] = None,
    order: Optional[Order] = None,
    limit: Optional[int] = None,
    partial: Optional[bool] = None,
) -> Call[Table[rows.VolumePoint]]:
    """The share of a GPU model's capacity that was rented, newest first. Needs a key."""
    return _table(
        ["api", "gpu", gpu_name, "volume-metrics"], rows.VolumePoint, "recorded_at",
        startDate=start_date, endDate=end_date, granularity=granularity, region=region, as_of=as_of, order=order,
        limit=limit, partial=partial,
    )


def gpu_utilization(*, region: Optional[str] = None, as_of: Optional[Time] = None) -> Call[Table[rows.Utilization]]:
    """The rented share of every GPU model now, and over 7 and 30 days. Needs a key."""
    return _table(["api", "gpu-utilization"], rows.Utilization, region=region, as_of=as_of)


# Memory and coding tools


def memory_index(
    *, type: Optional[str] = None, category: Optional[str] = None, as_of: Optional[Time] = None
) -> Call[Table[rows.MemoryPrice]]:
    """The newest prices of memory: of one type, by id or name, of a category, or of all. Needs a key."""
    return _table(["api", "memory-index"], rows.MemoryPrice, type=type, category=category, as_of=as_of)


def memory_history(
    memory_type: str,
    *,
    start_date: Optional[Time] = None,
    end_date: Optional[Time] = None,
    as_of: Optional[Time] = None,
    order: Optional[Order] = None,
    limit: Optional[int] = None,
) -> Call[Table[rows.MemoryPoint]]:
    """The prices of a type of memory over time, oldest first. Needs a key."""
    return _table(
        ["api", "memory", memory_type, "history"], rows.MemoryPoint, "timestamp",
        startDate=start_date, endDate=end_date, as_of=as_of, order=order, limit=limit,
    )


def coding_index(product: str, *, as_of: Optional[Time] = None) -> Call[Record[rows.CodingValue]]:
    """The newest value of a coding product that compares no tools. Needs a key."""
    return _record(["api", "llm-coding", "index"], rows.CodingValue, product=product, as_of=as_of)


def coding_history(
    product: str,
    *,
    start_date: Optional[Time] = None,
    end_date: Optional[Time] = None,
    as_of: Optional[Time] = None,
    order: Optional[Order] = None,
    limit: Optional[int] = None,
) -> Call[Table[rows.CodingPoint]]:
    """The values of a coding product by day, oldest first. Needs a key."""
    return _table(
        ["api", "llm-coding", "history"], rows.CodingPoint, "date",
        product=product, startDate=start_date, endDate=end_date, as_of=as_of, order=order, limit=limit,
    )


# Tokens


def otpi(
    *,
    lab: Optional[str] = None,
    date: Optional[Time] = None,
    start_date: Optional[Time] = None,
    end_date: Optional[Time] = None,
    as_of: Optional[Time] = None,
    order: Optional[Order] = None,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
) -> Call[Table[rows.TokenPrice]]:
    """Token prices of the labs, in USD per million tokens: of a date, of a range, or of the latest day."""
    return _table(
        ["api", "otpi"], rows.TokenPrice, "date",
        lab=lab, date=date, startDate=start_date, endDate=end_date, as_of=as_of, order=order, limit=limit,
        offset=offset,
    )


def workload(
    *,
    lab: Optional[str] = None,
    family: Optional[str] = None,
    window_days: Optional[Literal[1, 7]] = None,
    start_date: Optional[Time] = None,
    end_date: Optional[Time] = None,
    as_of: Optional[Time] = None,
    order: Optional[Order] = None,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
) -> Call[Table[rows.WorkloadPoint]]:
    """The cost of a request to the labs' models, and why it changed. Needs a key."""
    return _table(
        ["api", "workload"], rows.WorkloadPoint, "date",
        lab=lab, family=family, windowDays=window_days, startDate=start_date, endDate=end_date, as_of=as_of,
        order=order, limit=limit, offset=offset,
    )


# Proof


def determination(
    gpu_name: str,
    *,
    date: Optional[Time] = None,
    timestamp: Optional[Time] = None,
    revision: Optional[int] = None,
    region: Optional[str] = None,
    as_of: Optional[Time] = None,
) -> Call[Record[rows.Determination]]:
    """How a value was determined: of the day ``date``, or of the hour that ends at ``timestamp``. The envelope has
    ``inclusion``, the proof that the log lists the record."""
    return _record(
        ["api", "gpu", gpu_name, "determination"], rows.Determination,
        date=date, timestamp=timestamp, revision=revision, region=region, as_of=as_of,
    )


def value_determination(
    index: str, series: str, date: Time, *, revision: Optional[int] = None, as_of: Optional[Time] = None
) -> Call[Record[rows.ValueDetermination]]:
    """The record of a value of another family, once it is final."""
    return _record(
        ["api", "determinations", index], rows.ValueDetermination,
        series=series, date=date, revision=revision, as_of=as_of,
    )


def corrections(
    *,
    since: Optional[str] = None,
    limit: Optional[int] = None,
    gpu_type: Optional[str] = None,
    region: Optional[str] = None,
    granularity: Optional[Grain] = None,
) -> Call[Table[rows.Correction]]:
    """GPU values that were restated, in the order of publication. Send ``next`` of the response as ``since`` the next
    time."""
    return _table(
        ["api", "corrections"], rows.Correction, "corrected_at",
        since=since, limit=limit, gpuType=gpu_type, region=region, granularity=granularity,
    )


def family_corrections(
    family: str, *, since: Optional[str] = None, limit: Optional[int] = None
) -> Call[Table[rows.FamilyCorrection]]:
    """Rows of a family that were restated: ``memory``, ``models``, ``coding`` or ``utilization``."""
    return _table(["api", "corrections", family], rows.FamilyCorrection, "corrected_at", since=since, limit=limit)


def bulk(*, dataset: Optional[str] = None) -> Call[Table[rows.BulkFile]]:
    """The files of complete months that the key may download; ``url`` is where the server has each."""
    return _table(["api", "bulk"], rows.BulkFile, dataset=dataset)


def methodology(*, version: Optional[str] = None) -> Call[Table[rows.Methodology]]:
    """The rules by which values are determined, in all versions. The envelope has the ``version`` in effect."""
    return _table(["api", "methodology"], rows.Methodology, version=version)


def notices(
    *,
    gpu_type: Optional[str] = None,
    kind: Optional[str] = None,
    before: Optional[int] = None,
    limit: Optional[int] = None,
) -> Call[Table[rows.Notice]]:
    """Notices to readers, newest first."""
    return _table(
        ["api", "notices"], rows.Notice, "published_at", gpuType=gpu_type, kind=kind, before=before, limit=limit
    )


def latest_publication(*, as_of: Optional[Time] = None) -> Call[Record[rows.Publication]]:
    """The newest publication and its signed manifest."""
    return _record(["api", "publications", "latest"], rows.Publication, as_of=as_of)


def log_inclusion(record: str) -> Call[Record[rows.Inclusion]]:
    """The proof that the log lists a record, named by its hash."""
    return _record(["api", "log", "inclusion"], rows.Inclusion, record=record)


def log_consistency(from_: int, to: int) -> Call[Record[rows.Consistency]]:
    """The proof that the log of ``to`` entries continues the one of ``from_`` entries."""
    params: Dict[str, Value] = {"from": from_, "to": to}
    return _record(["api", "log", "consistency"], rows.Consistency, **params)


# Sites


def sites(
    *,
    city: Optional[str] = None,
    lat: Optional[float] = None,
    lng: Optional[float] = None,
    radius_km: Optional[float] = None,
    country: Optional[str] = None,
    gpu_type: Optional[str] = None,
    scope: Optional[Scope] = None,
    limit: Optional[int] = None,
    offset: Optional[int] = None,
    as_of: Optional[Time] = None,
) -> Call[Table[rows.Site]]:
    """Data centers with GPUs in a region: a city, a circle, a country, or several of these. Needs a Full key."""
    return _table(
        ["api", "neocloud", "sites"], rows.Site, member="sites",
        city=city, lat=lat, lng=lng, radius_km=radius_km, country=country, gpu_type=gpu_type, scope=scope, limit=limit,
        offset=offset, as_of=as_of,
    )


def sites_aggregate(
    *, by: Optional[Literal["country", "gpu_type"]] = None, scope: Optional[Scope] = None, as_of: Optional[Time] = None
) -> Call[Table[rows.SitesBucket]]:
    """The sites by country or by chip. Needs a Full key."""
    return _table(["api", "neocloud", "sites", "aggregate"], rows.SitesBucket, by=by, scope=scope, as_of=as_of)


def sites_map(
    *,
    scope: Optional[Scope] = None,
    country: Optional[str] = None,
    bbox: Union[None, str, Sequence[float]] = None,
    as_of: Optional[Time] = None,
) -> Call[Record[rows.SiteCollection]]:
    """The sites as GeoJSON, all or those in the box of west, south, east and north in degrees. Needs a Full key."""
    box = joined(bbox)
    return _record(["api", "neocloud", "map"], rows.SiteCollection, scope=scope, country=country, bbox=box, as_of=as_of)


# More than one response


def each_point(
    gpu_name: str,
    *,
    start_date: Optional[Time] = None,
    end_date: Optional[Time] = None,
    granularity: Optional[Granularity] = None,
    region: Optional[str] = None,
    as_of: Optional[Time] = None,
    page_size: int = _PAGE,
) -> Pages[rows.Point]:
    """The index history, oldest first, range by range: a history of any length in little memory."""

    def page(start: Optional[Time], grain: Optional[str]) -> Call[Table[rows.Point]]:
        return index_history(
            gpu_name, start_date=start, end_date=end_date, granularity=grain,  # type: ignore[arg-type]
            region=region, as_of=as_of, limit=page_size,
        )

    # A shorter range may have another grain, by "auto". It must not change on the way.
    return _ranges(page(start_date, granularity), lambda start, table: page(start, table.granularity))


def each_hourly_point(
    gpu_name: str,
    *,
    start_date: Optional[Time] = None,
    end_date: Optional[Time] = None,
    region: Optional[str] = None,
    as_of: Optional[Time] = None,
    page_size: int = _PAGE,
) -> Pages[rows.Point]:
    """The hourly history, oldest first, range by range."""

    def page(start: Optional[Time]) -> Call[Table[rows.Point]]:
        return hourly_history(
            gpu_name, start_date=start, end_date=end_date, region=region, as_of=as_of, limit=page_size
        )

    return _ranges(page(start_date), lambda start, table: page(start))


def _ranges(
    first: Call[Table[rows.Point]], page: Callable[[Time, Table[rows.Point]], Call[Table[rows.Point]]]
) -> Pages[rows.Point]:
    """Pages that each start a millisecond after the last row of the one before."""
    reached = ""

    def following(table: Table[rows.Point]) -> Optional[Call[Table[rows.Point]]]:
        nonlocal reached
        last = table.rows[-1]["timestamp"] if table.rows else ""
        if last <= reached:
            return None  # the rows would repeat forever
        reached = last
        return page(parse_instant(last) + timedelta(milliseconds=1), table)

    return Pages(first, following)


def each_site(
    *,
    city: Optional[str] = None,
    lat: Optional[float] = None,
    lng: Optional[float] = None,
    radius_km: Optional[float] = None,
    country: Optional[str] = None,
    gpu_type: Optional[str] = None,
    scope: Optional[Scope] = None,
    as_of: Optional[Time] = None,
    page_size: int = 1000,
) -> Pages[rows.Site]:
    """All sites of a region."""
    offset = 0

    def page() -> Call[Table[rows.Site]]:
        return sites(
            city=city, lat=lat, lng=lng, radius_km=radius_km, country=country, gpu_type=gpu_type, scope=scope,
            as_of=as_of, limit=page_size, offset=offset,
        )

    def following(table: Table[rows.Site]) -> Call[Table[rows.Site]]:
        nonlocal offset
        offset += len(table)
        return page()

    return Pages(page(), following)


def each_correction(
    *,
    since: Optional[str] = None,
    gpu_type: Optional[str] = None,
    region: Optional[str] = None,
    granularity: Optional[Grain] = None,
    page_size: Optional[int] = None,
) -> Pages[rows.Correction]:
    """All corrections since a cursor. To continue later, use ``corrections``, whose tables have the cursor ``next``."""

    def page(cursor: Optional[str]) -> Call[Table[rows.Correction]]:
        return corrections(
            since=cursor, limit=page_size, gpu_type=gpu_type, region=region, granularity=granularity
        )

    return Pages(page(since), lambda table: page(table.next))


def each_family_correction(
    family: str, *, since: Optional[str] = None, page_size: Optional[int] = None
) -> Pages[rows.FamilyCorrection]:
    """All corrections of a family since a cursor."""

    def page(cursor: Optional[str]) -> Call[Table[rows.FamilyCorrection]]:
        return family_corrections(family, since=cursor, limit=page_size)

    return Pages(page(since), lambda table: page(table.next))


def each_notice(
    *,
    gpu_type: Optional[str] = None,
    kind: Optional[str] = None,
    before: Optional[int] = None,
    page_size: Optional[int] = None,
) -> Pages[rows.Notice]:
    """All notices, newest first."""

    def page(number: Optional[int]) -> Call[Table[rows.Notice]]:
        return notices(gpu_type=gpu_type, kind=kind, before=number, limit=page_size)

    return Pages(page(before), lambda table: page(table.rows[-1]["number"] if table.rows else None))


def stream_target(
    event: Union[None, str, Iterable[str]],
    family: Union[None, str, Iterable[str]],
    gpu: Union[None, str, Iterable[str]],
    region: Union[None, str, Iterable[str]],
) -> str:
    """The path and the query of the stream."""
    filters = query({"event": event, "family": family, "gpu": gpu, "region": region})
    return path("api", "stream") + ("?" + filters if filters else "")
