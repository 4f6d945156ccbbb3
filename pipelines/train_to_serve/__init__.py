"""Train, gate, register and promote a model: the first golden path."""
