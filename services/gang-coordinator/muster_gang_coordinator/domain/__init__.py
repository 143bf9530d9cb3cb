"""The saga of one gang: all members or none. Pure: decide, evolve and react over recorded events."""
