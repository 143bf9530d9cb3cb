"""Talking to running services: where they listen, and what they are asked."""
