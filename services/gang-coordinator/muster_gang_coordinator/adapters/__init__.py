"""Whom the coordinator calls."""
