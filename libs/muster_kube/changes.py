"""The changes of directories: the file system's notices, and a slow poll for what it does not tell."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

from watchfiles import Change, awatch
from watchfiles._rust_notify import WatchfilesRustInternalError

from muster_kube.layers import Listing
from muster_kube.manifests import SUFFIXES

_STEP_MS = 20  # a change is told when nothing more happened for so long,
_DEBOUNCE_MS = 200  # or after this at the latest


async def watch_listing(
    paths: Sequence[Path], read: Callable[[], Listing], poll_seconds: float
) -> AsyncGenerator[Listing]:
    """What `read` gives now, then again after each change under `paths`, for ever; several changes may come as one.

    `read` gives the same value, not an equal one, while nothing has changed. Directories may appear, vanish and come
    back; where the file system gives no notices, or no more of them, a change is seen by the poll.
    """
    last: Listing | None = None
    while True:
        watched = _existing(paths)
        async with aclosing(_ticks(watched, poll_seconds)) as ticks:
            notice = asyncio.ensure_future(anext(ticks))
            try:
                await asyncio.sleep(0)  # the watch is up from here: no change between read and watch is missed
                while True:
                    listing = await asyncio.to_thread(read)
                    if listing is not last:
                        last = listing
                        yield listing
                    await notice
                    if _existing(paths) != watched:
                        break
                    notice = asyncio.ensure_future(anext(ticks))
            finally:
                notice.cancel()
                await asyncio.wait([notice])


async def _ticks(paths: Sequence[Path], poll_seconds: float) -> AsyncGenerator[None]:
    """A tick after a change, and after each poll interval."""
    while True:
        try:
            async for _ in _notices(paths, poll_seconds):
                yield
        except (OSError, WatchfilesRustInternalError):
            pass  # a path has just vanished, or the system has no more watches to give: the poll goes on
        await asyncio.sleep(poll_seconds)
        yield


async def _notices(paths: Sequence[Path], poll_seconds: float) -> AsyncGenerator[None]:
    if not paths:
        return
    watch = awatch(
        *paths,
        watch_filter=_is_manifest,
        step=_STEP_MS,
        debounce=_DEBOUNCE_MS,
        rust_timeout=max(int(poll_seconds * 1000), 1),
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )
    async with aclosing(watch):
        async for _ in watch:
            yield


def _existing(paths: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(path for path in paths if path.exists())


def _is_manifest(change: Change, path: str) -> bool:
    del change
    file = Path(path)
    return file.suffix.lower() in SUFFIXES and not file.name.startswith(".")
