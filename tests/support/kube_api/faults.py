"""Switches for what goes wrong between a client and an API server."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from support.kube_api.answers import StatusError

Matcher = Callable[[str, str], bool]  # method, path with query


@dataclass(slots=True)
class Refusal:
    """Answers `code` to the next `times` calls that match."""

    code: int
    times: int
    matches: Matcher
    retry_after: int = 0


@dataclass(slots=True)
class Faults:
    """All off at first. `cut_after`: each connection is cut, as a broken cable cuts it, after so many bytes sent on it;
    headers count. `delay`: seconds before each answer."""

    cut_after: int | None = None
    delay: float = 0.0
    refusals: list[Refusal] = field(default_factory=list)
    connections: set[asyncio.Transport] = field(default_factory=set)

    def refuse(self, code: int, times: int, *, retry_after: int = 0, method: str = "", containing: str = "") -> None:
        """Answer `code` to the next `times` calls of a method (any: "") whose path contains a text."""

        def matches(called: str, path: str) -> bool:
            return method in ("", called) and containing in path

        self.refusals.append(Refusal(code, times, matches, retry_after))

    def cut_now(self) -> int:
        """Cut every open connection; how many there were."""
        connections, self.connections = self.connections, set()
        for transport in connections:
            transport.abort()
        return len(connections)

    def check(self, method: str, path: str) -> None:
        """Raises StatusError when the call is to be refused."""
        for refusal in self.refusals:
            if refusal.times > 0 and refusal.matches(method, path):
                refusal.times -= 1
                reasons = {
                    429: "TooManyRequests",
                    500: "InternalError",
                    503: "ServiceUnavailable",
                    410: "Expired",
                    409: "Conflict",
                }
                reason = reasons.get(refusal.code, "InternalError")
                raise StatusError(refusal.code, reason, "refused by a test", retry=refusal.retry_after)
