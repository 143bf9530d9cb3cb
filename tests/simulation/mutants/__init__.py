"""Hand-made bugs, as patches: the simulation must find each of them."""
