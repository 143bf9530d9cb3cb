"""The feature table of group-capacity §9, rule by rule: what is offered with everything on, what switches it off."""

from collections.abc import Mapping

import pytest

from muster_evaluate import OFFERS, Capability, Level, Part, judge
from support.cluster_objects import Json
from unit.muster_evaluate.clusters import (
    a_config,
    a_karpenter,
    a_kueue,
    a_programme,
    a_scheduler,
    an_autoscaler,
    judged,
    level,
    with_metadata,
)

C = Capability
EVERY_GATE = a_scheduler(
    "v1.37.0", "GenericWorkload=true", "DRAWorkloadResourceClaims=true", "TopologyAwareWorkloadScheduling=true"
)
EVERYTHING: Mapping[Part, Json] = {
    Part.AUTOSCALER: an_autoscaler("v1.36.1", "--enable-provisioning-requests=true"),
    Part.KARPENTER: a_karpenter(
        "1.14.0", "--ignore-dra-requests=false", env=[{"name": "FEATURE_GATES", "value": "NodeRepair=true"}]
    ),
    Part.KUEUE: a_kueue("v0.19.0"),
    Part.SCHEDULER: EVERY_GATE,
}
# Cluster Autoscaler, Karpenter, Kueue, kube-scheduler, as the columns of §9; P where "by default off" can be put on.
TABLE: Mapping[Capability, str] = {
    C.TEMPLATES: "PPNN",
    C.FROM_ZERO: "NPNN",
    C.PARTITIONS: "PPPN",
    C.CONSUMABLE: "PPNN",
    C.MULTI_NODE: "NNNN",
    C.GROUP_CLAIMS: "NNNY",
    C.ATOMIC: "NNNN",
    C.MIXED: "PPPN",
    C.HETEROGENEOUS: "PNYP",
    C.BACKTRACKING: "NNNN",
    C.TOPOLOGY_GROWING: "NNNN",
    C.TOPOLOGY_PLACING: "NNYP",
    C.VERIFICATION: "PPNN",
    C.ROLLBACK: "PNNP",
    C.FALLBACK: "PYPN",
    C.EXPLANATION: "PPPP",
    C.FRAGMENTATION: "NNNN",
    C.BOOKING: "NNNN",
    C.BOOKING_TIME: "NNNN",
    C.AUDIT: "NNNN",
    C.PROVISIONABLE: "NNNN",
    C.NEVER: "NNPN",
    C.PREEMPTION: "PNYY",
    C.REPAIR: "NPYN",
    C.MULTI_CLUSTER: "NNYN",
}
LETTERS = {"Y": Level.YES, "P": Level.PARTIAL, "N": Level.NO}


@pytest.mark.parametrize("capability", Capability)
def test_with_everything_on_each_component_offers_what_the_table_says(capability: Capability) -> None:
    found = {
        part: next(each.level for each in judged(programme)[capability].verdicts if each.part is part)
        for part, programme in EVERYTHING.items()
    }
    assert found == {part: LETTERS[letter] for part, letter in zip(EVERYTHING, TABLE[capability], strict=True)}


def test_the_best_component_speaks_for_the_cluster_and_every_answer_names_where_it_was_read() -> None:
    rows = judged(*EVERYTHING.values())
    assert set(rows) == set(OFFERS) == set(TABLE)
    for capability, row in rows.items():
        assert row.level == max(LETTERS[letter] for letter in TABLE[capability])
        assert all(each.read_from and each.why for each in row.verdicts)


@pytest.mark.parametrize(
    ("capability", "programme", "why"),
    [
        (C.TEMPLATES, an_autoscaler("v1.34.0"), "--enable-dynamic-resource-allocation is not given in 1.34"),
        (C.CONSUMABLE, an_autoscaler("v1.34.0"), "--enable-dynamic-resource-allocation is not given in 1.34"),
        (C.VERIFICATION, an_autoscaler("v1.34.0"), "--enable-dynamic-resource-allocation is not given in 1.34"),
        (C.PARTITIONS, an_autoscaler("v1.35.0"), "version 1.35, it comes with 1.36"),
        (C.MIXED, an_autoscaler("v1.36.0"), "--enable-provisioning-requests is false by default"),
        (C.TEMPLATES, a_karpenter(), "--ignore-dra-requests is true by default"),
        (C.FROM_ZERO, a_karpenter(), "--ignore-dra-requests is true by default"),
        (C.REPAIR, a_karpenter(), "gate NodeRepair is off by default"),
        (C.PARTITIONS, a_kueue("v0.18.0"), "version 0.18, it comes with 0.19"),
        (C.PARTITIONS, a_kueue("v0.19.0", "--feature-gates=KueueDRAIntegration=false"), "is set to false"),
        (C.TOPOLOGY_PLACING, a_kueue("v0.19.0", "--feature-gates=TopologyAwareScheduling=false"), "is set to false"),
        (C.GROUP_CLAIMS, a_scheduler("v1.37.0"), "gate GenericWorkload is off"),
        (C.GROUP_CLAIMS, a_scheduler("v1.37.0", "GenericWorkload=true"), "gate DRAWorkloadResourceClaims is off"),
        (C.TOPOLOGY_PLACING, a_scheduler("v1.37.0", "GenericWorkload=true"), "TopologyAwareWorkloadScheduling is off"),
        (C.PREEMPTION, a_scheduler("v1.36.0"), "gate GenericWorkload is off"),
        (C.HETEROGENEOUS, a_scheduler("v1.34.0", "GenericWorkload=true"), "gate GenericWorkload is absent"),
    ],
)
def test_a_condition_that_is_not_met_is_a_no_with_its_reason(capability: Capability, programme: Json, why: str) -> None:
    (found,) = (each for each in judged(programme)[capability].verdicts if why in each.why)
    assert found.level is Level.NO


def test_the_flag_of_older_autoscalers_counts_where_it_is_given() -> None:
    assert level(C.TEMPLATES, an_autoscaler("v1.34.0", "--enable-dynamic-resource-allocation=true")) is Level.PARTIAL
    assert level(C.TEMPLATES, an_autoscaler("v1.35.0")) is Level.PARTIAL


def test_a_version_that_nobody_says_is_unknown_and_not_a_no() -> None:
    row = judged(a_programme("cluster-autoscaler", "cluster-autoscaler@sha256:00"))[C.PARTITIONS]
    assert row.level is Level.UNKNOWN
    assert "version" in row.verdicts[0].why


def test_a_plugin_that_a_profile_switches_off_takes_dra_away() -> None:
    def switched(**points: object) -> Json:
        return {"profiles": [{"plugins": {"multiPoint": points}}]}

    one, every = [{"name": "DynamicResources"}], [{"name": "*"}]
    bodies: list[Json] = [switched(disabled=one), switched(disabled=every), switched(disabled=every, enabled=one), {}]
    found = [level(C.GROUP_CLAIMS, EVERY_GATE, files=[a_config("KubeSchedulerConfiguration", body)]) for body in bodies]
    assert found == [Level.NO, Level.NO, Level.YES, Level.YES]


def test_the_older_of_two_schedulers_decides() -> None:
    older = with_metadata(a_scheduler("v1.36.0"), name="kube-scheduler-cp-2")
    assert level(C.PREEMPTION, EVERY_GATE, older) is Level.NO


def test_what_a_dump_without_workloads_lacks_is_unknown_and_else_not_installed() -> None:
    hidden = {row.capability: row for row in judge((), (), shows_workloads=False)}
    shown = {row.capability: row for row in judge((), (), shows_workloads=True)}
    assert (hidden[C.TEMPLATES].level, shown[C.TEMPLATES].level) == (Level.UNKNOWN, Level.NO)
    assert shown[C.GROUP_CLAIMS].level is Level.UNKNOWN, "a managed control plane hides its scheduler"
    assert hidden[C.ATOMIC].level is Level.NO, "nobody offers it, whoever runs"


def test_among_noes_the_component_that_is_here_and_could_do_more_speaks() -> None:
    row = judged(an_autoscaler(), a_scheduler("v1.37.0", "GenericWorkload=true"))[C.TOPOLOGY_PLACING]
    assert [each.part for each in row.verdicts[:2]] == [Part.SCHEDULER, Part.AUTOSCALER]
    assert "TopologyAwareWorkloadScheduling" in row.verdicts[0].why
