"""The facts of the inventories from the field (INV-*), each put as pending pods that the audit must judge."""

from collections.abc import Sequence

import pytest

from field.cases import cases, missing
from muster_audit import Dump, Report, Row, audit
from muster_audit.facts import Published
from muster_plan import Snapshot
from support.cluster_objects import Json, a_claim, a_gang, a_pod, a_request, a_template, a_waiting

pytestmark = pytest.mark.skipif(
    bool(missing()), reason="the recorded cases of shared/field are not at hand; MUSTER_FIELD names their folder"
)
NUMA, ROOT = "resource.kubernetes.io/numaNode", "resource.kubernetes.io/pcieRoot"
GPU, MIG, WHOLE = "gpu.example.com", "mig.gpu.example.com", "gpu.gpu.example.com"
VF, PF = "vf.vf.example.com", "pf.vf.example.com"


def inventory(number: int) -> list[Json]:
    (case,) = cases(f"INV-{number:02}.yaml")
    return [dict(obj) for obj in case.dump().objects]


def report(number: int, *objects: Json) -> Report:
    return audit([Dump((*inventory(number), *objects))])


def rows(number: int, *objects: Json) -> dict[str, Row]:
    found = report(number, *objects).rows
    return {row.subject.rpartition("/")[2]: row for row in found if row.subject.startswith("Pod")}


def said(number: int, *objects: Json) -> dict[str, str]:
    found = rows(number, *objects)
    pods = [str(obj["metadata"]["name"]) for obj in objects if obj["kind"] == "Pod"]  # pyright: ignore[reportIndexIssue, reportCallIssue, reportArgumentType] -- metadata is a map
    return {
        name: found[name].verdict.value if found[name].verdict == "feasible" else found[name].reason for name in pods
    }


def counts(number: int, attribute: str) -> dict[str, int]:
    """Devices by the text of an attribute."""
    snapshot = Snapshot.build(inventory(number))
    found: dict[str, int] = {}
    for device in Published.of(snapshot, snapshot).devices.values():
        value = device.attributes.get(attribute)
        told = "" if value is None else str(value.value)
        found[told] = found.get(told, 0) + 1
    return found


def pairs(number: int, *, matched: Sequence[Json] = ()) -> list[Json]:
    """A GPU and an RDMA NIC for each pair, on one PCIe root; all GPUs under `matched`."""
    names = [(f"gpu{index}", f"nic{index}") for index in range(number)]
    requests = [
        a_request(name, class_name)
        for gpu, nic in names
        for name, class_name in ((gpu, GPU), (nic, "rdma.nic.example.com"))
    ]
    together = [{"requests": list(names_), "matchAttribute": ROOT} for names_ in names]
    return a_waiting("pairs", *requests, constraints=[*together, *matched])


def test_inv_01_has_eight_gpus_four_a_numa_node_and_one_nic_without_rdma() -> None:
    assert counts(1, NUMA)["0"] >= 8
    snapshot = Snapshot.build(inventory(1))
    devices = Published.of(snapshot, snapshot).devices
    gpus = [str(device.attributes[NUMA].value) for id_, device in devices.items() if id_.driver == GPU]
    rdma = [device.attributes["nic.example.com/rdma"].value for id_, device in devices.items() if id_.driver != GPU]
    assert (gpus.count("0"), gpus.count("1")) == (4, 4)
    assert sorted(map(bool, rdma)) == [False, *[True] * 8]


def test_inv_01_gives_four_pairs_in_one_numa_node_twice() -> None:
    same = {"requests": [f"gpu{index}" for index in range(4)], "matchAttribute": NUMA}
    first, second = pairs(4, matched=[same]), pairs(4, matched=[same])
    again = [
        {**obj, "metadata": {**obj["metadata"], "name": "again", "uid": "again"}}  # pyright: ignore[reportGeneralTypeIssues] -- metadata is a map
        for obj in second
    ]
    again[1]["spec"] = a_pod("again", "again")["spec"]
    found = rows(1, *first, *again)
    assert (found["pairs"].verdict, found["again"].verdict) == ("feasible", "feasible")
    assert not {*found["pairs"].devices} & {*found["again"].devices}
    assert said(1, *pairs(8)) == {"pairs": "feasible"}


def test_inv_01_boards_of_80_gb_report_less_than_80gi() -> None:
    def of(amount: str) -> list[Json]:
        selector = f'device.capacity["{GPU}"].memory.compareTo(quantity("{amount}")) >= 0'
        return a_waiting(f"wants-{amount.lower()}", a_request("g", GPU, selector))

    found = report(1, *of("80Gi"), *of("80G"))
    words = {row.subject: (row.verdict.value, row.reason) for row in found.rows}
    assert words["Pod/team-a/wants-80g"] == ("feasible", "")
    assert words["Pod/team-a/wants-80gi"] == ("infeasible", "selector-mismatch")
    assert [(each.kind, "81559Mi" in each.why) for each in found.findings] == [("amount-just-missed", True)]


def profile(name: str) -> str:
    return f'device.attributes["{GPU}"].profile == "{name}"'


def partitions(name: str, *profiles: str) -> list[Json]:
    """Partitions of these profiles, all of GPU 0."""
    parent = f'device.attributes["{GPU}"].parentUUID == "GPU-mig-01-0"'
    return a_waiting(name, *(a_request(f"r{index}", MIG, profile(each), parent) for index, each in enumerate(profiles)))


def test_inv_02_has_nineteen_devices_a_gpu() -> None:
    assert sum(counts(2, "type").values()) == 38
    found = counts(2, "profile")
    assert [count for profile, count in sorted(found.items()) if profile] == [14, 8, 6, 4, 2, 2]


@pytest.mark.parametrize(
    ("profiles", "answer"),
    [
        (("1g.10gb",) * 7, "feasible"),
        (("1g.10gb",) * 8, "shortage"),
        (("3g.40gb",) * 2, "feasible"),
        (("4g.40gb", "3g.40gb"), "feasible"),
        (("4g.40gb", "2g.20gb", "1g.10gb"), "feasible"),
        (("3g.40gb", "3g.40gb", "1g.10gb"), "counters-exhausted"),
    ],
)
def test_inv_02_takes_at_most_these_partitions_on_one_gpu(profiles: tuple[str, ...], answer: str) -> None:
    assert said(2, *partitions("p", *profiles)) == {"p": answer}


def gang(count: int) -> list[Json]:
    template = a_template("four", a_request("g", GPU, count=4), a_request("c", "channel.chan.example.com"))
    pods = [a_pod(f"w-{index}", template="four", gang="ring") for index in range(count)]
    return [template, a_gang("ring", count, key="example.com/clique"), *pods]


def test_inv_03_holds_a_gang_of_eighteen_in_one_clique_and_none_of_nineteen() -> None:
    fits = rows(3, *gang(18))["ring"]
    assert fits.verdict == "feasible"
    assert all(node.startswith("nvl-a-") for node in fits.node.split(", "))
    too_large = rows(3, *gang(19))["ring"]
    assert (too_large.verdict.value, too_large.reason) == ("infeasible", "topology-mismatch")
    assert "fits 18 of 19" in too_large.why


def test_inv_03_one_channel_keeps_two_gangs_off_one_node() -> None:
    two = [a_template("small", a_request("g", GPU), a_request("c", "channel.chan.example.com"))]
    for name in ("one", "two"):
        two.append(a_gang(name, 1))
        two.append(a_pod(name, template="small", gang=name, nodeSelector={"kubernetes.io/hostname": "nvl-b-00"}))
    found = rows(3, *two)
    assert sorted([found["one"].verdict.value, found["two"].verdict.value]) == ["feasible", "infeasible"]


def topology(name: str) -> str:
    return f'device.attributes["tpu.example.com"].topology == "{name}"'


def test_inv_04_a_half_blocks_the_whole_and_its_hosts_and_not_the_other_half() -> None:
    half = a_claim(
        "half",
        a_request("s", "tpu.example.com"),
        held=["slice-2x4-0"],
        by="x",
        node="tpu-1",
        driver="tpu.example.com",
        pool="s1",
    )
    pods = [
        *a_waiting("whole", a_request("s", "tpu.example.com", topology("4x4"))),
        *a_waiting("other-half", a_request("s", "tpu.example.com", topology("2x4"))),
        *(
            each
            for host in ("tpu-1", "tpu-2", "tpu-5")
            for each in a_waiting(
                f"on-{host}",
                a_request("s", "tpu.example.com", topology("2x2")),
                nodeSelector={"kubernetes.io/hostname": host},
            )
        ),
    ]
    found = rows(4, half, *pods)
    assert found["whole"].reason == "counters-exhausted"
    assert found["other-half"].devices == ("tpu.example.com/s1/slice-2x4-1",)
    for host, verdict in (("tpu-1", "infeasible"), ("tpu-2", "infeasible"), ("tpu-5", "feasible")):
        assert found[f"on-{host}"].verdict.value == verdict


def test_inv_04_a_device_of_two_hosts_is_shared_by_one_pod_a_host() -> None:
    claim = a_claim("half", a_request("s", "tpu.example.com", topology("2x4")))
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"job": "ring"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    pods = [a_pod(f"host-{index}", "half", gang="ring", affinity=apart) for index in range(2)]
    for pod in pods:
        pod["metadata"]["labels"] = {"job": "ring"}  # pyright: ignore[reportIndexIssue] -- metadata is a map
    row = rows(4, claim, a_gang("ring", 2), *pods)["ring"]
    assert row.verdict == "feasible"
    assert row.node in ("tpu-1, tpu-2", "tpu-5, tpu-6")


def vfs(name: str, count: int, rule: str) -> list[Json]:
    requests = [a_request(f"r{index}", VF) for index in range(count)]
    return a_waiting(name, *requests, constraints=[{rule: "vf.example.com/PFName"}])


def test_inv_05_functions_on_different_and_on_one_port() -> None:
    pods = [*vfs("two-apart", 2, "distinctAttribute"), *vfs("three-apart", 3, "distinctAttribute")]
    assert said(5, *pods) == {"two-apart": "feasible", "three-apart": "topology-mismatch"}
    assert said(5, *vfs("together", 3, "matchAttribute")) == {"together": "feasible"}


def test_inv_05_a_port_and_its_functions_block_each_other() -> None:
    of_first = 'device.attributes["vf.example.com"].PFName == "ens1f0"'
    used = a_claim("used", a_request("r", VF), held=["pf-0-vf-0"], by="x", node="edge-01", driver="vf.example.com")
    port = rows(5, used, *a_waiting("port", a_request("r", PF, of_first)))["port"]
    assert (port.reason, port.remedy.startswith("move claim team-a/used")) == ("fragmentation", True)
    every = [
        a_claim(f"used-{port}-{index}", a_request("r", VF), held=[f"pf-{port}-vf-{index}"], by="x", node="edge-01",
                driver="vf.example.com")
        for port in range(2) for index in range(4)
    ]  # fmt: skip
    assert said(5, *every, *a_waiting("port", a_request("r", PF, of_first))) == {"port": "counters-exhausted"}
    taken = [
        a_claim(
            f"taken-{port}", a_request("r", PF), held=[f"pf-{port}"], by="x", node="edge-01", driver="vf.example.com"
        )
        for port in range(2)
    ]
    assert said(5, *taken, *a_waiting("function", a_request("r", VF))) == {"function": "counters-exhausted"}


def cpus(name: str, amount: str) -> Json:
    return a_request(name, "cpu.example.com", capacity={"requests": {"cpu.example.com/cpu": amount}})


def test_inv_06_processors_and_memory_of_one_numa_node() -> None:
    assert counts(6, NUMA) == {"0": 3, "1": 3, "2": 3, "3": 3}
    memory = a_request("m", "mem.example.com", capacity={"requests": {"size": "64Gi"}})
    together = [{"requests": ["c", "m"], "matchAttribute": NUMA}]
    assert said(6, *a_waiting("aligned", cpus("c", "16"), memory, constraints=together)) == {"aligned": "feasible"}


def test_inv_06_forty_processors_are_two_groups_or_none() -> None:
    assert said(6, *a_waiting("forty", cpus("c", "40"))) == {"forty": "policy-violation"}
    assert said(6, *a_waiting("twice", cpus("a", "20"), cpus("b", "20"))) == {"twice": "feasible"}


def test_inv_06_what_claims_take_plain_pods_cannot_have() -> None:
    thirty = a_request("c", "cpu.example.com", capacity={"requests": {"cpu.example.com/cpu": "30"}})
    held = a_claim(
        "held", thirty, held=["cpu-numa-0"], by="busy", node="cpu-01", driver="cpu.example.com",
        consumedCapacity={"cpu.example.com/cpu": "30"}, shareID="6d1f9a52-3a0b-4c5e-9d1e-0a1b2c3d4e5f",
    )  # fmt: skip
    busy = a_pod("busy", "held", node="cpu-01", cpu="0")
    told = said(6, held, busy, a_pod("fits", cpu="98"), a_pod("too-large", cpu="99"))
    assert {name: told[name] for name in ("fits", "too-large")} == {"fits": "feasible", "too-large": "shortage"}
    plain = a_pod("plain", node="cpu-01", cpu="100")
    assert rows(6, plain, *a_waiting("claims", cpus("c", "28"), cpu="1"))["claims"].reason == "shortage"
    assert rows(6, plain, *a_waiting("claims", cpus("c", "27"), cpu="1"))["claims"].verdict == "feasible"


def test_inv_07_partition_modes_are_of_a_node_and_memory_is_divided() -> None:
    found = counts(7, "partitionProfile")
    assert found == {"spx_nps1": 8, "dpx_nps1": 16, "cpx_nps1": 64}
    snapshot = Snapshot.build(inventory(7))
    devices = Published.of(snapshot, snapshot).devices.values()
    assert {device.capacity["memory"].value.written for device in devices} == {"196592Mi", "98296Mi", "24574Mi"}
    assert not any(device.consumes for device in devices)


def test_inv_07_two_partitions_of_one_gpu_where_partitions_have_parents() -> None:
    part = a_request("p", "part.gpu.example.com", count=2)
    parents = [{"matchAttribute": "gpu.example.com/parentDeviceID"}]
    assert said(7, *a_waiting("two", part, constraints=parents)) == {"two": "feasible"}
    whole = a_waiting(
        "of-whole",
        a_request("p", WHOLE, count=2),
        constraints=parents,
        nodeSelector={"kubernetes.io/hostname": "mi-spx"},
    )
    assert said(7, *whole) == {"of-whole": "attribute-missing"}


def test_inv_07_numa_numbers_are_of_the_driver() -> None:
    one = [a_request("p", WHOLE, count=2)]
    standard, own = [{"matchAttribute": NUMA}], [{"matchAttribute": f"{GPU}/numaNode"}]
    assert said(7, *a_waiting("standard", *one, constraints=standard)) == {"standard": "attribute-missing"}
    assert said(7, *a_waiting("own", *one, constraints=own)) == {"own": "feasible"}


def bandwidth(name: str, amount: str, interface: str = "") -> Json:
    selectors = [f'device.attributes["nic.example.com"].ifName == "{interface}"'] if interface else []
    capacity = {"capacity": {"requests": {"bandwidth": amount}}} if amount else {}
    return a_request(name, "shared.nic.example.com", *selectors, **capacity)


def test_inv_08_two_requests_with_distinct_names_are_on_two_interfaces() -> None:
    requests = [bandwidth("a", "10G"), bandwidth("b", "10G")]
    row = rows(8, *a_waiting("two", *requests, constraints=[{"distinctAttribute": "nic.example.com/ifName"}]))["two"]
    assert (row.verdict.value, len({*row.devices})) == ("feasible", 2)


def test_inv_08_amounts_are_rounded_up_and_policies_kept() -> None:
    found = rows(
        8, *a_waiting("seven", bandwidth("a", "7G", "eth3")), *a_waiting("thirty", bandwidth("a", "30G", "eth3"))
    )
    assert found["seven"].verdict == "feasible"
    assert found["thirty"].reason == "policy-violation"
    three = [bandwidth(f"r{index}", "7G", "eth3") for index in range(1)]
    full = [each for index in range(6) for each in a_waiting(f"p{index}", *three)]
    told = said(8, *full)
    assert list(told.values()).count("feasible") == 4  # 2 nodes of 25G, 10G each


def test_inv_08_without_an_amount_the_default_is_taken_and_nothing_where_nothing_is_counted() -> None:
    full = [each for index in range(11) for each in a_waiting(f"p{index:02}", bandwidth("r", "", "eth3"))]
    assert list(said(8, *full).values()).count("feasible") == 10  # 2 nodes of 25G, 5G each
    many = [each for index in range(40) for each in a_waiting(f"p{index:02}", bandwidth("r", "", "eth4"))]
    assert set(said(8, *many).values()) == {"feasible"}
