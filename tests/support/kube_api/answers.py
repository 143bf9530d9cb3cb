"""JSON as the API server means it, and its errors as Status objects."""

from collections.abc import Mapping
from typing import cast

Json = dict[str, object]


class StatusError(Exception):
    """An answer that is an error (meta/v1 Status)."""

    def __init__(self, code: int, reason: str, message: str, *, causes: tuple[str, ...] = (), retry: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.causes = causes
        self.retry = retry

    def status(self) -> Json:
        """The object in the body."""
        details: Json = {}
        if self.causes:
            details["causes"] = [{"reason": cause, "message": self.message} for cause in self.causes]
        if self.retry:
            details["retryAfterSeconds"] = self.retry
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": details,
            "code": self.code,
        }


def not_found(what: str) -> StatusError:
    """404."""
    return StatusError(404, "NotFound", f"{what} not found")


def invalid(message: str) -> StatusError:
    """422."""
    return StatusError(422, "Invalid", message)


def bad_request(message: str) -> StatusError:
    """400."""
    return StatusError(400, "BadRequest", message)


def conflict(message: str) -> StatusError:
    """409 for a version or uid that is not the present one."""
    return StatusError(409, "Conflict", f"Operation cannot be fulfilled: {message}; please apply your changes anew")


def expired(message: str) -> StatusError:
    """410."""
    return StatusError(410, "Expired", message)


def part(obj: Mapping[str, object], name: str) -> Json:
    """An object's field that is a map; a new one, not in the object, when it is absent."""
    value = obj.get(name)
    return cast("Json", value) if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """A list's items."""
    return cast("list[object]", value) if isinstance(value, list) else []


def text(value: object) -> str:
    """A string, else empty."""
    return value if isinstance(value, str) else ""
