"""`muster asyncapi`: what each service reads and sends, for tools that read AsyncAPI."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated

import typer

from muster_cli.console import print_json


class Service(StrEnum):
    """Services that read or send messages."""

    INVENTORY = "inventory"
    CLAIM_MATCHER = "claim-matcher"
    GANG_COORDINATOR = "gang-coordinator"
    PROVISIONER = "provisioner"
    CLUSTER_WATCHER = "cluster-watcher"


def asyncapi(service: Annotated[Service | None, typer.Argument(help="one service; all without it")] = None) -> None:
    """The AsyncAPI 3.0 document of a service as JSON: subjects, messages with their protobuf schemas, headers.

    Without a service: one JSON object with the document of each.

    Example:

      muster asyncapi claim-matcher
    """
    wanted = documents()
    print_json({name: draw() for name, draw in wanted.items()} if service is None else wanted[service]())


def documents() -> Mapping[Service, Callable[[], Mapping[str, object]]]:
    """What draws the document of each service."""
    # Imported here: a second that the other commands need not spend.
    from muster_claim_matcher.entrypoints.asyncapi import document as claim_matcher
    from muster_cluster_watcher.entrypoints.asyncapi import document as cluster_watcher
    from muster_gang_coordinator.entrypoints.asyncapi import document as gang_coordinator
    from muster_inventory.entrypoints.asyncapi import document as inventory
    from muster_provisioner.entrypoints.asyncapi import document as provisioner

    return {
        Service.INVENTORY: inventory,
        Service.CLAIM_MATCHER: claim_matcher,
        Service.GANG_COORDINATOR: gang_coordinator,
        Service.PROVISIONER: provisioner,
        Service.CLUSTER_WATCHER: cluster_watcher,
    }
