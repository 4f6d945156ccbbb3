"""Real processes, killed for real. The programs are plain Python, so that the tests are quick."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldenpath.errors import ConfigError, Temporary, UserProgramFailed
from goldenpath.jobs import JobContract, JobSpec, JobState, Place, run_job
from goldenpath.jobs.starts import Start, list_starts, new_start
from goldenpath.jobs.supervisor import processes_of
from goldenpath.store import Store

pytestmark = pytest.mark.local

_PATIENCE_S = 60.0


@pytest.fixture
def place(file_store: Store, tmp_path: Path) -> Place:
    return Place(
        run="r1",
        step="job",
        store=file_store,
        work_dir=tmp_path / "work",
        cache_dir=tmp_path / "cache",
        tracking="",
    )


def program(text: str) -> None:
    """Writes the job's program; it appends a line to ``starts.txt`` first."""
    head = "import os, signal, sys, time\nfrom pathlib import Path\n"
    count = "with open('starts.txt', 'a') as file: file.write(f'{os.getpid()}\\n')\n"
    Path("job.py").write_text(head + count + textwrap.dedent(text))


def starts() -> int:
    """How often the program was started."""
    file = Path("starts.txt")
    return len(file.read_text().splitlines()) if file.exists() else 0


def spec(place: Place, **values: Any) -> JobSpec:
    contract = JobContract(run="r1", step="job", store=place.store.url, cache_dir="/cache", grace_s=5)
    return JobSpec(**{"contract": contract, "entry_point": "job.py", **values})


def until(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)


_LAUNCHER = """
import sys
from pathlib import Path
from goldenpath.jobs import JobContract, JobSpec, Place, run_job
from goldenpath.store import open_store

store = open_store(sys.argv[1])
folder = Path(sys.argv[2])
place = Place(run="r1", step="job", store=store, work_dir=folder, cache_dir=folder, tracking="")
contract = JobContract(run="r1", step="job", store=store.url, cache_dir="/cache", grace_s=5)
run_job(JobSpec(contract=contract, entry_point="job.py"), backend="local", place=place)
"""


def launcher(place: Place) -> subprocess.Popen[bytes]:
    """The launcher as a process of its own, in a session of its own, as a terminal's would be."""
    return subprocess.Popen(
        [sys.executable, "-c", _LAUNCHER, place.store.url, str(place.work_dir)], start_new_session=True
    )


def running(place: Place) -> Start:
    """The start that runs, once its program does."""
    until(lambda: starts() and list_starts(place.work_dir)[-1].state(), "the program to start")
    return list_starts(place.work_dir)[-1]


def test_a_job_succeeds_and_its_log_is_kept_in_the_store(place: Place) -> None:
    program("print('done')")
    result = run_job(spec(place), backend="local", place=place)
    assert (result.state, result.restarts, result.evictions) == (JobState.SUCCEEDED, 0, 0)
    assert len(result.starts) == 1
    key = result.logs[0].removeprefix(place.store.url + "/")
    assert place.store.get(key) == b"done\n"


def test_a_job_that_succeeded_is_not_run_again(place: Place) -> None:
    program("")
    first = run_job(spec(place), backend="local", place=place)
    assert run_job(spec(place), backend="local", place=place) == first
    assert starts() == 1


def test_progress_lines_are_told_while_it_runs(place: Place, notes: list[str]) -> None:
    program("print('noise'); print('goldenpath: step 1/2 loss=0.5')")
    run_job(spec(place), backend="local", place=place)
    assert "step 1/2 loss=0.5" in notes
    assert "noise" not in notes


def test_a_failed_program_is_told_in_its_own_words(place: Place) -> None:
    program("raise KeyError('label')")
    with pytest.raises(UserProgramFailed) as failed:
        run_job(spec(place), backend="local", place=place)
    assert "job.py ended with exit code 1" in str(failed.value)
    assert "KeyError: 'label'" in str(failed.value)
    assert f"{place.store.url}/runs/r1/steps/job/logs/0001-" in str(failed.value)


def test_after_a_failure_the_step_starts_a_fresh_job_with_a_log_of_its_own(place: Place) -> None:
    program("sys.exit(3)")
    with pytest.raises(UserProgramFailed, match="exit code 3"):
        run_job(spec(place), backend="local", place=place)
    program("print('mended')")
    result = run_job(spec(place), backend="local", place=place)
    assert len(result.logs) == 2
    assert starts() == 2


def test_a_failed_program_is_restarted_as_often_as_allowed(place: Place) -> None:
    program("sys.exit(0 if len(Path('starts.txt').read_text().splitlines()) == 3 else 1)")
    result = run_job(spec(place, max_restarts=2), backend="local", place=place)
    assert (len(result.starts), result.restarts) == (3, 2)
    assert len({start.attempt for start in result.starts}) == 3


def test_an_output_that_is_missing_is_a_failure_and_the_next_try_starts_afresh(place: Place) -> None:
    program("")
    wanted = spec(place, outputs={"model": "Call publish_model."})
    for number in (1, 2):
        with pytest.raises(UserProgramFailed, match=r"left no model\.(\n|.)*Call publish_model"):
            run_job(wanted, backend="local", place=place)
        assert starts() == number


def test_a_job_over_its_time_is_ended_with_all_its_processes(place: Place) -> None:
    program("print('still here'); time.sleep(600)")
    with pytest.raises(UserProgramFailed, match=r"longer than its 1 s(.|\n)*still here"):
        run_job(spec(place, run_timeout_s=1.0), backend="local", place=place)
    assert processes_of(list_starts(place.work_dir)[0].attempt) == []


def test_what_a_program_leaves_running_ends_with_it(place: Place) -> None:
    program(
        """
        import subprocess
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
        """
    )
    run_job(spec(place), backend="local", place=place)
    assert processes_of(list_starts(place.work_dir)[0].attempt) == []


def test_a_missing_program_is_refused_before_anything_starts(place: Place) -> None:
    program("")
    with pytest.raises(ConfigError, match=r"Did you mean 'job\.py'"):
        run_job(spec(place, entry_point="jobs.py"), backend="local", place=place)
    assert list_starts(place.work_dir) == []


def test_a_launcher_killed_while_the_job_runs_leaves_it_to_the_next_one(
    place: Place, notes: list[str]
) -> None:
    program("while not Path('go').exists(): time.sleep(0.05)\nprint('done')")
    first = launcher(place)
    start = running(place)
    first.kill()
    first.wait()
    assert start.alive()
    Path("go").touch()
    result = run_job(spec(place), backend="local", place=place)
    assert result.job.uid == start.attempt
    assert starts() == 1


def test_a_job_that_ended_while_nobody_watched_is_found(place: Place, notes: list[str]) -> None:
    program("while not Path('go').exists(): time.sleep(0.05)")
    first = launcher(place)
    start = running(place)
    first.kill()
    first.wait()
    Path("go").touch()
    until(lambda: not start.alive(), "the job to end")
    assert run_job(spec(place), backend="local", place=place).job.uid == start.attempt
    assert starts() == 1
    assert any("ended already" in note for note in notes)


def test_a_job_whose_supervisor_was_killed_is_started_again_and_never_runs_twice(place: Place) -> None:
    program("time.sleep(600) if not Path('go').exists() else None")
    first = launcher(place)
    start = running(place)
    state = start.state()
    assert state is not None
    first.kill()
    os.kill(state.pid, signal.SIGKILL)
    first.wait()
    until(lambda: not start.alive(), "the supervisor to be gone")
    assert processes_of(start.attempt), "the program itself runs on"
    Path("go").touch()
    result = run_job(spec(place), backend="local", place=place)
    assert (result.evictions, result.restarts, len(result.starts)) == (1, 0, 2)
    assert processes_of(start.attempt) == []


def test_a_start_that_was_killed_before_it_began_does_not_count(place: Place) -> None:
    program("")
    new_start(place.work_dir, digest=spec(place).digest)
    result = run_job(spec(place), backend="local", place=place)
    assert (len(result.starts), len(result.logs), result.evictions) == (1, 1, 0)


def test_a_running_job_of_another_configuration_is_never_adopted(place: Place) -> None:
    program("time.sleep(600)")
    first = launcher(place)
    start = running(place)
    first.kill()
    first.wait()
    try:
        with pytest.raises(ConfigError, match="another configuration"):
            run_job(spec(place, args=("--other",)), backend="local", place=place)
    finally:
        start.stop(grace_s=1)
    assert not start.alive()


def test_two_launchers_of_one_step_are_one_too_many(place: Place) -> None:
    program("time.sleep(600)")
    first = launcher(place)
    running(place)
    with pytest.raises(Temporary, match="Another process"):
        run_job(spec(place), backend="local", place=place)
    first.terminate()
    first.wait()


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 128 + signal.SIGTERM)]
)
def test_a_signal_to_the_launcher_stops_the_job_after_it_has_saved(
    place: Place, sent: signal.Signals, code: int
) -> None:
    program(
        """
        def save(*_):
            Path("saved").touch()
            sys.exit(0)
        signal.signal(signal.SIGTERM, save)
        print("ready", flush=True)
        time.sleep(600)
        """
    )
    first = launcher(place)
    start = running(place)
    until(lambda: "ready" in start.log.read_text(), "the program to be ready")
    first.send_signal(sent)
    assert first.wait() == code
    assert Path("saved").exists()
    assert not start.alive()
    assert processes_of(start.attempt) == []


def test_a_program_that_ignores_sigterm_is_killed_after_its_grace(place: Place) -> None:
    program(
        """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("ready", flush=True)
        time.sleep(600)
        """
    )
    first = launcher(place)
    start = running(place)
    until(lambda: "ready" in start.log.read_text(), "the program to be ready")
    first.terminate()
    assert first.wait() == 128 + signal.SIGTERM
    assert processes_of(start.attempt) == []


def test_a_stopped_job_is_started_afresh_by_the_next_attempt(place: Place) -> None:
    program("time.sleep(600) if not Path('go').exists() else None")
    first = launcher(place)
    running(place)
    first.terminate()
    first.wait()
    Path("go").touch()
    assert run_job(spec(place), backend="local", place=place).state is JobState.SUCCEEDED
    assert starts() == 2
