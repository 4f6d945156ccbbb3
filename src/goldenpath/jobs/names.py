"""Names of jobs: derived from run and step, so that whoever runs the step again finds the same job."""

from __future__ import annotations

import hashlib

_LONGEST = 44
# A JobSet appends `-<replicated job>-<index>-<pod>-<5 letters>` to it, and a pod's name has 63 letters.


def job_name(run: str, step: str) -> str:
    """``gp-<10 of sha256(run/step)>-<step>``, a DNS label; a long step is cut, its digest is not."""
    digest = hashlib.sha256(f"{run}/{step}".encode()).hexdigest()[:10]
    return f"gp-{digest}-{step.replace('.', '-')}"[:_LONGEST].rstrip("-")
