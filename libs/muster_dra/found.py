"""What a search found, in numbers of requests, options and devices: the same for every node of a plan."""

from dataclasses import dataclass

from muster_dra.outcome import FatalKind


@dataclass(frozen=True, slots=True)
class Solution:
    """For each request the number of its chosen option and the devices, in search order."""

    picks: tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """The search met what ends the attempt: at which request, option and device; -1 where there is none."""

    kind: FatalKind
    request: int = -1
    option: int = -1
    device: int = -1


Found = Solution | Ended | None
"""None: no solution. For Ended by too many devices `request` is the number of the claim."""
