"""Random small problems in the form of shared/corpus rows."""

from typing import Any

from hypothesis import strategies as st

from unit.muster_plan.builders import (
    GPU,
    KUEUE,
    RACK,
    ROOT,
    Json,
    claim_spec,
    claim_template,
    classes,
    from_template,
    gpu,
    group,
    named_claim,
    nics,
    node,
    pod,
    pod_template,
    provisioning_request,
    request,
)

LISTS = {
    "Node": "nodes",
    "ResourceSlice": "slices",
    "DeviceClass": "classes",
    "Pod": "pods",
    "ResourceClaim": "allocated",
    "NodeGroup": "nodeGroups",
    "ResourceClaimTemplate": "claimTemplates",
    "PodTemplate": "podTemplates",
    "PodGroup": "podGroups",
}

shapes = st.tuples(st.integers(0, 4), st.integers(0, 2), st.sampled_from((2, 4)), st.sampled_from(("h100", "a100")))
racks = st.sampled_from(({}, {RACK: "r0"}, {RACK: "r1"}))


def devices_of(shape: tuple[int, int, int, str]) -> tuple[list[Json], list[Json]]:
    count, cards, per_numa, model = shape
    return [gpu(index, numa=index // per_numa, model=model) for index in range(count)], nics(cards)


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """A row with up to three nodes, two groups and two pod sets."""
    objects: list[Json] = [*classes()]
    for index in range(draw(st.integers(0, 3))):
        devices, cards = devices_of(draw(shapes))
        name = f"node-{index}"
        cpu = draw(st.sampled_from(("2", "4", "16")))
        objects += node(name, devices=devices, nic_devices=cards, labels=draw(racks), cpu=cpu)
        held = [(GPU, name, each["name"]) for each in devices if draw(st.integers(0, 3)) == 0]
        if held:
            objects.append(
                named_claim(f"held-{index}", claim_spec(request("g")), namespace="other", held=held, on=name)
            )
        if draw(st.booleans()):
            objects.append(pod(f"busy-{index}", name, cpu="1"))
    for index in range(draw(st.integers(0, 2))):
        devices, cards = devices_of(draw(shapes))
        objects.append(
            group(
                f"group-{index}",
                room=draw(st.integers(0, 3)),
                price=draw(st.integers(1, 5)),
                devices=devices,
                nic_devices=cards,
                labels=draw(racks),
                cpu=draw(st.sampled_from(("2", "8"))),
                atomicUnit=draw(st.sampled_from((1, 1, 1, 2))),
            )
        )
    pod_sets: list[tuple[str, int]] = []
    for index in range(draw(st.integers(1, 2))):
        name = f"set-{index}"
        objects.append(claim_template(name, draw(claims())))
        notes = {KUEUE + "podset-required-topology": RACK} if draw(st.integers(0, 3)) == 0 else {}
        cpu = draw(st.sampled_from(("1", "2")))
        objects.append(pod_template(name, claims=[from_template(name)], cpu=cpu, annotations=notes))
        pod_sets.append((name, draw(st.integers(1, 3))))
    return row_of(objects, provisioning_request(*pod_sets))


@st.composite
def claims(draw: st.DrawFn) -> Json:
    count = draw(st.integers(1, 3))
    match draw(st.sampled_from(("plain", "numa", "pair", "model"))):
        case "numa":
            return claim_spec(request("g", count), match={f"{GPU}/numa": ["g"]})
        case "pair":
            return claim_spec(request("g"), request("n", cls="nic"), match={ROOT: ["g", "n"]})
        case "model":
            expression = f'device.attributes["{GPU}"].model == "h100"'
            return claim_spec(request("g", count, selectors=[{"cel": {"expression": expression}}]))
        case _:
            return claim_spec(request("g", count))


def row_of(objects: list[Json], wanted: Json) -> dict[str, Any]:
    row: dict[str, Any] = {"id": "generated", "request": wanted, **{name: [] for name in LISTS.values()}}
    for each in objects:
        row[LISTS[each["kind"]]].append(each)
    return row


def objects_of(row: dict[str, Any]) -> list[Json]:
    return [each for name in LISTS.values() for each in row[name]]
