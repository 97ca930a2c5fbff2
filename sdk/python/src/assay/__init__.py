"""Client of the Assay market-data API: prices of GPUs and other compute indices.

    import assay

    client = assay.Client("http://127.0.0.1:8080")
    print(client.gpu_price("H100 SXM").data["index_value"])
    print(client.index_history("H100 SXM", start_date="2026-10-01"))

:class:`Client` blocks, :class:`AsyncClient` is for asyncio. Both have one method for each route of the API, with the
names of its parameters in the style of Python. A response is a :class:`Record` or a :class:`Table`, a request that
failed an :class:`AssayError`.
"""

from . import routes, rows
from ._cache import Cache
from ._stream import Event
from ._version import __version__
from .aio import AsyncClient, AsyncEventStream
from .client import Client, EventStream
from .errors import AssayError
from .results import Download, Meta, Record, Table
from .times import Day, Instant, Time, parse_day, parse_instant

__all__ = [
    "AssayError",
    "AsyncClient",
    "AsyncEventStream",
    "Cache",
    "Client",
    "Day",
    "Download",
    "Event",
    "EventStream",
    "Instant",
    "Meta",
    "Record",
    "Table",
    "Time",
    "__version__",
    "parse_day",
    "parse_instant",
    "routes",
    "rows",
]
