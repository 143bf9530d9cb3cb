"""`muster allocate` on dumps and rows: what a person types, what is answered, with which status."""

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from typer.testing import CliRunner, Result

from muster_cli.app import app
from muster_cli.exits import UserError
from muster_cli.offline.allocate_input import begins_like_rows

EXAMPLES = Path(__file__).parents[4] / "examples" / "dra"
PAIR, NIC, ROWS = EXAMPLES / "gpu-pair.yaml", EXAMPLES / "shared-nic.yaml", EXAMPLES / "problems.jsonl"


def muster(*arguments: str | Path, stdin: bytes | None = None) -> Result:
    result = CliRunner().invoke(app, ["allocate", *map(str, arguments)], input=stdin)
    if isinstance(result.exception, UserError):
        raise result.exception
    return result


def documents(*arguments: str | Path, stdin: bytes | None = None) -> list[dict[str, Any]]:
    return orjson.loads(muster(*arguments, "-o", "json", stdin=stdin).stdout)


def said(document: dict[str, Any]) -> dict[str, str]:
    return {node["node"]: node["answer"] for node in document["nodes"]}


def changed(tmp_path: Path, **kinds: Any) -> Path:
    """The pair's dump as a file in which each object of a kind went through a function; None drops it."""
    items = yaml.safe_load(PAIR.read_text())["items"]
    kept = [kinds.get(item["kind"], lambda item: item)(item) for item in items]
    file = tmp_path / "dump.yaml"
    file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [item for item in kept if item]}))
    return file


def test_a_pending_pod_is_answered_node_by_node() -> None:
    (found,) = documents(PAIR)
    assert (found["subject"], found["answer"]) == ("Pod/team-a/train", "yes")
    assert said(found) == {"node-1": "yes", "node-2": "no", "node-3": "no"}
    why = {node["node"]: node.get("why") for node in found["nodes"]}
    assert why["node-2"] == [
        "claim team-a/pair, request gpus, pool gpu.example.com/node-2: 1 of 2 devices share numa=0; gpu-2 has numa=1; "
        "others with numa=0 are held by claim team-b/notebook"
    ]
    assert "(DeviceTaintRule replace-gpu-1)" in why["node-3"][0]


def test_an_allocation_is_written_as_the_api_has_it() -> None:
    (found,) = documents(PAIR, "--pod", "team-a/train", "--node", "node-1")
    ((node,),) = ([*found["nodes"]],)
    ((claim,),) = ([*node["claims"]],)
    assert claim["name"] == "team-a/pair"
    assert [result["device"] for result in claim["allocation"]["devices"]["results"]] == ["gpu-1", "gpu-2"]
    assert claim["allocation"]["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"] == ["node-1"]


def test_a_share_gets_its_amount_and_an_id_that_stays() -> None:
    first, second = documents(NIC), documents(NIC)
    assert first == second
    fits, too_much = first
    (result,) = fits["nodes"][0]["claims"][0]["allocation"]["devices"]["results"]
    assert result["consumedCapacity"] == {"bandwidth": "39062500Ki"}, "35G rounded up to steps of 10G"
    assert len(result["shareID"]) == 36
    assert too_much["nodes"][0]["why"] == [
        "claim team-a/wants-50, request nic, pool nic.example.com/node-1: bandwidth 50G wanted, "
        "largest free device has 40G, the rest is held by team-a/running"
    ]


def test_claims_are_allocated_together_as_of_one_pod() -> None:
    (found,) = documents(NIC, "--claim", "team-a/wants-40", "--claim", "team-a/wants-50")
    assert (found["subject"], found["answer"]) == ("ResourceClaim/team-a/wants-40 + team-a/wants-50", "no")


@pytest.mark.parametrize(
    ("arguments", "status"),
    [((PAIR,), 0), ((PAIR, "--node", "node-2"), 1), ((NIC,), 1), ((ROWS,), 0), ((PAIR, "--claim", "team-a/pair"), 0)],
)
def test_the_status_says_whether_each_subject_fits(arguments: tuple[str | Path, ...], status: int) -> None:
    assert muster(*arguments).exit_code == status


def test_defaults_are_filled_so_a_bare_request_asks_for_one_device(tmp_path: Path) -> None:
    def bare(claim: dict[str, Any]) -> dict[str, Any]:
        claim["spec"]["devices"] = {"requests": [{"name": "gpus", "exactly": {"deviceClassName": "gpu.example.com"}}]}
        return claim

    (found,) = documents(changed(tmp_path, ResourceClaim=bare))
    assert said(found) == {"node-1": "yes", "node-2": "yes", "node-3": "yes"}


def test_a_taint_rule_counts_where_the_release_has_its_gate() -> None:
    assert said(documents(PAIR, "--release", "v1.36")[0])["node-3"] == "yes"
    assert said(documents(PAIR, "--release", "v1.36", "--gate", "DRADeviceTaintRules=true")[0])["node-3"] == "no"
    assert said(documents(PAIR, "--gate", "DeviceTaints=false")[0])["node-3"] == "yes"


def test_a_class_that_is_missing_is_fatal_and_no_yes(tmp_path: Path) -> None:
    result = muster(changed(tmp_path, DeviceClass=lambda _: None))
    assert result.exit_code == 1
    assert "fatal" in result.stdout
    assert "a fatal node ends the whole attempt" in result.stderr


def test_extended_resources_go_through_their_class(tmp_path: Path) -> None:
    def named(each: dict[str, Any]) -> dict[str, Any]:
        each["spec"]["extendedResourceName"] = "example.com/gpu"
        return each

    def asking(pod: dict[str, Any]) -> dict[str, Any]:
        pod["spec"] = {"containers": [{"name": "main", "resources": {"limits": {"example.com/gpu": "2"}}}]}
        return pod

    dump = changed(tmp_path, DeviceClass=named, Pod=asking)
    (found,) = documents(dump, "--pod", "team-a/train")
    assert said(found) == {"node-1": "yes", "node-2": "yes", "node-3": "no"}
    assert found["nodes"][0]["claims"][0]["name"] == "team-a/<extended-resources>"
    (result,) = documents(dump, "--pod", "team-a/train", "--node", "node-1")
    requests = {each["request"] for each in result["nodes"][0]["claims"][0]["allocation"]["devices"]["results"]}
    assert requests == {"container-0-request-0"}


def test_a_pod_whose_claim_is_not_made_yet_is_answered_from_its_template(tmp_path: Path) -> None:
    def template(claim: dict[str, Any]) -> dict[str, Any]:
        if claim["metadata"]["name"] != "pair":
            return claim
        return {
            "apiVersion": claim["apiVersion"],
            "kind": "ResourceClaimTemplate",
            "metadata": claim["metadata"],
            "spec": {"spec": claim["spec"]},
        }

    def from_template(pod: dict[str, Any]) -> dict[str, Any]:
        pod["spec"]["resourceClaims"] = [{"name": "gpus", "resourceClaimTemplateName": "pair"}]
        return pod

    (found,) = documents(changed(tmp_path, ResourceClaim=template, Pod=from_template))
    assert said(found)["node-1"] == "yes"
    assert "has no claim yet" in found["notes"][0]


@pytest.mark.parametrize("kind", ["missing", "deleting", "stranger"])
def test_what_keeps_a_pod_from_every_node_is_said_once(kind: str, tmp_path: Path) -> None:
    def spoiled(claim: dict[str, Any]) -> dict[str, Any] | None:
        if claim["metadata"]["name"] != "pair":
            return claim
        if kind == "missing":
            return None
        claim["metadata"] |= (
            {"deletionTimestamp": "2026-01-01T00:00:00Z"}
            if kind == "deleting"
            else {
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "other", "controller": True}
                ]
            }
        )
        return claim

    def generated(pod: dict[str, Any]) -> dict[str, Any]:
        pod["metadata"]["uid"] = "own"
        if kind == "stranger":
            pod["spec"]["resourceClaims"] = [{"name": "gpus", "resourceClaimTemplateName": "t"}]
            pod["status"] = {"resourceClaimStatuses": [{"name": "gpus", "resourceClaimName": "pair"}]}
        return pod

    found = documents(changed(tmp_path, ResourceClaim=spoiled, Pod=generated), "--pod", "team-a/train")
    told = {"missing": "is not in the dump", "deleting": "is being deleted", "stranger": "does not belong to this pod"}
    assert told[kind] in found[0]["refusal"]
    assert (found[0]["nodes"], found[0]["answer"]) == ([], "no")


def test_devices_that_a_claim_has_already_bind_its_pod_to_their_node(tmp_path: Path) -> None:
    def second(pod: dict[str, Any]) -> dict[str, Any]:
        pod["metadata"]["namespace"] = "team-b"
        pod["spec"]["resourceClaims"] = [{"name": "gpus", "resourceClaimName": "notebook"}]
        return pod

    (found,) = documents(changed(tmp_path, Pod=second), "--pod", "team-b/train")
    assert said(found) == {"node-1": "no", "node-2": "yes", "node-3": "no"}
    assert found["allocated_already"] == ["team-b/notebook"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((PAIR, "--pod", "team-a/nobody"), "the pods there: team-a/train"),
        ((PAIR, "--claim", "team-a/none"), "the claims there: team-a/pair, team-b/notebook"),
        ((PAIR, "--node", "node-9"), "it has node-1, node-2, node-3"),
        ((PAIR, "--release", "v1.20"), "choose one of v1.36, v1.37"),
        ((PAIR, "--gate", "Nonsense=true"), "the gates are AdminAccess"),
        ((PAIR, "--gate", "AdminAccess=yes"), "NAME=true or NAME=false"),
        ((PAIR, "--pod", "a/b", "--claim", "c/d"), "not both"),
        ((ROWS, "--strict"), "leave the options out"),
        ((ROWS, PAIR), "one kind of input at a time"),
        (("/nowhere.jsonl",), "/nowhere.jsonl cannot be read"),
    ],
)
def test_a_wrong_argument_says_what_to_do(arguments: tuple[str | Path, ...], told: str) -> None:
    with pytest.raises(UserError, match=told):
        muster(*arguments)


def test_a_dump_without_nodes_asks_for_them(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="kubectl get nodes"):
        muster(changed(tmp_path, Node=lambda _: None))


@pytest.mark.parametrize("source", [PAIR, ROWS])
def test_standard_input_is_a_dump_or_rows_as_it_begins(source: Path) -> None:
    assert muster("-", stdin=source.read_bytes()).stdout == muster(source).stdout


def test_rows_are_rows_whatever_the_file_is_called(tmp_path: Path) -> None:
    other = tmp_path / "problems.yaml"
    other.write_bytes(ROWS.read_bytes())
    assert muster("--rows", other).stdout == muster(ROWS).stdout
    assert [orjson.loads(line)["id"] for line in muster(ROWS).stdout.splitlines()] == [
        "two-of-four",
        "three-on-one-numa-node",
        "as-1.36-shipped",
        "as-1.37",
    ]


@pytest.mark.parametrize(
    ("start", "rows"),
    [
        (b'{"id": "x", "nodes": [], "claims": []}\n', True),
        (b'{"nodes": [{"kind": "Node", "metadata"', True),
        (b"no JSON\n", True),
        (b"[]\n", True),
        (b"", True),
        (b'{"apiVersion": "v1", "items": [], "kind": "List"}\n', False),
        (b'{"apiVersion":"v1","items":[{"api', False),
        (b'{\n    "apiVersion": "v1",', False),
        (b"apiVersion: v1\nitems:\n", False),
        (b"# a comment\n", False),
        (b"---\n", False),
        (b"Error from server (NotFound): nothing\n", False),
    ],
)
def test_the_beginning_tells_rows_from_dumps(start: bytes, rows: bool) -> None:
    assert begins_like_rows(start) is rows


def test_a_reader_that_goes_away_ends_the_run_without_a_word(tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    many.write_bytes(ROWS.read_bytes() * 200)  # more than a pipe holds
    command = [sys.executable, "-m", "muster_cli", "allocate", str(many)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_compressed_file_says_how_to_read_it(tmp_path: Path) -> None:
    packed = tmp_path / "problems.jsonl"
    packed.write_bytes(gzip.compress(ROWS.read_bytes()))
    with pytest.raises(UserError, match="gzip -dc"):
        muster(packed)
