"""The objects that the API sends, as types of dictionaries. A newer server may send more fields than these.

Numbers are typed ``float``. A whole one is an ``int`` at run time, and with ``Client(decimal=True)`` any other one is a
``decimal.Decimal``.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, TypedDict

from .times import Day, Instant


class HealthState(TypedDict):
    """The state of a server."""

    status: str
    timestamp: Instant
    database: str
    role: str
    age_seconds: int
    version: str
    commit: str
    schema: int
    limits: Dict[str, Any]
    datasets: Dict[str, Any]


# Catalogs


class GpuType(TypedDict):
    gpu_name: str
    region: str


class Region(TypedDict):
    region: str


class TokenType(TypedDict):
    lab: str
    label: str


class MemoryType(TypedDict):
    id: str
    memory_type: str
    category: str


class CodingProduct(TypedDict):
    id: str
    label: str
    category: str
    kind: str
    compare: bool
    seriesLabels: Optional[List[str]]


# GPU prices, in USD per GPU-hour


class Price(TypedDict):
    gpu_name: str
    region: str
    index_value: float
    last_updated: Instant


class DailyValue(TypedDict):
    gpu_type: str
    region: str
    index_value: float
    date: Instant


class Point(TypedDict):
    """One value of a series. A daily one stands at its fixing, an hourly one at the end of its hour."""

    timestamp: Instant
    index_value: float


class NearestPoint(TypedDict):
    gpu_type: str
    region: str
    timestamp: Instant
    index_value: float


class DailyStats(TypedDict):
    min_index: Optional[float]
    max_index: Optional[float]
    std_dev: Optional[float]
    samples_count: int


class RangePoint(TypedDict):
    recorded_at: Instant
    exact_timestamp: Instant
    index_value: float
    data_type: str
    daily_stats: DailyStats


class RealtimePrint(TypedDict):
    timestamp: Instant
    index_value: float
    transactions: int
    gpu_hours: float


class RollingAverage(TypedDict):
    gpu_type: str
    region: str
    average_usd_per_hour: float
    timestamp: Instant


# Analytics


class VolatilityPoint(TypedDict):
    recorded_at: Instant
    exact_timestamp: Instant
    gpu_type: str
    region: str
    index_value: float
    rolling_volatility: Optional[float]
    window_days: int


class _VolumePoint(TypedDict):
    recorded_at: Instant
    exact_timestamp: Instant
    utilization_ratio: float


class VolumePoint(_VolumePoint, total=False):
    partial: bool  #: in the row of the running day or hour only


class Utilization(TypedDict):
    gpu_type: str
    region: str
    utilization_ratio: Optional[float]
    avg_7d: Optional[float]
    avg_30d: Optional[float]
    recorded_at: Instant


# Memory, in USD per unit


class _MemoryPrice(TypedDict):
    id: str
    memoryType: str
    category: str
    price: float
    changePct: float
    weeklyHigh: float
    weeklyLow: float
    sourceUpdatedAt: Instant
    date: Instant
    updatedAt: Instant


class MemoryPrice(_MemoryPrice, total=False):
    sources: int  #: only if the price is the median over sources, and so is excludedSources
    excludedSources: int


class _MemoryPoint(TypedDict):
    date: Day
    id: str
    memoryType: str
    category: str
    price: float
    weeklyHigh: float
    weeklyLow: float
    changePct: float
    sourceUpdatedAt: Instant
    timestamp: Instant


class MemoryPoint(_MemoryPoint, total=False):
    sources: int
    excludedSources: int


# Coding tools


class _CodingValue(TypedDict):
    product: str
    label: str
    kind: str
    value: float
    changePct: Optional[float]
    date: Day
    updatedAt: Instant
    weekChangePct: Optional[float]


class CodingValue(_CodingValue, total=False):
    partial: bool  #: while the day has not ended


class _CodingPoint(TypedDict):
    date: Day
    value: float


class CodingPoint(_CodingPoint, total=False):
    value2: float  #: of the second tool of a comparison
    partial: bool


# Tokens


class _TokenPrice(TypedDict):
    date: Day
    lab: str
    indexPerMtok: float
    computedAt: Instant


class TokenPrice(_TokenPrice, total=False):
    """USD per million tokens of a lab on a day. The prices of input and output are only there for labs whose sources
    say what the dollars were for."""

    inputPerMtok: Optional[float]
    cachedInputPerMtok: Optional[float]
    outputPerMtok: Optional[float]
    mixPerMtok: Optional[float]
    splitShare: float


class WorkloadPoint(TypedDict):
    date: Day
    lab: str
    family: str
    cCents: float
    lfl: float
    qKtok: float
    priceEffect: float
    intensityEffect: float
    mixEffect: float
    computedAt: Instant
    unlinkedShare: Optional[float]


# Proof

# ``from`` is a word of Python, so that a window cannot be written as a class.
Window = TypedDict("Window", {"from": Instant, "to": Instant})


class _Determination(TypedDict):
    gpu_type: str
    region: str
    granularity: str
    timestamp: Instant
    revision: int
    window: Window
    methodology: str
    receipt: int
    index_value: Optional[float]
    transactions: int
    gpu_hours: float
    providers: int
    hhi: int
    lowest_price: Optional[float]
    highest_price: Optional[float]
    median_price: Optional[float]
    excluded: Dict[str, int]
    adjusted: Dict[str, int]
    inputs_digest: str
    published_at: Instant
    previous_hash: str
    hash: str


class Determination(_Determination, total=False):
    """How the index of one slot was determined."""

    fallback: str
    publication_delay_seconds: int
    volumes: Dict[str, Any]


class ValueDetermination(TypedDict):
    """The record of a value that is final."""

    index: str
    series: str
    date: Day
    revision: int
    values: Optional[Dict[str, Optional[float]]]
    methodology: str
    known_at: Instant
    inputs: str
    hash: str


class Correction(TypedDict):
    """A value that a restatement has set or, where ``index_value`` is None, removed."""

    gpu_type: str
    region: str
    granularity: str
    timestamp: Instant
    revision: int
    index_value: Optional[float]
    previous_value: Optional[float]
    corrected_at: Instant
    reason: str


class FamilyCorrection(TypedDict):
    """A row of a family's route that a restatement has changed: as it was and as it is."""

    family: str
    route: str
    date: Day
    previous: Optional[Dict[str, Any]]
    current: Optional[Dict[str, Any]]
    corrected_at: Instant
    reason: str


#: A file of a complete month. ``as_of`` of ``known_at`` gives the same values.
BulkFile = TypedDict(
    "BulkFile",
    {
        "name": str,
        "dataset": str,
        "month": str,
        "granularity": str,
        "revision": int,
        "current": bool,
        "known_at": Instant,
        "from": Instant,
        "to": Instant,
        "rows": int,
        "size": int,
        "sha256": str,
        "url": str,
    },
)


class Methodology(TypedDict):
    version: str
    effective_at: Instant
    adopted_at: Instant
    reason: Optional[str]
    text: str


class Notice(TypedDict):
    number: int
    published_at: Instant
    kind: str
    gpu_type: Optional[str]
    region: Optional[str]
    about: Optional[Instant]
    text: str


class Publication(TypedDict):
    version: int
    published_at: Instant
    methodology: str
    reason: Optional[str]
    manifest: Optional[Dict[str, Any]]


class Inclusion(TypedDict):
    """The proof that the log lists a record."""

    leaf_index: int
    entry: str
    hashes: List[str]
    tree_size: int
    checkpoint: str


# ``from`` again.
Consistency = TypedDict("Consistency", {"from": int, "to": int, "hashes": List[str]})


# Sites


class _Site(TypedDict):
    company: str
    site_name: str
    city: str
    country: str
    gpu_types: str
    gpu_qty: int
    power_capacity_mw: float
    chip_generation: str
    category: str
    key_customer: Optional[str]
    status: str
    dc_tier: str
    latitude: float
    longitude: float
    is_neocloud: bool


class Site(_Site, total=False):
    distance_km: float  #: in a circle only


class SitesBucket(TypedDict):
    key: str
    site_count: int
    total_gpu_qty: int
    total_power_mw: float


class SiteCollection(TypedDict):
    """GeoJSON."""

    type: str
    features: List[Dict[str, Any]]
