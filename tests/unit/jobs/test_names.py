import re

from goldenpath.jobs.names import job_name


def test_a_name_holds_the_digest_of_run_and_step_and_the_step() -> None:
    assert job_name("r1", "train") == "gp-50a2e098a6-train"
    assert job_name("r2", "train") != job_name("r1", "train")


def test_a_long_step_is_cut_to_a_dns_label_and_stays_distinct() -> None:
    first, second = (job_name("r1", "a." * 30 + last) for last in "xy")
    assert first != second
    for name in (first, second):
        assert len(name) <= 44
        assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", name)
