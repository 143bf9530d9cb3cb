"""A back-up of the streams is the whole system: brought back into an empty server, nothing is missing."""

from pathlib import Path

import pytest

from muster_eventstore import JetStreamStore
from support import stories
from support.deployment import EXAMPLES
from support.nats_server import fresh_streams
from support.processes import MusterProcesses

pytestmark = pytest.mark.slow


async def test_services_go_on_from_a_copy_that_was_brought_back_into_an_empty_server(
    muster: MusterProcesses, muster_store: JetStreamStore, tmp_path: Path
) -> None:
    asked = muster.muster("request", EXAMPLES / "story-1", "--until-consumed")
    assert asked.status == 0, asked.err
    gang = asked.out.split(maxsplit=1)[0]
    await stories.wait_consumed(muster_store)
    muster.stop_services()
    told = muster.muster("events", "--replay")
    copied = muster.muster("streams", "backup", tmp_path / "copy", "-o", "json")
    assert copied.status == 0, copied.err
    assert isinstance(copied.json, list)
    refused = muster.muster("streams", "restore", tmp_path / "copy")
    assert (refused.status, "--replace" in refused.err) == (2, True)

    await fresh_streams(muster.nats.url)
    restored = muster.muster("streams", "restore", tmp_path / "copy", "-o", "json")
    assert (restored.status, restored.json) == (0, sorted(copied.json, key=lambda each: each["stream"]))
    assert muster.muster("events", "--replay").json == told.json
    muster.start_services()
    shown = muster.muster("gang", "show", gang)
    assert (shown.status, "CONSUMED" in shown.out) == (0, True)
    again = muster.muster("request", EXAMPLES / "story-1", "--no-wait")
    assert (again.status, again.out.strip()) == (0, gang), "the same request again gives the same gang"
