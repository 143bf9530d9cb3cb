"""`muster gang why`: what was known about a gang at a moment, and why it was where it was."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from muster_cli.commands.gang import GangArgument
from muster_cli.console import Output, print_document, print_table, stdout
from muster_cli.exits import UserError
from muster_cli.live.addresses import Addresses, default_state
from muster_cli.live.gangs import local_time, state_word
from muster_cli.live.store import run_on_store
from muster_cli.options import DEFAULT_CLUSTER, ClusterOption, OutputOption, StateOption
from muster_types import ClusterId, GangId

if TYPE_CHECKING:
    from muster_cli.live.hindsight import Hindsight


def why(
    gang: GangArgument,
    at: Annotated[
        datetime | None, typer.Option("--at", help="a moment, in local time, e.g. 2026-05-04T12:00:00; without: now")
    ] = None,
    state: StateOption = None,
    cluster: ClusterOption = DEFAULT_CLUSTER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Why a gang was where it was at a moment, from the recorded events alone: what had been planned and on which
    observations, what it waited for, who held what, which templates were mistrusted, which timers ran.

    Only the event store is asked, so it works while the services are down.

    Example:

      muster gang why train-a-1f2e3d --at 2026-05-04T12:00:00
    """
    from muster_cli.live.hindsight import look_back  # brings the coordinator along

    moment = datetime.now(UTC) if at is None else at.astimezone(UTC)

    found = run_on_store(
        Addresses(state or default_state()),
        lambda store: look_back(store, ClusterId(cluster), GangId(gang), moment),
    )
    if found is None:
        raise UserError(
            f"nobody had asked for gang {gang!r} in cluster {cluster!r} by {local_time(moment)}; "
            "`muster gang list` shows the gangs, `muster gang show GANG --history` when each began"
        )
    if output is not Output.TABLE:
        print_document(found.document(), output)
        return
    _print(found)


def _print(found: "Hindsight") -> None:
    saga, spec = found.gang.saga, found.gang.saga.spec
    since = local_time(found.since)
    lines = [
        f"{saga.gang_id} at {local_time(found.at)}: {state_word(found.state)} since {since}",
        f"  {found.message}",
        f"asked for: {spec.pod_count} pods by {spec.namespace}/{spec.name}, priority {spec.priority}",
    ]
    if found.observed_sequence:
        lines.append(
            f"planned on: observations up to observed/{found.observed_sequence}, attempt {found.planned_attempt}"
        )
    if saga.excluded:
        lines.append(f"left out: node groups {', '.join(saga.excluded)}, which had failed the gang before")
    lines += [f"mistrusted template: {each}" for each in found.mistrusted]
    if found.plan is not None:
        orders = ", ".join(f"{o.count} new of {o.node_group}" for o in found.plan.orders) or "existing nodes alone"
        lines.append(f"plan: {len(found.plan.placements)} members, {orders}, cost {found.plan.cost:g}")
        lines += [f"  not taken: {a.description}, cost {a.cost:g}: {a.why_not}" for a in found.plan.alternatives]
    lines += [f"because: {r.sentence}" for r in found.reasons if r.sentence not in found.message]
    for line in lines:
        stdout.print(line, markup=False, soft_wrap=True)
    if found.holders:
        stdout.print()
        rows = [
            (h.gang, str(h.members), "confirmed" if h.confirmed else "planned", local_time(h.since))
            for h in found.holders
        ]
        print_table(("HOLDER", "MEMBERS", "BOOKING", "SINCE"), rows, empty="")
    if found.timers:
        stdout.print()
        print_table(("TIMER", "DUE"), [(timer.value, local_time(due)) for due, timer in found.timers], empty="")
    stdout.print("\nbefore that:", markup=False)
    for each in found.last:
        stdout.print(
            f"  {local_time(each.time)}  {state_word(each.state):<12}  {each.sentence}", markup=False, soft_wrap=True
        )
