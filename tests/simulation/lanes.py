"""A lane is one life of one simulated process: what runs in its context ends with it, at any await."""

import asyncio
from collections import deque
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from weakref import WeakSet

_serials = count(1)


@dataclass(eq=False, slots=True)
class Lane:
    """`queue` holds its callbacks that are ready; a dead lane's callbacks are never run again."""

    name: str
    life: int = 1
    dead: bool = False
    listed: bool = False
    queue: deque[asyncio.Handle] = field(default_factory=deque[asyncio.Handle])
    tasks: "WeakSet[asyncio.Task[Any]]" = field(default_factory=WeakSet)
    context: Context = field(init=False)
    # Kept until the run is over: what is collected while pending would run its `finally` blocks.
    remains: list[object] = field(default_factory=list[object])

    def __post_init__(self) -> None:
        self.context = copy_context()
        self.context.run(CURRENT.set, self)

    def __str__(self) -> str:
        return self.name if self.life == 1 else f"{self.name}#{self.life}"


CURRENT: ContextVar[Lane] = ContextVar("lane")


def current_name() -> str:
    """Name of the process that runs now."""
    lane = CURRENT.get(None)
    return "nobody" if lane is None else lane.name
