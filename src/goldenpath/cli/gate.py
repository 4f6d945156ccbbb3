"""``goldenpath gate``: judges rows in parquet files, with no store and no cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from goldenpath import evaluation
from goldenpath.cli.output import JsonFlag, emit
from goldenpath.errors import ConfigError, InputError, Refused
from goldenpath.evaluation import EvaluationData, GatePolicy, Judgement, Verdict
from goldenpath.evaluation.report import References, render
from goldenpath.evaluation.text import printable
from goldenpath.validation import validated

app = typer.Typer(add_completion=False)


@app.command()
def gate(
    candidate: Annotated[Path, typer.Option(help="The candidate's rows: id, label, prediction, score.")],
    champion: Annotated[Path | None, typer.Option(help="The champion's rows on the same examples.")] = None,
    policy: Annotated[Path | None, typer.Option(help="The policy (YAML); by default, no regression.")] = None,
    report: Annotated[Path | None, typer.Option(help="Where to write the HTML report.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Judges one model's rows, alone or against a champion's.

    Exits with 0 if the candidate passed, and with 3 if it was refused or there is no evidence.
    """
    rules = _policy(policy)
    mine = EvaluationData(rows=evaluation.read_rows(candidate))
    other = EvaluationData(rows=evaluation.read_rows(champion)) if champion else None
    judgement = evaluation.judge(rules, mine, other)
    if report:
        against = f" against {champion.name}" if champion else ""
        references = References(
            title=f"Gate of {candidate.name}{against}",
            facts={"Candidate's rows": str(candidate)}
            | ({"Champion's rows": str(champion)} if champion else {}),
        )
        html = render(judgement, rules, mine, other, references=references)
        _write(report, html)
    emit(judgement, as_json=as_json, text=_text(judgement, report))
    if judgement.verdict is not Verdict.PASSED:
        raise typer.Exit(Refused.exit_code)


def _policy(path: Path | None) -> GatePolicy:
    if path is None:
        return GatePolicy()
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"The policy {path} cannot be read: {error}.") from None
    return validated(GatePolicy, content, where=str(path))


def _write(path: Path, html: str) -> None:
    try:
        path.write_text(html, encoding="utf-8")
    except OSError as error:
        raise InputError(f"The report cannot be written to {path}: {error.strerror}.") from None


def _text(judgement: Judgement, report: Path | None) -> str:
    lines = [f"{judgement.verdict.words}: {judgement.summary}"]
    lines += [f"  {rule.verdict.words:12}{rule.sentence}" for rule in judgement.rules]
    return printable("\n".join([*lines, f"The report: {report}"] if report else lines))
