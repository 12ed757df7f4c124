"""``compare``: usage, refusals and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from stubs import compared as stub

from sciml_bench.cli import exit_codes

RESULTS = Path("results")


def made(name: str, **options) -> str:
    return stub.run(RESULTS, name, **options).folder.name


def test_nothing_slower_is_0_and_something_slower_is_1(cli):
    base, same, slow = made("base"), made("same", seed=2), made("slow", seed=3, factors=2.5)
    done = cli("compare", base, same)
    assert done.code == exit_codes.OK, done.err
    assert "0 slower, 0 faster, 0 undecided, 8 same  (NEW against BASE)" in done.out
    done = cli("compare", base, slow)
    assert done.code == exit_codes.CHECK_FAILED
    assert "8 slower" in done.out
    assert cli("compare", slow, base).code == exit_codes.OK


def test_piped_output_is_one_line_per_cell_and_quantity(cli):
    done = cli("compare", made("base"), made("slow", seed=3, factors=2.5))
    lines = [line for line in done.out.splitlines() if line.startswith("robertson/")]
    assert len(lines) == 8
    assert all("slower" in line for line in lines)


def test_json(cli):
    done = cli("compare", made("base"), made("new", seed=2), "--json")
    assert done.json["counts"] == {"faster": 0, "slower": 0, "same": 8, "undecided": 0}


def test_the_band_decides_what_is_the_same(cli):
    base, new = made("base"), made("new", seed=2, factors=2.5)
    assert cli("compare", base, new).code == exit_codes.CHECK_FAILED
    close = made("close", seed=4, factors=1.15)
    assert "8 undecided" in cli("compare", base, close).out
    done = cli("compare", base, close, "--band", "30%")
    assert done.code == exit_codes.OK
    assert "8 same" in done.out


def test_repeated_runs_find_what_two_runs_alone_do_not(cli):
    base, new = made("base"), made("new", seed=2, factors=1.3)
    again = [made(f"again-{seed}", seed=seed) for seed in (11, 12, 13)]
    alone = cli("compare", base, new)
    assert (alone.code, "8 undecided" in alone.out) == (exit_codes.OK, True)
    done = cli("compare", base, new, *(word for name in again for word in ("--repeated", name)))
    assert done.code == exit_codes.CHECK_FAILED, done.err
    assert "8 slower" in done.out


def test_a_folder_of_repeated_runs(cli):
    base, new = made("base"), made("new", seed=2, factors=1.3)
    for seed in (11, 12, 13):
        stub.run(RESULTS / "history", f"again-{seed}", seed=seed)
    assert "8 slower" in cli("compare", base, new, "--repeated", "results/history").out


def test_what_repeats_neither_is_refused_with_the_reason(cli):
    base, new = made("base"), made("new", seed=2)
    other = made("other", seed=3, environment={**stub.MACHINE, "packages": {"diffrax": "0.6.0"}})
    done = cli("compare", base, new, "--repeated", other)
    assert done.code == exit_codes.USAGE
    assert "repeats neither" in done.err
    assert "0.6.0" in done.err
    copied = cli("compare", base, new, "--repeated", base)
    assert copied.code == exit_codes.USAGE, "a difference of BASE and NEW is not one of repeated runs"
    assert "it repeats nothing" in copied.err
    within = cli("compare", base, "--of", "diffrax", "--with", "scipy", "--repeated", new)
    assert within.code == exit_codes.USAGE


def test_a_lost_cell_is_1(cli):
    base = made("base")
    new = made("new", make=lambda _cell, _block: stub.failed_points())
    done = cli("compare", base, new)
    assert done.code == exit_codes.CHECK_FAILED
    assert "LOST: worked in BASE, not in NEW" in done.out


def test_other_machines_are_refused_and_the_difference_is_shown(cli):
    other = {**stub.MACHINE, "cpu": {"model": "Another", "governor": "performance"}}
    done = cli("compare", made("base"), made("new", environment=other))
    assert done.code == exit_codes.USAGE
    assert "cannot be compared:\n  cpu.model: Some processor in BASE, Another in NEW\n" in done.err
    assert done.out == ""


def test_two_selections_of_one_run(cli):
    name = made("base", factors={stub.CELLS[1]: 3.0})
    done = cli("compare", name, "--of", "diffrax", "--with", "scipy")
    assert done.code == exit_codes.OK, done.err
    assert "4 slower" in done.out


def test_damaged_lines_are_named_and_the_rest_is_compared(cli):
    base, new = made("base"), made("new", seed=2)
    path = RESULTS / new / "records.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:3], lines[3][:100] + "\n", *lines[4:]]), encoding="utf-8")
    done = cli("compare", base, new)
    assert done.code == exit_codes.OK
    assert f"left out: results/{new}/records.jsonl:4: " in done.err
    assert "8 same" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Missing argument 'BASE'"),
        (("{base}",), "give two runs, BASE and NEW, or one run with --of and --with"),
        (("{base}", "{base}", "--of", "a", "--with", "b"), "give two runs"),
        (("{base}", "--of", "a"), "--of and --with go together"),
        (("{base}", "nowhere"), "no run 'nowhere'"),
        (("{base}", "{base}"), "hold the same records: one is a copy of the other"),
        (("{base}", "{smoke}"), "its times are never compared"),
        (("{base}", "{base}", "--band", "5"), "'5' is not a share between 0% and 100%; write for example 5%"),
        (("{base}", "{base}", "--band", "0%"), "is not a share"),
        (("{base}", "{base}", "-k", "a and"), "column 6: a word is missing"),
    ],
)
def test_wrong_usage_is_one_clear_message(cli, words, said):
    names = {"base": made("base", blocks=1), "smoke": made("smoke", blocks=1, profile="smoke")}
    done = cli("compare", *(word.format(**names) for word in words))
    assert done.code == exit_codes.USAGE
    assert said in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("text", ["", '{"schema":99}\n'], ids=["no record", "records of a newer version"])
def test_a_run_without_times_is_no_proof_that_nothing_is_slower(cli, text):
    base, new = made("base"), made("new", seed=2)
    (RESULTS / new / "records.jsonl").write_text(text, encoding="utf-8")
    done = cli("compare", base, new)
    assert done.code == exit_codes.NOTHING_SELECTED
    assert done.err.endswith("nothing was compared: no cell has a time on both sides\n")
    assert "no time in NEW" in done.out


def test_nothing_in_common(cli):
    done = cli("compare", made("base"), made("new", seed=2), "-k", "nothing_like_this")
    assert done.code == exit_codes.NOTHING_SELECTED
    assert done.err == "nothing to compare: no cell matches on both sides\n"
