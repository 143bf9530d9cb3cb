"""The status of a request as Kubernetes JSON, there and back."""

import orjson

from muster_gang_coordinator.domain.evolve import evolve
from muster_gang_coordinator.domain.states import Gang, New
from muster_gang_coordinator.domain.status import EMPTY, RequestStatus, evolve_status
from muster_gang_coordinator.wire.statuses import foreign_conditions, from_status, to_status
from unit.muster_gang_coordinator.stories import STORIES


def every_status() -> list[RequestStatus]:
    statuses: list[RequestStatus] = []
    for make in STORIES.values():
        gang: Gang = New()
        status = EMPTY
        for event in make().history:
            gang = evolve(gang, event)
            assert not isinstance(gang, New)
            status = evolve_status(status, event, gang)
            statuses.append(status)
    return statuses


def test_every_status_comes_back_from_json_as_it_was() -> None:
    for status in every_status():
        assert from_status(orjson.loads(orjson.dumps(to_status(status)))) == status


def test_conditions_have_the_form_of_the_api() -> None:
    written = to_status(next(s for s in every_status() if s.true("Provisioned")))
    conditions = written["conditions"]
    assert isinstance(conditions, list)
    assert conditions[1] == {
        "type": "Provisioned",
        "status": "True",
        "reason": "CapacityIsProvisioned",
        "message": "Capacity is ready and held",
        "lastTransitionTime": "2026-05-04T12:02:00Z",
    }
    details = written["provisioningClassDetails"]
    assert isinstance(details, dict)
    assert set(details) == {
        "TopologyDomain",
        "muster.dev/gang",
        "muster.dev/nodes",
        "muster.dev/pins",
        "muster.dev/reservation-taint",
    }


def test_conditions_of_others_are_left_to_them() -> None:
    theirs = {"type": "Theirs", "status": "True"}
    status = {"conditions": [theirs, {"type": "Accepted", "status": "Maybe"}, "nonsense"]}
    assert from_status(status) == EMPTY
    assert foreign_conditions(status) == [theirs, "nonsense"]


def test_a_time_that_cannot_be_read_is_the_oldest() -> None:
    read = from_status({"conditions": [{"type": "Accepted", "status": "True", "lastTransitionTime": "yesterday"}]})
    accepted = read.find("Accepted")
    assert accepted is not None
    assert accepted.changed.year == 1970
