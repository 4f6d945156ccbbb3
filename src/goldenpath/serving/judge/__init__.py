"""The canary judge: anytime-valid verdicts from counters of a stable and a canary arm. Pure."""
