"""Waiting for the first of several things."""

import asyncio
from collections.abc import Awaitable


async def wait_first(*waits: Awaitable[object]) -> None:
    """Return when one of them has come, and give up the others; what failed meanwhile is not told."""
    tasks = [asyncio.ensure_future(each) for each in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def never() -> None:
    """Until cancelled."""
    await asyncio.Event().wait()
