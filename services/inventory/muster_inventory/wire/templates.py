"""The node template within a declared NodeGroup, as canonical JSON."""

from collections.abc import Mapping
from typing import cast

import orjson


def canonical(value: object) -> bytes:
    """JSON with sorted keys: equal values give equal bytes."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def template_of(json: bytes) -> bytes:
    """`spec.template` of a NodeGroup in canonical JSON; `null` without one."""
    try:
        body = cast("object", orjson.loads(json or b"null"))
    except orjson.JSONDecodeError:
        return b"null"
    spec = cast("Mapping[str, object]", body).get("spec") if isinstance(body, Mapping) else None
    template = cast("Mapping[str, object]", spec).get("template") if isinstance(spec, Mapping) else None
    return canonical(template)
