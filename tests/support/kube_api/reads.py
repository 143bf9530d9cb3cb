"""Lists, in pages that stay consistent, and watches."""

import base64
import time
from collections import Counter
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager

import orjson

from support.kube_api.answers import Json, StatusError, bad_request, expired, part
from support.kube_api.paths import Route
from support.kube_api.selectors import Test, field_test, label_test
from support.kube_api.store import Entry, Event, Place, Snapshot, Store

_MOST_EVENTS = 200  # written to a watch at once


def list_body(store: Store, route: Route, query: Mapping[str, str]) -> bytes:
    """A list or a page of one. Raises StatusError: 400, 410."""
    limit = _whole(query, "limit")
    token = query.get("continue", "")
    if token:
        number, start = _read_token(token)
        snapshot = store.kept(number)
    else:
        test = _test(query)
        entries = [
            (place, entry) for place, entry in store.all(route.type.id) if _in_place(route, place) and test(entry.obj)
        ]
        snapshot, number, start = Snapshot(store.revision, entries), 0, 0
        _check_version(store, query)
    end = min(start + limit, len(snapshot.entries)) if limit else len(snapshot.entries)
    metadata: Json = {"resourceVersion": str(snapshot.revision)}
    if end < len(snapshot.entries):
        number = number or store.keep(snapshot)
        metadata |= {
            "continue": base64.urlsafe_b64encode(orjson.dumps([number, end])).decode(),
            "remainingItemCount": len(snapshot.entries) - end,
        }
    bodies = [_item(route, entry) for _, entry in snapshot.entries[start:end]]
    head = orjson.dumps({"kind": f"{route.type.kind}List", "apiVersion": route.api_version, "metadata": metadata})
    return head[:-1] + b',"items":[' + b",".join(bodies) + b"]}\n"


async def watch_lines(
    store: Store, route: Route, query: Mapping[str, str], bookmark_seconds: float, open_watches: "Watches"
) -> AsyncIterator[bytes]:
    """Lines of a watch until its time is over. A version that is too old ends it with an ERROR event, as a server does
    that finds out after the headers are sent. Raises StatusError 400, 504 before the first line."""
    matches = _test(query)
    since = query.get("resourceVersion", "")
    seconds = _whole(query, "timeoutSeconds") or 1800
    _check_version(store, query)
    end = time.monotonic() + seconds
    position = int(since) if since not in ("", "0") else store.revision
    if since in ("", "0") or query.get("sendInitialEvents") == "true":
        position = store.revision
        for place, entry in store.all(route.type.id):
            if _in_place(route, place) and matches(entry.obj):
                yield _line(b"ADDED", route, entry)
        if query.get("sendInitialEvents") == "true":
            yield _bookmark(route, position, initial=True)
    bookmarks = query.get("allowWatchBookmarks") in ("1", "true")
    next_bookmark, wished = time.monotonic() + bookmark_seconds, open_watches.bookmarks
    with open_watches.one_more(route.type.plural):
        while (now := time.monotonic()) < end:
            try:
                events = store.after(route.type.id, position)
            except StatusError as error:
                yield b'{"type":"ERROR","object":%s}\n' % orjson.dumps(error.status())
                return
            lines = [line for event in events[:_MOST_EVENTS] for line in _told(route, event, matches)]
            position = events[:_MOST_EVENTS][-1].revision if events else position
            if bookmarks and (now >= next_bookmark or wished != open_watches.bookmarks) and len(events) <= _MOST_EVENTS:
                position = store.revision
                lines.append(_bookmark(route, position))
                next_bookmark, wished = now + bookmark_seconds, open_watches.bookmarks
            if lines:
                yield b"".join(lines)
            elif len(events) <= _MOST_EVENTS:
                await store.wait(min(end, next_bookmark) - now if bookmarks else end - now)


class Watches:
    """How many watches are open, by plural, and how often a bookmark was wished for on all of them."""

    def __init__(self) -> None:
        self.bookmarks = 0
        self.open: Counter[str] = Counter()

    @contextmanager
    def one_more(self, plural: str) -> Generator[None]:
        """Count a watch for as long as it is open."""
        self.open[plural] += 1
        try:
            yield
        finally:
            self.open[plural] -= 1


def _told(route: Route, event: Event, matches: Test) -> Iterator[bytes]:
    """What a watch says of a write: an object that begins or ceases to match comes and goes (apiserver watch cache)."""
    shown = event.after or event.before
    assert shown is not None
    metadata = part(shown.obj, "metadata")
    if route.type.namespaced and not _in_place(route, (str(metadata.get("namespace", "")), "")):
        return
    was = event.before is not None and matches(event.before.obj)
    if event.after is None:
        if was and event.before is not None:
            yield _line(b"DELETED", route, event.before)
    elif matches(event.after.obj):
        yield _line(b"MODIFIED" if was else b"ADDED", route, event.after)
    elif was and event.before is not None:
        last = {**part(event.before.obj, "metadata"), "resourceVersion": str(event.revision)}
        yield _line(b"DELETED", route, Entry({**event.before.obj, "metadata": last}, event.revision))


def _line(kind: bytes, route: Route, entry: Entry) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (kind, entry.named(route.api_version, route.type.kind))


def _bookmark(route: Route, revision: int, *, initial: bool = False) -> bytes:
    metadata: Json = {"resourceVersion": str(revision), "creationTimestamp": None}
    if initial:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    obj: Json = {"kind": route.type.kind, "apiVersion": route.api_version, "metadata": metadata}
    return b'{"type":"BOOKMARK","object":%s}\n' % orjson.dumps(obj)


def _item(route: Route, entry: Entry) -> bytes:
    return entry.json if route.type.builtin else entry.named(route.api_version, route.type.kind)


def _in_place(route: Route, place: Place) -> bool:
    return not route.namespace or place[0] == route.namespace


def _test(query: Mapping[str, str]) -> Test:
    tests: Sequence[Test] = [
        make(query[name])
        for name, make in (("labelSelector", label_test), ("fieldSelector", field_test))
        if query.get(name)
    ]
    return lambda obj: all(test(obj) for test in tests)


def _check_version(store: Store, query: Mapping[str, str]) -> None:
    """A version to come is waited for by a server for a while, and then refused like this."""
    version = query.get("resourceVersion", "")
    if not version or version == "0":
        return
    if not version.isdecimal():
        raise bad_request(f"resourceVersion: Invalid value: {version!r}")
    if int(version) > store.revision:
        raise StatusError(
            504,
            "Timeout",
            f"Too large resource version: {version}, current: {store.revision}",
            causes=("ResourceVersionTooLarge",),
            retry=1,
        )


def _whole(query: Mapping[str, str], name: str) -> int:
    value = query.get(name, "")
    if value and not value.isdecimal():
        raise bad_request(f"{name}: Invalid value: {value!r}")
    return int(value or 0)


def _read_token(token: str) -> tuple[int, int]:
    try:
        number, start = orjson.loads(base64.urlsafe_b64decode(token))
        return int(number), int(start)
    except (ValueError, TypeError) as error:
        raise expired("continue key is not valid") from error
