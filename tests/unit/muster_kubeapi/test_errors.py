"""What an answer that is no success means to the caller."""

import orjson
import pytest

from muster_kubeapi import Expired, KubeError, Refused, Unreachable
from muster_kubeapi.errors import Status


def a_status(code: int, reason: str, **details: object) -> bytes:
    return orjson.dumps({"kind": "Status", "code": code, "reason": reason, "message": "why", "details": details})


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", Refused),
        (401, "Unauthorized", Refused),
        (403, "Forbidden", Refused),
        (404, "NotFound", Refused),
        (409, "Conflict", Refused),
        (410, "Expired", Expired),
        (410, "Gone", Expired),
        (422, "Invalid", Refused),
        (429, "TooManyRequests", Unreachable),
        (500, "InternalError", Unreachable),
        (503, "ServiceUnavailable", Unreachable),
        (504, "Timeout", Unreachable),
    ],
)
def test_codes_say_whether_to_ask_again(code: int, reason: str, kind: type[KubeError]) -> None:
    error = Status.read(code, a_status(code, reason)).error("GET /x")
    assert type(error) is kind
    assert str(error) == f"GET /x: {code} {reason}: why"


def test_a_version_that_the_server_does_not_know_yet_is_expired_as_well() -> None:
    body = a_status(504, "Timeout", causes=[{"reason": "ResourceVersionTooLarge"}])
    assert isinstance(Status.read(504, body).error("GET /x"), Expired)


def test_the_longer_of_both_waits_counts() -> None:
    status = Status.read(429, a_status(429, "TooManyRequests", retryAfterSeconds=3))
    for header, wait in ((0.0, 3.0), (5.0, 5.0)):
        error = status.error("GET /x", header)
        assert isinstance(error, Unreachable)
        assert error.retry_after == wait


@pytest.mark.parametrize("body", [b"<html>Bad gateway</html>\nmore", b"[1]", b"", b"\xff\xfe", b'{"details": 1}'])
def test_a_body_that_is_no_status_is_told_by_its_first_line(body: bytes) -> None:
    error = Status.read(502, body).error("GET /x")
    assert isinstance(error, Unreachable)
    assert "\n" not in str(error)
    assert str(error).startswith("GET /x: 502")
