"""The only module that asks the machine for the time."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time, aware, in UTC, and waiting by it."""

    def now(self) -> datetime:
        """The time."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(slots=True)
class FakeClock:
    """A clock that stands until it is advanced; sleepers wake in the order of their times."""

    time: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    _sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = field(default_factory=list)
    _count: int = 0

    def now(self) -> datetime:
        return self.time

    async def sleep(self, seconds: float) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        entry = (self.time + timedelta(seconds=seconds), self._count, waiter)
        self._sleepers.append(entry)
        try:
            await waiter
        finally:
            if entry in self._sleepers:
                self._sleepers.remove(entry)

    async def advance(self, seconds: float) -> None:
        """Move on, waking whoever slept until then; each runs before the next is woken."""
        end = self.time + timedelta(seconds=seconds)
        while due := sorted(entry for entry in self._sleepers if entry[0] <= end and not entry[2].done()):
            wake, _, waiter = due[0]
            self.time = max(self.time, wake)
            waiter.set_result(None)
            self._sleepers.remove(due[0])
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        self.time = end
