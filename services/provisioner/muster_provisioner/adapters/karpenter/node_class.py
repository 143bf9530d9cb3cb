"""Whether the node class of a claim is there and ready: without that Karpenter deletes the claim at once (N-6.10)."""

from typing import cast

import orjson

from muster_kubeapi import Json, KubeClient, Refused, Resource, Target, Unreachable, get
from muster_provisioner.adapters.karpenter.group_settings import NodeClassRef
from muster_provisioner.adapters.kube_calls import at, conditions_of, items, text


class NodeClasses:
    """The node classes of one cluster; which version and plural a kind has is asked once."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._resources: dict[tuple[str, str], Resource] = {}

    async def problem(self, ref: NodeClassRef) -> str | None:
        """A sentence that says why claims with this class would be deleted; None when it is ready, or does not say.

        Raises KubeError.
        """
        resource = await self._resource(ref)
        if resource is None:
            return f"the API server has no {ref.kind} of group {ref.group}: install the Karpenter provider that owns it"
        obj = await get(self._client, Target(resource, "", ref.name))
        if obj is None:
            return f"{ref.kind} {ref.name} does not exist"
        ready = conditions_of(obj).get("Ready")
        if ready is None or ready.holds:
            return None
        return f"{ref.kind} {ref.name} is not ready: {ready.text}"

    async def _resource(self, ref: NodeClassRef) -> Resource | None:
        known = self._resources.get((ref.group, ref.kind))
        if known is None:
            known = await self._find(ref)
            if known is not None:
                self._resources[ref.group, ref.kind] = known
        return known

    async def _find(self, ref: NodeClassRef) -> Resource | None:
        groups = items((await self._json("/apis")).get("groups"))
        group = next((each for each in groups if each.get("name") == ref.group), None)
        if group is None:
            return None
        listed = [text(each.get("version")) for each in items(group.get("versions"))]
        preferred = text(at(group, "preferredVersion").get("version"))
        for version in sorted(listed, key=lambda each: each != preferred):
            for each in items((await self._json(f"/apis/{ref.group}/{version}")).get("resources")):
                if each.get("kind") == ref.kind and "/" not in text(each.get("name")):
                    plural, namespaced = text(each.get("name")), each.get("namespaced") is True
                    return Resource(ref.group, version, plural, ref.kind, namespaced)
        return None

    async def _json(self, path: str) -> Json:
        try:
            parsed: object = orjson.loads(await self._client.call("GET", path))
        except orjson.JSONDecodeError as error:
            raise Unreachable(f"GET {path}: the answer is no JSON: {error}") from error
        except Refused as error:
            if error.status == 404:
                return {}
            raise
        return cast("Json", parsed) if isinstance(parsed, dict) else {}
