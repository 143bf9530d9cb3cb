"""What the gangs asked for, by gang: ConfirmGang says no more than the gang's id."""

from collections.abc import Callable, Iterator, Mapping
from typing import cast

import orjson

from muster_claim_matcher.domain.wishes import Json, Wish
from muster_types import ClusterId, GangId


class Wishes:
    """Kept from the request until the gang has ended."""

    schema = 1

    def __init__(self) -> None:
        self._wishes: dict[ClusterId, dict[GangId, Wish]] = {}

    def put(self, cluster: ClusterId, gang: GangId, wish: Wish) -> None:
        self._wishes.setdefault(cluster, {})[gang] = wish

    def drop(self, cluster: ClusterId, gang: GangId) -> None:
        self._wishes.get(cluster, {}).pop(gang, None)

    def get(self, cluster: ClusterId, gang: GangId) -> Wish | None:
        return self._wishes.get(cluster, {}).get(gang)

    def keep(self, cluster: ClusterId, wanted: Callable[[GangId], bool]) -> None:
        """Forget every gang of a cluster that is not wanted."""
        kept = {gang: wish for gang, wish in self._wishes.get(cluster, {}).items() if wanted(gang)}
        self._wishes[cluster] = kept

    def dump(self) -> bytes:
        """All of them; equal contents give equal bytes."""
        return orjson.dumps(
            [
                {
                    "cluster": cluster,
                    "gang": gang,
                    "namespace": wish.namespace,
                    "name": wish.name,
                    "request": dict(wish.request),
                    "objects": [dict(obj) for obj in wish.objects],
                }
                for cluster, gang, wish in self._sorted()
            ],
            option=orjson.OPT_SORT_KEYS,
        )

    def restore(self, data: bytes) -> None:
        """Become what was dumped."""
        self._wishes = {}
        for each in cast("list[Mapping[str, object]]", orjson.loads(data)):
            wish = Wish(
                str(each["namespace"]),
                str(each["name"]),
                cast("Json", each["request"]),
                tuple(cast("list[Json]", each["objects"])),
            )
            self.put(ClusterId(str(each["cluster"])), GangId(str(each["gang"])), wish)

    def _sorted(self) -> Iterator[tuple[ClusterId, GangId, Wish]]:
        for cluster, wishes in sorted(self._wishes.items()):
            for gang, wish in sorted(wishes.items()):
                yield cluster, gang, wish
