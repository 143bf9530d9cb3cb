"""The wall clock of the overlay, which stands for an API server and so stamps what it stores."""

from collections.abc import Callable
from datetime import UTC, datetime

Now = Callable[[], datetime]


def utc_now() -> datetime:
    """The time now, aware, in UTC."""
    return datetime.now(UTC)
