"""The `muster` command."""

import os
import sys

from muster_cli.exits import ExitStatus, UserError


def main() -> int:
    """Run the command line; every expected failure ends as one sentence and an exit status."""
    from muster_cli.app import app
    from muster_cli.console import stderr

    try:
        app()
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(ExitStatus.YES)
    except UserError as error:
        stderr.print(f"muster: {error}", markup=False, soft_wrap=True)
        return int(error.status)
    except KeyboardInterrupt:
        stderr.print("muster: interrupted", markup=False)
        return 130
    except BrokenPipeError:
        # The reader went away (`muster events | head`): say nothing, and keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return int(ExitStatus.YES)


if __name__ == "__main__":
    sys.exit(main())
