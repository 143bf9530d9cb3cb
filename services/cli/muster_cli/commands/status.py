"""`muster status`: is everything running, and what does it hold?"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import typer

from muster.api.capacity.v1 import capacity_service_pb2 as capacity_pb
from muster.api.inventory.v1 import inventory_service_pb2 as inventory_pb
from muster.api.matcher.v1 import matcher_service_pb2 as matcher_pb
from muster.api.provisioner.v1 import provisioner_service_pb2 as provisioner_pb
from muster.events.gangs.v1.gangs_pb2 import SHORTFALL_CLASS_UNSPECIFIED
from muster.events.inventory.v1.inventory_pb2 import PoolState
from muster.events.observed.v1.observed_pb2 import SEVERITY_WARNING
from muster_cli.console import Output, print_document, print_table, stdout
from muster_cli.exits import ExitStatus, UserError
from muster_cli.live import clients
from muster_cli.live.addresses import Addresses, ServiceName, default_state
from muster_cli.live.gangs import state_word
from muster_cli.live.store import run_on_store
from muster_cli.options import DEFAULT_CLUSTER, ClusterOption, OutputOption, StateOption
from muster_eventstore import list_parked


@dataclass(slots=True)
class Answer:
    """What one service said."""

    service: str
    address: str
    sequence: int = 0
    facts: dict[str, str] = field(default_factory=dict[str, str])
    problem: str = ""


def status(
    state: StateOption = None, cluster: ClusterOption = DEFAULT_CLUSTER, output: OutputOption = Output.TABLE
) -> None:
    """Services, their addresses, and what they hold: nodes, pools, node groups, bookings, gangs, orders.

    SEQUENCE is the number of the last event of its stream that a service's answer reflects; `muster events` shows
    events with their numbers. Exit status 0 when every service answers, 3 otherwise.
    """
    addresses = Addresses(state or default_state())
    asked: Mapping[ServiceName, Callable[[Addresses, str, Answer], None]] = {
        ServiceName.INVENTORY: _inventory,
        ServiceName.CLAIM_MATCHER: _matcher,
        ServiceName.GANG_COORDINATOR: _coordinator,
        ServiceName.PROVISIONER: _provisioner,
    }
    answers = [_ask(addresses, service, cluster, ask) for service, ask in asked.items()]
    answers.append(_store(addresses))
    if output is Output.TABLE:
        _print(answers)
    else:
        print_document([_document(answer) for answer in answers], output)
    raise typer.Exit(ExitStatus.UNREACHABLE if any(answer.problem for answer in answers) else ExitStatus.YES)


def _ask(
    addresses: Addresses, service: ServiceName, cluster: str, ask: Callable[[Addresses, str, Answer], None]
) -> Answer:
    answer = Answer(service.value, addresses.grpc(service))
    try:
        ask(addresses, cluster, answer)
    except UserError as error:
        answer.problem = str(error)
    return answer


def _inventory(addresses: Addresses, cluster: str, answer: Answer) -> None:
    with clients.inventory(addresses) as inventory:
        groups = inventory.ListNodeGroups(inventory_pb.ListNodeGroupsRequest(cluster=cluster))
        problems = inventory.ListProblems(inventory_pb.ListProblemsRequest(cluster=cluster)).problems
        ready = total = devices = 0
        token = ""
        while True:
            page = inventory_pb.Page(size=1000, token=token)
            nodes = inventory.ListNodes(inventory_pb.ListNodesRequest(cluster=cluster, page=page))
            total += len(nodes.nodes)
            ready += sum(node.ready for node in nodes.nodes)
            devices += sum(node.device_count for node in nodes.nodes)
            token = nodes.next_page_token
            if not token:
                break
        pools: Counter[str] = Counter()
        token = ""
        while True:
            page = inventory_pb.Page(size=1000, token=token)
            found = inventory.ListPools(inventory_pb.ListPoolsRequest(cluster=cluster, page=page))
            pools.update(PoolState.Name(pool.state).removeprefix("POOL_STATE_").lower() for pool in found.pools)
            token = found.next_page_token
            if not token:
                break
    answer.sequence = groups.sequence
    answer.facts = {
        "nodes": f"{ready} of {total} ready",
        "devices": str(devices),
        "pools": _counts(pools),
        "node groups": ", ".join(f"{g.name} {g.current_size}/{g.max_size}" for g in groups.node_groups) or "none",
    }
    answer.facts |= problem_facts(problems)


def problem_facts(problems: Iterable[inventory_pb.ProblemView]) -> dict[str, str]:
    """How many inputs were refused, whatever the number of their faults, and how many were taken with warnings."""
    refused: dict[tuple[str, str], str] = {}
    warned: dict[tuple[str, str], str] = {}
    for problem in problems:
        told = warned if problem.severity == SEVERITY_WARNING else refused
        sentence = ": ".join(part for part in (problem.source, problem.field, problem.reason) if part)
        told.setdefault((problem.source, problem.object), sentence)
    counted = {"refused inputs": refused, "inputs with warnings": warned}
    return {name: f"{len(told)}, the first: {next(iter(told.values()))}" for name, told in counted.items() if told}


def _matcher(addresses: Addresses, cluster: str, answer: Answer) -> None:
    with clients.matcher(addresses) as matcher:
        found = matcher.ListBookings(matcher_pb.ListBookingsRequest(cluster=cluster))
    answer.sequence = found.sequence
    answer.facts = {"bookings": ", ".join(booking.gang_id for booking in found.bookings) or "none"}


def _coordinator(addresses: Addresses, cluster: str, answer: Answer) -> None:
    with clients.capacity(addresses) as capacity:
        found = capacity.ListGangs(capacity_pb.ListGangsRequest(cluster=cluster, page_size=1000))
    answer.sequence = found.sequence
    answer.facts = {"gangs": _counts(Counter(state_word(gang.state) for gang in found.gangs))}


def _provisioner(addresses: Addresses, cluster: str, answer: Answer) -> None:
    with clients.provisioner(addresses) as provisioner:
        found = provisioner.ListOrders(provisioner_pb.ListOrdersRequest(cluster=cluster))
    answer.sequence = found.sequence
    answer.facts = {"orders": _counts(Counter(map(order_word, found.orders)))}


def order_word(order: provisioner_pb.OrderView) -> str:
    """What became of an order, in the words of `muster gang show`: one that gave back only a part keeps its word."""
    if order.state == provisioner_pb.ORDER_STATE_CANCELLED and order.nodes:
        return "FILLED" if order.shortfall_class == SHORTFALL_CLASS_UNSPECIFIED else "SHORT"
    return provisioner_pb.OrderState.Name(order.state).removeprefix("ORDER_STATE_")


def _store(addresses: Addresses) -> Answer:
    answer = Answer("nats", addresses.nats())
    try:
        parked = run_on_store(addresses, list_parked)
    except UserError as error:
        answer.problem = str(error)
        return answer
    answer.facts = {"parked messages": f"{len(parked)}; see `muster parked list`" if parked else "none"}
    return answer


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in sorted(counted.items())) or "none"


def _print(answers: list[Answer]) -> None:
    print_table(
        ("SERVICE", "ADDRESS", "SEQUENCE", "STATE"),
        [
            (
                answer.service,
                answer.address,
                str(answer.sequence or ""),
                answer.problem or "; ".join(f"{name}: {value}" for name, value in answer.facts.items()),
            )
            for answer in answers
        ],
        empty="",
    )
    if any(answer.problem for answer in answers):
        stdout.print("\nnot everything answers; `muster up --load DIR` starts all services", markup=False)


def _document(answer: Answer) -> dict[str, object]:
    return {
        "service": answer.service,
        "address": answer.address,
        "sequence": answer.sequence,
        "answers": not answer.problem,
        "facts": answer.facts,
        "problem": answer.problem,
    }
