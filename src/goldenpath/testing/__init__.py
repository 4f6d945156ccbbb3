"""For tests: a store with faults, canned components, and real services on this machine."""
