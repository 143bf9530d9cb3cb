"""Story 1 with every service as a process of its own, and the same state from the events alone."""

import pytest

from muster_eventstore import JetStreamStore
from support import stories
from support.deployment import EXAMPLES
from support.processes import MusterProcesses

pytestmark = pytest.mark.slow
STREAMS = ("commands", "timers", "gangs", "claims", "provisioning", "inventory", "observed")


async def test_story_one_ends_consumed_and_a_replay_gives_the_same_state_and_sends_nothing(
    muster: MusterProcesses, muster_store: JetStreamStore
) -> None:
    asked = muster.muster("request", EXAMPLES / "story-1", "--until-consumed")
    assert asked.status == 0, asked.err
    gang = asked.out.split(maxsplit=1)[0]
    assert f"{gang}  CONSUMED" in asked.out
    await stories.wait_consumed(muster_store)
    await stories.check_story_1(muster, muster_store, gang)

    before = {
        name: await muster_store.state(name) for name in ("commands", "timers", "gangs", "claims", "provisioning")
    }
    compared = muster.muster("events", "--replay", "--compare")
    assert compared.status == 0, compared.out + compared.err
    assert [line.split()[0] for line in compared.out.splitlines()] == ["inventory", "ledger", "gangs", "orders"]
    assert all(" the same " in line for line in compared.out.splitlines())
    after = {name: await muster_store.state(name) for name in before}
    assert after == before

    replayed = muster.muster("events", "--replay")
    assert replayed.status == 0, replayed.err
    assert isinstance(replayed.json, dict)
    assert gang in replayed.json["gangs"]["gangs"]

    again = muster.muster("request", EXAMPLES / "story-1", "--no-wait")
    assert (again.status, again.out.strip()) == (0, gang), "the same request again gives the same gang"
    assert muster.stop_services() == dict.fromkeys(muster.services, 0)
