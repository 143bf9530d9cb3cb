"""Creating, changing and deleting objects by the rules of an API server's registry."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast
from uuid import uuid4

from support.kube_api import ownership
from support.kube_api.answers import Json, StatusError, bad_request, conflict, invalid, items, not_found, part, text
from support.kube_api.kinds import ResourceType
from support.kube_api.paths import Route
from support.kube_api.store import Entry, Place, Store

# Written by whoever creates it; the registry of every other kind with a status starts it empty.
_STATUS_AT_CREATION = ("Node",)
_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "name", "namespace")


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: the field manager, and what stands for the time."""

    manager: str
    now: str


def now_text() -> str:
    """As metav1.Time."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Registry:
    """Writes to one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(self, route: Route, obj: Json, writer: Writer) -> Entry:
        """Raises StatusError: 400, 409 AlreadyExists, 422."""
        own, place = self._prepared(route, obj)
        if self._store.get(route.type.id, place) is not None:
            raise StatusError(409, "AlreadyExists", f"{_what(route.type, place)} already exists")
        metadata = part(own, "metadata")
        metadata |= {"uid": str(uuid4()), "creationTimestamp": writer.now}
        if "spec" in own:
            metadata["generation"] = 1
        if "status" in route.type.subresources and route.type.kind not in _STATUS_AT_CREATION:
            own.pop("status", None)
        by = ownership.Managed(writer.manager, "Update", "", route.api_version, writer.now)
        return self._stored(route.type, place, own, ownership.note_update(None, own, by, route.type.list_maps))

    def update(self, route: Route, change: Callable[[Json], Json], writer: Writer) -> Entry:
        """Write what `change` makes of the present object. Raises StatusError: 404, 409, 422."""
        before = self._existing(route)
        after = self._changed(route, before, change(deepcopy(before.obj)))
        if _content(after) == _content(before.obj):
            return before
        by = ownership.Managed(writer.manager, "Update", route.subresource, route.api_version, writer.now)
        return self._finished(route, after, ownership.note_update(before.obj, after, by, route.type.list_maps))

    def apply(self, route: Route, stated: Json, writer: Writer, *, force: bool) -> tuple[Entry, bool]:
        """Server-side apply; the object and whether it was created. Raises StatusError: 400, 404, 409, 422."""
        before = self._store.get(route.type.id, route.place)
        by = ownership.Managed(writer.manager, "Apply", route.subresource, route.api_version, writer.now)
        if "managedFields" in part(stated, "metadata"):
            raise bad_request("metadata.managedFields must be nil")
        if before is None:
            if route.subresource or text(part(stated, "metadata").get("uid")):
                raise not_found(_what(route.type, route.place))
            created = self.create(route, stated, writer)
            by.fields = set(ownership.flatten(created.obj, route.type.list_maps))
            obj = deepcopy(created.obj)
            part(obj, "metadata")["managedFields"] = ownership.write_managed([by])
            created.obj = obj  # the same write: nobody has seen it yet, for nothing was awaited
            return created, True
        merged, managed = ownership.apply(before.obj, stated, by, route.type.list_maps, force=force)
        after = self._changed(route, before, merged)
        if _content(after) == _content(before.obj) and ownership.write_managed(managed) == items(
            part(before.obj, "metadata").get("managedFields")
        ):
            return before, False
        return self._finished(route, after, managed), False

    def delete(self, route: Route, options: Json) -> Entry:
        """The last form, or one with a deletionTimestamp while finalizers stand. Raises StatusError: 404, 409."""
        before = self._existing(route)
        metadata = part(before.obj, "metadata")
        conditions = part(options, "preconditions")
        for name in ("uid", "resourceVersion"):
            if name in conditions and conditions[name] != metadata.get(name):
                raise conflict(f"the {name} in the precondition ({conditions[name]}) is not {metadata.get(name)}")
        if not items(metadata.get("finalizers")):
            return self._store.remove(route.type.id, route.place)
        if metadata.get("deletionTimestamp"):
            return before
        after = deepcopy(before.obj)
        part(after, "metadata").update({"deletionTimestamp": now_text(), "deletionGracePeriodSeconds": 0})
        return self._stored(route.type, route.place, after, None)

    def _existing(self, route: Route) -> Entry:
        found = self._store.get(route.type.id, route.place)
        if found is None:
            raise not_found(_what(route.type, route.place))
        return found

    def _prepared(self, route: Route, obj: Json) -> tuple[Json, Place]:
        _check_type(route, obj)
        own = {name: deepcopy(value) for name, value in obj.items() if name not in ("apiVersion", "kind")}
        metadata = own.setdefault("metadata", {})
        if not isinstance(metadata, dict):
            raise bad_request("metadata is no object")
        meta = cast("Json", metadata)
        name = text(meta.get("name"))
        if not name and text(meta.get("generateName")):
            name = f"{text(meta['generateName'])}{uuid4().hex[:5]}"
        if not name:
            raise invalid(f"{route.type.kind} is invalid: metadata.name: Required value: name or generateName")
        if route.name and name != route.name:
            raise bad_request(f"the name in the URL ({route.name}) is not that of the object ({name})")
        if route.type.namespaced and text(meta.get("namespace")) not in ("", route.namespace):
            raise bad_request("the namespace of the object is not that of the request")
        meta["name"] = name
        if route.type.namespaced:
            meta["namespace"] = route.namespace
        for given in (
            "resourceVersion",
            "uid",
            "generation",
            "creationTimestamp",
            "deletionTimestamp",
            "managedFields",
        ):
            meta.pop(given, None)
        return own, (route.namespace, name)

    def _changed(self, route: Route, before: Entry, wanted: Json) -> Json:
        """What is kept of a write: versions and uids that agree, the parts that this path may write, the generation."""
        _check_type(route, wanted)
        old, new = part(before.obj, "metadata"), part(wanted, "metadata")
        if text(new.get("resourceVersion")) not in ("", text(old.get("resourceVersion"))):
            raise conflict(f'the object "{route.name}" has been modified')
        if text(new.get("uid")) not in ("", text(old.get("uid"))):
            raise conflict(f"the UID in the precondition ({new.get('uid')}) is not {old.get('uid')}")
        if text(new.get("name")) not in ("", route.name):
            raise bad_request("the name of the object does not match the name on the URL")
        own = {name: value for name, value in wanted.items() if name not in ("apiVersion", "kind")}
        if route.subresource == "status":
            own = {**before.obj, **({"status": own["status"]} if "status" in own else {})}
            own["metadata"] = dict(old)
            return own
        own["metadata"] = {**new, **{name: old[name] for name in _KEPT if name in old}}
        if "status" in route.type.subresources:
            own.pop("status", None)
            if "status" in before.obj:
                own["status"] = before.obj["status"]
        generation = old.get("generation")
        if isinstance(generation, int):
            spec = {name: value for name, value in own.items() if name not in ("metadata", "status")}
            was = {name: value for name, value in before.obj.items() if name not in ("metadata", "status")}
            part(own, "metadata")["generation"] = generation + (spec != was)
        if old.get("deletionTimestamp"):
            added = [f for f in items(new.get("finalizers")) if f not in items(old.get("finalizers"))]
            if added:
                raise invalid(f"metadata.finalizers: Forbidden: no new finalizers after a deletion: {added}")
        return own

    def _finished(self, route: Route, after: Json, managed: list[ownership.Managed]) -> Entry:
        metadata = part(after, "metadata")
        if metadata.get("deletionTimestamp") and not items(metadata.get("finalizers")):
            return self._store.remove(route.type.id, route.place, after)
        return self._stored(route.type, route.place, after, managed)

    def _stored(self, type_: ResourceType, place: Place, obj: Json, managed: list[ownership.Managed] | None) -> Entry:
        metadata = part(obj, "metadata")
        metadata["resourceVersion"] = str(self._store.next_revision())
        if managed is not None:
            metadata["managedFields"] = ownership.write_managed(managed)
        return self._store.put(type_.id, place, obj)


def _check_type(route: Route, obj: Json) -> None:
    if text(obj.get("kind")) not in ("", route.type.kind):
        raise bad_request(f"the kind of the object ({obj.get('kind')}) is not {route.type.kind}")
    if text(obj.get("apiVersion")) not in ("", route.api_version):
        raise bad_request(f"the API version of the object ({obj.get('apiVersion')}) is not {route.api_version}")


def _content(obj: Json) -> Json:
    """What makes a write one: a server stores nothing when nothing of it differs."""
    metadata = {
        name: value
        for name, value in part(obj, "metadata").items()
        if name not in ("resourceVersion", "managedFields", "generation")
    }
    return {**obj, "metadata": metadata}


def _what(type_: ResourceType, place: Place) -> str:
    return f'{type_.plural}{"." + type_.group if type_.group else ""} "{place[1]}"'
