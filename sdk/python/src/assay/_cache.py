"""A bounded store of responses, to be shown again when the server says that they have not changed."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import NamedTuple, Optional, Tuple

from ._settings import Secret


class Stored(NamedTuple):
    """A response with an ETag."""

    etag: str
    media_type: str
    name: str
    body: bytes


class Cache:
    """Responses by URL and key, in memory. The ones used least recently leave when there are more than ``entries``, or
    more than ``size`` bytes. Threads and clients may share one."""

    def __init__(self, entries: int = 256, size: int = 64 << 20) -> None:
        self._entries, self._size = entries, size
        self._lock = threading.Lock()
        self._stored: OrderedDict[Tuple[str, bytes], Stored] = OrderedDict()  # the one used last at the end
        self._used = 0

    def __repr__(self) -> str:
        return f"Cache({len(self._stored)} of {self._entries} entries, {self._used} of {self._size} bytes)"

    def get(self, url: str, key: Secret) -> Optional[Stored]:
        with self._lock:
            return self._stored.get(_name(url, key))

    def put(self, url: str, key: Secret, response: Stored) -> None:
        """Keeps a response. One that was confirmed is put again, as the one used last."""
        with self._lock:
            self._drop(_name(url, key))
            if len(response.body) > self._size:
                return
            self._stored[_name(url, key)] = response
            self._used += len(response.body)
            while len(self._stored) > self._entries or self._used > self._size:
                self._drop(next(iter(self._stored)))

    def _drop(self, name: Tuple[str, bytes]) -> None:
        stored = self._stored.pop(name, None)
        self._used -= len(stored.body) if stored else 0


def _name(url: str, key: Secret) -> Tuple[str, bytes]:
    """What a response is stored under: of the key only a hash, so that the cache holds no secret."""
    return url, hashlib.sha256(key.reveal().encode()).digest()
