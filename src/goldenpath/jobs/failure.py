"""Why a job failed, in the program's own words where it has any."""

from __future__ import annotations

from collections.abc import Sequence

from goldenpath.jobs.logs import exit_sentence, last_words
from goldenpath.jobs.spec import Failure, JobSpec
from goldenpath.jobs.verdict import Verdict


def failure_of(
    spec: JobSpec, verdict: Verdict, *, exit_code: int, log: str, missing: Sequence[str]
) -> Failure:
    """Says why the last start of a job did not succeed.

    Args:
        spec: The job.
        verdict: How the start ended.
        exit_code: The program's exit code, negative for a signal.
        log: The end of its log.
        missing: Outputs that it did not write.
    """
    program = spec.entry_point
    if verdict is Verdict.NO_OUTPUT:
        return Failure(
            reason="NoOutput",
            message=f"{program} ended with exit code 0 but left no {missing[0]}.",
            exit_code=0,
            next_step=spec.outputs[missing[0]],
        )
    if verdict is Verdict.STOPPED:
        return Failure(
            reason="Stopped",
            message=f"{program} was stopped by a SIGTERM from outside.",
            exit_code=None,
            next_step="Run the same command again: it goes on from the last checkpoint.",
        )
    words = last_words(log, exit_code=exit_code)
    said = "".join(f"    {line}\n" for line in words.lines) or "    (nothing was printed)\n"
    if verdict is Verdict.TIMED_OUT:
        return Failure(
            reason="Timeout",
            message=f"{program} ran longer than its {spec.run_timeout_s:g} s. Its last lines:\n{said}",
            exit_code=None,
            next_step="Raise run_timeout_s; the next try goes on from the last checkpoint.",
        )
    who = program if words.rank is None else f"{program} (rank {words.rank})"
    return Failure(
        reason="Error" if words.exit_code >= 0 else "Signal",
        message=f"{who} {exit_sentence(words.exit_code)}. Its last lines:\n{said}",
        exit_code=words.exit_code if words.exit_code >= 0 else 128 - words.exit_code,
        pod="" if words.rank is None else f"rank {words.rank}",
    )
