"""Which features a problem has, and how problems with each of them end."""

from collections import Counter
from collections.abc import Iterator, Mapping

OUTCOMES = ("ok", "none", "node error", "fatal", "gave up")
_MARKS = {
    "alternatives": '"firstAvailable"',
    "All": '"All"',
    "admin access": '"adminAccess": true',
    "selectors": '"expression"',
    "matchAttribute": '"matchAttribute"',
    "distinctAttribute": '"distinctAttribute"',
    "counters": '"consumesCounters"',
    "shared devices": '"allowMultipleAllocations": true',
    "request policies": '"requestPolicy"',
    "capacity requests": '"capacity": {"requests"',
    "taints": '"taints"',
    "taint rules": '"deviceSelector"',
    "tolerations": '"tolerations"',
    "per-device nodes": '"perDeviceNodeSelection"',
    "node selectors": '"nodeSelector"',
    "binding conditions": '"bindingConditions"',
    "binding failure conditions": '"bindingFailureConditions"',
    "two generations": '"generation": 2',
    "pool over nodes": '"rack-0"',
    "list attributes": '"strings"',
    "v1beta1": "v1beta1",
    "defaults not filled": '"filled": false',
    "near 32": '"many-0"',
    "held devices": '"status"',
    "overdrawn counters": '"overdraws"',
}


def features_of(text: str) -> Iterator[str]:
    """From the JSON of a row without its classes."""
    for name, mark in _MARKS.items():
        if mark in text:
            yield name


def table(seen: Mapping[tuple[str, str], int]) -> list[str]:
    """Lines: how many answers there are for each feature, and how they are spread over the outcomes, in percent."""
    lines = [f"{'answers with':28}{'number':>8}" + "".join(f"{name:>12}" for name in OUTCOMES)]
    for name in ("anything", *_MARKS):
        total = sum(seen.get((name, outcome), 0) for outcome in OUTCOMES)
        shares = "".join(f"{100 * seen.get((name, one), 0) / max(total, 1):11.1f}%" for one in OUTCOMES)
        lines.append(f"{name:28}{total:8}{shares}")
    return lines


def counted(text: str, outcome: str) -> Counter[tuple[str, str]]:
    """What one answer adds to the table."""
    return Counter((name, outcome) for name in ("anything", *features_of(text)))
