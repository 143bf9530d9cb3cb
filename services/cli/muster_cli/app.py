"""The commands of `muster`."""

import typer

from muster_cli.commands import gang, parked, streams, why
from muster_cli.commands.allocate import allocate
from muster_cli.commands.asyncapi import asyncapi
from muster_cli.commands.audit import audit
from muster_cli.commands.cel import cel
from muster_cli.commands.demo import demo
from muster_cli.commands.evaluate import evaluate
from muster_cli.commands.events import events
from muster_cli.commands.fragmentation import fragmentation
from muster_cli.commands.migrate import migrate
from muster_cli.commands.plan import plan
from muster_cli.commands.request import request
from muster_cli.commands.simcloud import simcloud
from muster_cli.commands.simscheduler import simscheduler
from muster_cli.commands.status import status
from muster_cli.commands.up import up

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Capacity for gangs of accelerator pods on Kubernetes: all or nothing, and of the right shape.\n\n"
    "Without anything running: muster audit DUMP, muster plan DUMP, muster migrate FILE, muster allocate -, "
    "muster cel -.\n\n"
    "With services: muster up --load DIR, then muster request FILE, muster gang list, muster status.\n\n"
    "Exit status: 0 yes, 1 no (infeasible or ended without capacity), 2 bad input, 3 the services do not answer.",
)
RUN, ASK, OFFLINE, OPERATE = "Run", "Ask", "Without services", "Operate"
app.command(rich_help_panel=RUN)(up)
app.command(rich_help_panel=RUN)(demo)
app.command(rich_help_panel=ASK)(request)
gang.app.command()(why.why)
app.add_typer(gang.app, name="gang", rich_help_panel=ASK)
app.command(rich_help_panel=ASK)(status)
app.command(rich_help_panel=ASK)(events)
app.command(rich_help_panel=OFFLINE)(audit)
app.command(rich_help_panel=OFFLINE)(fragmentation)
app.command(rich_help_panel=OFFLINE)(evaluate)
app.command(rich_help_panel=OFFLINE)(plan)
app.command(rich_help_panel=OFFLINE)(migrate)
app.command(rich_help_panel=OFFLINE)(allocate)
app.command(rich_help_panel=OFFLINE)(cel)
app.command(rich_help_panel=OFFLINE)(asyncapi)
app.add_typer(parked.app, name="parked", rich_help_panel=OPERATE)
app.add_typer(streams.app, name="streams", rich_help_panel=OPERATE)
app.command(rich_help_panel=OPERATE)(simscheduler)
app.command(rich_help_panel=OPERATE)(simcloud)
