"""Use cases: load, decide, record; and the read side."""
