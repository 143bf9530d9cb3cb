"""All services in one process, with a NATS server of their own and a simulated cloud."""
