"""The client that blocks."""

from __future__ import annotations

import functools
import inspect
import ssl
import time
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
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
from ._retry import Policy
from ._session import Options, Session
from ._stream import Event, Follower
from .errors import AssayError
from .results import Download, Table

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")
Self = TypeVar("Self", bound="_Sender")
Method = TypeVar("Method", bound=Callable[..., Any])

#: What the filters of a stream take: one word or several.
Words = Union[None, str, Iterable[str]]


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
        sleep: Optional[Callable[[float], None]] = None,
    ) -> None:
        self._session = Session(
            base_url, key, make_options(timeout, retries, max_wait, cache, decimal, max_bytes), ssl_context
        )
        self._given_sleep = sleep

    def __repr__(self) -> str:
        return self._session.describe(type(self).__name__)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client has connections and a key, and cannot be pickled or copied")

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._session.pool.close()

    def _send(self, attempt: Callable[[Exchange], T]) -> T:
        failures = 0
        while True:
            try:
                return attempt(self._session.exchange())
            except AssayError as error:
                failures += 1
                wait = self._session.options.retry.wait(error, failures)
                if wait is None:
                    raise
            (self._given_sleep or time.sleep)(wait)

    def _rows(self, pages: Pages[T]) -> Iterator[T]:
        call: Optional[Call[Table[T]]] = pages.first
        while call is not None:
            table = self._send(self._session.reads(call))
            yield from table
            call = pages.after(call, table)


def _sends(route: Callable[P, Call[T]]) -> Callable[Concatenate[_Sender, P], T]:
    """The method that makes a request and sends it."""

    def method(self: _Sender, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._send(self._session.reads(route(*args, **kwargs)))

    return as_method(method, route)


def _iterates(route: Callable[P, Pages[T]]) -> Callable[Concatenate[_Sender, P], Iterator[T]]:
    """The method that sends one request after the other, as far as the rows are used."""

    def method(self: _Sender, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self._rows(route(*args, **kwargs))

    return as_method(method, route)


def as_method(method: Method, route: Callable[..., Any]) -> Method:
    """The method with the name, the arguments and the description of its route."""
    functools.update_wrapper(method, route)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.signature(route)
    parameters = [own, *signature.parameters.values()]
    shown = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    setattr(method, "__signature__", shown)
    return method


class Client(_Sender):
    """A client of an Assay server. Threads may share one.

    ``base_url`` is the address of the server, or that of the environment variable ASSAY_URL. Options:

    - ``key``: the API key, or that of ASSAY_KEY. An empty one means none.
    - ``timeout``: seconds that an attempt may take, from the connection to the end of the response.
    - ``retries``: how often a request is repeated after 429, 503, or no response.
    - ``max_wait``: a Retry-After of more seconds is an error at once.
    - ``cache``: True, or a :class:`Cache`, to keep responses and ask only whether they have changed.
    - ``decimal``: numbers that are not whole as ``decimal.Decimal`` instead of ``float``.
    - ``max_bytes``: a response that is larger, also after decompression, is an error.
    - ``ssl_context``: for a server whose certificate the system does not know.
    - ``sleep``: waits that many seconds, instead of ``time.sleep``.

    The environment variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY count.
    """

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

    def table(self, call: Call[Any], format: Literal["csv", "ndjson", "parquet"] = "csv") -> Download:
        """The rows of a route as a file. The route is a function of :mod:`assay.routes` with its arguments."""
        return self._send(lambda exchange: self._session.table(exchange, call, format))

    def stream(
        self,
        *,
        event: Words = None,
        family: Words = None,
        gpu: Words = None,
        region: Words = None,
        last_event_id: Optional[str] = None,
    ) -> EventStream:
        """Follows what is published. Reconnects by itself, and continues after the last event."""
        target = routes.stream_target(event, family, gpu, region)
        return EventStream(Follower(self._session, target, last_event_id, self._given_sleep))

class EventStream:
    """Events as they are published: an iterator that waits for the next one. It ends when it is closed, and with an
    :class:`AssayError` when the key was revoked or may not read it."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower

    @property
    def hello(self) -> Dict[str, Any]:
        """What the server said when the stream began: ``access``, ``version`` and more. Empty before the first
        event."""
        return self._follower.hello

    def __iter__(self) -> EventStream:
        return self

    def __next__(self) -> Event:
        event = self._follower.next()
        if event is None:
            raise StopIteration
        return event

    def close(self) -> None:
        """Ends the stream. Another thread may do it."""
        self._follower.close()

    def __enter__(self) -> EventStream:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._follower.close()
        self._follower.release()


def make_options(
    timeout: float, retries: int, max_wait: float, cache: Union[bool, Cache], decimal: bool, max_bytes: int
) -> Options:
    """The options of a client, checked."""
    if not 0 < timeout <= 86_400:
        raise ValueError("timeout must be more than 0 and at most 86400 seconds")
    if not (isinstance(retries, int) and 0 <= retries <= 100):
        raise ValueError("retries must be a whole number from 0 to 100")
    if not 0 <= max_wait <= 86_400:
        raise ValueError("max_wait must be from 0 to 86400 seconds")
    if max_bytes < 1:
        raise ValueError("max_bytes must be at least 1")
    store = (Cache() if cache else None) if isinstance(cache, bool) else cache
    return Options(timeout, Policy(retries, max_wait), store, decimal, max_bytes)
