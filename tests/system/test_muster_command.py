"""The `muster` command as a person or a script meets it: exit statuses, JSON, bad lines, help; never a traceback."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
import typer
from typer.testing import CliRunner

from muster_cli.app import app
from muster_kube import Manifest, read_path
from support.deployment import EXAMPLES, ROOT
from support.processes import MusterProcesses, run_muster

pytestmark = pytest.mark.slow

FLEET, STORY_1, STORY_3 = EXAMPLES / "fleet", EXAMPLES / "story-1", EXAMPLES / "story-3"
TROUBLED = ROOT / "tests" / "data" / "dumps" / "troubled"
YES, NO, BAD_INPUT, UNREACHABLE = 0, 1, 2, 3
NOBODY = {"MUSTER_STATE_DIR": "/nowhere", "MUSTER_NATS_URL": "nats://127.0.0.1:1"} | {
    f"MUSTER_{name}_ADDRESS": "127.0.0.1:1"
    for name in ("GANG_COORDINATOR", "INVENTORY", "CLAIM_MATCHER", "PROVISIONER")
}

OFFLINE: list[tuple[str, Sequence[str | Path], int, str]] = [
    ("a plan is there", ("plan", FLEET, STORY_1), YES, "planned: 2 of h100-b"),
    ("a plan as JSON", ("plan", FLEET, STORY_1, "-o", "json"), YES, '"feasible": true'),
    ("no plan ever", ("plan", FLEET, STORY_3, "-o", "json"), NO, "sharing resource.kubernetes.io/numaNode"),
    ("a plan of troubled files", ("plan", FLEET, TROUBLED), BAD_INPUT, "nobody-wrote-it"),
    ("a plan of nothing", ("plan", "/nowhere"), BAD_INPUT, "/nowhere: it cannot be read"),
    ("an audit of what runs", ("audit", FLEET), YES, "nothing is pending"),
    ("an audit of what cannot run", ("audit", FLEET, STORY_3, "-o", "json"), NO, "topology-mismatch"),
    ("an audit of troubled files", ("audit", TROUBLED), BAD_INPUT, "malformed.yaml:10"),
    (
        "a selector that matches",
        ("cel", 'device.driver == "dra.net"', FLEET, "-o", "json"),
        YES,
        "dra.net/h100-a-1/nic-0",
    ),
    ("a selector that matches nothing", ("cel", 'device.driver == "tpu"', FLEET), NO, "false"),
    ("a selector that does not compile", ("cel", "device.driver ==", FLEET), BAD_INPUT, "does not compile"),
    ("an unknown command", ("nonsense",), BAD_INPUT, "nonsense"),
    ("a gang, nobody there", ("gang", "show", "x"), UNREACHABLE, "gang-coordinator does not answer at 127.0.0.1:1"),
    ("a request, nobody there", ("request", STORY_1), UNREACHABLE, "start it with `muster up`"),
    ("events, nobody there", ("events",), UNREACHABLE, "no NATS server answers at nats://127.0.0.1:1"),
]


@pytest.mark.parametrize(
    ("arguments", "status", "words"), [row[1:] for row in OFFLINE], ids=[row[0] for row in OFFLINE]
)
def test_the_exit_status_tells_yes_no_bad_input_and_unreachable(
    arguments: Sequence[str | Path], status: int, words: str
) -> None:
    told = run_muster(*arguments, environment=NOBODY)
    assert told.status == status, told.out + told.err
    assert words in told.out + told.err
    if "json" in arguments:
        assert isinstance(told.json, list)


def _cel_row(id: str, expression: object) -> bytes:
    return orjson.dumps({"id": id, "driver": "gpu.example.com", "expression": expression, "device": {"attributes": {}}})


def _allocator_row(id: str, count: int) -> bytes:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    return orjson.dumps(
        {
            "id": id,
            "nodes": [{"metadata": {"name": "n"}}],
            "classes": [{"metadata": {"name": "gpu"}, "spec": {}}],
            "slices": [
                {
                    "metadata": {"name": "s"},
                    "spec": {
                        "driver": "gpu.example.com",
                        "nodeName": "n",
                        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
                        "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}],
                    },
                }
            ],
            "claims": [
                {
                    "metadata": {"name": "c", "namespace": "a", "uid": "u"},
                    "spec": {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}},
                }
            ],
        }
    )


def _plan_row(id: str, story: Path) -> bytes:
    """The example fleet and one story as a row."""
    fields = {
        "Node": "nodes",
        "ResourceSlice": "slices",
        "DeviceClass": "classes",
        "Pod": "pods",
        "ResourceClaim": "allocated",
        "NodeGroup": "nodeGroups",
        "ResourceClaimTemplate": "claimTemplates",
        "PodTemplate": "podTemplates",
    }
    row: dict[str, Any] = {"id": id, **{field: [] for field in fields.values()}}
    for path in (FLEET, story):
        for reading in read_path(path):
            assert isinstance(reading, Manifest)
            if reading.key.kind == "ProvisioningRequest":
                row["request"] = reading.obj
            else:
                row[fields[reading.key.kind]].append(reading.obj)
    return orjson.dumps(row)


ROWS = [
    ("cel", _cel_row("first", "true"), _cel_row("second", 7), _cel_row("third", "1 +"), "expression"),
    ("allocate", _allocator_row("first", 2), b'{"id": "second", "nodes": 3}', _allocator_row("third", 3), "nodes"),
    ("plan", _plan_row("first", STORY_1), b'{"id": "second", "nodes": 3}', _plan_row("third", STORY_3), "nodes"),
]


@pytest.mark.parametrize(("command", "good", "bad", "also_good", "field"), ROWS, ids=[row[0] for row in ROWS])
def test_bad_lines_in_the_middle_are_answered_with_their_reason_and_the_rest_goes_on(
    command: str, good: bytes, bad: bytes, also_good: bytes, field: str
) -> None:
    told = run_muster(command, "-", stdin=b"\n".join([good, b"{no json", bad, b"[]", b"\xff\xfe", b"", also_good]))
    assert told.status == BAD_INPUT
    first, garbled, wrong, listed, binary, last = map(orjson.loads, told.out.splitlines())
    assert (first["id"], last["id"]) == ("first", "third")
    assert "error" not in first
    assert "error" not in last
    assert garbled["error"].startswith("line 2: no JSON")
    assert wrong["id"] == "second"
    assert wrong["error"].startswith("line 3: ")
    assert field in wrong["error"]
    assert listed["error"] == "line 4: want a JSON object, got list"
    assert binary["error"].startswith("line 5: no JSON")


def test_good_lines_alone_end_with_yes() -> None:
    assert run_muster("cel", "-", stdin=_cel_row("first", "true") + b"\n" + _cel_row("second", "1 +")).status == YES


def test_every_command_has_help_with_what_it_does() -> None:
    paths = list(_commands(typer.main.get_command(app), ()))
    assert len(paths) >= 18
    for path in paths:
        told = CliRunner().invoke(app, [*path, "--help"])
        assert told.exit_code == 0, path
        assert "Usage: " in told.output
        assert len(told.output.splitlines()) > 5, path
    assert run_muster("--help").status == YES


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands(below, (*path, name))


@pytest.fixture(scope="module")
def muster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MusterProcesses]:
    """Everything up on the example fleet, for all tests of this module."""
    with MusterProcesses(tmp_path_factory.mktemp("commands")) as running:
        yield running


def test_a_request_that_nothing_can_serve_ends_with_no_and_says_why(muster: MusterProcesses) -> None:
    told = muster.muster("request", STORY_3)
    assert told.status == NO
    assert "FAILED" in told.out
    assert "has 4 on resource.kubernetes.io/numaNode" in told.out
    gang = told.out.split(maxsplit=1)[0]
    assert muster.muster("gang", "watch", gang).status == NO
    again = muster.muster("request", STORY_3, "-o", "json")
    assert again.status == NO
    view = orjson.loads(again.out)
    assert (view["gang_id"], view["no_plan_kind"]) == (gang, "NO_PLAN_KIND_NEVER")


def test_a_request_that_is_served_ends_with_yes_and_can_be_looked_at(muster: MusterProcesses) -> None:
    told = muster.muster("request", STORY_1, "-o", "json", "--until-consumed")
    assert told.status == YES, told.err
    view = orjson.loads(told.out)
    assert (view["state"], view["bound_pods"]) == ("GANG_STATE_CONSUMED", 4)
    gang = view["gang_id"]
    shown = muster.muster("gang", "show", gang, "--history")
    assert shown.status == YES
    assert [word in shown.out for word in ("BOOKED", "ARRIVING", "VERIFYING", "READY", "CONSUMED")] == [True] * 5
    document = muster.muster("gang", "show", gang, "--history", "-o", "json").json
    assert isinstance(document, dict)
    assert document["history"][-1]["sentence"]
    assert gang in muster.muster("gang", "list").out
    assert muster.muster("gang", "watch", gang).status == YES
    events = muster.muster("events", "--gang", gang, "--type", "GangBooked", "-o", "json").json
    assert isinstance(events, list)
    assert [event["stream"] for event in events] == ["claims"]
    services = muster.muster("status", "-o", "json").json
    assert isinstance(services, list)
    assert all(service["answers"] for service in services)
    listed = muster.muster("parked", "list")
    assert (listed.status, listed.out.strip()) == (YES, "nothing is parked")


def test_what_is_not_there_ends_with_no_and_names_it(muster: MusterProcesses) -> None:
    for arguments in (("gang", "show", "nobody"), ("gang", "watch", "nobody")):
        told = muster.muster(*arguments)
        assert told.status == NO, arguments
        assert "nobody" in told.err
    told = muster.muster("gang", "cancel", "nobody")
    assert (told.status, "no such gang" in told.err) == (NO, True)
    told = muster.muster("parked", "show", "999")
    assert (told.status, "999" in told.err) == (NO, True)
    told = muster.muster("gang", "list", "--cluster", "moon")
    assert (told.status, "moon" in told.err) == (NO, True)


def test_applying_the_streams_again_changes_nothing_and_a_missing_file_is_bad_input(muster: MusterProcesses) -> None:
    told = muster.muster("streams", "apply")
    assert told.status == YES
    assert {line.split()[1] for line in told.out.splitlines()[1:] if line.strip()} == {"unchanged"}
    told = muster.muster("streams", "apply", "/nowhere/streams.yaml")
    assert told.status == BAD_INPUT
    assert "/nowhere/streams.yaml" in told.err
