"""Re-checks a returned plan from the raw JSON of its row (the table "Rich plans" of shared/corpus/README.md).

It shares no code with the planner: pods, nodes, domains and devices are read again here in the most obvious way.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.plan.judge_devices import Json, NodeDevices, check_claim, counters_hold, promised, publish, take
from conformance.plan.judge_rules import (
    admits,
    advertises,
    anti_affinity,
    effective,
    group_of,
    labels_match,
    selector_matches,
    tolerates,
)
from muster_types import parse_quantity

HOST, KUEUE, TEAM = "kubernetes.io/hostname", "kueue.x-k8s.io/", "team"


@dataclass
class Place:
    """A node that the plan uses, with its pods."""

    labels: dict[str, str]
    name: str | None
    taints: list[Json]
    ok: bool
    free: Counter[str]
    allocatable: Mapping[str, Any]
    devices: NodeDevices
    running: list[Json] = field(default_factory=list)
    pods: list[tuple[str, int]] = field(default_factory=list)


def check_plan(row: Json, answer: Json) -> list[str]:
    """Every rule that the plan breaks, in words; empty when it holds."""
    return list(_Check(row, answer).faults())


class _Check:
    def __init__(self, row: Json, answer: Json) -> None:
        self.row, self.answer = row, answer
        self.classes = {each["metadata"]["name"]: each for each in row["classes"]}
        self.templates = {
            (each["metadata"]["namespace"], each["metadata"]["name"]): each["spec"]["spec"]
            for each in row["claimTemplates"]
        }
        self.sets = {
            each["podTemplateRef"]["name"]: (each["count"], self._template(each["podTemplateRef"]["name"]))
            for each in row["request"]["spec"]["podSets"]
        }
        self.groups = {each["metadata"]["name"]: each["spec"] for each in row["nodeGroups"]}
        self.pod_groups = {each["metadata"]["name"]: each for each in row.get("podGroups", [])}
        self.claims = {
            each["metadata"]["name"]: each
            for each in (*row.get("claims", []), *row["allocated"])
            if each["metadata"]["namespace"] == TEAM
        }
        self.places: dict[Any, Place] = {}
        self.network: NodeDevices = NodeDevices()
        for each in row["slices"]:
            if "nodeName" not in each["spec"]:
                publish(self.network, each["spec"])
        self.selectors = {
            (each["spec"]["driver"], each["spec"]["pool"]["name"]): each["spec"].get("nodeSelector")
            for each in row["slices"]
            if "nodeName" not in each["spec"]
        }

    def _template(self, name: str) -> Json:
        return next(each["template"] for each in self.row["podTemplates"] if each["metadata"]["name"] == name)

    def faults(self) -> Iterator[str]:
        yield from self._counts()
        for placement in self.answer["placements"]:
            self._place(placement).pods.append((placement["podSet"], placement["index"]))
        yield from self._orders()
        for key, place in self.places.items():
            for fault in (*self._filters(place), *self._room(place), *self._apart(place)):
                yield f"{key}: {fault}"
        yield from self._devices()
        yield from self._topology()
        yield from self._spread()

    def _counts(self) -> Iterator[str]:
        seen = Counter((each["podSet"], each["index"]) for each in self.answer["placements"])
        yield from (f"{pod} is placed {n} times" for pod, n in seen.items() if n > 1)
        placed = Counter(each["podSet"] for each in self.answer["placements"])
        free = {}
        for name, group in self.pod_groups.items():
            members = [each for each, (_, pod) in self.sets.items() if group_of(pod) == name]
            least = group["spec"].get("schedulingPolicy", {}).get("gang", {}).get("minCount")
            total = sum(self.sets[each][0] for each in members)
            if least is not None and least < total:
                free.update(dict.fromkeys(members, name))
                if sum(placed[each] for each in members) < least:
                    yield f"pod group {name}: {sum(placed[each] for each in members)} of at least {least} placed"
        for name, (count, _) in self.sets.items():
            if placed[name] > count or (name not in free and placed[name] != count):
                yield f"{name}: {placed[name]} of {count} pods placed"

    def _place(self, placement: Json) -> Place:
        key = placement.get("node") or (placement["group"], placement["ordinal"])
        if key not in self.places:
            self.places[key] = self._existing(key) if isinstance(key, str) else self._new(*key)
        return self.places[key]

    def _existing(self, name: str) -> Place:
        node = next(each for each in self.row["nodes"] if each["metadata"]["name"] == name)
        devices = NodeDevices()
        for each in self.row["slices"]:
            if each["spec"].get("nodeName") == name:
                publish(devices, each["spec"])
        for claim in self.row["allocated"]:
            for result in claim["status"]["allocation"]["devices"]["results"]:
                if (result["driver"], result["pool"], result["device"]) in devices.devices:
                    amounts = {k: parse_quantity(str(v)) for k, v in result.get("consumedCapacity", {}).items()}
                    take(devices, result, consumed=amounts)
        running = [pod for pod in self.row["pods"] if pod["spec"].get("nodeName") == name]
        running = [pod for pod in running if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")]
        free = Counter({k: parse_quantity(str(v)) for k, v in node["status"]["allocatable"].items()})
        for pod in running:
            free.subtract(effective(pod["spec"]))
        ready = all(each["status"] == "True" for each in node["status"]["conditions"] if each["type"] == "Ready")
        return Place(
            labels=node["metadata"]["labels"],
            name=name,
            taints=node["spec"].get("taints", []),
            ok=ready and not node["spec"].get("unschedulable"),
            free=free,
            allocatable=node["status"]["allocatable"],
            devices=devices,
            running=running,
        )

    def _new(self, group: str, ordinal: int) -> Place:
        spec = self.groups[group]
        template = spec["template"]
        labels = {**template["metadata"]["labels"], HOST: f"{group}/{ordinal}"}
        if spec.get("domainLabel"):
            labels[spec["domainLabel"]] = f"{group}/unit-{ordinal // spec.get('atomicUnit', 1)}"
        devices = NodeDevices()
        for each in template.get("resourceSlices") or []:
            publish(devices, each)
        promised(devices, template)
        free = Counter({k: parse_quantity(str(v)) for k, v in template["status"]["allocatable"].items()})
        for pod in template.get("daemonPods", []):
            free.subtract(effective(pod["spec"]))
        taints = template["spec"].get("taints", [])
        place = Place(labels, None, taints, True, free, template["status"]["allocatable"], devices)
        place.running = []
        return place

    def _orders(self) -> Iterator[str]:
        """Cost and number of new nodes are those that the used ordinals imply."""
        cost, nodes = 0.0, 0
        for group, spec in self.groups.items():
            ordinals = {key[1] for key in self.places if not isinstance(key, str) and key[0] == group}
            unit = spec.get("atomicUnit", 1)
            units = (
                {ordinal // unit for ordinal in ordinals}
                if spec.get("domainLabel")
                else range(-(-len(ordinals) // unit))
            )
            room = max(spec["maxSize"] - spec.get("currentSize", 0), 0) // unit
            if len(units) > room:
                yield f"group {group}: {len(units)} units ordered, room for {room}"
            cost += len(units) * unit * spec.get("pricePerNode", 0)
            nodes += len(units) * unit
        if abs(cost - self.answer["cost"]) > 1e-9 or nodes != self.answer["newNodes"]:
            said = f"{self.answer['cost']} with {self.answer['newNodes']}"
            yield f"placements imply cost {cost} with {nodes} new nodes, said {said}"

    def _filters(self, place: Place) -> Iterator[str]:
        if not place.ok:
            yield "takes no pod"
        for name in sorted({name for name, _ in place.pods}):
            spec = self.sets[name][1]["spec"]
            if not admits(spec, place.labels, place.name):
                yield f"{name}: selector or affinity"
            for taint in place.taints:
                if taint["effect"] != "PreferNoSchedule" and not any(
                    tolerates(each, taint) for each in spec.get("tolerations", [])
                ):
                    yield f"{name}: taint {taint}"
            for entry in spec.get("resourceClaims", []):
                claim = self._shared(name, entry)
                selector = (claim or {}).get("status", {}).get("allocation", {}).get("nodeSelector")
                if selector is not None and not selector_matches(selector, place.labels, place.name):
                    yield f"{name}: claim {entry['name']} is allocated elsewhere"

    def _room(self, place: Place) -> Iterator[str]:
        used: Counter[str] = Counter()
        for name, _ in place.pods:
            for resource, amount in effective(self.sets[name][1]["spec"]).items():
                if amount and not (self._extended(resource) and not advertises(place.allocatable, resource)):
                    used[resource] += amount
        for resource, amount in used.items():
            if amount > place.free[resource]:
                yield f"{resource}: {amount} wanted, {place.free[resource]} free"

    def _extended(self, resource: str) -> str | None:
        """The class behind a resource name."""
        if resource.startswith("deviceclass.resource.kubernetes.io/"):
            return resource.partition("/")[2]
        for name, each in self.classes.items():
            if each["spec"].get("extendedResourceName") == resource:
                return name
        return None

    def _apart(self, place: Place) -> Iterator[str]:
        ours = [(TEAM, self.sets[name][1]) for name, _ in place.pods]
        theirs = [(pod["metadata"].get("namespace", "default"), pod) for pod in place.running]
        for index, (space, pod) in enumerate(ours):
            others = [*ours[:index], *ours[index + 1 :], *theirs]
            for there, other in others:
                for one, at, two, to in ((pod, space, other, there), (other, there, pod, space)):
                    for term in anti_affinity(one):
                        if term["topologyKey"] == HOST and at == to and labels_match(term["labelSelector"], two):
                            yield "anti-affinity"

    def _shared(self, name: str, entry: Json) -> Json | None:
        """The claim that exists and serves a pod set's entry, None for claims that have yet to be made."""
        group = self.pod_groups.get(group_of(self.sets[name][1]) or "")
        if group is not None and entry in group["spec"].get("resourceClaims", []):
            for status in group.get("status", {}).get("resourceClaimStatuses", []):
                if status["name"] == entry["name"]:
                    return self.claims[status["resourceClaimName"]]
        return self.claims.get(entry.get("resourceClaimName", ""))

    def _devices(self) -> Iterator[str]:
        answered: dict[str, tuple[Any, Any]] = {}  # shared claim -> results, node
        for placement in self.answer["placements"]:
            key = placement.get("node") or (placement["group"], placement["ordinal"])
            place, name = self.places[key], placement["podSet"]
            spec = self.sets[name][1]["spec"]
            claims = {each["name"]: each for each in placement["claims"]}
            for entry in spec.get("resourceClaims", []):
                results = claims.pop(entry["name"], {"results": []})["results"]
                yield from self._entry(key, place, name, entry, results, answered)
            extended = claims.pop("<extended-resources>", None)
            yield from self._extended_devices(place, spec, extended)
            if claims:
                yield f"{name}: claims nobody asked for: {sorted(claims)}"
        for key, place in self.places.items():
            yield from (f"{key}: {fault}" for fault in counters_hold(place.devices))
            yield from self._daemons(key, place)

    def _entry(
        self, key: Any, place: Place, name: str, entry: Json, results: list[Json], answered: dict[str, tuple[Any, Any]]
    ) -> Iterator[str]:
        claim = self._shared(name, entry)
        group = self.pod_groups.get(group_of(self.sets[name][1]) or "")
        of_group = group is not None and entry in group["spec"].get("resourceClaims", [])
        if claim is not None and "allocation" in claim.get("status", {}):
            return
        spec = claim["spec"] if claim is not None else self.templates[TEAM, entry["resourceClaimTemplateName"]]
        if claim is None and not of_group:
            yield from (f"{key} {name}: {fault}" for fault in check_claim(place.devices, spec, results, self.classes))
            return
        id = (
            f"claim {claim['metadata']['name']}"
            if claim is not None
            else f"group {group_of(self.sets[name][1])} {entry['name']}"
        )
        network = [each for each in results if (each["driver"], each["pool"]) in self.selectors]
        for each in network:
            selector = self.selectors[each["driver"], each["pool"]]
            if selector is not None and not selector_matches(selector, place.labels, place.name):
                yield f"{key} {name}: does not reach {each}"
        if id not in answered:
            answered[id] = (results, key)
            where = self.network if network else place.devices
            yield from (f"{key} {id}: {fault}" for fault in check_claim(where, spec, results, self.classes))
        elif answered[id][0] != results:
            yield f"{id}: two answers"
        elif not network and answered[id][1] != key:
            yield f"{id}: its devices lie on {answered[id][1]}, a pod on {key}"

    def _extended_devices(self, place: Place, spec: Json, answer: Json | None) -> Iterator[str]:
        wanted = {
            (resource, self._extended(resource)): amount // 10**9
            for resource, amount in effective(spec).items()
            if amount and self._extended(resource) and not advertises(place.allocatable, resource)
        }
        got: Counter[str] = Counter()
        for result in (answer or {"results": []})["results"]:
            for (_, name), _count in wanted.items():
                request = {"name": "r", "exactly": {"deviceClassName": name}}
                if not check_claim(
                    place.devices, {"devices": {"requests": [request]}}, [{**result, "request": "r"}], self.classes
                ):
                    got[str(name)] += 1
                    break
            else:
                yield f"extended: {result} serves nothing"
        for (resource, name), count in wanted.items():
            if got[str(name)] < count:
                yield f"extended {resource}: {got[str(name)]} of {count} devices"

    def _daemons(self, key: Any, place: Place) -> Iterator[str]:
        """Some devices must be left for what the daemon pods of a new node take: counted for plain requests."""
        if isinstance(key, str):
            return
        for pod in self.groups[key[0]]["template"].get("daemonPods", []):
            for entry in pod["spec"].get("resourceClaims", []):
                spec = self.templates[pod["metadata"]["namespace"], entry["resourceClaimTemplateName"]]
                for request in spec["devices"]["requests"]:
                    exact = request["exactly"]
                    if exact.get("adminAccess"):
                        continue
                    free = [id for id in place.devices.devices if id not in place.devices.taken]
                    picks = 0
                    for id in free:
                        result = {"driver": id[0], "pool": id[1], "device": id[2], "request": request["name"]}
                        one = {"devices": {"requests": [{**request, "exactly": {**exact, "count": 1}}]}}
                        if picks < exact.get("count", 1) and not check_claim(
                            place.devices, one, [result], self.classes
                        ):
                            picks += 1
                    if picks < exact.get("count", 1):
                        yield f"{key}: no device left for daemon {pod['metadata']['name']}"

    def _topology(self) -> Iterator[str]:
        where: dict[str, list[Place]] = {name: [] for name in self.sets}
        for place in self.places.values():
            for name, _ in place.pods:
                where[name].append(place)
        scopes: dict[tuple[str, str], list[str]] = {}
        whole = self.row["request"]["spec"].get("parameters", {}).get("topologyScope") == "Request"
        for name, (_, pod) in self.sets.items():
            notes = pod["metadata"].get("annotations", {})
            if key := notes.get(KUEUE + "podset-required-topology"):
                scope = "request" if whole else notes.get(KUEUE + "podset-group-name", f"set {name}")
                scopes.setdefault((key, scope), []).append(name)
            for each in (
                self.pod_groups.get(group_of(pod) or "", {})
                .get("spec", {})
                .get("schedulingConstraints", {})
                .get("topology", [])
            ):
                scopes.setdefault((each["key"], f"pod group {group_of(pod)}"), []).append(name)
            if size := notes.get(KUEUE + "podset-slice-size"):
                key = notes[KUEUE + "podset-slice-required-topology"]
                counts = Counter(place.labels.get(key) for place in where[name])
                if None in counts or any(count % int(size) for count in counts.values()):
                    yield f"{name}: slices of {size} over {key} are {dict(counts)}"
        for (key, scope), names in scopes.items():
            values = {place.labels.get(key) for name in names for place in where[name]}
            if len(values) > 1 or None in values:
                yield f"{scope}: {key} takes {values}"

    def _spread(self) -> Iterator[str]:
        """Pods go one by one to the emptiest domain that still wants one; each step must be within the skew."""
        for name, (_, pod) in self.sets.items():
            for rule in pod["spec"].get("topologySpreadConstraints", []):
                if rule["whenUnsatisfiable"] != "DoNotSchedule":
                    continue
                key = rule["topologyKey"]
                count: dict[str, int] = {}
                for node in self.row["nodes"]:
                    labels = node["metadata"]["labels"]
                    if key in labels and admits(pod["spec"], labels, node["metadata"]["name"]):
                        count.setdefault(labels[key], 0)
                        count[labels[key]] += sum(
                            1
                            for other in self.row["pods"]
                            if other["spec"].get("nodeName") == node["metadata"]["name"]
                            and other["metadata"].get("namespace") == TEAM
                            and other.get("status", {}).get("phase") not in ("Succeeded", "Failed")
                            and labels_match(rule["labelSelector"], other)
                        )
                todo: Counter[str] = Counter()
                for place in self.places.values():
                    value = place.labels.get(key)
                    if place.name is None and value is not None and admits(pod["spec"], place.labels, None):
                        count.setdefault(value, 0)
                    for other, _ in place.pods:
                        if other == name:
                            if value is None:
                                yield f"{name}: a pod outside every domain of {key}"
                            else:
                                todo[value] += 1
                while sum(todo.values()):
                    value = min((each for each in todo if todo[each]), key=lambda each: (count[each], each))
                    if count[value] + 1 - min(count.values()) > rule["maxSkew"]:
                        yield f"{name}: skew over {key}: {count} with {dict(todo)} to place"
                        break
                    count[value] += 1
                    todo[value] -= 1
