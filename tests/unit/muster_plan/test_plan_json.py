import json

from muster_plan import from_json, to_json
from unit.muster_plan.builders import (
    KUEUE,
    RACK,
    claim_spec,
    claim_template,
    from_template,
    gpus,
    group,
    nics,
    node,
    planned,
    pod_template,
    request,
    snapshot_of,
)


def test_a_plan_comes_back_from_its_json_as_it_was() -> None:
    notes = {KUEUE + "podset-required-topology": RACK}
    cluster = snapshot_of(
        node("node-0", devices=gpus(4), nic_devices=nics(1), labels={RACK: "r1"}),
        group("a", devices=gpus(8), labels={RACK: "r1"}, price=1.5),
        group("b", devices=gpus(8), labels={RACK: "r2"}),
        claim_template("one", claim_spec(request("g", 2))),
        claim_template("mixed", claim_spec(request("g"), request("n", cls="nic"))),
        pod_template("worker", claims=[from_template("one")], annotations=notes),
        pod_template("leader", claims=[from_template("mixed")]),
    )
    plan = planned(cluster, ("worker", 4), ("leader", 1))
    assert plan.domains
    assert plan.alternatives
    assert plan.spare
    assert from_json(json.loads(json.dumps(to_json(plan)))) == plan
