"""Devices of a pod as lines of a claim, so that the pod needs as many as before and each container sees its own.

An init container that ends leaves its devices to those that start after it (KEP-753; the kubelet's device manager does
so with integers). So it refers to devices of later containers, and only what it wants beyond them is asked for extra.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

MOST = 32
"""Devices in one claim (resource.k8s.io/v1, AllocationResultsMaxSize)."""


class Role(Enum):
    """When a container runs: before all others of its kind, all along, or as the pod's work."""

    INIT = "init"
    SIDECAR = "sidecar"
    APP = "app"


@dataclass(frozen=True, slots=True)
class Asking:
    """One container in pod order, init containers first, with its whole number of each resource."""

    name: str
    role: Role
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Line:
    """`count` devices for one resource. `owner` keeps them while the pod runs; `users` see them, the owner included.

    Positions are those in the pod. An extra line, which only init containers use, is owned by the first of them.
    """

    resource: str
    count: int
    owner: int
    users: tuple[int, ...]


def lines_for(containers: Sequence[Asking], resource: str) -> tuple[Line, ...]:
    """The lines that give each container exactly its number of devices, in pod order of their owners.

    Their sum is the pod's effective request: max over all of (app + sidecars, init container + sidecars before it).
    """
    lasting = [
        (index, each.counts.get(resource, 0))
        for index, each in enumerate(containers)
        if each.role is not Role.INIT and each.counts.get(resource, 0) > 0
    ]
    passing = {
        index: each.counts.get(resource, 0)
        for index, each in enumerate(containers)
        if each.role is Role.INIT and each.counts.get(resource, 0) > 0
    }
    # From the last container backwards, what an init container may use is always the beginning of the row.
    ends: list[tuple[int, int]] = []
    total = 0
    for index, count in reversed(lasting):
        total += count
        ends.append((total, index))
    later = {index: sum(count for place, count in lasting if place > index) for index in passing}
    found = _row(ends, {index: min(count, later[index]) for index, count in passing.items()}, resource)
    beyond = {index: count - later[index] for index, count in passing.items() if count > later[index]}
    if beyond:
        first = min(beyond)
        extra = [(max(beyond.values()), first)]
        found += _row(extra, beyond, resource, owned=False)
    return tuple(sorted(found, key=lambda line: (line.owner, -len(line.users), -line.count, line.users)))


def _row(
    ends: Sequence[tuple[int, int]],
    uses: Mapping[int, int],
    resource: str,
    *,
    owned: bool = True,
) -> list[Line]:
    """Devices in a row, cut where an owner's end and where a user needs no more, and never more than a claim holds."""
    cuts = sorted({end for end, _ in ends} | {count for count in uses.values() if count > 0})
    found: list[Line] = []
    start = 0
    for cut in cuts:
        owner = next(index for end, index in ends if end >= cut)
        users = {index for index, count in uses.items() if count >= cut}
        if owned:
            users.add(owner)
        left = cut - start
        while left > 0:
            found.append(Line(resource, min(left, MOST), owner, tuple(sorted(users))))
            left -= MOST
        start = cut
    return found


def packed(lines: Sequence[Line]) -> tuple[tuple[Line, ...], ...]:
    """The lines in claims of at most 32 devices, in order."""
    claims: list[list[Line]] = []
    room = 0
    for line in lines:
        if line.count > room:
            claims.append([])
            room = MOST
        claims[-1].append(line)
        room -= line.count
    return tuple(map(tuple, claims))
