"""The only place that spells subjects.

Events: `muster.<context>.<cluster>.<kind>.<id…>`; commands: `muster.commands.<service>.<cluster>.<kind>.<key>`;
timers: `muster.timers.schedule.<service>.<cluster>.<kind>.<key>` fires on `muster.timers.fired.…`; parked messages:
`muster.parked.<consumer>.<stream>.<sequence>.<round>`. The second token is the name of the stream.
A Kubernetes name may hold dots, so every token is percent-encoded; an empty one is the marker `%-`, which no
encoding gives.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

ROOT = "muster"
COMMANDS = "commands"
TIMERS = "timers"
PARKED = "parked"
REPLAYS = "replays"
LEASE_STREAM = "KV_leases"
EMPTY = "%-"
_LEASE_PREFIX = "$KV.leases."
_SAFE = ":/@=+,~-_"
_PLAIN = re.compile(r"[A-Za-z0-9.:/@=+,~_-]+")  # nothing to encode but dots, as in every usual name


@dataclass(frozen=True, slots=True)
class InvalidSubject:
    """A subject that no function of this module gives."""

    subject: str
    reason: str


@dataclass(frozen=True, slots=True)
class EventSubject:
    """Subject of an event; `ids` has at least one token."""

    context: str
    cluster: str
    kind: str
    ids: tuple[str, ...]

    def __str__(self) -> str:
        return event_subject(self.context, self.cluster, self.kind, *self.ids)


@dataclass(frozen=True, slots=True)
class CommandSubject:
    """Subject of a command; `key` is the id of the aggregate that it asks."""

    service: str
    cluster: str
    kind: str
    key: str

    def __str__(self) -> str:
        return command_subject(self.service, self.cluster, self.kind, self.key)


@dataclass(frozen=True, slots=True)
class TimerSubject:
    """Subject of a timer, scheduled or fired."""

    service: str
    cluster: str
    kind: str
    key: str

    @property
    def scheduled(self) -> str:
        """Where the timer waits; a later schedule on it replaces the earlier."""
        return _join(TIMERS, "schedule", self.service, self.cluster, self.kind, self.key)

    @property
    def fired(self) -> str:
        """Where it is delivered when due."""
        return _join(TIMERS, "fired", self.service, self.cluster, self.kind, self.key)


@dataclass(frozen=True, slots=True)
class ParkedSubject:
    """Subject of a parked message: who gave up on it, where it stands, and the how manieth attempt of the operator."""

    consumer: str
    stream: str
    sequence: int
    round: int

    @property
    def parked(self) -> str:
        """Where it waits for the operator."""
        return _join(PARKED, self.consumer, self.stream, str(self.sequence), str(self.round))

    @property
    def replayed(self) -> str:
        """Where it is handed to its consumer once more."""
        return _join(REPLAYS, self.consumer, self.stream, str(self.sequence), str(self.round))


def escape(token: str) -> str:
    """`token` as one subject token: no dot, blank, wildcard, control or non-ASCII character, never empty."""
    if _PLAIN.fullmatch(token):
        return token.replace(".", "%2E")
    return quote(token, safe=_SAFE).replace(".", "%2E") if token else EMPTY


def unescape(token: str) -> str:
    """The inverse of `escape`; a token that `escape` does not give raises ValueError."""
    plain = "" if token == EMPTY else unquote(token, errors="strict")
    if escape(plain) != token:
        raise ValueError(f"{token!r} is not an escaped token")
    return plain


def event_subject(context: str, cluster: str, kind: str, *ids: str) -> str:
    """`muster.<context>.<cluster>.<kind>.<id…>`; an aggregate that is alone of its kind has no ids."""
    return _join(context, cluster, kind, *ids)


def event_filter(context: str, cluster: str | None = None, kind: str | None = None) -> str:
    """Filter over the events of a context, of one cluster, or of one kind in it (aggregates with ids only)."""
    tokens = [ROOT, escape(context)]
    if cluster is not None or kind is not None:
        tokens.append("*" if cluster is None else escape(cluster))
    if kind is not None:
        tokens.append(escape(kind))
    return ".".join([*tokens, ">"])


def sole_filter(context: str, kind: str) -> str:
    """Filter over the events of aggregates that are alone of their kind in their cluster."""
    return ".".join([ROOT, escape(context), "*", escape(kind)])


def command_subject(service: str, cluster: str, kind: str, key: str) -> str:
    """`muster.commands.<service>.<cluster>.<kind>.<key>`."""
    return _join(COMMANDS, service, cluster, kind, key)


def command_filter(service: str, cluster: str | None = None) -> str:
    """Filter over the commands to a service, of all clusters or of one."""
    return ".".join([ROOT, COMMANDS, escape(service), *([] if cluster is None else [escape(cluster)]), ">"])


def fired_filter(service: str, cluster: str | None = None) -> str:
    """Filter over the fired timers of a service."""
    return ".".join([ROOT, TIMERS, "fired", escape(service), *([] if cluster is None else [escape(cluster)]), ">"])


def parked_filter(consumer: str | None = None) -> str:
    """Filter over the parked messages, of all consumers or of one."""
    return ".".join([ROOT, PARKED, *([] if consumer is None else [escape(consumer)]), ">"])


def replayed_filter(consumer: str) -> str:
    """Filter over the messages that were handed to `consumer` once more."""
    return ".".join([ROOT, REPLAYS, escape(consumer), ">"])


def lease_subject(key: str) -> str:
    """Subject of a lease in its key-value bucket. Each part of `service/cluster` is a token, so that a user may be
    allowed the leases of one service alone."""
    return _LEASE_PREFIX + ".".join(map(escape, key.split("/")))


def stream_of(subject: str) -> str:
    """Name of the stream that keeps `subject`; a foreign subject raises ValueError."""
    if subject.startswith(_LEASE_PREFIX):
        return LEASE_STREAM
    tokens = subject.split(".")
    if len(tokens) < 3 or tokens[0] != ROOT:
        raise ValueError(f"{subject!r} is no subject of this system")
    return unescape(tokens[1])


def parse_event(subject: str) -> EventSubject | InvalidSubject:
    """The parts of an event's subject."""
    tokens = _split(subject)
    if isinstance(tokens, InvalidSubject):
        return tokens
    if len(tokens) < 3 or tokens[0] in (COMMANDS, TIMERS, PARKED, REPLAYS):
        return InvalidSubject(subject, "an event is muster.<context>.<cluster>.<kind>.<id…>")
    return EventSubject(tokens[0], tokens[1], tokens[2], tuple(tokens[3:]))


def parse_command(subject: str) -> CommandSubject | InvalidSubject:
    """The parts of a command's subject."""
    tokens = _split(subject)
    if isinstance(tokens, InvalidSubject):
        return tokens
    if len(tokens) != 5 or tokens[0] != COMMANDS:
        return InvalidSubject(subject, "a command is muster.commands.<service>.<cluster>.<kind>.<key>")
    return CommandSubject(*tokens[1:])


def parse_timer(subject: str) -> TimerSubject | InvalidSubject:
    """The parts of a timer's subject, scheduled or fired."""
    tokens = _split(subject)
    if isinstance(tokens, InvalidSubject):
        return tokens
    if len(tokens) != 6 or tokens[0] != TIMERS or tokens[1] not in ("schedule", "fired"):
        return InvalidSubject(subject, "a timer is muster.timers.fired.<service>.<cluster>.<kind>.<key>")
    return TimerSubject(*tokens[2:])


def parse_parked(subject: str) -> ParkedSubject | InvalidSubject:
    """The parts of a parked or replayed message's subject."""
    tokens = _split(subject)
    if isinstance(tokens, InvalidSubject):
        return tokens
    if len(tokens) != 5 or tokens[0] not in (PARKED, REPLAYS) or not (tokens[3].isdigit() and tokens[4].isdigit()):
        return InvalidSubject(subject, "a parked message is muster.parked.<consumer>.<stream>.<sequence>.<round>")
    return ParkedSubject(tokens[1], tokens[2], int(tokens[3]), int(tokens[4]))


def matches(pattern: str, subject: str) -> bool:
    """Whether a subject falls under a filter with `*` and `>`."""
    wanted, given = pattern.split("."), subject.split(".")
    for index, part in enumerate(wanted):
        if part == ">":
            return len(given) > index
        if index >= len(given) or (part not in ("*", given[index])):
            return False
    return len(wanted) == len(given)


def _join(*tokens: str) -> str:
    return ".".join([ROOT, *map(escape, tokens)])


def _split(subject: str) -> list[str] | InvalidSubject:
    root, *tokens = subject.split(".")
    if root != ROOT:
        return InvalidSubject(subject, f"it does not begin with {ROOT!r}")
    try:
        return [unescape(token) for token in tokens]
    except ValueError as error:
        return InvalidSubject(subject, str(error))
