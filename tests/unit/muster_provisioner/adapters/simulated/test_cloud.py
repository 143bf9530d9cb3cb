from dataclasses import replace

import pytest

from muster_provisioner.adapters.simulated.cloud import Cloud, Refused, is_gone, moments, next_phase
from muster_provisioner.adapters.simulated.group_settings import SimulatedGroup
from muster_provisioner.adapters.simulated.state import (
    CloudState,
    DamagedState,
    Group,
    Machine,
    Phase,
    dump_state,
    load_state,
)
from muster_provisioner.domain.messages import ShortfallClass
from muster_provisioner.ports import DriverErrorKind, OrderTags
from muster_types import GangId, OrderId

from .groups import Json, a_group

CLOUD = Cloud("local", 7)
TAGS = OrderTags(OrderId("a-1"), GangId("a"), 0)


def grown(settings: SimulatedGroup, delta: int = 3, tags: OrderTags = TAGS, group: Group | None = None) -> Group:
    answer = CLOUD.increase(group or CLOUD.found(settings), settings, delta, tags, 100.0)
    return answer.group if isinstance(answer, Refused) else answer


def machines(group: Group) -> list[Machine]:
    return [machine for _, machine in sorted(group.machines.items()) if machine.phase is not Phase.EXISTING]


def scripted(**entry: object) -> SimulatedGroup:
    return a_group(driver={"script": [{"order": 1, **entry}]})


def test_a_machine_lives_through_its_phases_at_its_times() -> None:
    settings = a_group(driver={"bootSeconds": 4, "slicesAfterSeconds": 2})
    machine = machines(grown(settings, 1))[0]
    seen: list[tuple[float, Phase]] = []
    for now in (100.0, 101.9, 102.0, 103.9, 104.0, 105.9, 106.0, 500.0):
        while (phase := next_phase(machine, now)) is not None:
            seen.append((now, phase))
            machine = replace(machine, phase=phase)
    assert seen == [
        (100.0, Phase.LAUNCHED),
        (102.0, Phase.REGISTERED),
        (104.0, Phase.READY),
        (106.0, Phase.COMPLETE),
    ]


def test_jitter_is_drawn_from_the_seed_and_stays_within_its_bound() -> None:
    settings = a_group(driver={"jitterSeconds": 3, "bootSeconds": 4})
    ready = [machine.ready_at or 0 for machine in machines(grown(settings, 8))]
    assert ready == [machine.ready_at for machine in machines(grown(settings, 8))]
    assert len(set(ready)) == 8
    assert all(104 <= each < 110 for each in ready)
    assert ready != [m.ready_at for m in machines(_grown_by(Cloud("local", 8), settings))]


def _grown_by(cloud: Cloud, settings: SimulatedGroup) -> Group:
    answer = cloud.increase(cloud.found(settings), settings, 8, TAGS, 100.0)
    assert isinstance(answer, Group)
    return answer


@pytest.mark.parametrize(
    ("settings", "kinds"),
    [
        (scripted(stockoutAfter=1), [None, ShortfallClass.STOCKOUT, ShortfallClass.STOCKOUT]),
        (scripted(quota=2), [None, None, ShortfallClass.QUOTA]),
        (a_group(driver={"capacity": 2}), [None, None, ShortfallClass.STOCKOUT]),
    ],
)
def test_failures_are_decided_when_the_order_takes_effect(
    settings: SimulatedGroup, kinds: list[ShortfallClass | None]
) -> None:
    assert [machine.failure for machine in machines(grown(settings))] == kinds


def test_the_stock_is_shared_by_all_orders_and_comes_back_with_deleted_machines() -> None:
    settings = a_group(driver={"capacity": 2})
    group = grown(settings, 2)
    second = OrderTags(OrderId("b-1"), GangId("b"), 0)
    assert machines(grown(settings, 1, second, group))[-1].failure is ShortfallClass.STOCKOUT
    emptied = CLOUD.delete(group, settings, [machine.id for machine in machines(group)], 100.0)
    for machine in machines(emptied):
        assert is_gone(machine, 100.0)
        emptied = emptied.without_machine(machine.id)
    assert machines(grown(settings, 1, second, emptied))[-1].failure is None


@pytest.mark.parametrize(
    ("settings", "kind", "delta"),
    [
        (scripted(quota=0), DriverErrorKind.QUOTA, 3),
        (a_group(atomicUnit=4), DriverErrorKind.PERMANENT, 3),
        (a_group(), DriverErrorKind.PERMANENT, 17),
        (a_group(), DriverErrorKind.PERMANENT, 0),
    ],
)
def test_a_refused_call_leaves_the_size_as_it_was_and_is_counted(
    settings: SimulatedGroup, kind: DriverErrorKind, delta: int
) -> None:
    answer = CLOUD.increase(CLOUD.found(settings), settings, delta, TAGS, 100.0)
    assert isinstance(answer, Refused)
    assert answer.kind is kind
    assert (answer.group.target, machines(answer.group)) == (0, [])
    assert (answer.group.calls, answer.group.applied) == ({"a-1": 1}, {})


def test_a_lost_call_has_no_effect_a_lost_answer_has_one_and_both_look_the_same() -> None:
    for script, applied in (({"loseCall": True}, {}), ({"loseAnswer": True}, {"a-1": 1})):
        settings = scripted(**script)
        answer = CLOUD.increase(CLOUD.found(settings), settings, 3, TAGS, 100.0)
        assert isinstance(answer, Refused)
        assert answer.kind is DriverErrorKind.TRANSIENT
        assert answer.group.applied == applied


def test_a_late_call_takes_effect_at_its_time() -> None:
    settings = scripted(applyAfterSeconds=10)
    group = grown(settings)
    assert (group.target, list(moments(group))) == (0, [110.0])
    assert CLOUD.apply_pending(group, settings, 109.9) == group
    applied = CLOUD.apply_pending(group, settings, 110.0)
    assert (applied.target, len(machines(applied)), applied.pending) == (3, 3, ())


def test_an_order_that_takes_effect_twice_makes_machines_of_its_own() -> None:
    settings = a_group()
    twice = grown(settings, 2, TAGS, grown(settings, 2))
    assert len({machine.node for machine in machines(twice)}) == 4
    assert twice.applied == {"a-1": 2}


def test_only_unfilled_size_is_taken_back() -> None:
    settings = a_group()
    group = replace(grown(settings, 2), target=5)
    assert isinstance(CLOUD.decrease(group, 4), Refused)
    assert isinstance(CLOUD.decrease(group, 0), Refused)
    lowered = CLOUD.decrease(group, 3)
    assert isinstance(lowered, Group)
    assert lowered.target == 2


def test_node_names_are_short_enough_for_a_label() -> None:
    settings = a_group()
    long = replace(CLOUD.found(settings), name="g" * 80)
    answer = CLOUD.increase(long, settings, 1, OrderTags(OrderId("o" * 90), GangId("g"), 99), 0.0)
    assert isinstance(answer, Group)
    assert max(len(machine.node) for machine in machines(answer)) <= 63


def test_the_state_survives_its_file_form() -> None:
    settings = a_group(driver={"script": [{"order": 1, "stockoutAfter": 1}, {"order": 2, "applyAfterSeconds": 5}]})
    group = grown(settings, 2, OrderTags(OrderId("b-1"), GangId("b"), 4), grown(settings))
    group = CLOUD.delete(group, settings, [machines(group)[0].id], 101.0)
    state = CloudState({group.name: group})
    assert load_state(dump_state(state)) == state


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"schema": 99, "groups": []}', b'{"schema": 1, "groups": [{}]}'])
def test_a_damaged_state_is_told_and_never_read_as_empty(data: bytes) -> None:
    with pytest.raises(DamagedState):
        load_state(data)


def test_wrong_settings_are_named_by_field() -> None:
    from muster_provisioner.adapters.simulated.group_settings import read_group

    def told(driver: Json) -> object:
        return read_group({"metadata": {"name": "g"}, "spec": {"maxSize": 1, "driver": driver}})

    assert str(told({"bootSeconds": "soon"})).startswith(
        "field spec.driver.bootSeconds: input should be a valid number"
    )
    assert str(told({"bootSecs": 1})).startswith("field spec.driver.bootSecs: extra inputs are not permitted")
    assert str(told({"script": [{"order": 0}]})).startswith("field spec.driver.script.0.order: input should be")
    assert str(read_group({})).startswith("field metadata: field required")
