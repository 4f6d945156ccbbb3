"""Training jobs and the contract with the training code."""
