"""Records of judged steps: JSON lines, the spec first, then the samples in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import ValidationError

from goldenpath.errors import DataDamaged
from goldenpath.serving.judge.samples import Sample
from goldenpath.serving.judge.spec import JudgeSpec


@dataclass(frozen=True)
class Record:
    """A step's spec and samples."""

    spec: JudgeSpec
    samples: list[Sample]


def record_lines(spec: JudgeSpec, samples: Iterable[Sample]) -> str:
    """The record's text."""
    return "".join(f"{line.model_dump_json()}\n" for line in (spec, *samples))


def read_record(text: str, *, where: str, torn: bool = False) -> Record:
    """Reads a record back.

    Args:
        text: The record's lines.
        where: What the text is, for the message.
        torn: Whether a last line without its end is left out: its writer was killed.

    Raises:
        DataDamaged: A line is not what it should be.
    """
    lines = text.splitlines()
    if torn and lines and not text.endswith("\n"):
        lines.pop()
    if not lines:
        raise DataDamaged(f"{where} is empty.")
    number = 1
    try:
        spec = JudgeSpec.model_validate_json(lines[0])
        samples: list[Sample] = []
        for number, line in enumerate(lines[1:], start=2):  # noqa: B007  (named in the message below)
            samples.append(Sample.model_validate_json(line))
    except ValidationError as error:
        raise DataDamaged(
            f"Line {number} of {where} is not a record's: {error.errors()[0]['msg']}."
        ) from None
    return Record(spec, samples)
