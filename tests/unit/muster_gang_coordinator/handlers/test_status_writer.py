"""Statuses reach the object in the order of the events, once, and again after a restart if need be."""

from datetime import datetime, timedelta

from muster_eventstore import Cause
from muster_gang_coordinator.domain.commands import CancelGang, RetryGang
from muster_gang_coordinator.domain.observed import ObjectGone, RequestSeen
from muster_gang_coordinator.domain.plans import NoPlanKind
from muster_gang_coordinator.domain.status import EMPTY
from muster_gang_coordinator.handlers.cluster_view import ClusterView
from muster_gang_coordinator.handlers.projections import GangsView
from muster_gang_coordinator.handlers.status_writer import StatusWriter
from muster_types import ClusterId
from unit.muster_gang_coordinator.builders import GANG, NOON, Story, a_spec
from unit.muster_gang_coordinator.memory_cluster import MemoryCluster
from unit.muster_gang_coordinator.stories import stockout

LOCAL = ClusterId("local")
SPEC = a_spec()
CAUSE = Cause.first("test")


class Bench:
    """A writer before a cluster in memory."""

    def __init__(self, cluster: MemoryCluster | None = None) -> None:
        self.cluster = cluster or MemoryCluster({SPEC.key: SPEC.uid})
        self.gangs = GangsView()
        self.clusters = ClusterView()
        self.writer = StatusWriter(self.gangs, self.clusters, self.cluster, self.cluster)

    def tell(self, story: Story, since: int = 0) -> None:
        for event in story.history[since:]:
            for step in self.gangs.apply(LOCAL, GANG, [event], NOON):
                self.writer.saw(step)

    def show(self, uid: str = SPEC.uid) -> None:
        seen = RequestSeen(SPEC.key, uid, "atomic.muster.dev", self.cluster.statuses.get(SPEC.key, EMPTY), b"{}")
        self.clusters.apply(LOCAL, [seen], CAUSE)

    def reasons(self) -> list[str]:
        """Reason of Provisioned in each write, without repetitions."""
        found = [s.find("Provisioned") for s in self.cluster.written]
        return list(dict.fromkeys(c.reason for c in found if c is not None))


async def test_every_step_is_written_in_order_and_details_before_provisioned() -> None:
    bench = Bench()
    bench.writer.start(("local",))
    bench.tell(stockout())
    await bench.writer.wait_idle()
    assert bench.reasons() == ["Planning", "Provisioning", "VerifyingShape", "CapacityIsProvisioned"]
    last, before = bench.cluster.written[-1], bench.cluster.written[-2]
    assert last.true("Provisioned")
    assert not before.true("Provisioned")
    assert before.details == last.details != ()


async def test_an_absent_api_server_is_waited_out_without_losing_a_step() -> None:
    bench = Bench()
    bench.cluster.failures = 3
    bench.writer.start(("local",))
    bench.tell(stockout())
    await bench.writer.wait_idle()
    assert bench.reasons() == ["Planning", "Provisioning", "VerifyingShape", "CapacityIsProvisioned"]


async def test_a_restart_writes_what_was_missed_as_it_stands_and_nothing_twice() -> None:
    bench = Bench()
    bench.tell(stockout())
    assert bench.cluster.written == []
    bench.show()
    bench.writer.start(("local",))
    await bench.writer.wait_idle()
    assert bench.reasons() == ["CapacityIsProvisioned"] or bench.cluster.written[-1].true("Provisioned")
    again = Bench(bench.cluster)
    again.tell(stockout())
    again.show()
    count = len(bench.cluster.written)
    again.writer.start(("local",))
    await again.writer.wait_idle()
    assert len(bench.cluster.written) == count


async def test_a_status_that_is_ahead_is_left_alone() -> None:
    ahead = Bench()
    ahead.writer.start(("local",))
    ahead.tell(stockout())
    await ahead.writer.wait_idle()
    behind = Bench(ahead.cluster)
    half = stockout()
    half.history = half.history[:4]
    behind.tell(half)
    behind.show()
    count = len(ahead.cluster.written)
    behind.writer.start(("local",))
    await behind.writer.wait_idle()
    assert len(ahead.cluster.written) == count


async def test_a_request_made_over_grpc_is_put_into_the_cluster_before_its_status() -> None:
    bench = Bench(MemoryCluster())
    bench.writer.start(("local",))
    bench.tell(Story().requested())
    await bench.writer.wait_idle()
    assert [s.uid for s in bench.cluster.published] == [SPEC.uid]
    assert bench.reasons() == ["Planning"]


async def test_a_request_that_the_cluster_has_shown_and_lost_is_not_put_back() -> None:
    bench = Bench(MemoryCluster())
    bench.tell(Story().requested())
    bench.clusters.apply(LOCAL, [ObjectGone(SPEC.key, SPEC.uid)], CAUSE)
    bench.writer.start(("local",))
    await bench.writer.wait_idle()
    assert bench.cluster.published == []


async def test_a_request_that_somebody_replaced_gets_no_status_of_the_old_one() -> None:
    bench = Bench(MemoryCluster({SPEC.key: "uid-new"}))
    bench.show("uid-new")
    bench.clusters.cluster(LOCAL).known_uids.add(SPEC.uid)
    bench.writer.start(("local",))
    bench.tell(stockout())
    await bench.writer.wait_idle()
    assert bench.cluster.written == []


async def test_t1_the_time_of_a_request_that_waits_long_is_renewed_and_kept_by_later_writes() -> None:
    bench, old, week = Bench(), timedelta(days=3), NOON + timedelta(days=6)
    bench.writer.start(("local",))
    story = Story().requested()
    story.refused(NoPlanKind.NOT_NOW)
    bench.tell(story)
    await bench.writer.wait_idle()
    bench.show()
    assert bench.writer.renew(("local",), NOON + timedelta(days=2), old) == 0
    assert bench.writer.renew(("local",), week, old) == 1
    await bench.writer.wait_idle()
    assert _time_of(bench, "Provisioned") == week
    assert _time_of(bench, "Accepted") < week
    bench.show()
    assert bench.writer.renew(("local",), week, old) == 0
    told = len(story.history)
    story.tell(RetryGang("room", story.now))
    bench.tell(story, told)
    await bench.writer.wait_idle()
    assert bench.cluster.written[-1].find("Provisioned") != bench.cluster.written[-2].find("Provisioned")
    assert _time_of(bench, "Provisioned") == week
    ended = len(story.history)
    story.tell(CancelGang("by hand", story.now))
    story.released()
    bench.tell(story, ended)
    await bench.writer.wait_idle()
    bench.show()
    assert bench.cluster.statuses[SPEC.key].true("Failed")
    assert bench.writer.renew(("local",), week + old, old) == 0, "one that is over may go"


def _time_of(bench: Bench, type_: str) -> datetime:
    found = bench.cluster.statuses[SPEC.key].find(type_)
    assert found is not None
    return found.changed
