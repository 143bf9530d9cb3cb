"""Dumps of one cluster, in order, as `muster_audit` takes them: nothing is folded together, refusals are kept."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from muster_audit import Dump as ClusterDump
from muster_audit import Refused
from muster_cli.exits import UserError
from muster_cli.offline.dumps import Dump, print_problems
from muster_kube import DEFAULT_LIMITS, Manifest, Reading, Rejected, object_key, read_path

Tell = Callable[[str], None]
"""Called with what is being read."""

_BESIDE = frozenset({"ResourceQuota"})
"""Kinds that only an audit asks for; they are taken as they are."""
_LIMITS = replace(DEFAULT_LIMITS, file_bytes=1024 * 1024 * 1024)
"""Whole clusters in one file."""
_STEP = 500


@dataclass(frozen=True, slots=True)
class AuditInput:
    """The dumps in order. `refused`: something in them could not be taken."""

    dumps: tuple[ClusterDump, ...]
    refused: bool


def read_audit_input(
    first: Sequence[str], later: Sequence[str], *, live: Sequence[Reading] | None = None, tell: Tell | None = None
) -> AuditInput:
    """The first dump from all paths together and what was read `live`, then one a later path; problems go to standard
    error. Raises UserError for a dump in which nothing can be read."""
    dumps: list[ClusterDump] = []
    refused = False
    for number, paths in enumerate((list(first), *([path] for path in later))):
        readings = [*_read(paths, tell or _silent), *((live or ()) if number == 0 else ())]
        manifests = [each for each in readings if isinstance(each, Manifest)]
        rejected = [each for each in readings if isinstance(each, Rejected)]
        print_problems(Dump(tuple(manifests), tuple(rejected), ()))
        refused = refused or bool(rejected)
        if not manifests and not any(each.obj for each in rejected) and (number or live is None):
            raise UserError(
                f"no Kubernetes object that Muster reads in {', '.join(paths)}; dump a cluster with\n"
                "  kubectl get nodes,pods,resourceslices,resourceclaims,resourceclaimtemplates,deviceclasses,"
                "podtemplates,resourcequotas -A -o yaml > dump.yaml"
            )
        dumps.append(ClusterDump(tuple(each.obj for each in manifests), tuple(_refusals(rejected))))
    return AuditInput(tuple(dumps), refused)


def _read(paths: Iterable[str], tell: Tell) -> Iterator[Reading]:
    for path in paths:
        for count, reading in enumerate(read_path(path, limits=_LIMITS, also=_BESIDE), 1):
            if count % _STEP == 0:
                tell(f"reading {path}: {count} objects")
            yield reading


def _refusals(rejected: Sequence[Rejected]) -> Iterator[Refused]:
    for each in rejected:
        if each.obj is not None and object_key(each.obj).name:
            yield Refused(object_key(each.obj), each.field, each.reason, each.obj)


def _silent(_what: str) -> None:
    return
