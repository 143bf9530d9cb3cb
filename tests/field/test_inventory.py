"""Cases with steps through the real inventory: facts on a real stream, objects back over gRPC, audited step by step."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import orjson
import pytest

from field.cases import Case, cases, missing
from field.judge import judge
from integration.inventory.facts import CLUSTER, Watcher
from integration.inventory.running import Running, running_inventory
from muster.api.inventory.v1 import inventory_service_pb2 as api
from muster_audit import Dump, Frame, Report, audit, frames_of
from muster_audit.frames import EVENT, STEP
from muster_eventstore import JetStreamStore

pytestmark = pytest.mark.skipif(
    bool(missing()), reason="the recorded cases of shared/field are not at hand; MUSTER_FIELD names their folder"
)
STEPPED = [case for case in cases() if len(frames_of([case.dump()])) > 1]


@pytest.mark.parametrize("case", STEPPED, ids=lambda case: case.id)
async def test_the_inventory_shows_what_the_case_records_after_each_step(
    case: Case, store: JetStreamStore, streams_url: str, tmp_path: Path
) -> None:
    watcher = Watcher(store)
    await watcher.complete()
    shown: list[Dump] = []
    reports: dict[int, Report] = {}
    before = Frame("", {})
    async with running_inventory(streams_url, tmp_path) as service:
        for frame in frames_of([case.dump()]):
            await publish(watcher, before, frame)
            shown.append(await exported(service, await watcher.complete()))
            reports[int(frame.label.removeprefix("step "))] = audit(shown)
            before = frame
    assert [f"{each.subject}: {each.wrong}" for each in judge(case, reports) if each.wrong] == []


async def publish(watcher: Watcher, before: Frame, after: Frame) -> None:
    """What a watcher would tell of the change from one moment to the next."""
    for key, obj in before.objects.items():
        if key not in after.objects:
            await watcher.lose(plain(obj))
    await watcher.see(*(plain(obj) for key, obj in after.objects.items() if before.objects.get(key) is not obj))


def plain(obj: Mapping[str, object]) -> dict[str, object]:
    """As a cluster shows it: without the marks of a step."""
    metadata = dict(cast("Mapping[str, object]", obj["metadata"]))
    annotations = cast("Mapping[str, str]", metadata.get("annotations", {}))
    metadata["annotations"] = {key: value for key, value in annotations.items() if key not in (STEP, EVENT)}
    return {**obj, "metadata": metadata}


async def exported(service: Running, sequence: int) -> Dump:
    request = api.ExportObjectsRequest(cluster=CLUSTER, min_sequence=sequence)
    return Dump(
        tuple([orjson.loads(each) async for part in service.stub.ExportObjects(request) for each in part.objects])
    )
