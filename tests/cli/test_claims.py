"""Claims on the whole way of the data: file → problems → plan → workers → records → rulings, with stub programs."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from sciml_bench.adapters import registry
from sciml_bench.cli import exit_codes
from sciml_bench.execution import claims, session
from sciml_bench.execution.executor import Watcher
from sciml_bench.planning.plan import Plan
from sciml_bench.published_claims import collection
from sciml_bench.published_claims.conditions import CONDITIONS
from sciml_bench.published_claims.load import load_claim
from sciml_bench.record.run_folder import Run
from sciml_bench.spec import load_problem

CLAIM = """\
claim = 1
id = "{name}"
title = "Fine against finer"
workload = "Two decays."
timed = "One solve."

[figure]
says = "1.1 times"
quantity = "{quantity}"
ratio = 1.1

[source]
citation = "Any page"
url = "https://example.org"
version = "commit 1"
read = 2026-06-30

[needs]
minutes = 1
memory_gib = 1
{needs}
{conditions}
[published]
problem = "decay"
set = {{ "parameters.a" = 0.6 }}
{published}
[fair]
problem = "decay"
{fair}
"""


def sides(setting: str, fast: str, slow: str, tolerances: str = "") -> str:
    def side(name: str, method: str) -> str:
        axes = f'adapter = "alpha"\nmethod = "{method}"\nsensitivity = "discrete"\nmode = "eager"'
        return f"[{setting}.{name}]\n{axes}\n{tolerances}\n"

    return side("fast", fast) + side("slow", slow)


def write(name: str = "X1", quantity: str = "solve", fair_slow: str = "finer", needs: str = "") -> str:
    published = sides("published", "fine", "finer", "rtol = 1e-3\natol = 1e-6")
    fair = sides("fair", "fine", fair_slow) + '[fair.conditions]\nproblem = { mark = "unknown" }\n'
    conditions = "\n".join(["[conditions]", *(_condition(key) for key in CONDITIONS)])
    text = CLAIM.format(
        name=name, quantity=quantity, needs=needs, conditions=conditions, published=published, fair=fair
    )
    Path(f"{name}.toml").write_text(text, encoding="utf-8")
    return f"{name}.toml"


def _condition(name: str) -> str:
    further = {
        "timing": 'fast = "median", slow = "median", ',
        "call_path": 'fast = "direct", slow = "direct", ',
        "machine": 'device = "cpu", threads = "1", ',
    }.get(name, "")
    return f'{name} = {{ mark = "same", {further}source = "any" }}'


def only_run() -> Run:
    (path,) = Path("results").iterdir()
    return Run.open(path)


def test_a_claim_is_run_judged_and_told(cli):
    done = cli("claims", "run", write(fair_slow="wrong"), "--profile", "smoke", "--seed", "3")
    assert done.code == exit_codes.OK, done.err
    assert "claims to run: X1 (about" in done.out
    assert "4 cells on 2 problems, 1 process each" in done.out
    assert "said: 1.1 times" in done.out
    run = only_run()
    assert run.folder.name.endswith("_claim-X1_smoke")
    claimed = run.plan["claimed"]
    assert list(claimed["claims"]) == ["X1"]
    for record in run.records():
        label = record.cell.label
        own = claimed["points"].get(label)
        assert [(point.rtol, point.atol) for point in record.points] == (
            [tuple(point) for point in own] if own else [(rtol, rtol) for rtol in run.plan["profile"]["rtols"]]
        )
    published = next(entry for entry in run.plan["problems"] if entry["name"] == "decay-x1-published")
    assert load_problem(published["file"]).numbers().p == (0.6, 2.0)
    (told,) = cli("claims", "report", "--json").json
    assert told["run"] == str(run.folder)
    assert told["published"]["ruling"] == "undecided"
    assert told["published"]["ratio"] > 0
    assert told["fair"]["ruling"] == "not testable here"
    assert "the slow side ended in inaccurate" in told["fair"]["reason"]
    assert cli("claims", "export", "--to", "csv").out.splitlines()[1].startswith("X1,solve,1.1")
    assert cli("verify", str(run.folder)).code == exit_codes.OK


def test_the_printed_rerun_command_measures_the_claim_again(cli):
    cli("claims", "run", write(fair_slow="wrong"), "--profile", "smoke")
    shown = cli("show", str(only_run().folder))
    command = next(line for line in shown.out.splitlines() if "rerun:" in line).partition("sciml-bench ")[2]
    Path("X1.toml").unlink()
    again = cli(*command.split(), "--out", "again", "--json")
    assert again.code == exit_codes.OK, again.err
    (first,), (second,) = ([path.name for path in Path(out).iterdir()] for out in ("results", "again"))
    assert first.endswith("_claim-X1_smoke")
    assert second.endswith("_claim-X1_smoke")


@pytest.mark.slow
def test_several_processes_give_intervals(cli):
    # The truth of stub problems is that of the catalog's: where the gradient counts, theta must be the same.
    same = _with(write("X2", quantity="gradient"), '"parameters.a" = 0.6', '"parameters.a" = 0.5')
    done = cli("claims", "run", write(), same, "--profile", "quick", "--json")
    assert done.code == exit_codes.OK, done.err
    for told in done.json:
        assert told["published"]["processes"] == 3
        low, high = told["fair"]["interval"]
        assert low < told["fair"]["ratio"] < high
    report = cli("claims", "report")
    assert report.out.index("\nX1:") < report.out.index("\nX2:")


def test_what_is_left_out_is_told_with_its_reason(cli, monkeypatch):
    lacking = write("X3", needs='missing = "There is no adapter for it."\n')
    text = Path(lacking).read_text(encoding="utf-8")
    text = text[: text.index("[published]")].replace('"same"', '"not measured"')
    Path(lacking).write_text(text, encoding="utf-8")
    gpu = write("X4", needs='device = "cuda"\n')
    done = cli("claims", "run", lacking, gpu, write(), "--cpu", "--minutes", "0.001", "--profile", "smoke")
    assert done.code == exit_codes.NOTHING_SELECTED
    assert "not run: X3: There is no adapter for it." in done.out
    assert "not run: X4: it needs a GPU" in done.out
    assert "not run: X1: left out to stay within 0.001 minutes (--minutes): it takes about" in done.out
    assert not Path("results").exists()


@pytest.fixture(scope="module", autouse=True)
def claims_of_the_suite():
    """The suite's own claims are loaded before a test puts another catalog in the place of theirs."""
    return collection.claims()


@pytest.fixture
def known(cli, monkeypatch) -> None:
    """The suite has two claims alone, of which the first target is said to take longer."""
    long, short = (load_claim(Path(name)) for name in (write("C05", quantity="gradient"), write("X9")))
    monkeypatch.setattr(collection, "claims", lambda: {"C05": long, "X9": short})
    costs = {"C05": 400.0, "X9": 300.0}
    monkeypatch.setattr(Plan, "cost_s", lambda plan, *_: sum(costs[name] for name in plan.claimed.sides))


@pytest.mark.usefixtures("known")
def test_smoke_measures_the_claims_that_fit_into_ten_minutes_and_the_cheapest_first(cli):
    done = cli("claims", "run", "--cpu", "--profile", "smoke")
    assert done.code == exit_codes.OK, done.err
    assert "claims to run: X9 (about 5.0 min)" in done.out
    assert "not run: C05: left out to stay within 10 minutes (--minutes): it takes about 6.7 min" in done.out
    done = cli("claims", "run", "--cpu", "--profile", "smoke", "--minutes", "12")
    assert "claims to run: C05, X9 (about 11.7 min)" in done.out


def sharing(name: str, slow: str) -> str:
    """A claim on the catalog's own problem, as published and when fair, so that others can share its cells."""
    return _with(write(name, fair_slow=slow), 'set = { "parameters.a" = 0.6 }\n', "")


def test_claims_that_share_cells_have_one_run_and_each_its_ruling(cli):
    files = [sharing("X1", "finer"), sharing("X2", "wrong"), write("X3")]
    done = cli("claims", "run", *files, "--profile", "smoke", "--seed", "3")
    assert done.code == exit_codes.OK, done.err
    assert "in one run, as they share cells: X1, X2" in done.out
    assert "X1: Fine against finer\nX2: Fine against finer\n" in done.out
    alone, shared = sorted(
        (Run.open(path) for path in Path("results").iterdir()), key=lambda run: len(run.plan["cells"])
    )
    assert sorted(run.folder.name.split("_", 1)[1] for run in (alone, shared)) == [
        "claim-X1_X2_smoke",
        "claim-X3_smoke",
    ]
    told = {item["id"]: item for item in cli("claims", "report", "--json").json}
    assert [told[name]["run"] for name in ("X1", "X2", "X3")].count(told["X1"]["run"]) == 2
    assert told["X1"]["fair"]["ratio"] is not None
    assert "the slow side ended in inaccurate" in told["X2"]["fair"]["reason"]
    assert told["X1"]["published"]["ratio"] == told["X2"]["published"]["ratio"]
    assert cli("verify", told["X1"]["run"]).code == exit_codes.OK
    again = cli("claims", "run", files[0], "--profile", "smoke", "--seed", "3")
    assert again.code == exit_codes.OK
    newest = {item["id"]: item["run"] for item in cli("claims", "report", "--json").json}
    assert newest["X1"] != newest["X2"] == told["X2"]["run"]


def test_a_report_has_all_claims_in_one_table_and_compares_no_two(cli):
    assert cli("claims", "run", write(), write("X2"), "--profile", "smoke").code == exit_codes.OK
    assert cli("report", *map(str, sorted(Path("results").iterdir())), "-o", "page.html").code == exit_codes.OK
    page = Path("page.html").read_text(encoding="utf-8")
    overview = page[page.index('<section id="claims"') : page.index('<section class="run"')]
    for words in ("X1", "X2", "Fine against finer", "1.1×", "undecided", 'href="#r2"'):
        assert words in overview
    assert "Claim X2: Fine against finer" in page
    assert "The runs against each other" not in page


@pytest.mark.usefixtures("known")
def test_a_claim_for_which_no_time_is_left_is_told(cli, monkeypatch):
    monkeypatch.setattr(claims, "time", SimpleNamespace(monotonic=count(0.0, 250.0).__next__))
    done = cli("claims", "run", "--profile", "smoke", "--minutes", "12")
    assert "claims to run: C05, X9 (about 11.7 min)" in done.out
    assert done.out.endswith("not run: X9: left out to stay within 12 minutes (--minutes): it takes about 5.0 min\n")


@pytest.mark.slow
def test_an_interrupted_series_goes_on_where_it_was(cli, monkeypatch):
    files = [write(name) for name in ("X1", "X2", "X3")]
    execute = session.execute
    calls: list[str] = []

    class Impatient(Watcher):
        def finished(self, step, record):
            raise KeyboardInterrupt

    def interrupted(plan, run, watcher, engine):
        calls.append(run.folder.name)
        return execute(plan, run, Impatient() if len(calls) == 2 else watcher, engine)

    monkeypatch.setattr(session, "execute", interrupted)
    done = cli("claims", "run", *files, "--profile", "smoke")
    assert done.code == exit_codes.INTERRUPTED
    assert "interrupted; resume with: sciml-bench" in done.err
    done = cli("claims", "run", *files, "--profile", "smoke")
    assert done.code == exit_codes.OK
    assert len(list(Path("results").iterdir())) == 3
    assert len(calls) == 4
    assert calls[2] == calls[1]
    done = cli("claims", "run", files[0], "--profile", "smoke")
    assert len(list(Path("results").iterdir())) == 4


def test_wrong_use_is_told(cli):
    assert cli("claims", "report").code == exit_codes.USAGE
    assert "make one with `sciml-bench claims run`" in cli("claims", "report").err
    assert cli("run", "--problem", "decay", "--adapter", "beta", "--profile", "smoke").code == exit_codes.OK
    assert "is not a run of a claim" in cli("claims", "report", only_run().folder.name).err
    unread = cli("claims", "run", _with(write(), "parameters.a", "parameters.q")).err
    assert "cannot be made from decay" in unread
    assert "'q' in [parameters] is never used" in unread


def _with(path: str, old: str, new: str) -> str:
    text = Path(path).read_text(encoding="utf-8")
    Path(path).write_text(text.replace(old, new), encoding="utf-8")
    return path


def test_a_missing_framework_is_told_with_its_cure(cli, monkeypatch):
    from stubs.suite import stub_adapter

    adapter = stub_adapter("alpha", packages={"no_such_framework": "no-such-framework"}, extra="alpha")
    monkeypatch.setattr(registry, "_all", lambda: {"alpha": adapter})
    done = cli("claims", "run", write(), "--profile", "smoke", "--json")
    assert done.code == exit_codes.NOTHING_SELECTED
    assert "not run: X1: alpha: " in done.err
    assert "install" in done.err
    assert json.loads(done.out or "[]") == []


@pytest.mark.parametrize("command", ["run", "report", "export"])
def test_commands_have_help_with_examples(cli, command: str):
    done = cli("claims", command, "--help")
    assert done.code == exit_codes.OK
    assert "Examples:" in done.out
