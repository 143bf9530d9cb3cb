"""What can go wrong around a store, told apart by what the caller may do about it."""


class TransientError(Exception):
    """The other side is away or busy; the same call may succeed later, unchanged."""


class PermanentError(Exception):
    """The same call fails for ever; `reason` is UPPER_SNAKE_CASE and is kept with a parked message."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class StoreClosed(TransientError):
    """The connection was closed by this process; nothing more can be stored through it."""


class StreamRegressed(PermanentError):
    """A stream ends before a position that was read from it: it was replaced or restored from an older copy."""

    def __init__(self, stream: str, position: int, last: int) -> None:
        super().__init__(
            "STREAM_REGRESSED",
            f"stream {stream!r} ends at sequence {last}, but {position} was read from it before; "
            "it was replaced or restored: drop the snapshots of its readers and start them again",
        )


class UndecodableHistory(PermanentError):
    """The own stream holds an event that this code does not know: the code is older than the stream."""

    def __init__(self, stream: str, sequence: int, detail: str) -> None:
        super().__init__("UNDECODABLE_HISTORY", f"stream {stream!r}, sequence {sequence}: {detail}")


class Fenced(PermanentError):
    """Another holder took the lease over; this writer must step down."""

    def __init__(self, subject: str, own: int, seen: int) -> None:
        super().__init__("FENCED", f"{subject}: written by lease generation {seen}, this writer holds {own}")
