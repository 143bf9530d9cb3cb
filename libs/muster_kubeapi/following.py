"""A resource as it is and as it changes: list, then watch, for ever, whatever becomes of connections."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from muster_kubeapi.backoff import Backoff
from muster_kubeapi.client import KubeClient
from muster_kubeapi.errors import AccessInvalid, Expired, KubeError, NotServed, Refused, Unreachable
from muster_kubeapi.listing import Page, list_pages
from muster_kubeapi.resources import Resource
from muster_kubeapi.watching import Changes, watch_changes

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Trouble:
    """An attempt failed; the next one comes after `pause` seconds."""

    resource: Resource
    error: KubeError
    pause: float


@dataclass(frozen=True, slots=True)
class Pace:
    """`page`: objects of a page. `watch_seconds`: a watch ends between this and twice as much. Pauses as `Backoff`."""

    page: int = 500
    watch_seconds: int = 300
    first_pause: float = 0.5
    longest_pause: float = 30.0
    sleep: Sleep = field(default=asyncio.sleep)


_SHORT = 1.0  # a watch that ends sooner and tells nothing is followed by a pause


async def follow(
    client: KubeClient,
    resource: Resource,
    *,
    since: str = "",
    pace: Pace,
    trouble: Callable[[Trouble], None],
    label_selector: str = "",
) -> AsyncGenerator[Page | Changes]:
    """Pages of a whole list, then changes; after an expired version pages again, of which the last has a version.

    With `since` it begins with the changes after that version. A list that breaks off is begun anew: its first page
    says so. Nothing is told twice, except that a list repeats what was known. Raises NotServed when the server has no
    such resource any more.
    """
    version, backoff = since, Backoff(pace.first_pause, pace.longest_pause)
    while True:
        started, told = time.monotonic(), False
        try:
            if not version:
                async with aclosing(
                    list_pages(client, resource, limit=pace.page, label_selector=label_selector)
                ) as pages:
                    async for page in pages:
                        version = page.version
                        yield page
                told = True
            seconds = random.randint(pace.watch_seconds, 2 * pace.watch_seconds)  # noqa: S311 -- spreads load, no secret
            async with aclosing(
                watch_changes(client, resource, version, seconds=seconds, label_selector=label_selector)
            ) as watched:
                async for changes in watched:
                    version, told = changes.version, True
                    backoff.reset()
                    yield changes
            if told or time.monotonic() - started >= _SHORT:
                continue
            error: KubeError = Unreachable(f"watch of {resource}: the server ended it at once")
        except Expired as expired:
            version, error = "", expired
        except Refused as refused:
            if refused.status == 404:
                raise NotServed(404, refused.reason, str(refused)) from refused
            error = refused
        except (Unreachable, AccessInvalid) as away:
            error = away
        pause = backoff.next(error.retry_after if isinstance(error, Unreachable) else 0.0)
        trouble(Trouble(resource, error, pause))
        await pace.sleep(pause)
