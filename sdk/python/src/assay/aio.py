"""The client for asyncio.

Requests run in threads of the client, which use the same connections as the client that blocks: the standard library
has an HTTP client that blocks, and none for asyncio. A request that is canceled closes its connection at once, so that
its thread ends.
"""

from __future__ import annotations

import asyncio
import ssl
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Dict,
    Literal,
    NoReturn,
    Optional,
    Type,
    TypeVar,
    Union,
)

from . import routes
from ._cache import Cache
from ._call import Call, Pages
from ._connection import Exchange
from ._session import Session
from ._stream import Event, Follower
from .client import Words, as_method, make_options
from .errors import AssayError
from .results import Download, Table

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")
Self = TypeVar("Self", bound="_Sender")

#: So many requests of a client are under way at a time. Others wait.
_THREADS = 16


class _Sender:
    """What sends requests: all of a client but its routes."""

    def __init__(
        self,
        base_url: Optional[str] = None,
        *,
        key: Optional[str] = None,
        timeout: float = 30.0,
        retries: int = 3,
        max_wait: float = 60.0,
        cache: Union[bool, Cache] = False,
        decimal: bool = False,
        max_bytes: int = 256 << 20,
        ssl_context: Optional[ssl.SSLContext] = None,
        sleep: Optional[Callable[[float], Awaitable[None]]] = None,
    ) -> None:
        self._session = Session(
            base_url, key, make_options(timeout, retries, max_wait, cache, decimal, max_bytes), ssl_context
        )
        self._sleep: Callable[[float], Awaitable[None]] = sleep or asyncio.sleep
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="assay")

    def __repr__(self) -> str:
        return self._session.describe(type(self).__name__)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client has connections and a key, and cannot be pickled or copied")

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        self._session.pool.close()
        self._threads.shutdown(wait=False)

    async def _send(self, attempt: Callable[[Exchange], T]) -> T:
        failures = 0
        while True:
            try:
                return await self._attempt(attempt)
            except AssayError as error:
                failures += 1
                wait = self._session.options.retry.wait(error, failures)
                if wait is None:
                    raise
            await self._sleep(wait)

    async def _attempt(self, attempt: Callable[[Exchange], T]) -> T:
        exchange = self._session.exchange()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, attempt, exchange)
        except asyncio.CancelledError:
            exchange.abort()
            raise

    async def _rows(self, pages: Pages[T]) -> AsyncIterator[T]:
        call: Optional[Call[Table[T]]] = pages.first
        while call is not None:
            table = await self._send(self._session.reads(call))
            for row in table:
                yield row
            call = pages.after(call, table)


def _sends(route: Callable[P, Call[T]]) -> Callable[Concatenate[_Sender, P], Coroutine[Any, Any, T]]:
    """The method that makes a request and sends it."""

    async def method(self: _Sender, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._send(self._session.reads(route(*args, **kwargs)))

    return as_method(method, route)


def _iterates(route: Callable[P, Pages[T]]) -> Callable[Concatenate[_Sender, P], AsyncIterator[T]]:
    """The method that sends one request after the other, as far as the rows are used."""

    def method(self: _Sender, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self._rows(route(*args, **kwargs))

    return as_method(method, route)


class AsyncClient(_Sender):
    """A client of an Assay server for asyncio. It has the arguments and the methods of :class:`assay.Client`; the
    methods are awaited, and the iterators and the stream are for ``async for``. ``sleep`` is a coroutine function."""

    # Health and catalogs
    health = _sends(routes.health)
    gpu_types = _sends(routes.gpu_types)
    free_gpu_types = _sends(routes.free_gpu_types)
    regions = _sends(routes.regions)
    token_types = _sends(routes.token_types)
    free_token_types = _sends(routes.free_token_types)
    memory_types = _sends(routes.memory_types)
    coding_products = _sends(routes.coding_products)

    # GPU prices and their history
    gpu_price = _sends(routes.gpu_price)
    gpu_prices = _sends(routes.gpu_prices)
    daily_index = _sends(routes.daily_index)
    daily_index_all = _sends(routes.daily_index_all)
    previous_daily_index = _sends(routes.previous_daily_index)
    index_history = _sends(routes.index_history)
    h100_history = _sends(routes.h100_history)
    nearest_value = _sends(routes.nearest_value)
    history_simple = _sends(routes.history_simple)
    history_range = _sends(routes.history_range)
    hourly_history = _sends(routes.hourly_history)
    realtime = _sends(routes.realtime)
    rolling_average = _sends(routes.rolling_average)
    rolling_average_history = _sends(routes.rolling_average_history)

    # Analytics
    volatility = _sends(routes.volatility)
    volume_metrics = _sends(routes.volume_metrics)
    gpu_utilization = _sends(routes.gpu_utilization)

    # Memory, coding tools, tokens
    memory_index = _sends(routes.memory_index)
    memory_history = _sends(routes.memory_history)
    coding_index = _sends(routes.coding_index)
    coding_history = _sends(routes.coding_history)
    otpi = _sends(routes.otpi)
    workload = _sends(routes.workload)

    # Proof
    determination = _sends(routes.determination)
    value_determination = _sends(routes.value_determination)
    corrections = _sends(routes.corrections)
    family_corrections = _sends(routes.family_corrections)
    bulk = _sends(routes.bulk)
    methodology = _sends(routes.methodology)
    notices = _sends(routes.notices)
    latest_publication = _sends(routes.latest_publication)
    log_inclusion = _sends(routes.log_inclusion)
    log_consistency = _sends(routes.log_consistency)

    # Sites
    sites = _sends(routes.sites)
    sites_aggregate = _sends(routes.sites_aggregate)
    sites_map = _sends(routes.sites_map)

    # More than one response
    each_point = _iterates(routes.each_point)
    each_hourly_point = _iterates(routes.each_hourly_point)
    each_site = _iterates(routes.each_site)
    each_correction = _iterates(routes.each_correction)
    each_family_correction = _iterates(routes.each_family_correction)
    each_notice = _iterates(routes.each_notice)

    async def table(self, call: Call[Any], format: Literal["csv", "ndjson", "parquet"] = "csv") -> Download:
        """The rows of a route as a file. The route is a function of :mod:`assay.routes` with its arguments."""
        return await self._send(lambda exchange: self._session.table(exchange, call, format))

    def stream(
        self,
        *,
        event: Words = None,
        family: Words = None,
        gpu: Words = None,
        region: Words = None,
        last_event_id: Optional[str] = None,
    ) -> AsyncEventStream:
        """Follows what is published. Reconnects by itself, and continues after the last event."""
        target = routes.stream_target(event, family, gpu, region)
        return AsyncEventStream(Follower(self._session, target, last_event_id, None))

class AsyncEventStream:
    """Events as they are published, for ``async for``. It ends when it is closed, and with an :class:`AssayError` when
    the key was revoked or may not read it. A task that is canceled while it waits ends the stream."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="assay-stream")  # it waits for as long as the stream
        self._ended = False

    @property
    def hello(self) -> Dict[str, Any]:
        """What the server said when the stream began: ``access``, ``version`` and more. Empty before the first
        event."""
        return self._follower.hello

    def __aiter__(self) -> AsyncEventStream:
        return self

    async def __anext__(self) -> Event:
        if self._ended:
            raise StopAsyncIteration
        try:
            event = await asyncio.get_running_loop().run_in_executor(self._thread, self._follower.next)
        except BaseException:
            self._end()
            raise
        if event is None:
            self._end()
            raise StopAsyncIteration
        return event

    async def close(self) -> None:
        """Ends the stream."""
        self._end()

    async def __aenter__(self) -> AsyncEventStream:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._end()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._follower.close()
            self._thread.submit(self._follower.release)  # after what it is doing
            self._thread.shutdown(wait=False)
