"""What a handler may answer a caller with instead of a result; `grpc.py` turns it into a status."""

from muster_decider import DomainError
from muster_eventstore import PermanentError, TransientError

__all__ = ["DomainError", "Invalid", "NotFound", "PermanentError", "TransientError"]


class NotFound(Exception):
    """The thing asked for does not exist; `reason` is UPPER_SNAKE_CASE."""

    def __init__(self, detail: str, reason: str = "NOT_FOUND") -> None:
        super().__init__(detail)
        self.reason = reason


class Invalid(Exception):
    """The request itself is wrong; the text names object, field and reason."""

    def __init__(self, detail: str, reason: str = "INVALID_ARGUMENT") -> None:
        super().__init__(detail)
        self.reason = reason
