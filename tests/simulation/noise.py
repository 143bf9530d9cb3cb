"""What the services log: errors are kept, for some of them tell a bug; the rest is dropped, or told to a listener."""

import logging
from collections.abc import Callable, Generator, MutableMapping
from contextlib import contextmanager

import structlog

_BUGS = ("task failed by a bug", "stopping a part failed")
Listener = Callable[[str], None]


@contextmanager
def quiet(listener: Listener | None = None) -> Generator[list[str]]:
    """Bugs that were logged."""
    bugs: list[str] = []

    def hear(_: object, level: str, event: MutableMapping[str, object]) -> str:
        name = str(event.get("event"))
        if name in _BUGS:
            error = event.get("exc_info")
            bugs.append(f"{name}: {event.get('name')} {event.get('task', '')}: {type(error).__name__}: {error}")
        if name == "message parked":
            bugs.append(f"parked: {event.get('consumer')} {event.get('subject')}: {event.get('error')}")
        if listener is not None:
            listener(f"{level}: {' '.join(f'{k}={v}' for k, v in event.items())}")
        raise structlog.DropEvent

    level = logging.ERROR if listener is None else logging.INFO
    before = structlog.get_config()
    structlog.configure(processors=[hear], wrapper_class=structlog.make_filtering_bound_logger(level))
    try:
        yield bugs
    finally:
        structlog.configure(**before)
