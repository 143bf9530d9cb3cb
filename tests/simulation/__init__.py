"""Deterministic simulation of the whole system: all services in one process, on a seed."""
