"""The cluster directory: layers, overlay, versions, tombstones, and several processes at once."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from muster_kube import ClusterDirectory, ReadOnlyCluster, VersionConflict, object_key, overlay_path
from muster_kube.parts import at, mapping
from muster_types import ClusterId, ObjectKey
from unit.muster_kube.builders import Json, a_node, a_pod

NODE = ObjectKey("Node", "", "n1")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def _dump(folder: Path, *objects: Json) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for obj in objects:
        (folder / f"{obj['kind']}-{obj['metadata']['name']}.json").write_bytes(orjson.dumps(obj))
    return folder


def _cluster(tmp_path: Path, *layers: Path) -> ClusterDirectory:
    return ClusterDirectory(layers, tmp_path / "state" / "cluster", now=lambda: NOON)


def _names(cluster: ClusterDirectory) -> list[str]:
    return sorted(str(key) for key in cluster.list().objects)


def test_put_stamps_a_new_object_and_lists_it(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path)
    stored = cluster.put(a_node(spec={"taints": []}))
    assert not isinstance(stored, VersionConflict)
    assert at(stored, "metadata", "resourceVersion") == "1"
    assert at(stored, "metadata", "generation") == 1
    assert at(stored, "metadata", "creationTimestamp") == "2026-11-30T12:00:00Z"
    assert len(str(at(stored, "metadata", "uid"))) == 36
    assert cluster.get(NODE) == stored
    assert cluster.list().objects[NODE].obj == stored


def test_put_again_keeps_uid_and_creation_and_counts_the_version(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path)
    first = cluster.put(a_node(spec={"unschedulable": True}))
    second = cluster.put(a_node(spec={"unschedulable": False}, metadata={"name": "n1", "uid": "other"}))
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert at(second, "metadata", "uid") == at(first, "metadata", "uid")
    assert at(second, "metadata", "resourceVersion") == "2"
    assert at(second, "metadata", "generation") == 2


def test_an_overlay_object_takes_the_place_of_the_dumps_and_keeps_its_uid(tmp_path: Path) -> None:
    dump = _dump(tmp_path / "dump", a_node(metadata={"name": "n1", "uid": "u1", "resourceVersion": "77"}))
    cluster = _cluster(tmp_path, dump)
    cluster.put(a_node(spec={"unschedulable": True}))
    (obj,) = (manifest.obj for manifest in cluster.list().objects.values())
    assert isinstance(obj, dict)
    assert obj["spec"] == {"unschedulable": True}
    assert at(obj, "metadata", "uid") == "u1"


def test_a_later_layer_lies_over_an_earlier_one(tmp_path: Path) -> None:
    low = _dump(tmp_path / "low", a_node(spec={"unschedulable": True}), a_node("n2"))
    high = _dump(tmp_path / "high", a_node(spec={"unschedulable": False}))
    listing = _cluster(tmp_path, low, high).list()
    assert listing.objects[NODE].obj["spec"] == {"unschedulable": False}
    assert listing.rejected == ()
    assert len(listing.objects) == 2


def test_the_same_object_twice_in_a_layer_is_refused_once_and_the_later_counts(tmp_path: Path) -> None:
    dump = _dump(tmp_path / "dump", a_node())
    (dump / "z.json").write_bytes(orjson.dumps(a_node(spec={"unschedulable": True})))
    (dump / "zz.json").write_bytes(orjson.dumps(a_node(spec={"unschedulable": True})))
    listing = _cluster(tmp_path, dump).list()
    (refusal,) = listing.rejected
    assert refusal.object == "Node/n1"
    assert "stands again" in refusal.reason
    assert listing.objects[NODE].obj["spec"] == {"unschedulable": True}


def test_delete_hides_an_object_of_the_dump_and_put_brings_it_back(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path, _dump(tmp_path / "dump", a_node(), a_node("n2")))
    assert cluster.delete(NODE)
    assert cluster.get(NODE) is None
    assert _names(cluster) == ["Node/n2"]
    assert not cluster.delete(NODE)
    cluster.put(a_node())
    assert _names(cluster) == ["Node/n1", "Node/n2"]


def test_delete_of_an_object_of_the_overlay_leaves_no_file(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path)
    cluster.put(a_pod())
    assert cluster.delete(ObjectKey("Pod", "team", "p"))
    assert list((tmp_path / "state" / "cluster").glob("*/*.json")) == []


def test_patch_status_merges_maps_and_replaces_lists(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path, _dump(tmp_path / "dump", a_node(status={"allocatable": {"cpu": "4", "x": "1"}})))
    cluster.patch_status(NODE, {"conditions": [{"type": "Ready", "status": "False"}]})
    cluster.patch_status(NODE, {"allocatable": {"x": None, "cpu": "8"}, "conditions": []})
    obj = cluster.get(NODE)
    assert obj is not None
    assert obj["status"] == {"allocatable": {"cpu": "8"}, "conditions": []}
    assert cluster.patch_status(ObjectKey("Node", "", "gone"), {}) is None


def test_a_writer_that_read_an_older_version_is_told(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path)
    cluster.put(a_node())
    cluster.put(a_node(spec={"unschedulable": True}))
    assert cluster.put(a_node(), expected_version="1") == VersionConflict(NODE, "1", "2")
    assert cluster.put(a_node(), expected_version="") == VersionConflict(NODE, "", "2")
    assert not isinstance(cluster.put(a_node(), expected_version="2"), VersionConflict)


def test_a_name_longer_than_a_file_name_may_be_is_kept(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path)
    names = [f"{'a.' * 120}{end}" for end in ("one", "two")]
    for name in names:
        cluster.put(a_node(name))
    assert [key.name for key in sorted(cluster.list().objects)] == names


def test_a_lost_counter_goes_on_above_what_is_stored(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path)
    for name in ("n1", "n2", "n3"):
        cluster.put(a_node(name))
    (tmp_path / "state" / "cluster" / ".resource-version").unlink()
    stored = cluster.put(a_node("n4"))
    assert isinstance(stored, dict)
    assert at(stored, "metadata", "resourceVersion") == "4"


def test_a_file_that_is_no_object_is_refused_and_the_others_are_listed(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path)
    cluster.put(a_node())
    (tmp_path / "state" / "cluster" / "Node" / "_.n2.json").write_text("{broken")
    listing = cluster.list()
    assert [key.name for key in listing.objects] == ["n1"]
    assert len(listing.rejected) == 1


def test_the_listing_is_the_same_value_while_nothing_changes(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path, _dump(tmp_path / "dump", a_node()))
    first = cluster.list()
    assert cluster.list() is first
    cluster.put(a_node("n2"))
    assert cluster.list() is not first
    assert cluster.list().objects[NODE] is first.objects[NODE]


def test_a_missing_dump_is_refused_and_a_missing_overlay_is_empty(tmp_path: Path) -> None:
    listing = _cluster(tmp_path, tmp_path / "gone").list()
    assert dict(listing.objects) == {}
    assert len(listing.rejected) == 1


def test_without_an_overlay_nothing_can_be_written(tmp_path: Path) -> None:
    cluster = ClusterDirectory([_dump(tmp_path / "dump", a_node())])
    assert cluster.get(NODE) is not None
    with pytest.raises(ReadOnlyCluster, match="read only"):
        cluster.put(a_node())


def test_the_default_cluster_has_the_short_path() -> None:
    assert overlay_path(Path("/s")) == Path("/s/cluster")
    assert overlay_path(Path("/s"), ClusterId("eu/1")) == Path("/s/clusters/eu%2F1")


WRITER = """
import sys
from pathlib import Path
from muster_kube import ClusterDirectory
cluster = ClusterDirectory([], Path(sys.argv[1]))
for index in range(40):
    status = {"allocatable": {f"example.com/w{sys.argv[2]}-{index}": "1"}}
    cluster.patch_status(next(iter(cluster.list().objects)), status)
"""


def test_processes_that_patch_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path)
    cluster.put(a_node())
    root = tmp_path / "state" / "cluster"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(root), str(number)]) for number in range(2)]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    obj = cluster.get(object_key(a_node()))
    assert isinstance(obj, dict)
    assert len(mapping(at(obj, "status", "allocatable"))) == 80
    assert at(obj, "metadata", "resourceVersion") == "81"
