"""Models by digest: publishing, registering, aliases, and the trace from a model to its origins."""
