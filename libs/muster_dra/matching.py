"""Whether demands for exclusive devices can be met together: a bipartite matching over sets of devices."""

from collections.abc import Sequence


def can_be_met(demands: Sequence[tuple[int, int]]) -> bool:
    """Each demand is a set of devices and how many of them are needed; no device serves two demands."""
    given = [0] * len(demands)
    used = 0
    for number, (devices, needed) in enumerate(demands):
        for _ in range(needed):
            free = devices & ~used
            if free:
                device = free & -free
            else:
                device = _freed(number, demands, given, used, 1 << number)
                if not device:
                    return False
            given[number] |= device
            used |= device if free else 0
            if not free:
                used = 0
                for mask in given:
                    used |= mask
    return True


def _freed(number: int, demands: Sequence[tuple[int, int]], given: list[int], used: int, visited: int) -> int:
    """A device of the demand's set that another demand gives up because it finds a new one; 0 if none can."""
    devices = demands[number][0]
    for other, mask in enumerate(given):
        wanted = mask & devices
        if not wanted or visited >> other & 1:
            continue
        visited |= 1 << other
        free = demands[other][0] & ~used
        replacement = free & -free if free else _freed(other, demands, given, used, visited)
        if replacement:
            device = wanted & -wanted
            given[other] = mask & ~device | replacement
            return device
    return 0
