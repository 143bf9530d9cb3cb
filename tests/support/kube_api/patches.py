"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902)."""

from copy import deepcopy
from typing import cast

from support.kube_api.answers import Json, bad_request, invalid


def merge(target: object, patch: object) -> object:
    """The target after a merge patch; neither is changed."""
    if not isinstance(patch, dict):
        return deepcopy(patch)
    merged = dict(cast("Json", target)) if isinstance(target, dict) else {}
    for name, value in cast("Json", patch).items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), value)
    return merged


def apply_operations(target: Json, operations: object) -> Json:
    """The target after a JSON patch. Raises StatusError: 400 for a bad patch, 422 for one that does not fit."""
    if not isinstance(operations, list):
        raise bad_request("a JSON patch is a list of operations")
    document: object = deepcopy(target)
    for operation in cast("list[object]", operations):
        if not isinstance(operation, dict):
            raise bad_request("an operation is an object")
        document = _apply(document, cast("Json", operation))
    if not isinstance(document, dict):
        raise invalid("the patch leaves no object")
    return cast("Json", document)


def _apply(document: object, operation: Json) -> object:
    name, path = str(operation.get("op")), _pointer(str(operation.get("path", "")))
    match name:
        case "add":
            return _put(document, path, deepcopy(operation.get("value")), insert=True)
        case "replace":
            _get(document, path)
            return _put(document, path, deepcopy(operation.get("value")), insert=False)
        case "remove":
            return _remove(document, path)
        case "test":
            if _get(document, path) != operation.get("value"):
                raise invalid(f"testing value {operation.get('path')} failed")
            return document
        case "move" | "copy":
            source = _pointer(str(operation.get("from", "")))
            value = deepcopy(_get(document, source))
            return _put(_remove(document, source) if name == "move" else document, path, value, insert=True)
        case _:
            raise bad_request(f"unknown operation {name!r}")


def _pointer(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise bad_request(f"a path begins with a slash: {path!r}")
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _get(document: object, path: list[str]) -> object:
    for step in path:
        if isinstance(document, dict) and step in document:
            document = cast("Json", document)[step]
        elif isinstance(document, list) and step.isdecimal() and int(step) < len(cast("list[object]", document)):
            document = cast("list[object]", document)[int(step)]
        else:
            raise invalid(f"the path /{'/'.join(path)} does not exist")
    return document


def _put(document: object, path: list[str], value: object, *, insert: bool) -> object:
    if not path:
        return value
    parent, step = _get(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        cast("Json", parent)[step] = value
    elif isinstance(parent, list):
        listed = cast("list[object]", parent)
        index = len(listed) if step == "-" else int(step) if step.isdecimal() else len(listed) + 1
        if index > len(listed) - (0 if insert else 1):
            raise invalid(f"the path /{'/'.join(path)} does not exist")
        if insert:
            listed.insert(index, value)
        else:
            listed[index] = value
    else:
        raise invalid(f"the path /{'/'.join(path)} does not exist")
    return document


def _remove(document: object, path: list[str]) -> object:
    _get(document, path)
    parent, step = _get(document, path[:-1]), path[-1]
    if isinstance(parent, dict):
        cast("Json", parent).pop(step)
    else:
        cast("list[object]", parent).pop(int(step))
    return document
