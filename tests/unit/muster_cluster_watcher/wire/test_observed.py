"""Each observation survives the wire, and stands on the subject that its readers expect."""

from datetime import UTC, datetime

import pytest

from muster.events.gangs.v1 import gangs_pb2
from muster.events.observed.v1 import observed_pb2
from muster_cluster_watcher.domain.facts import Fact, Issue, IssueId, Origin, Severity
from muster_cluster_watcher.domain.observations import (
    InputMended,
    InputRejected,
    ObjectObserved,
    ObjectRemoved,
    Observation,
    SyncCompleted,
)
from muster_cluster_watcher.wire.observed import digest_of, from_wire, subject_of, to_wire
from muster_types import ClusterId, ObjectKey

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
POD = ObjectKey("Pod", "team", "p.1")
JSON = b'{"kind":"Pod"}'
DUMP = Origin("directory")
MENDED = Issue(IssueId("i1"), "a.yaml:3", "Node/n1", "", "")

OBSERVATIONS = [
    (ObjectObserved(Fact(POD, "v1", "u1", "77", JSON, digest_of(JSON))), "muster.observed.local.Pod.team.p%2E1"),
    (ObjectRemoved(ObjectKey("Node", "", "n1"), "u1"), "muster.observed.local.Node.%-.n1"),
    (
        InputRejected(DUMP, Issue(IssueId("i1"), "a.yaml:3", "Node/n1", "spec.taints", "want a list")),
        "muster.observed.local.problem.directory.i1",
    ),
    (
        InputRejected(
            DUMP, Issue(IssueId("i2"), "a.yaml:3", "Node/n1", "spec.colour", "is not known", Severity.WARNING)
        ),
        "muster.observed.local.problem.directory.i2",
    ),
    (InputMended(DUMP, MENDED), "muster.observed.local.problem.directory.i1"),
    (SyncCompleted(DUMP, 12, 3), "muster.observed.local.sync.directory"),
]


@pytest.mark.parametrize(("observation", "subject"), OBSERVATIONS)
def test_an_observation_comes_back_as_it_went(observation: Observation, subject: str) -> None:
    where = subject_of(ClusterId("local"), observation)
    assert str(where) == subject
    assert from_wire(to_wire(observation, NOON), where.ids) == observation


def test_a_message_of_another_stream_is_no_observation() -> None:
    assert from_wire(gangs_pb2.GangRequested(), ("x",)) is None
    assert from_wire(to_wire(SyncCompleted(DUMP, 1, 0), NOON), ("a", "b")) is None


def test_a_rejection_of_before_there_were_warnings_is_an_error() -> None:
    old = observed_pb2.InputRejected(source="a.yaml:3", object="Node/n1", field="spec", reason="malformed")
    read = from_wire(old, (DUMP, "i1"))
    assert read == InputRejected(DUMP, Issue(IssueId("i1"), "a.yaml:3", "Node/n1", "spec", "malformed"))
