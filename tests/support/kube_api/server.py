"""The fake API server: HTTP on a socket, in the loop of whoever starts it."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from types import TracebackType
from typing import Self, cast
from uuid import uuid4

import orjson
import yaml
from aiohttp import web

from support.kube_api import discovery, patches, reads, scale
from support.kube_api.answers import Json, StatusError, bad_request, part, text
from support.kube_api.calls import ADMIN_TOKEN, Users
from support.kube_api.faults import Faults
from support.kube_api.kinds import DEFAULT_TYPES, ResourceType
from support.kube_api.kubeconfig import write_kubeconfig
from support.kube_api.paths import Route, parse, verb_of
from support.kube_api.store import Entry, Place, Store
from support.kube_api.transport import watched
from support.kube_api.writes import Registry, Writer, now_text

_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"


class KubeApi:
    """An API server with the given types. `bookmark_seconds`: how often watches that want bookmarks get one."""

    def __init__(
        self,
        types: Sequence[ResourceType] = DEFAULT_TYPES,
        *,
        tls: ssl.SSLContext | None = None,
        bookmark_seconds: float = 60.0,
    ) -> None:
        self.types = tuple(types)
        self.users = Users()
        self.faults = Faults()
        self.store = Store()
        self.bookmark_seconds = bookmark_seconds
        self.discoveries = 0  # how often somebody asked which groups there are
        self._registry = Registry(self.store)
        self.watches = reads.Watches()
        self._tls = tls
        self._port = 0
        self._runner: web.ServerRunner | None = None
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{'https' if self._tls else 'http'}://localhost:{self._port}"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self, port: int = 0) -> None:
        """Listen, on the same port as before after a stop."""
        server = web.Server(self._handle, access_log=None, handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.01)
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        make = cast("Callable[[], asyncio.Protocol]", server)
        self._server = await loop.create_server(
            watched(make, self.faults), "127.0.0.1", port or self._port, ssl=self._tls
        )
        self._port = int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Listen no more and cut all connections; the objects stay."""
        if self._server is not None:
            self._server.close()
            self.faults.cut_now()
        if self._runner is not None:
            await self._runner.cleanup()
        self._server = self._runner = None

    async def restart(self) -> None:
        """Stop and start on the same port."""
        await self.stop()
        await self.start()

    def compact(self) -> None:
        """Forget the history: older versions and continue tokens are expired from now on."""
        self.store.compact()

    def bookmark(self) -> None:
        """Send a bookmark on every watch that wants them."""
        self.watches.bookmarks += 1
        self.store.announce()

    def kubeconfig(
        self, path: Path, *, token: str = ADMIN_TOKEN, context: str = "fake", ca: Path | None = None
    ) -> Path:
        """Write a kubeconfig with one context for this server."""
        write_kubeconfig(path, {context: (self.url, token)}, ca)
        return path

    # What a test does directly, past authorization and the rules of writes, as somebody else in the cluster.

    def put(self, obj: Mapping[str, object]) -> Json:
        """Create or replace an object whole, its status included; gives it back as stored."""
        type_, place = self._place(obj)
        before = self.store.get(type_.id, place)
        own: Json = {name: deepcopy(value) for name, value in obj.items() if name not in ("apiVersion", "kind")}
        old = part(before.obj, "metadata") if before else {}
        metadata = {
            "uid": old.get("uid") or str(uuid4()),
            "creationTimestamp": old.get("creationTimestamp") or now_text(),
            "generation": 1,
            **part(own, "metadata"),
            "resourceVersion": str(self.store.next_revision()),
        }
        if type_.namespaced:
            metadata["namespace"] = place[0]
        own["metadata"] = metadata
        return self.store.put(type_.id, place, own).obj

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """Take an object away at once, whatever finalizers it has."""
        self.store.remove(self.type_of(kind).id, (namespace, name))

    def delete(self, kind: str, namespace: str, name: str) -> None:
        """Delete an object as a client would: it stays while it has finalizers."""
        type_ = self.type_of(kind)
        self._registry.delete(Route(type_, type_.versions[0], namespace, name, ""), {})

    def get(self, kind: str, namespace: str, name: str) -> Json | None:
        """The object as it is."""
        found = self.store.get(self.type_of(kind).id, (namespace, name))
        return None if found is None else found.obj

    def all(self, kind: str) -> list[Json]:
        """Every object of a kind."""
        return [entry.obj for _, entry in self.store.all(self.type_of(kind).id)]

    def type_of(self, kind: str) -> ResourceType:
        """The type of a kind that is served."""
        return next(each for each in self.types if each.kind == kind)

    def _place(self, obj: Mapping[str, object]) -> tuple[ResourceType, Place]:
        type_ = self.type_of(text(obj.get("kind")))
        metadata = part(obj, "metadata")
        namespace = text(metadata.get("namespace")) or "default"
        return type_, (namespace if type_.namespaced else "", text(metadata.get("name")))

    # What clients do.

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            if self.faults.delay:
                await asyncio.sleep(self.faults.delay)
            self.faults.check(request.method, request.raw_path)
            return await self._answer(request)
        except StatusError as error:
            headers = {"Retry-After": str(error.retry)} if error.retry else {}
            return _json(error.status(), error.code, headers)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path in ("/healthz", "/readyz", "/livez"):
            return web.Response(text="ok")
        user = self.users.authenticate(request.headers.get("Authorization", ""))
        if path == "/version":
            return _json({"major": "1", "minor": "37", "gitVersion": "v1.37.0"})
        found = self._discovery(path.rstrip("/"), request.headers.get("Accept", ""))
        if found is not None:
            kind = discovery.CONTENT_TYPE if found["kind"] == "APIGroupDiscoveryList" else "application/json"
            return web.Response(body=orjson.dumps(found), headers={"Content-Type": kind})
        route = parse(path, self.types)
        query = request.query
        verb = verb_of(request.method, route, query)
        manager = query.get("fieldManager") or request.headers.get("User-Agent", "").partition("/")[0]
        self.users.admit(user, verb, route, manager)
        if verb == "watch":
            return await self._watch(request, route)
        if verb == "list":
            return _bytes(reads.list_body(self.store, route, query))
        return await self._object(request, route, verb, Writer(manager, now_text()))

    def _discovery(self, path: str, accept: str) -> Json | None:
        if path in ("/api", "/apis") and discovery.AGGREGATED in accept:
            return discovery.aggregated(self.types, core=path == "/api")
        if path == "/api":
            return discovery.core_versions()
        if path == "/apis":
            self.discoveries += 1
            return discovery.group_list(self.types)
        parts = path.strip("/").split("/")
        if parts[0] == "api" and len(parts) == 2:
            return discovery.resource_list(self.types, "", parts[1])
        if parts[0] == "apis" and len(parts) == 3:
            return discovery.resource_list(self.types, parts[1], parts[2])
        return None

    async def _watch(self, request: web.BaseRequest, route: Route) -> web.StreamResponse:
        lines = reads.watch_lines(self.store, route, request.query, self.bookmark_seconds, self.watches)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        started = False
        with contextlib.suppress(ConnectionError):  # the client is gone
            async for line in lines:
                if not started:
                    await response.prepare(request)
                    started = True
                await response.write(line)
            if not started:
                await response.prepare(request)
            await response.write_eof()
        return response

    async def _object(self, request: web.BaseRequest, route: Route, verb: str, writer: Writer) -> web.Response:
        body = await request.read()
        match verb:
            case "get":
                found = self.store.get(route.type.id, route.place)
                if found is None:
                    raise StatusError(404, "NotFound", f'{route.type.plural} "{route.name}" not found')
                return self._shown(route, found)
            case "create" if route.subresource == "binding":
                target = text(part(_parsed(body), "target").get("name"))
                self._registry.update(_main(route), lambda pod: _bound(pod, target), writer)
                return _json({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}, 201)
            case "create":
                return self._shown(route, self._registry.create(route, _parsed(body), writer), 201)
            case "update":
                return self._changed(route, lambda _: _parsed(body), writer)
            case "patch":
                return self._patched(request, route, body, writer)
            case "delete":
                return self._shown(route, self._registry.delete(route, _parsed(body) if body else {}))
            case _:
                raise StatusError(405, "MethodNotAllowed", f"the server does not allow {verb}")

    def _patched(self, request: web.BaseRequest, route: Route, body: bytes, writer: Writer) -> web.Response:
        match request.content_type:
            case "application/merge-patch+json":
                patch = _parsed(body)
                return self._changed(route, lambda obj: cast("Json", patches.merge(obj, patch)), writer)
            case "application/json-patch+json":
                operations: object = orjson.loads(body)
                return self._changed(route, lambda obj: patches.apply_operations(obj, operations), writer)
            case "application/apply-patch+yaml":
                if not request.query.get("fieldManager"):
                    raise bad_request("fieldManager is required for apply patch")
                force = request.query.get("force") == "true"
                entry, created = self._registry.apply(route, _parsed(body), writer, force=force)
                return self._shown(route, entry, 201 if created else 200)
            case other:
                raise StatusError(415, "UnsupportedMediaType", f"{other} is not {_MERGE}, {_JSON_PATCH} or {_APPLY}")

    def _changed(self, route: Route, change: Callable[[Json], Json], writer: Writer) -> web.Response:
        """Clients see and patch the object with apiVersion and kind, or its scale."""

        def change_shown(obj: Json) -> Json:
            if route.subresource == "scale":
                return scale.written(obj, change(scale.shown(obj)))
            return change({"apiVersion": route.api_version, "kind": route.type.kind, **obj})

        target = _main(route) if route.subresource == "scale" else route
        return self._shown(route, self._registry.update(target, change_shown, writer))

    def _shown(self, route: Route, entry: Entry, code: int = 200) -> web.Response:
        if route.subresource == "scale":
            return _json(scale.shown(entry.obj), code)
        return _bytes(entry.named(route.api_version, route.type.kind), code)


def _main(route: Route) -> Route:
    return Route(route.type, route.version, route.namespace, route.name, "")


def _bound(pod: Json, node: str) -> Json:
    spec = part(pod, "spec")
    if spec.get("nodeName"):
        raise StatusError(409, "Conflict", f"pod is already assigned to node {spec['nodeName']}")
    return {**pod, "spec": {**spec, "nodeName": node}}


def _parsed(body: bytes) -> Json:
    try:
        parsed: object = orjson.loads(body)
    except orjson.JSONDecodeError:
        parsed = yaml.load(body, yaml.CSafeLoader)
    if not isinstance(parsed, dict):
        raise bad_request("the body is no object")
    return cast("Json", parsed)


def _json(obj: Json, code: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return _bytes(orjson.dumps(obj), code, headers)


def _bytes(body: bytes, code: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=body, status=code, content_type="application/json", headers=headers)
