"""Whether a slice or a device is for a node (§1.1 NodeSelector, §2.1)."""

from support.dra_reference.objects import Json


class Ended(Exception):
    """The attempt ends as FATAL."""


def place_matches(place: Json, node: Json) -> bool | None:
    """By the first of nodeName, allNodes, nodeSelector that is set; None: there is none. Raises Ended."""
    if place.get("nodeName"):
        return place["nodeName"] == node["metadata"]["name"]
    if place.get("allNodes"):
        return True
    if place.get("nodeSelector") is not None:
        return selector_matches(place["nodeSelector"], node)
    return None


def selector_matches(selector: Json, node: Json) -> bool:
    """Terms are alternatives; an empty one matches nothing. All of it must be readable, else Ended."""
    answers = [_term_matches(term, node) for term in selector.get("nodeSelectorTerms") or []]
    return any(answers)


def _term_matches(term: Json, node: Json) -> bool:
    labels = node["metadata"].get("labels") or {}
    fields = {"metadata.name": node["metadata"]["name"]}
    answers = [_holds(one, labels) for one in term.get("matchExpressions") or []]
    for one in term.get("matchFields") or []:
        if one["key"] not in fields or one["operator"] not in ("In", "NotIn") or len(one.get("values") or []) != 1:
            raise Ended("a field of a node selector that cannot be read")
        answers.append(_holds(one, fields))
    return bool(answers) and all(answers)


def _holds(one: Json, labels: Json) -> bool:
    values, found = one.get("values") or [], labels.get(one["key"])
    match one["operator"]:
        case "In" if values:
            return found in values
        case "NotIn" if values:
            return found not in values
        case "Exists" if not values:
            return found is not None
        case "DoesNotExist" if not values:
            return found is None
        case "Gt" | "Lt" if len(values) == 1:
            return _compared(one["operator"], found, values[0])
        case _:
            raise Ended("a requirement of a node selector that cannot be read")


def _compared(operator: str, found: str | None, wanted: str) -> bool:
    try:
        limit = int(wanted)
    except ValueError:
        raise Ended(f"{wanted!r} is no integer") from None
    try:
        own = int(found or "")
    except ValueError:
        return False
    return own > limit if operator == "Gt" else own < limit
