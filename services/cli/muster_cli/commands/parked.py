"""`muster parked`: messages that a service could not process."""

from typing import Annotated

import typer

from muster_cli.console import Output, print_document, print_table, stderr, stdout
from muster_cli.exits import ExitStatus, UserError
from muster_cli.live.addresses import Addresses, default_state
from muster_cli.live.store import run_on_store
from muster_cli.options import OutputOption, StateOption
from muster_eventstore import ParkedMessage, drop_parked, list_parked, replay_parked, show_parked
from muster_servicekit.clock import SystemClock

app = typer.Typer(
    no_args_is_help=True,
    help="Messages that a service could not process, with the reason: list, show, replay, drop.\n\n"
    "Examples:\n\n  muster parked list\n\n  muster parked show 3\n\n  muster parked replay 3",
)
Sequence = Annotated[int, typer.Argument(metavar="SEQUENCE", help="number, as `muster parked list` prints it")]


@app.command("list")
def list_messages(state: StateOption = None, output: OutputOption = Output.TABLE) -> None:
    """Everything that is parked, oldest first; exit status 1 when there is something."""
    found = run_on_store(Addresses(state or default_state()), list_parked)
    if output is not Output.TABLE:
        print_document([_document(message) for message in found], output)
    else:
        print_table(
            ("SEQUENCE", "SINCE", "CONSUMER", "ATTEMPTS", "SUBJECT", "REASON"),
            [
                (
                    str(m.sequence),
                    m.parked_at.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
                    m.place.consumer,
                    str(m.attempts),
                    m.original.subject,
                    m.reason,
                )
                for m in found
            ],
            empty="nothing is parked",
        )
    raise typer.Exit(ExitStatus.NO if found else ExitStatus.YES)


@app.command()
def show(sequence: Sequence, state: StateOption = None, output: OutputOption = Output.TABLE) -> None:
    """One parked message with its headers."""
    found = run_on_store(Addresses(state or default_state()), lambda store: show_parked(store, sequence))
    message = _there(found, sequence)
    if output is not Output.TABLE:
        print_document(_document(message), output)
        return
    for name, value in _document(message).items():
        stdout.print(f"{name:>12}  {value}", markup=False, soft_wrap=True)


@app.command()
def replay(sequence: Sequence, state: StateOption = None) -> None:
    """Hand a message to its consumer once more, for example after an upgrade; it is parked again if it fails again."""
    now = SystemClock().now()
    found = run_on_store(Addresses(state or default_state()), lambda store: replay_parked(store, sequence, now))
    message = _there(found, sequence)
    stderr.print(f"handed {message.original.subject} to {message.place.consumer} again", markup=False)


@app.command()
def drop(sequence: Sequence, state: StateOption = None) -> None:
    """Forget a parked message for good."""
    found = run_on_store(Addresses(state or default_state()), lambda store: drop_parked(store, sequence))
    message = _there(found, sequence)
    stderr.print(f"dropped {message.original.subject}", markup=False)


def _there(message: ParkedMessage | None, sequence: int) -> ParkedMessage:
    if message is None:
        raise UserError(f"no parked message has the number {sequence}; see `muster parked list`", ExitStatus.NO)
    return message


def _document(message: ParkedMessage) -> dict[str, object]:
    return {
        "sequence": message.sequence,
        "consumer": message.place.consumer,
        "reason": message.reason,
        "attempts": message.attempts,
        "parked_time": message.parked_at.isoformat(),
        "stream": message.original.stream,
        "subject": message.original.subject,
        "bytes": len(message.original.data),
        "headers": dict(message.original.headers),
    }
