"""Watching a cluster directory: each change comes, also of directories that appear late."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import orjson

from muster_kube import ClusterDirectory, Listing
from unit.muster_kube.builders import Json, a_node

DEADLINE = 10.0


def _names(listing: Listing) -> list[str]:
    return sorted(key.name for key in listing.objects)


def _write(folder: Path, obj: Json) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{obj['metadata']['name']}.json").write_bytes(orjson.dumps(obj))


async def test_a_new_a_changed_and_a_removed_file_are_told(tmp_path: Path) -> None:
    _write(tmp_path / "dump", a_node("n1"))
    cluster = ClusterDirectory([tmp_path / "dump"], tmp_path / "state" / "cluster")
    async with asyncio.timeout(DEADLINE), aclosing(cluster.changes(poll_seconds=60)) as listings:
        assert _names(await anext(listings)) == ["n1"]
        _write(tmp_path / "dump", a_node("n2"))
        assert _names(await anext(listings)) == ["n1", "n2"]
        _write(tmp_path / "dump", a_node("n2", spec={"unschedulable": True}))
        assert [each.obj.get("spec") for each in (await anext(listings)).objects.values()] == [
            None,
            {"unschedulable": True},
        ]
        (tmp_path / "dump" / "n1.json").unlink()
        assert _names(await anext(listings)) == ["n2"]


async def test_an_overlay_that_is_made_later_is_found_by_the_poll_and_then_watched(tmp_path: Path) -> None:
    cluster = ClusterDirectory([], tmp_path / "state" / "cluster")
    writer = ClusterDirectory([], tmp_path / "state" / "cluster")
    async with asyncio.timeout(DEADLINE), aclosing(cluster.changes(poll_seconds=0.05)) as listings:
        assert _names(await anext(listings)) == []
        writer.put(a_node("n1"))
        assert _names(await anext(listings)) == ["n1"]
        writer.put(a_node("n2"))
        assert _names(await anext(listings)) == ["n1", "n2"]


async def test_files_that_are_no_manifests_are_no_news(tmp_path: Path) -> None:
    _write(tmp_path / "dump", a_node("n1"))
    cluster = ClusterDirectory([tmp_path / "dump"])
    async with asyncio.timeout(DEADLINE), aclosing(cluster.changes(poll_seconds=0.05)) as listings:
        await anext(listings)
        (tmp_path / "dump" / "notes.txt").write_text("x")
        (tmp_path / "dump" / ".n2.json.tmp").write_text("x")
        _write(tmp_path / "dump", a_node("n3"))
        assert _names(await anext(listings)) == ["n1", "n3"]
