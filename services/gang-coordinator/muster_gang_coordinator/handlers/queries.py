"""What is asked about gangs."""

from dataclasses import dataclass

from muster_gang_coordinator.handlers.projections import GangEntry, GangsView
from muster_servicekit.errors import NotFound
from muster_types import ClusterId, GangId

DEFAULT_PAGE, LARGEST_PAGE = 100, 1000


@dataclass(frozen=True, slots=True)
class Page:
    """Gangs by id; `after` is the last id when there are more."""

    entries: tuple[GangEntry, ...]
    after: GangId | None


def find_gang(gangs: GangsView, cluster: ClusterId, gang_id: GangId) -> GangEntry:
    """Raises NotFound."""
    entry = gangs.get(cluster, gang_id)
    if entry is None:
        raise NotFound(f"gang {gang_id!r} is not known in cluster {cluster!r}: list the gangs", "GANG_UNKNOWN")
    return entry


def list_gangs(gangs: GangsView, cluster: ClusterId, size: int, after: GangId | None) -> Page:
    """At most `size` gangs (0: a default) behind the id `after`."""
    limit = min(size or DEFAULT_PAGE, LARGEST_PAGE)
    rest = [e for e in gangs.all(cluster) if after is None or e.gang_id > after]
    page = tuple(rest[:limit])
    return Page(page, page[-1].gang_id if len(rest) > limit else None)
