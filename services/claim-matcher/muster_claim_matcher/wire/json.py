"""Kubernetes JSON in messages."""

from collections.abc import Mapping
from typing import cast

import orjson


class NotAnObject(ValueError):
    """The bytes are no JSON object; the text says why."""


def read_object(data: bytes) -> Mapping[str, object]:
    """One JSON object. Raises NotAnObject."""
    try:
        body = cast("object", orjson.loads(data))
    except orjson.JSONDecodeError as error:
        raise NotAnObject(f"no JSON: {error}") from error
    if not isinstance(body, Mapping):
        raise NotAnObject(f"want a JSON object, got {type(body).__name__}")
    return cast("Mapping[str, object]", body)
