"""Kubernetes objects of small clusters, every field overridable: nodes, slices, claims, pods, gangs, node groups."""

from collections.abc import Mapping, Sequence

Json = dict[str, object]

GPU = "gpu.example.com"
NIC = "nic.example.com"
TEAM = "team-a"


def an_object(version: str, kind: str, name: str, namespace: str = "", **rest: object) -> Json:
    metadata: Json = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def at_step(step: int, event: str, obj: Json) -> Json:
    """The object as an event of a later step."""
    annotations = {"input.example.com/step": str(step), "input.example.com/event": event}
    return {**obj, "metadata": {**_map(obj["metadata"]), "annotations": annotations}}


def _map(value: object) -> Json:
    assert isinstance(value, dict)
    return value


def a_node(
    name: str = "node-a",
    *,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Json] = (),
    ready: bool = True,
    cpu: str = "64",
    cordoned: bool = False,
    **allocatable: str,
) -> Json:
    """`allocatable` are further resources."""
    node = an_object("v1", "Node", name)
    node["metadata"] = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
    node["spec"] = {"taints": list(taints), **({"unschedulable": True} if cordoned else {})}
    node["status"] = {
        "allocatable": {"cpu": cpu, "memory": "512Gi", "pods": "110", **allocatable},
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
    }
    return node


def a_class(name: str = GPU, *selectors: str, extended: str = "") -> Json:
    """Without selectors: the devices of the driver of its name."""
    expressions = selectors or (f'device.driver == "{name}"',)
    spec: Json = {"selectors": [{"cel": {"expression": each}} for each in expressions]}
    if extended:
        spec["extendedResourceName"] = extended
    return an_object("resource.k8s.io/v1", "DeviceClass", name, spec=spec)


def a_device(name: str, *, capacity: Mapping[str, str] | None = None, **fields: object) -> Json:
    """`fields` of other names than those of the API are attributes; qualified names come in `attributes`."""
    known = {"consumesCounters", "taints", "allowMultipleAllocations", "nodeName", "bindsToNode"}
    attributes: Json = {}
    device: Json = {"name": name}
    for key, value in fields.items():
        if key in known:
            device[key] = value
        elif key == "attributes":
            attributes |= {each: _attribute(of) for each, of in _map(value).items()}
        else:
            attributes[key] = _attribute(value)
    if attributes:
        device["attributes"] = attributes
    if capacity:
        device["capacity"] = {key: {"value": value} for key, value in capacity.items()}
    return device


def _attribute(value: object) -> Json:
    kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"
    return {kind: value} if not isinstance(value, dict) else value


def gpus(count: int = 2, **attributes: object) -> list[Json]:
    return [a_device(f"gpu-{index}", capacity=None, type="gpu", attributes=attributes) for index in range(count)]


def a_slice(
    node: str = "node-a",
    devices: Sequence[Json] = (),
    *,
    driver: str = GPU,
    name: str = "",
    pool: str = "",
    generation: int = 1,
    count: int = 1,
    **spec: object,
) -> Json:
    place: Json = {} if "nodeSelector" in spec or "allNodes" in spec else {"nodeName": node}
    body: Json = {
        "driver": driver,
        "pool": {"name": pool or node, "generation": generation, "resourceSliceCount": count},
        **place,
        **spec,
    }
    if "sharedCounters" not in spec:
        body["devices"] = list(devices)
    return an_object("resource.k8s.io/v1", "ResourceSlice", name or f"{node}-{driver}", spec=body)


def a_request(name: str = "g", class_name: str = GPU, *selectors: str, **fields: object) -> Json:
    exactly: Json = {"deviceClassName": class_name, **fields}
    if selectors:
        exactly["selectors"] = [{"cel": {"expression": each}} for each in selectors]
    return {"name": name, "exactly": exactly}


def devices_spec(requests: Sequence[Json], constraints: Sequence[Json] = ()) -> Json:
    return {"devices": {"requests": list(requests), "constraints": list(constraints)}}


def a_claim(
    name: str,
    *requests: Json,
    held: Sequence[str] = (),
    by: str = "",
    node: str = "node-a",
    driver: str = GPU,
    pool: str = "",
    constraints: Sequence[Json] = (),
    namespace: str = TEAM,
    **result: object,
) -> Json:
    """With `held`, allocated with these devices of the node and reserved for pod `by`."""
    wanted = requests or (a_request(),)
    claim = an_object("resource.k8s.io/v1", "ResourceClaim", name, namespace, spec=devices_spec(wanted, constraints))
    if held:
        claim["status"] = {
            "allocation": {
                "devices": {
                    "results": [
                        {
                            "request": wanted[0]["name"],
                            "driver": driver,
                            "pool": pool or node,
                            "device": each,
                            **result,
                        }
                        for each in held
                    ]
                },
                "nodeSelector": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
                    ]
                },
            },
            "reservedFor": [{"resource": "pods", "name": by, "uid": f"uid-{by}"}] if by else [],
        }
    return claim


def a_template(name: str, *requests: Json, constraints: Sequence[Json] = (), namespace: str = TEAM) -> Json:
    spec = {"spec": devices_spec(requests or (a_request(),), constraints)}
    return an_object("resource.k8s.io/v1", "ResourceClaimTemplate", name, namespace, spec=spec)


def a_pod(
    name: str,
    claim: str = "",
    *,
    template: str = "",
    node: str = "",
    gang: str = "",
    phase: str = "",
    cpu: str = "1",
    namespace: str = TEAM,
    requests: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    status: Json | None = None,
    **spec: object,
) -> Json:
    """Pending without a node, else running there."""
    resources: Json = {"requests": {"cpu": cpu, "memory": "1Gi", **(requests or {})}}
    if requests:
        resources["limits"] = dict(requests)
    body: Json = {"containers": [{"name": "main", "image": "registry.example.com/work:1", "resources": resources}]}
    if claim:
        body["resourceClaims"] = [{"name": "g", "resourceClaimName": claim}]
    if template:
        body["resourceClaims"] = [{"name": "g", "resourceClaimTemplateName": template}]
    if node:
        body["nodeName"] = node
    if gang:
        body["schedulingGroup"] = {"podGroupName": gang}
    pod = an_object("v1", "Pod", name, namespace, spec={**body, **spec})
    pod["metadata"] = {**_map(pod["metadata"]), "uid": f"uid-{name}", "annotations": dict(annotations or {})}
    pod["status"] = {"phase": phase or ("Running" if node else "Pending"), **(status or {})}
    return pod


def a_running(name: str, *devices: str, node: str = "node-a", driver: str = GPU, **spec: object) -> list[Json]:
    """A running pod and its claim of the same name with these devices."""
    return [
        a_claim(
            name, a_request(class_name=driver, count=len(devices)), held=devices, by=name, node=node, driver=driver
        ),
        a_pod(name, name, node=node, **spec),  # pyright: ignore[reportArgumentType] -- fields of the pod's spec
    ]


def a_waiting(name: str, *requests: Json, constraints: Sequence[Json] = (), **spec: object) -> list[Json]:
    """A pending pod and its claim of the same name."""
    return [
        a_claim(name, *requests, constraints=constraints),
        a_pod(name, name, **spec),  # pyright: ignore[reportArgumentType] -- fields of the pod's spec
    ]


def a_gang(name: str, least: int, *, key: str = "", **spec: object) -> Json:
    body: Json = {"schedulingPolicy": {"gang": {"minCount": least}}, **spec}
    if key:
        body["schedulingConstraints"] = {"topology": [{"key": key}]}
    return an_object("scheduling.k8s.io/v1beta1", "PodGroup", name, TEAM, spec=body)


def a_group(
    name: str,
    devices: Sequence[Json] | None = None,
    *,
    size: int = 0,
    most: int = 4,
    price: float = 1,
    driver: str = GPU,
    labels: Mapping[str, str] | None = None,
    slices: Sequence[Json] | None = None,
    template: Json | None = None,
    **spec: object,
) -> Json:
    """`devices`: what a node of it publishes in one slice; None: nobody said. `template` has further fields."""
    own = slices
    if own is None and devices is not None:
        pool = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
        own = [{"driver": driver, "pool": pool, "devices": list(devices)}]
    body: Json = {
        "metadata": {"labels": dict(labels or {"group": name})},
        "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}},
        **({"resourceSlices": list(own)} if own is not None else {}),
        **(template or {}),
    }
    sizes = {"minSize": 0, "maxSize": most, "currentSize": size, "pricePerNode": price}
    return an_object("muster.dev/v1alpha1", "NodeGroup", name, spec={**sizes, "template": body, **spec})


def a_quota(
    name: str, hard: Mapping[str, str], *, namespace: str = TEAM, used: Mapping[str, str] | None = None
) -> Json:
    quota = an_object("v1", "ResourceQuota", name, namespace, spec={"hard": dict(hard)})
    if used is not None:
        quota["status"] = {"used": dict(used)}
    return quota
