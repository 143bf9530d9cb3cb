"""Bad input of every kind, all at once: each gets its reason, the rest goes on, nothing is lost, nobody falls over."""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import grpc
import nats
import orjson
import pytest
import uvloop

from muster.api.inventory.v1 import inventory_service_pb2 as inventory_pb
from muster.api.inventory.v1.inventory_service_pb2_grpc import InventoryServiceStub
from muster.events.inventory.v1 import inventory_pb2
from muster.events.observed.v1.observed_pb2 import SEVERITY_ERROR, SEVERITY_WARNING
from muster_eventstore import JetStreamStore, list_parked
from support import stories
from support.deployment import EXAMPLES, ROOT
from support.fleets import quick_fleet
from support.nats_server import store_on, wait_until
from support.processes import DEADLINE, MusterProcesses
from support.recorded import Moment, wait_moment

pytestmark = pytest.mark.slow

TROUBLED = ROOT / "tests" / "data" / "dumps" / "troubled"
COMMANDS = (
    "muster.commands.claims.local.BookGang.nobody",
    "muster.commands.gangs.local.CancelGang.nobody",
    "muster.commands.provisioning.local.PlaceOrder.nobody",
)
EVENTS = (
    "muster.observed.local.Node._.nobody",
    "muster.inventory.local.node.nobody",
    "muster.claims.local.ledger",
    "muster.gangs.local.gang.nobody",
    "muster.provisioning.local.order.nobody",
)
LATE_NODE = Moment(
    "the mended node is recorded",
    "inventory",
    "NodeRegistered",
    lambda event: isinstance(event, inventory_pb2.NodeRegistered) and event.node == "late",
)
GARBAGE = b"\xff\xfe no message of ours"


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterProcesses]:
    """Everything up on a sound fleet with troubled files beside it, and garbage on every stream."""
    home = tmp_path_factory.mktemp("troubled")
    load = quick_fleet(home / "fleet")
    for file in TROUBLED.iterdir():
        shutil.copy(file, load)
    _write_50_mb(load / "huge.yaml")
    with MusterProcesses(home, load, {"MUSTER_TEMPLATE_WAIT": "1"}) as running:
        uvloop.run(_publish_garbage(running.nats.url))
        yield running


@pytest.fixture
async def store(muster: MusterProcesses) -> AsyncIterator[JetStreamStore]:
    """The event store of the module's services."""
    async with store_on(muster.nats.url) as opened:
        yield opened


def _write_50_mb(path: Path) -> None:
    with path.open("w") as file:
        file.write(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: huge\n  namespace: team-a\n  annotations:\n    notes: '"
        )
        for _ in range(50):
            file.write("x" * 1024 * 1024)
        file.write("'\nspec:\n  containers:\n  - {name: main, image: registry.example.com/main:1}\n")


async def _publish_garbage(url: str) -> None:
    client = await nats.connect(url)
    try:
        for subject in (*COMMANDS, *EVENTS):
            await client.jetstream().publish(subject, GARBAGE)
    finally:
        await client.close()


def _problems(muster: MusterProcesses) -> dict[str, inventory_pb.ProblemView]:
    """Refused inputs and warnings by the name of their file."""
    with grpc.insecure_channel(muster.services["inventory"].address) as channel:
        wanted = inventory_pb.ListProblemsRequest(cluster=stories.CLUSTER)
        answer = InventoryServiceStub(channel).ListProblems(wanted, timeout=30)
    return {Path(problem.source.partition(":")[0]).name: problem for problem in answer.problems}


REFUSED = [
    ("malformed.yaml", "malformed.yaml:10", "Node/node-c", "", "malformed YAML"),
    ("unknown-version.yaml", "unknown-version.yaml:1", "ResourceSlice/node-a-old", "apiVersion", "resource.k8s.io/v1"),
    ("invalid-slice.yaml", "invalid-slice.yaml:1", "ResourceSlice/node-a-gpu", "spec.devices", ""),
    ("doubled.json", "doubled.json:1", "Node/node-f", "metadata.name", "stands twice"),
    ("garbage.yaml", "garbage.yaml:1", "", "", "UTF-8"),
    ("huge.yaml", "huge.yaml:1", "Pod/team-a/huge", "", "take large annotations out"),
]


@pytest.mark.parametrize(("file", "source", "object", "field", "reason"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_refused_input_is_told_with_file_object_field_and_reason(
    muster: MusterProcesses, file: str, source: str, object: str, field: str, reason: str
) -> None:
    problem = _problems(muster)[file]
    assert source in problem.source
    assert problem.object.startswith(object)
    assert problem.field.startswith(field)
    assert reason in problem.reason
    assert problem.reason


def test_nothing_else_of_the_dump_was_refused_and_status_counts_it(muster: MusterProcesses) -> None:
    refused = {file for file, problem in _problems(muster).items() if problem.severity == SEVERITY_ERROR}
    assert refused == {row[0] for row in REFUSED}
    told = muster.muster("status", "-o", "json")
    assert told.status == 0, told.err
    facts = {service["service"]: service["facts"] for service in orjson.loads(told.out)}
    assert facts["inventory"]["refused inputs"].startswith(f"{len(REFUSED)}, the first: ")
    assert "muster parked list" in facts["nats"]["parked messages"]


def test_the_sound_objects_of_troubled_files_are_taken(muster: MusterProcesses) -> None:
    with grpc.insecure_channel(muster.services["inventory"].address) as channel:
        wanted = inventory_pb.ListNodesRequest(cluster=stories.CLUSTER)
        nodes = {node.name for node in InventoryServiceStub(channel).ListNodes(wanted, timeout=30).nodes}
    assert {"node-a", "node-b", "node-d", "node-g"} <= nodes, "before and behind what is broken"
    assert not {"node-c", "node-e", "node-f"} & nodes


def test_an_unknown_field_is_a_warning_and_the_object_is_taken(muster: MusterProcesses) -> None:
    warning = _problems(muster)["unknown-field.yaml"]
    assert (warning.severity, warning.field) == (SEVERITY_WARNING, "spec.devices[0].atributes")
    assert "input taken with a warning" in muster.services["cluster-watcher"].text()
    status = orjson.loads(muster.muster("status", "-o", "json").out)
    (facts,) = (service["facts"] for service in status if service["service"] == "inventory")
    assert facts["inputs with warnings"].startswith("1, the first: ")
    assert "spec.devices[0].atributes" in facts["inputs with warnings"]
    told = muster.muster("audit", TROUBLED)
    assert told.status == 2
    assert "spec.devices[0].atributes: unknown field; did you mean 'attributes'?" in told.err


async def test_a_request_whose_pod_template_is_missing_fails_and_names_it(
    muster: MusterProcesses, store: JetStreamStore
) -> None:
    await wait_moment(store, stories.ENDED)
    listed = muster.muster("gang", "list", "-o", "json")
    assert listed.status == 0, listed.err
    (gang,) = [gang for gang in orjson.loads(listed.out) if gang["name"] == "orphaned"]
    assert gang["state"] == "GANG_STATE_FAILED"
    assert "PodTemplate team-a/nobody-wrote-it" in gang["message"]
    shown = muster.muster("gang", "show", gang["gang_id"])
    assert (shown.status, "create it" in shown.out) == (0, True)


async def test_garbage_is_parked_with_its_reason_for_everybody_who_should_have_read_it(
    muster: MusterProcesses, store: JetStreamStore
) -> None:
    async def all_parked() -> bool:
        return {parked.original.subject for parked in await list_parked(store)} == {*COMMANDS, *EVENTS}

    await wait_until(all_parked, "every garbage message is parked", DEADLINE)
    told = muster.muster("parked", "list")
    assert told.status == 1
    assert "header ce-id is missing" in told.out
    rows = muster.muster("parked", "list", "-o", "json").json
    assert isinstance(rows, list)
    assert {row["subject"] for row in rows} == {*COMMANDS, *EVENTS}
    assert {row["reason"] for row in rows} == {"UNDECODABLE: not a message of this system: header ce-id is missing"}
    assert {row["bytes"] for row in rows} == {len(GARBAGE)}
    shown = muster.muster("parked", "show", str(rows[0]["sequence"]))
    assert (shown.status, rows[0]["subject"] in shown.out) == (0, True)


def test_a_request_that_cannot_be_read_is_refused_with_file_and_reason(muster: MusterProcesses, tmp_path: Path) -> None:
    broken = tmp_path / "request.yaml"
    broken.write_text("apiVersion: autoscaling.x-k8s.io/v1\nkind: ProvisioningRequest\nmetadata: {name: a: b}\n")
    told = muster.muster("request", broken)
    assert told.status == 2
    assert "request.yaml:3" in told.err
    foreign = tmp_path / "foreign.yaml"
    text = (EXAMPLES / "story-1" / "provisioningrequest.yaml").read_text()
    foreign.write_text(text.replace("atomic.muster.dev", "somebody.else.dev"))
    told = muster.muster("request", foreign)
    assert told.status == 2
    assert "spec.provisioningClassName" in told.err


async def test_a_mended_file_is_taken_off_the_list_and_its_object_is_there(
    muster: MusterProcesses, store: JetStreamStore
) -> None:
    late = muster.load / "late.yaml"
    late.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: late\n")
    await wait_until(lambda: "late.yaml" in _problems(muster), "the broken file is told", DEADLINE)
    late.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: late}\n")
    await wait_until(lambda: "late.yaml" not in _problems(muster), "the mended file is off the list", DEADLINE)
    await wait_moment(store, LATE_NODE)
    late.unlink()
    await wait_until(lambda: "late.yaml" not in _problems(muster), "the file is gone", DEADLINE)


async def test_story_one_is_served_beside_all_of_it_and_every_service_starts_again_on_what_is_stored(
    muster: MusterProcesses, store: JetStreamStore
) -> None:
    gang = stories.request(muster)
    await wait_moment(store, stories.CONSUMED)
    await wait_moment(store, stories.LEDGER_CLEAR)
    assert muster.stop_services() == dict.fromkeys(muster.services, 0)
    muster.start_services()
    assert stories.gang_view(muster, gang).bound_pods == 4
    assert stories.bookings(muster) == []
    shown = stories.objects(muster)
    assert stories.promised_twice(shown) == []
    assert stories.reserved(shown) == {}
    compared = muster.muster("events", "--replay", "--compare")
    assert compared.status == 0, compared.out + compared.err
    assert compared.err.count("passed over") == 4, "the garbage on the four streams that are replayed"
    assert muster.tracebacks() == []
