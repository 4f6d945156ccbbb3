"""Who made what: identities, digests, step keys and the records that runs leave.

Everything here is a value: reading and writing the records is the business of ``goldenpath.journal``.
"""

from goldenpath.provenance.canonical import canonical_json, digest_of, identity_of, sha256_hex
from goldenpath.provenance.identity import (
    Code,
    check_run,
    check_step,
    code_identity,
    image_identity,
    new_attempt,
    new_run,
    python_environment,
)
from goldenpath.provenance.keys import step_key
from goldenpath.provenance.records import (
    CONCLUSIVE,
    ErrorRecord,
    Outcome,
    OutcomeRecord,
    RunRecord,
    StepRecord,
)

__all__ = [
    "CONCLUSIVE",
    "Code",
    "ErrorRecord",
    "Outcome",
    "OutcomeRecord",
    "RunRecord",
    "StepRecord",
    "canonical_json",
    "check_run",
    "check_step",
    "code_identity",
    "digest_of",
    "identity_of",
    "image_identity",
    "new_attempt",
    "new_run",
    "python_environment",
    "sha256_hex",
    "step_key",
]
