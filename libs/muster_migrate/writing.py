"""Claims, claim templates and device classes as resource.k8s.io/v1 objects, and the edits that refer to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from muster_migrate.catalogue import Query
from muster_migrate.containers import SECTIONS, Container
from muster_migrate.edits import Cut, Edit, Json, Path, Put, items_at, mapping_at
from muster_migrate.kinds import PodPlace
from muster_migrate.naming import Names, free_name, label
from muster_migrate.needs import Line, packed

API = "resource.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """One request of a claim."""

    name: str
    line: Line
    query: Query


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """An entry of a pod's `resourceClaims` with the template it names."""

    entry: str
    template: str
    requests: tuple[RequestPlan, ...]


def claim_plans(
    obj: Json,
    place: PodPlace,
    containers: Sequence[Container],
    lines: Sequence[Line],
    queries: Mapping[str, Query],
    names: Names,
) -> tuple[ClaimPlan, ...]:
    """The claims of a pod. They are named after what they hold, their requests after the containers."""
    if not lines:
        return ()
    metadata = mapping_at(obj, ("metadata",))
    namespace, own = metadata.get("namespace"), metadata.get("name", metadata.get("generateName"))
    entries = {str(mapping_at(each, ()).get("name")) for each in items_at(obj, (*place.spec, "resourceClaims"))}
    nouns = {queries[line.resource].noun for line in lines}
    noun = nouns.pop() if len(nouns) == 1 else "devices"
    taken: set[str] = set()
    plans: list[ClaimPlan] = []
    for group in packed(lines):
        entry = free_name(label(noun), entries)
        entries.add(entry)
        requests: list[RequestPlan] = []
        for line in group:
            name = free_name(label(_wish(line, lines, containers, queries)), taken)
            taken.add(name)
            requests.append(RequestPlan(name, line, queries[line.resource]))
        base = [part for part in (str(own or obj.get("kind", "pod")).strip("-"), place.role, entry) if part]
        template = names.template(namespace if isinstance(namespace, str) else "", "-".join(base))
        plans.append(ClaimPlan(entry, template, tuple(requests)))
    return tuple(plans)


def _wish(line: Line, lines: Sequence[Line], containers: Sequence[Container], queries: Mapping[str, Query]) -> str:
    noun = queries[line.resource].noun
    if len({each.owner for each in lines}) == 1:
        return noun
    several = len({each.resource for each in lines}) > 1
    return f"{containers[line.owner].name}-{noun}" if several else containers[line.owner].name


def container_edits(
    obj: Json, container: Container, index: int, gone: frozenset[str], plans: Sequence[ClaimPlan]
) -> list[Edit]:
    """Take the integers out of a container and let it refer to the requests that replace them."""
    where = (*container.path, "resources")
    resources = mapping_at(obj, where)
    edits: list[Edit] = []
    left = len(resources)
    for section in SECTIONS:
        values = mapping_at(resources, (section,))
        cut = [name for name in values if name in gone]
        if cut and len(cut) == len(values):
            edits.append(Cut((*where, section)))
            left -= 1
        else:
            edits += [Cut((*where, section, name)) for name in cut]
    references = _references(index, plans)
    if references:
        known = items_at(resources, ("claims",))
        if known:
            edits += [Put((*where, "claims", len(known) + offset), each) for offset, each in enumerate(references)]
        else:
            edits.append(Put((*where, "claims"), references))
    elif edits and left == 0:
        return [Cut(where)]
    return edits


def _references(index: int, plans: Sequence[ClaimPlan]) -> list[dict[str, object]]:
    """A container that uses all of a claim names the claim alone."""
    found: list[dict[str, object]] = []
    for plan in plans:
        used = [each for each in plan.requests if index in each.line.users]
        if len(used) == len(plan.requests):
            found.append({"name": plan.entry})
        else:
            found.extend({"name": plan.entry, "request": each.name} for each in used)
    return found


def pod_edits(obj: Json, spec: Path, plans: Sequence[ClaimPlan]) -> list[Edit]:
    """The pod's entries for its claims."""
    entries: list[dict[str, object]] = [
        {"name": plan.entry, "resourceClaimTemplateName": plan.template} for plan in plans
    ]
    known = items_at(obj, (*spec, "resourceClaims"))
    if not entries:
        return []
    if known:
        return [Put((*spec, "resourceClaims", len(known) + offset), each) for offset, each in enumerate(entries)]
    return [Put((*spec, "resourceClaims"), entries)]


def claim_template(plan: ClaimPlan, namespace: str | None) -> dict[str, object]:
    """The ResourceClaimTemplate (dra-semantics §1.9, §1.10)."""
    metadata: dict[str, object] = {"name": plan.template}
    if namespace:
        metadata["namespace"] = namespace
    return {
        "apiVersion": API,
        "kind": "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": {"spec": {"devices": {"requests": [_request(each) for each in plan.requests]}}},
    }


def _request(plan: RequestPlan) -> dict[str, object]:
    exactly: dict[str, object] = {"deviceClassName": plan.query.device_class}
    if plan.query.selectors:
        exactly["selectors"] = _selectors(plan.query.selectors)
    if plan.line.count != 1:
        exactly["count"] = plan.line.count
    return {"name": plan.name, "exactly": exactly}


def device_class(query: Query, resource: str = "", name: str = "", config: Sequence[Json] = ()) -> dict[str, object]:
    """The class of a query as documented; with a resource name, one that also serves the integers (KEP-5004)."""
    spec: dict[str, object] = {}
    if resource:
        spec["extendedResourceName"] = resource
    selectors = (*query.class_selectors, *query.selectors) if resource else query.class_selectors
    if selectors:
        spec["selectors"] = _selectors(selectors)
    if config:
        spec["config"] = [dict(each) for each in config]
    return {
        "apiVersion": API,
        "kind": "DeviceClass",
        "metadata": {"name": name or query.device_class},
        "spec": spec,
    }


def _selectors(expressions: Sequence[str]) -> list[dict[str, object]]:
    return [{"cel": {"expression": each}} for each in expressions]
