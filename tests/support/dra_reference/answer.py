"""The answer for one node as JSON in the form of shared/corpus (§0.1, §3.10)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from support.dra_reference.nodes import Ended
from support.dra_reference.objects import Json, claim_v1, slice_v1, tainted
from support.dra_reference.pools import State, pools_of
from support.dra_reference.prepared import Claim, Option, prepare
from support.dra_reference.search import Pick, Search, TooManySteps, held_by


@dataclass(frozen=True, slots=True)
class Answer:
    """`status`: ok, none, nodeError, error (FATAL), or unknown where the step limit was reached."""

    status: str
    claims: Sequence[Mapping[str, Any]] = ()
    message: str = ""


def answer(row: Json, node: Json, *, filled: bool = True, lists: bool = False, step_limit: int = 10_000) -> Answer:
    """For one node of a row. `filled`: with the defaults of the API server; `lists`: gate ListTypeAttributes.

    Amounts in the answer are in nano-units.
    """
    slices = tainted(map(slice_v1, row.get("slices") or []), row.get("taintRules") or [])
    classes = {each["metadata"]["name"]: each for each in row.get("classes") or []}
    held = held_by(row.get("allocated") or [])
    try:
        pools = pools_of(node, slices)
        claims = [prepare(claim_v1(one, filled=filled), classes, pools, node) for one in row["claims"]]
        search = Search(node, pools, claims, held, step_limit, lists=lists)
        if search.run():
            return Answer("ok", [_claim(number, claim, search, node) for number, claim in enumerate(claims)])
    except Ended as end:
        return Answer("error", message=str(end))
    except TooManySteps:
        return Answer("unknown")
    invalid = any(pool.state is State.INVALID for pool in pools)
    return Answer("nodeError" if invalid else "none")


def _claim(number: int, claim: Claim, search: Search, node: Json) -> Json:
    picks = [pick for pick in search.picks if pick.claim == number]
    chosen = [search.fixed[number, at] for at in range(len(claim.requests))]
    return {
        "results": list(map(_result, picks)),
        "nodeSelector": _node_selector(picks, node),
        "config": _config(claim, chosen),
    }


def _result(pick: Pick) -> Json:
    driver, pool, device = pick.device.key
    found: dict[str, Any] = {"request": pick.option.name, "driver": driver, "pool": pool, "device": device}
    if pick.option.admin:
        found["adminAccess"] = True
    for field in ("bindingConditions", "bindingFailureConditions"):
        if pick.device.json.get(field):
            found[field] = pick.device.json[field]
    if pick.option.json.get("tolerations"):
        found["tolerations"] = pick.option.json["tolerations"]
    if pick.device.shared:
        found["shared"] = True
        if pick.amounts:
            found["consumedCapacity"] = pick.amounts
    return found


def _node_selector(picks: Sequence[Pick], node: Json) -> Json | None:
    fields: list[Json] = []
    expressions: list[Json] = []
    for pick in picks:
        place = pick.device.place
        if place.get("nodeName") or pick.device.json.get("bindsToNode"):
            name = {"key": "metadata.name", "operator": "In", "values": [node["metadata"]["name"]]}
            return {"nodeSelectorTerms": [{"matchFields": [name]}]}
        if place.get("allNodes"):
            continue
        terms = place["nodeSelector"]["nodeSelectorTerms"]
        if len(terms) > 1:
            raise Ended("a node selector with several terms")
        _join(fields, terms[0].get("matchFields") or [])
        _join(expressions, terms[0].get("matchExpressions") or [])
    term = {"matchExpressions": expressions, "matchFields": fields}
    return {"nodeSelectorTerms": [{key: value for key, value in term.items() if value}]} if any(term.values()) else None


def _join(known: list[Json], more: Sequence[Json]) -> None:
    for one in more:
        if all(_identity(one) != _identity(other) for other in known):
            known.append(one)


def _identity(one: Json) -> tuple[str, str, frozenset[str]]:
    return one["key"], one["operator"], frozenset(one.get("values") or [])


def _config(claim: Claim, chosen: Sequence[Option]) -> list[Json]:
    found: list[Json] = []
    seen: list[str] = []
    for option in chosen:
        name = option.device_class["metadata"]["name"]
        if name in seen:
            continue
        seen.append(name)
        users = [one.name for one in chosen if one.device_class["metadata"]["name"] == name]
        for config in (option.device_class.get("spec") or {}).get("config") or []:
            found.append(_configured("FromClass", users, config, chosen))
    for config in claim.config:
        named = config.get("requests") or []
        if not named or any(option.request in named or option.name in named for option in chosen):
            found.append(_configured("FromClaim", named, config, chosen))
    return found


def _configured(source: str, named: Sequence[str], config: Json, chosen: Sequence[Option]) -> Json:
    """Names of requests are left out where they cover every request of the claim (D10)."""
    covered = all(option.request in named or option.name in named for option in chosen)
    requests = {"requests": list(named)} if named and not covered else {}
    return {"source": source, **requests, "opaque": config["opaque"]}
