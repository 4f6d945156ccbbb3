"""The ``goldenpath`` command itself: what every command has in common."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from goldenpath import settings
from goldenpath.cli.main import COMMANDS, app, main


def _main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["goldenpath", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(str(ended.value.code))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_nothing_else(command: str) -> None:
    done = CliRunner().invoke(app, [command, "--help"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "completion" not in done.stdout


def test_settings_are_shown_without_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "postgresql://ada:hunter2@host/db")
    text = CliRunner().invoke(app, ["settings"]).stdout
    shown = json.loads(CliRunner().invoke(app, ["settings", "--json"]).stdout)
    assert shown["tracking"] == {"value": "postgresql://***@host/db", "source": "MLFLOW_TRACKING_URI"}
    assert "hunter2" not in text


def test_a_fault_of_the_machine_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/data")

    monkeypatch.setattr(settings, "load", full)
    assert _main(monkeypatch, "settings") == 1
    told = capsys.readouterr().err
    assert "No space left on device: '/data'" in told
    assert "Traceback" not in told
    assert _main(monkeypatch, "settings", "-v") == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_demo_needs_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("plain").write_text("a file")
    assert _main(monkeypatch, "demo", "--dir", "plain") == 2
    assert (
        capsys.readouterr().err
        == "Error: The folder plain cannot be made: File exists. Name another (--dir).\n"
    )
