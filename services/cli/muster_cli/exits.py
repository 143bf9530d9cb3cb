"""Exit statuses of the `muster` command (architecture §8) and the error that ends it with a sentence."""

from enum import IntEnum


class ExitStatus(IntEnum):
    """What a script may rely on."""

    YES = 0
    NO = 1  # infeasible, not found, or the gang ended without capacity
    BAD_INPUT = 2  # file, object, field and reason were printed
    UNREACHABLE = 3  # the services did not answer


class UserError(Exception):
    """Ends the command: one sentence that says what is wrong and what to do next, never a traceback."""

    def __init__(self, message: str, status: ExitStatus = ExitStatus.BAD_INPUT) -> None:
        super().__init__(message)
        self.status = status
