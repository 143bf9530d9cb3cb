"""One module for each command; each reads arguments, asks, prints, and returns an exit status."""
