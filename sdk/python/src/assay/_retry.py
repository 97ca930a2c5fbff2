"""When a failed request is sent again."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Callable, Optional

from .errors import AssayError

#: The first wait without a Retry-After is at most that many seconds, each later one at most twice that of the one
#: before.
_BASE = 0.5

#: No wait without a Retry-After is longer.
_MOST = 8.0


def backoff(
    failures: int, base: float = _BASE, most: float = _MOST, chance: Callable[[], float] = random.random
) -> float:
    """Seconds to wait after that many failures in a row: any time up to a bound that doubles ("full jitter"), so that
    many clients that failed together do not come back together."""
    return chance() * min(most, base * 2.0 ** min(failures - 1, 30))


@dataclass(frozen=True)
class Policy:
    """How often a request is repeated, and how long a server may ask to wait."""

    retries: int
    max_wait: float
    chance: Callable[[], float] = random.random

    def wait(self, error: AssayError, failures: int) -> Optional[float]:
        """Seconds until the next attempt, or None if the error is final. The server's own time is kept to the second:
        earlier would fail again, later would waste what it allows."""
        if not error._may_retry or failures > self.retries:
            return None
        if error.retry_after is None:
            return backoff(failures, chance=self.chance)
        return float(error.retry_after) if error.retry_after <= self.max_wait else None
