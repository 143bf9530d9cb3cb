"""What an API server may answer instead of what was asked, told apart by what the caller may do about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import orjson


class KubeError(Exception):
    """A call to an API server did not give what was asked."""


class AccessInvalid(KubeError):
    """There is no usable configuration of a cluster: the message names the file or context and what to do."""


class Unreachable(KubeError):
    """No answer, or one that says "later" (429, 5xx): the same call may succeed unchanged. `retry_after` in seconds."""

    def __init__(self, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Refused(KubeError):
    """The server understood and said no. `status` is the HTTP status, `reason` that of the Status object."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class Expired(Refused):
    """A resourceVersion or continue token that the server no longer knows, or does not know yet: list again."""


class NotServed(Refused):
    """The server has no such resource (any more)."""


@dataclass(frozen=True, slots=True)
class Status:
    """The parts of a `v1 Status` that are read (KEP-less API convention "Response Status Kind")."""

    code: int
    reason: str
    message: str
    causes: tuple[str, ...]
    retry_after: float

    @classmethod
    def read(cls, code: int, body: bytes) -> "Status":
        """Of an HTTP answer; a body that is no Status, as proxies send it, gives its first line as message."""
        try:
            parsed: object = orjson.loads(body)
        except orjson.JSONDecodeError:
            parsed = None
        if not isinstance(parsed, dict):
            line = body[:200].decode("utf-8", "replace").strip().partition("\n")[0]
            return cls(code, "", line, (), 0.0)
        return cls.of(cast("Mapping[str, object]", parsed), code)

    @classmethod
    def of(cls, obj: Mapping[str, object], code: int = 0) -> "Status":
        """Of a Status object, as it stands in a watch too."""
        details = obj.get("details")
        found = cast("Mapping[str, object]", details) if isinstance(details, dict) else {}
        listed = found.get("causes")
        causes = tuple(
            str(cast("Mapping[str, object]", cause).get("reason", ""))
            for cause in (cast("list[object]", listed) if isinstance(listed, list) else [])
            if isinstance(cause, dict)
        )
        given, seconds = obj.get("code"), found.get("retryAfterSeconds")
        return cls(
            given if isinstance(given, int) else code,
            _text(obj.get("reason")),
            _text(obj.get("message")),
            causes,
            float(seconds) if isinstance(seconds, int) else 0.0,
        )

    def error(self, call: str, retry_after: float = 0.0) -> KubeError:
        """The exception that says it; `call` is method and path."""
        told = f"{call}: {self.code} {self.reason}: {self.message}".removesuffix(": ")
        if self.code == 410 or self.reason in ("Expired", "Gone") or "ResourceVersionTooLarge" in self.causes:
            return Expired(self.code, self.reason, told)
        if self.code == 429 or self.code >= 500:
            return Unreachable(told, max(retry_after, self.retry_after))
        return Refused(self.code, self.reason, told)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
