"""Long computations beside the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class Threads:
    """A few threads of this process: queries and commands keep being answered while one of them plans."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="plan")

    async def __call__(self, compute: Callable[[], T]) -> T:
        """The result of a pure function; what it raises is raised here."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, compute)

    async def close(self) -> None:
        """Wait for nothing: results that nobody awaits any more are thrown away."""
        self._pool.shutdown(wait=False, cancel_futures=True)
