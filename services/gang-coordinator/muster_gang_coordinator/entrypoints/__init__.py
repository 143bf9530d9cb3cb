"""Who calls the coordinator: gRPC, commands, timers, the streams of the others and its own."""
