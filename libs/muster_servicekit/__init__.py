"""Process plumbing of a service: runtime, gRPC server, settings, clock, telemetry, embedded NATS, FastStream edge.

Import from the modules: each pulls in only what it needs.
"""
