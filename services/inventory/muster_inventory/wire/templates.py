"""Parts of a declared NodeGroup: its node template as canonical JSON, and who answers for it."""

from collections.abc import Mapping
from typing import cast

import orjson

TRUSTED_ANNOTATION = "muster.dev/template-trusted"


def canonical(value: object) -> bytes:
    """JSON with sorted keys: equal values give equal bytes."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def template_of(json: bytes) -> bytes:
    """`spec.template` of a NodeGroup in canonical JSON; `null` without one."""
    return canonical(_at(_read(json), "spec").get("template"))


def vouched_of(json: bytes) -> str:
    """The annotation by which a person answers for the template; empty without one."""
    return str(_at(_at(_read(json), "metadata"), "annotations").get(TRUSTED_ANNOTATION) or "")


def _read(json: bytes) -> Mapping[str, object]:
    try:
        body = cast("object", orjson.loads(json or b"null"))
    except orjson.JSONDecodeError:
        return {}
    return cast("Mapping[str, object]", body) if isinstance(body, Mapping) else {}


def _at(body: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = body.get(name)
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}
