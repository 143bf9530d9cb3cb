"""The one shape of a decision: load, fold, decide, append (style: one shape of decision)."""

from muster_decider.decider import CorruptHistory, Decider, DomainError

__all__ = ["CorruptHistory", "Decider", "DomainError"]
