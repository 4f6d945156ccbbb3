"""The logs in ``recorded/`` are torchrun's of torch 2.15, with the paths of the machine shortened."""

from pathlib import Path

import pytest

from goldenpath.jobs.logs import Follower, exit_sentence, last_words, progress_of

RECORDED = Path(__file__).parent / "recorded"


def test_the_rank_that_failed_first_is_shown_and_not_those_that_lost_their_peer() -> None:
    words = last_words((RECORDED / "torchrun-rank-1-failed.log").read_text(), exit_code=1)
    assert (words.rank, words.exit_code) == (1, 1)
    # What a rank prints and what it raises come by two pipes: a line may follow late.
    assert words.lines[:4] == (
        "Traceback (most recent call last):",
        '  File "/project/fail.py", line 6, in <module>',
        "    raise ValueError(\"the column 'label' is missing\")",
        "ValueError: the column 'label' is missing",
    )


def test_a_killed_rank_is_known_by_its_signal_though_it_said_nothing_of_it() -> None:
    words = last_words((RECORDED / "torchrun-rank-0-killed.log").read_text(), exit_code=1)
    assert (words.rank, words.exit_code, words.lines) == (0, -9, ("loading",))


def test_torchruns_own_traceback_is_never_the_programs_word() -> None:
    words = last_words((RECORDED / "torchrun-terminated.log").read_text(), exit_code=1)
    assert words.lines == ("[rank 1] up", "[rank 0] up")


def test_a_plain_program_is_shown_from_its_last_traceback() -> None:
    log = "start\nTraceback (most recent call last):\n  File x\n\nKeyError: 'label'\n"
    words = last_words(log, exit_code=1)
    assert words.rank is None
    assert words.lines == ("Traceback (most recent call last):", "  File x", "KeyError: 'label'")


def test_of_a_long_log_twenty_lines_are_shown() -> None:
    words = last_words("\n".join(f"line {n}" for n in range(100)), exit_code=3)
    assert words.lines == tuple(f"line {n}" for n in range(80, 100))


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (3, "ended with exit code 3"),
        (-15, "was killed by SIGTERM"),
        (-9, "was killed by SIGKILL, as the kernel does when memory runs out"),
        (-250, "was killed by signal 250"),
    ],
)
def test_exit_codes_as_sentences(code: int, sentence: str) -> None:
    assert exit_sentence(code) == sentence


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("goldenpath: step 3/10 loss=0.5", "step 3/10 loss=0.5"),
        ("[rank 0] goldenpath: step 3", "step 3"),
        ("[rank 0] epoch 3", None),
        ("about goldenpath: nothing", None),
    ],
)
def test_progress_lines_are_told_from_others(line: str, text: str | None) -> None:
    assert progress_of(line) == text


def test_a_follower_gives_each_whole_line_once(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    follower = Follower(log)
    assert follower.lines() == []
    log.write_text("one\ntw")
    assert follower.lines() == ["one"]
    with log.open("a") as file:
        file.write("o\nthree\n")
    assert follower.lines() == ["two", "three"]
    assert follower.lines() == []
