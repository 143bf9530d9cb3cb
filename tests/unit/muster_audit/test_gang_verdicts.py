from support.audits import audited, pick, row_of
from support.cluster_objects import (
    GPU,
    Json,
    a_claim,
    a_class,
    a_gang,
    a_node,
    a_pod,
    a_quota,
    a_slice,
    a_template,
    a_waiting,
    an_object,
    gpus,
)

FLEET = [a_node(), a_class(), a_slice(devices=gpus(4))]


def gang(name: str, count: int, exist: int = 0) -> list[Json]:
    pods = [a_pod(f"{name}-{index}", template="t", gang=name) for index in range(exist or count)]
    return [a_template("t"), a_gang(name, count), *pods]


def request(count: int, kind: str = "atomic.muster.dev", template: Json | None = None) -> list[Json]:
    pod = template or a_pod("x", template="t")
    made = an_object("v1", "PodTemplate", "pt", "team-a", template={"spec": pod["spec"]})
    sets = [{"podTemplateRef": {"name": "pt"}, "count": count}]
    spec = {"provisioningClassName": kind, "podSets": sets}
    return [
        a_template("t"),
        made,
        an_object("autoscaling.x-k8s.io/v1", "ProvisioningRequest", "r", "team-a", spec=spec),
    ]


def test_a_gang_that_fits_has_a_row_for_itself_and_for_each_pod() -> None:
    report = audited(*FLEET, *gang("ring", 3))
    assert (pick(report, "ring").verdict, pick(report, "ring").node) == ("feasible", "node-a")
    devices = {device for index in range(3) for device in pick(report, f"ring-{index}").devices}
    assert len(devices) == 3


def test_members_that_do_not_exist_yet_are_counted() -> None:
    row = row_of("ring", *FLEET, *gang("ring", 3, exist=1))
    assert "3 pods fit now; the gang is incomplete: 1 of 3 pods exist" in row.why
    assert row_of("ring", *FLEET, *gang("ring", 5, exist=1)).verdict == "infeasible"


def test_of_equal_gangs_the_first_takes_its_room_from_the_second() -> None:
    report = audited(*FLEET, *gang("a", 3), *gang("b", 3))
    assert [pick(report, name).verdict for name in "ab"] == ["feasible", "infeasible"]


def test_room_for_the_missing_members_of_a_running_gang_is_held_against_others() -> None:
    running = [
        a_claim("c", held=["gpu-0", "gpu-1", "gpu-2"], by="ring-0"),
        a_pod("ring-0", "c", node="node-a", gang="ring"),
    ]
    rest = [a_gang("ring", 2), a_template("t"), a_pod("ring-1", template="t", gang="ring")]
    report = audited(*FLEET, *running, *rest, *a_waiting("solo"))
    assert pick(report, "ring-1").verdict == "feasible"
    solo = pick(report, "solo")
    assert (solo.reason, "node-a is kept for PodGroup ring (1 of 2 running)" in solo.why) == (
        "held-for-gang-repair",
        True,
    )


def test_a_quota_stops_a_gang_as_a_whole() -> None:
    quota = a_quota("q", {f"{GPU}.deviceclass.resource.k8s.io/devices": "2"})
    row = row_of("ring", *FLEET, quota, *gang("ring", 3))
    assert (row.reason, row.why) == ("quota", f"0 of 2 devices of {GPU} used in team-a (quota q), 3 more wanted")


def test_a_check_only_says_whether_the_capacity_is_there() -> None:
    check = "check-capacity.autoscaling.x-k8s.io"
    assert row_of("r", *FLEET, *request(4, check)).verdict == "Provisioned"
    row = row_of("r", *FLEET, *request(5, check))
    assert (row.verdict, row.reason) == ("Failed", "CapacityIsNotFound")


def test_a_request_for_more_consumers_than_a_claim_can_list_is_refused() -> None:
    row = row_of("r", *FLEET, a_claim("one"), *request(300, template=a_pod("x", "one", cpu="1m")))
    assert (row.reason, "300 direct consumers" in row.why) == ("api-limit", True)


def test_a_settled_request_is_not_judged_again() -> None:
    objects = request(2)
    objects[-1]["status"] = {"conditions": [{"type": "Provisioned", "status": "True"}]}
    assert not [row for row in audited(*FLEET, *objects).rows if row.subject.startswith("ProvisioningRequest")]


def test_a_gang_that_cannot_be_read_says_what_is_missing() -> None:
    broken = [a_gang("ring", 1), a_pod("w", template="nowhere", gang="ring")]
    report = audited(*FLEET, *broken)
    assert [pick(report, name).reason for name in ("ring", "w")] == ["template-missing", "template-missing"]
