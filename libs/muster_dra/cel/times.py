"""Durations and timestamps: read, written and taken apart as Go and cel-go do."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from muster_dra.cel.operators import INT_MAX, INT_MIN
from muster_dra.cel.values import Duration, EvalError, Timestamp, Value, no_such_overload

_DURATION_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET = re.compile(r"([+-]?[0-9]+):([0-9]+)", re.ASCII)


def parse_duration(text: str) -> Duration | None:
    """A span as Go writes it, `1h30m`, `-1.5s`; None if it is none."""
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return Duration(0)
    total, at = 0, 0
    if not rest:
        return None
    while at < len(rest):
        part = _DURATION_PART.match(rest, at)
        if part is None or not (part[1] or part[2]) or len(part[0]) > 64:
            return None
        unit = _UNITS[part[3]]
        total += int(part[1] or "0") * unit
        if part[2]:
            total += int(int(part[2]) * (unit / 10 ** len(part[2])))  # Go computes this in floating point
        at = part.end()
    nanos = -total if negative else total
    return Duration(nanos) if INT_MIN <= nanos <= INT_MAX else None


def format_duration(value: Duration) -> str:
    """A duration in seconds, rounded to a double as upstream does: `3.5s`."""
    whole, part = divmod(abs(value.nanos), 10**9)
    seconds = float(whole) + part / 1e9
    text = f"{seconds:.9f}".rstrip("0").rstrip(".") if seconds < 2**53 else f"{seconds:.0f}"
    return f"{'-' if value.nanos < 0 else ''}{text}s"


def parse_timestamp(text: str) -> Timestamp | None:
    """An instant in RFC 3339; None if it is none."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    try:
        moment = datetime(*(int(found[at]) for at in range(1, 7)), tzinfo=UTC)
    except ValueError:
        return None
    zone = 0
    if found[8]:
        if int(found[9]) > 24 or int(found[10]) > 60:
            return None
        zone = (int(found[9]) * 60 + int(found[10])) * (-1 if found[8] == "-" else 1)
    span = moment - _EPOCH
    nanos = int((found[7] or "0")[:9].ljust(9, "0"))
    return Timestamp((span.days * 86400 + span.seconds - zone * 60) * 10**9 + nanos, zone)


def _at(value: Timestamp, minutes: int) -> datetime:
    """The wall clock so many minutes east of UTC. Raises EvalError outside of the years 1 to 9999."""
    try:
        return _EPOCH + timedelta(seconds=value.nanos // 10**9, minutes=minutes)
    except OverflowError:
        raise EvalError("timestamp overflow") from None


def format_timestamp(value: Timestamp) -> str:
    """A timestamp in RFC 3339, in the zone that it was written in, with the fraction digits it needs."""
    moment = _at(value, value.zone)
    nanos = value.nanos % 10**9
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    hours, minutes = divmod(abs(value.zone), 60)
    zone = f"{'-' if value.zone < 0 else '+'}{hours:02d}:{minutes:02d}" if value.zone else "Z"
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}{fraction}{zone}"


def _in_zone(value: Timestamp, zone: str) -> datetime:
    """The wall clock in a zone, given by its name or as `[+-]hours:minutes`. Raises EvalError for another text."""
    offset = _OFFSET.fullmatch(zone)
    if offset is not None and len(zone) <= 12:
        hours, minutes = int(offset[1]), int(offset[2])
        if minutes > 59:
            raise EvalError(f"timezone offset minutes out of range [0, 59]: {zone}")
        return _at(value, hours * 60 - minutes if zone[0] == "-" else hours * 60 + minutes)
    if zone in ("", "UTC"):
        return _at(value, 0)
    try:
        return _at(value, 0).astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OverflowError, OSError):
        raise EvalError(f"unknown time zone {zone}") from None


_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDate": lambda at: at.day,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
}
_SPANS = {"getHours": 3600 * 10**9, "getMinutes": 60 * 10**9, "getSeconds": 10**9, "getMilliseconds": 10**6}


def time_part(name: str) -> Callable[..., Value]:
    """The method `name` of timestamps, and of durations where they have it."""
    part, span = _PARTS.get(name), _SPANS.get(name)

    def read(value: Value, zone: Value = "UTC") -> Value:
        if isinstance(value, Timestamp) and isinstance(zone, str):
            moment = _in_zone(value, zone)
            return part(moment) if part else value.nanos % 10**9 // 10**6
        if isinstance(value, Duration) and span and zone == "UTC":
            whole = abs(value.nanos) // span
            return -whole if value.nanos < 0 else whole
        raise no_such_overload()

    return read


TIME_PARTS = (*_PARTS, "getMilliseconds")
