"""How long to wait between attempts: exponential, with full jitter, so that many watches do not come back at once."""

from dataclasses import dataclass, field

from tenacity import AsyncRetrying, RetryCallState, wait_random_exponential


@dataclass(slots=True)
class Backoff:
    """Delays in seconds: the n-th lies between 0 and `first` * 2^(n-1), at most `longest`."""

    first: float = 0.5
    longest: float = 30.0
    _state: RetryCallState = field(default_factory=lambda: RetryCallState(AsyncRetrying(), None, (), {}))

    def next(self, at_least: float = 0.0) -> float:
        """The next delay; a server's Retry-After is a lower bound."""
        delay = wait_random_exponential(multiplier=self.first, max=self.longest)(self._state)
        self._state.attempt_number += 1
        return max(delay, at_least)

    def reset(self) -> None:
        """Something succeeded."""
        self._state.attempt_number = 1
