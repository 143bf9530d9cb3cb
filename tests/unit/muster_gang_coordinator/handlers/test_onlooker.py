"""What is odd about requests and their pods is told once, at the object, with what to do."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import orjson
import pytest

from muster_eventstore import Cause, TransientError
from muster_gang_coordinator.domain.notices import Notice, NoticeCode
from muster_gang_coordinator.domain.observed import PartSeen, PodSeen, RequestSeen, Seen
from muster_gang_coordinator.domain.status import EMPTY
from muster_gang_coordinator.handlers.cluster_view import ClusterView
from muster_gang_coordinator.handlers.onlooker import Onlooker
from muster_gang_coordinator.handlers.projections import GangsView
from muster_gang_coordinator.wire.templates import JsonTemplates, look_of
from muster_types import ClusterId, NodeName, ObjectKey
from unit.muster_gang_coordinator.builders import GANG, NOON, Story

LOCAL = ClusterId("local")
UID = "request-1"  # what the story has as request_id too, as for a request that the cluster has shown
REQUEST = ObjectKey("ProvisioningRequest", "ml", "train")
TEMPLATE = ObjectKey("PodTemplate", "ml", "worker")
POD_SPEC: dict[str, object] = {
    "containers": [{"name": "main", "image": "train:1", "resources": {"limits": {"cpu": "4"}}}],
    "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": "gpus"}],
    "schedulingGroup": {"podGroupName": "train"},
}


@dataclass
class Told:
    """The port Notices; the next `failures` calls fail."""

    notices: list[Notice] = field(default_factory=list)
    failures: int = 0

    async def tell(self, cluster: ClusterId, notice: Notice) -> None:
        if self.failures:
            self.failures -= 1
            raise TransientError("away")
        self.notices.append(notice)


def a_template(**spec: object) -> bytes:
    metadata = {"name": "worker", "namespace": "ml"}
    return orjson.dumps({"kind": "PodTemplate", "metadata": metadata, "template": {"spec": {**POD_SPEC, **spec}}})


def a_request(**parameters: str) -> bytes:
    return orjson.dumps({"kind": "ProvisioningRequest", "spec": {"parameters": parameters}})


class Bench:
    """An onlooker beside one gang that was accepted."""

    def __init__(self, uid: str = UID) -> None:
        self.gangs, self.view, self.told, self.now = GangsView(), ClusterView(), Told(), NOON
        classes, grace = ("atomic.muster.dev",), timedelta(seconds=60)
        self.onlooker = Onlooker(self.gangs, self.view, JsonTemplates(), self.told, classes, self._now, grace)
        story = Story().requested(uid=uid, objects_json=(a_template(),), request_json=a_request(ValidUntilSeconds="60"))
        self.gangs.apply(LOCAL, GANG, story.history, NOON)

    def _now(self) -> datetime:
        return self.now

    async def shows(self, *facts: Seen) -> list[NoticeCode]:
        self.view.apply(LOCAL, facts, Cause.first("test"))
        await self.onlooker.saw(LOCAL, [fact.key for fact in facts])
        await self.onlooker.look_again(LOCAL)
        return [notice.code for notice in self.told.notices]


def a_pod(name: str = "p0", **fields: object) -> PodSeen:
    known = {"request": "train", "node": NodeName(""), "group": "train", "look": look_of(POD_SPEC), "uid": name}
    return PodSeen(ObjectKey("Pod", "ml", name), **{**known, **fields})  # pyright: ignore[reportArgumentType] -- by name


async def test_t3_a_template_that_drifts_is_told_at_the_request_once() -> None:
    bench = Bench()
    assert await bench.shows(PartSeen(TEMPLATE, a_template())) == []
    changed = PartSeen(TEMPLATE, a_template(priority=7))
    assert await bench.shows(changed) == [NoticeCode.TEMPLATE_DRIFT]
    assert await bench.shows(changed) == [NoticeCode.TEMPLATE_DRIFT]
    assert bench.told.notices[0].about.key == REQUEST
    assert "PodTemplate ml/worker was changed" in bench.told.notices[0].sentence


async def test_t4_parameters_that_are_added_later_are_told_and_no_status_is() -> None:
    bench = Bench()
    seen = RequestSeen(REQUEST, UID, "atomic.muster.dev", EMPTY, a_request(ValidUntilSeconds="60"))
    assert await bench.shows(seen) == []
    more = RequestSeen(REQUEST, UID, "atomic.muster.dev", EMPTY, a_request(ValidUntilSeconds="60", Other="x"))
    assert await bench.shows(more) == [NoticeCode.PARAMETERS_CHANGED]


async def test_t34_a_pod_whose_request_does_not_exist_is_told_after_a_while() -> None:
    bench = Bench()
    assert await bench.shows(a_pod(request="nobody")) == []
    bench.now += timedelta(seconds=59)
    assert await bench.shows() == []
    bench.now += timedelta(seconds=1)
    assert await bench.shows() == [NoticeCode.ORPHAN_CONSUMER]
    assert "ProvisioningRequest ml/nobody, which does not exist" in bench.told.notices[0].sentence
    assert bench.told.notices[0].about.key.name == "p0"


@pytest.mark.parametrize(
    "fields", [{"class_name": "other.example.com"}, {"node": NodeName("n1")}, {"request": "train"}]
)
async def test_a_pod_of_another_class_that_runs_or_whose_request_is_there_is_no_orphan(
    fields: dict[str, object],
) -> None:
    bench = Bench()
    await bench.shows(a_pod(**{"request": "nobody", **fields}))
    bench.now += timedelta(hours=1)
    assert await bench.shows() == []


async def test_a_request_that_comes_in_time_makes_no_orphan() -> None:
    bench = Bench()
    await bench.shows(a_pod(request="later"))
    key = ObjectKey("ProvisioningRequest", "ml", "later")
    await bench.shows(RequestSeen(key, "uid-2", "atomic.muster.dev", EMPTY, a_request()))
    bench.now += timedelta(hours=1)
    assert await bench.shows() == []


@pytest.mark.parametrize("pod_first", [True, False])
async def test_t35_a_pod_like_those_of_a_request_that_does_not_name_it_is_told(*, pod_first: bool) -> None:
    bench = Bench()
    seen = RequestSeen(REQUEST, UID, "atomic.muster.dev", EMPTY, a_request(ValidUntilSeconds="60"))
    facts = (a_pod(request="", group=""), seen) if pod_first else (seen, a_pod(request="", group=""))
    for fact in facts:
        await bench.shows(fact)
    assert [notice.code for notice in bench.told.notices] == [NoticeCode.UNMARKED_CONSUMER]
    assert "on the pod template, not on the job" in bench.told.notices[0].sentence


async def test_a_pod_that_looks_otherwise_is_nobodys() -> None:
    bench = Bench()
    assert await bench.shows(a_pod(request="", group="", look=look_of({"containers": [{"name": "web"}]}))) == []


async def test_t38_a_consumer_that_lost_its_group_says_that_the_gate_is_off() -> None:
    bench = Bench()
    assert await bench.shows(a_pod()) == []
    assert await bench.shows(a_pod("p1", group="")) == [NoticeCode.GANG_API_DISABLED]


async def test_n_3_2_a_group_that_asks_and_that_no_pod_names_says_that_the_gate_may_be_off() -> None:
    bench = Bench()
    key = ObjectKey("PodGroup", "ml", "alone")
    asks = orjson.dumps({"metadata": {"annotations": {"muster.dev/capacity": "atomic"}}})
    await bench.shows(PartSeen(key, asks, "g-1"), PartSeen(ObjectKey("PodGroup", "ml", "plain"), b"{}", "g-2"))
    await bench.shows(PartSeen(ObjectKey("PodGroup", "ml", "train"), asks, "g-3"))
    await bench.shows(a_pod(request="", node=NodeName("n1")))
    bench.now += timedelta(seconds=60)
    assert await bench.shows() == [NoticeCode.GANG_API_DISABLED]
    assert bench.told.notices[0].about.key == key


async def test_a_cluster_that_does_not_take_a_notice_stops_nothing() -> None:
    bench = Bench()
    bench.told.failures = 1
    assert await bench.shows(a_pod("p1", group="")) == []
    assert await bench.shows(a_pod("p2", group="")) == [NoticeCode.GANG_API_DISABLED]


def test_pods_of_one_template_look_the_same_whatever_admission_adds() -> None:
    container = {"name": "main", "image": "train:1", "resources": {"limits": {"cpu": "4"}, "requests": {"cpu": "4"}}}
    admitted = {**POD_SPEC, "containers": [{**container, "imagePullPolicy": "Always"}], "serviceAccountName": "default"}
    assert look_of(admitted) == look_of(POD_SPEC) != ""
    other = [{"name": "gpus", "resourceClaimTemplateName": "other"}]
    assert look_of({**POD_SPEC, "resourceClaims": other}) != look_of(POD_SPEC)
