"""ProvisioningRequests that the cluster shows: late templates, deletion, new attempts, drift, statuses."""

from pathlib import Path

import orjson
import pytest

from integration.gang_coordinator.running import (
    Coordinator,
    World,
    a_claim_template,
    a_plan,
    a_request,
    a_template,
    a_world,
    conditions,
    running_coordinator,
)
from muster.api.capacity.v1 import capacity_service_pb2 as pb
from muster.commands.claims.v1 import claims_pb2 as claim_commands
from muster.commands.provisioning.v1 import provisioning_pb2 as order_commands
from muster.type.v1.gang_pb2 import (
    GANG_STATE_CANCELLED,
    GANG_STATE_COMPENSATING,
    GANG_STATE_FAILED,
    GANG_STATE_ORDERED,
    GANG_STATE_RECEIVED,
    GangState,
)
from muster_eventstore import JetStreamStore
from support.nats_server import wait_until


async def only_gang(coordinator: Coordinator, state: GangState.ValueType) -> pb.GangView:
    """The one gang there is, once it is in a state."""

    async def there() -> bool:
        listed = (await coordinator.stub.ListGangs(pb.ListGangsRequest())).gangs
        return [g.state for g in listed] == [state]

    await wait_until(there, f"one gang, {GangState.Name(state)}")
    return (await coordinator.stub.ListGangs(pb.ListGangsRequest())).gangs[0]


async def put_and_show(world: World, obj: dict[str, object], uid: str = "") -> None:
    """In the directory and shown by the watcher."""
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    if uid:
        metadata["uid"] = uid
    world.directory.put(obj)
    await world.show(obj, uid)


async def test_t2_a_template_that_comes_after_its_request_is_waited_for(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        await put_and_show(world, a_request(), "uid-1")
        view = await only_gang(coordinator, GANG_STATE_RECEIVED)
        assert view.message == "waits for PodTemplate ml/worker"
        await put_and_show(world, a_template())
        await put_and_show(world, a_claim_template())
        (book,) = await world.wait_asked(claim_commands.BookGang)
        assert isinstance(book, claim_commands.BookGang)
        assert [orjson.loads(o)["kind"] for o in book.spec.objects_json] == ["PodTemplate", "ResourceClaimTemplate"]
        assert book.spec.uid == "uid-1"
        await wait_until(
            lambda: conditions(world) == {"Accepted": ("True", "Accepted"), "Provisioned": ("False", "Planning")},
            "Accepted together with Provisioned=False",
        )


async def test_f1_a_template_that_never_comes_fails_the_request_and_is_named(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with (
        a_world(store, tmp_path) as world,
        running_coordinator(streams_url, tmp_path, template_wait=1.0) as coordinator,
    ):
        await put_and_show(world, a_request(), "uid-1")
        view = await only_gang(coordinator, GANG_STATE_FAILED)
        assert "PodTemplate ml/worker does not exist" in view.message
        await wait_until(lambda: conditions(world).get("Failed") == ("True", "FailedToCreatePods"), "Failed=True")


async def test_f23_a_request_that_is_deleted_is_cancelled(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        for obj, uid in ((a_request(), "uid-1"), (a_template(), ""), (a_claim_template(), "")):
            await put_and_show(world, obj, uid)
        gang = (await only_gang(coordinator, GangState.GANG_STATE_PLANNING)).gang_id
        await world.wait_asked(claim_commands.BookGang)
        await world.booked(gang, a_plan(("h100", 2)))
        await world.wait_asked(order_commands.PlaceOrder)
        await world.show_gone("ProvisioningRequest", "train", "uid-1")
        await only_gang(coordinator, GANG_STATE_COMPENSATING)
        await world.wait_asked(order_commands.CancelOrder)
        await world.give_back_all(gang)
        view = await only_gang(coordinator, GANG_STATE_CANCELLED)
        assert "ProvisioningRequest ml/train was deleted" in view.message


async def test_n_2_1_the_next_attempt_of_a_workload_adopts_the_running_gang(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    owner = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "name": "job-train",
        "uid": "w-1",
        "controller": True,
    }
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        await put_and_show(world, a_template())
        await put_and_show(world, a_claim_template())
        first = a_request("job-train-muster-1")
        first["metadata"] = {"name": "job-train-muster-1", "namespace": "ml", "ownerReferences": [owner]}
        await put_and_show(world, first, "uid-1")
        gang = (await only_gang(coordinator, GangState.GANG_STATE_PLANNING)).gang_id
        await world.wait_asked(claim_commands.BookGang)
        await world.booked(gang, a_plan(("h100", 2)))
        await only_gang(coordinator, GANG_STATE_ORDERED)
        second = a_request("job-train-muster-2")
        second["metadata"] = {"name": "job-train-muster-2", "namespace": "ml", "ownerReferences": [owner]}
        await put_and_show(world, second, "uid-2")

        async def adopted() -> bool:
            return (await coordinator.gang(gang)).name == "job-train-muster-2"

        await wait_until(adopted, "the gang serves the second attempt")
        await world.show_gone("ProvisioningRequest", "job-train-muster-1", "uid-1")
        await wait_until(
            lambda: conditions(world, "job-train-muster-2").get("Provisioned") == ("False", "Provisioning"),
            "the second request has the progress of the gang",
        )
        assert (await only_gang(coordinator, GANG_STATE_ORDERED)).gang_id == gang
        assert len([m for m in world.asked if isinstance(m, order_commands.PlaceOrder)]) == 1


async def test_a_request_of_another_class_is_left_alone(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        other = a_request("theirs")
        other["spec"] = {**a_request()["spec"], "provisioningClassName": "check-capacity.autoscaling.x-k8s.io"}  # type: ignore[dict-item]
        await put_and_show(world, other, "uid-9")
        await put_and_show(world, a_request("ours"), "uid-1")
        view = await only_gang(coordinator, GANG_STATE_RECEIVED)
        assert view.name == "ours"


async def test_a_provisioned_request_that_these_streams_know_nothing_of_is_not_bought_again(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        served = a_request("a-served")
        condition = {"type": "Provisioned", "status": "True", "reason": "CapacityIsProvisioned"}
        served["status"] = {"conditions": [condition]}
        await put_and_show(world, served, "uid-9")
        await put_and_show(world, a_request("b-ours"), "uid-1")

        async def names() -> list[str]:
            return [gang.name for gang in (await coordinator.stub.ListGangs(pb.ListGangsRequest())).gangs]

        async def ours() -> bool:
            return "b-ours" in await names()

        await wait_until(ours, "the later request, dealt with after it, has its gang")
        assert await names() == ["b-ours"]


async def test_a_manifest_without_uid_keeps_its_gang_when_the_first_status_gives_it_one(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        (tmp_path / "cluster" / "ProvisioningRequest").mkdir(parents=True)
        file = tmp_path / "cluster" / "ProvisioningRequest" / "ml.train.json"
        file.write_bytes(orjson.dumps(a_request()))
        for obj in (a_request(), a_template(), a_claim_template()):
            await world.show(obj)
        await world.wait_asked(claim_commands.BookGang)
        await wait_until(lambda: "Provisioned" in conditions(world), "the first status")
        written = orjson.loads(file.read_bytes())
        await world.show(written, written["metadata"]["uid"])
        await world.show(a_request("later"), "uid-later")

        async def two() -> bool:
            return len((await coordinator.stub.ListGangs(pb.ListGangsRequest())).gangs) == 2

        await wait_until(two, "the later request is dealt with")
        assert {g.name for g in (await coordinator.stub.ListGangs(pb.ListGangsRequest())).gangs} == {"train", "later"}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"kind": "Pod"}, "kind is 'Pod'"),
        ({"spec": {"provisioningClassName": "atomic.muster.dev", "podSets": []}}, "spec.podSets"),
        (
            {
                "spec": {
                    "provisioningClassName": "other.example.com",
                    "podSets": [{"podTemplateRef": {"name": "worker"}, "count": 1}],
                }
            },
            "provisioningClassName is 'other.example.com'",
        ),
        (
            {
                "spec": {
                    "provisioningClassName": "atomic.muster.dev",
                    "podSets": [{"podTemplateRef": {"name": "worker"}, "count": 1}],
                    "parameters": {"ValidUntilSeconds": "soon"},
                }
            },
            "ValidUntilSeconds",
        ),
    ],
)
async def test_a_bad_request_over_grpc_is_refused_with_object_field_and_reason(
    store: JetStreamStore, streams_url: str, tmp_path: Path, change: dict[str, object], text: str
) -> None:
    import grpc
    from grpc import aio

    async with running_coordinator(streams_url, tmp_path) as coordinator:
        request = pb.RequestCapacityRequest(request_id="r1", request_json=orjson.dumps({**a_request(), **change}))
        with pytest.raises(aio.AioRpcError) as refused:
            await coordinator.stub.RequestCapacity(request)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert text in (refused.value.details() or "")
        assert not (await coordinator.stub.ListGangs(pb.ListGangsRequest())).gangs


async def test_the_same_request_id_gives_the_same_gang_and_its_objects_are_put_into_the_cluster(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    async with a_world(store, tmp_path) as world, running_coordinator(streams_url, tmp_path) as coordinator:
        first = await coordinator.request()
        assert await coordinator.request() == first
        assert await coordinator.request(request_id="r2", name="other") != first
        await wait_until(lambda: "Provisioned" in conditions(world), "the request is in the directory, with a status")
        listing = world.directory.list()
        assert {key.kind for key in listing.objects} >= {"PodTemplate", "ResourceClaimTemplate", "ProvisioningRequest"}
        shown = world.directory.get(next(k for k in listing.objects if k.name == "train"))
        assert shown is not None
        uid = shown["metadata"]["uid"]  # type: ignore[index]
        await world.show(dict(shown), uid)
        assert await coordinator.request() == first, "what the watcher shows of it is the same request"


async def test_another_content_under_the_same_request_id_is_refused(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    import grpc
    from grpc import aio

    async with running_coordinator(streams_url, tmp_path) as coordinator:
        await coordinator.request(count=4)
        with pytest.raises(aio.AioRpcError) as refused:
            await coordinator.request(count=5)
        assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert "use another request_id" in (refused.value.details() or "")


async def test_an_unknown_gang_is_not_found_and_cannot_be_cancelled(
    store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    import grpc
    from grpc import aio

    async with running_coordinator(streams_url, tmp_path) as coordinator:
        with pytest.raises(aio.AioRpcError) as missing:
            await coordinator.gang("nobody")
        assert missing.value.code() is grpc.StatusCode.NOT_FOUND
        with pytest.raises(aio.AioRpcError) as refused:
            await coordinator.stub.CancelGang(pb.CancelGangRequest(gang_id="nobody", request_id="c1"))
        assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
