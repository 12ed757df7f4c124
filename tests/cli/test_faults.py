"""Faults of the machine, of other packages and of strangers' files, as one sees them from the command line."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sciml_bench.cli import exit_codes
from sciml_bench.cli.main import main
from sciml_bench.export import query
from sciml_bench.export.views import insert_raw
from sciml_bench.record import jsonl
from sciml_bench.record.jsonl import whole, write_whole
from sciml_bench.spec.load import load_problem

RUN = Path(__file__).resolve().parents[2] / "results" / "stiff-quick"


@pytest.mark.parametrize("write", ["export", "write_whole"])
def test_a_link_stays_and_its_target_is_written(tmp_path: Path, write: str):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    if write == "export":
        assert main(["export", str(RUN), "--to", "csv", "--summary", "-o", str(link)]) == exit_codes.OK
    else:
        write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() != "old"


def test_a_pipe_is_written_into_and_stays(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    with whole(pipe) as temporary:
        temporary.write_text("through the pipe")
    reader.join()
    assert found == ["through the pipe"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("plan", ["[" * 100_000, "[]", "\xff", "{}", '{"cells": 3, "profile": {"name": "quick"}}'])
def test_a_damaged_plan_does_not_hide_the_other_runs(tmp_path: Path, plan: str, capsys: pytest.CaptureFixture[str]):
    shutil.copytree(RUN, tmp_path / RUN.name)
    broken = tmp_path / "2030-01-01T00-00-00_broken"
    shutil.copytree(RUN, broken)
    (broken / "plan.json").write_bytes(plan.encode("latin-1"))
    assert main(["list", "runs", "--out", str(tmp_path), "--json"]) == exit_codes.OK
    rows = {row["run"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows[broken.name]["profile"] == "damaged"
    assert rows[RUN.name]["cells"] > 0


@pytest.mark.parametrize("line", ['{"cell_id": [], "block": 0, "outcome": "ok"}', "[" * 100_000, "3"])
def test_a_damaged_record_does_not_stop_a_list(tmp_path: Path, line: str):
    run = tmp_path / RUN.name
    shutil.copytree(RUN, run)
    with (run / "records.jsonl").open("a") as file:
        file.write(f"{line}\n")
    assert main(["list", "runs", "--out", str(tmp_path)]) == exit_codes.OK


FIT = (
    'spec = 1\nname = "fit"\ntitle = "Fit"\n[time]\nt1 = 1\n[states]\ny = 1\n[equations]\ny = "-y"\n'
    '[loss]\ndata = "fit.csv"\n'
)


def test_a_link_out_of_the_folder_shows_nothing_of_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    secret, folder = tmp_path / "secret.csv", tmp_path / "theirs"
    folder.mkdir()
    secret.write_text("t,y\nhidden:x:0,1\n")
    (folder / "fit.toml").write_text(FIT.replace("t1 = 1", "t1 = 1\nsave = { times = [1.0] }"))
    (folder / "fit.csv").symlink_to(secret)
    assert main(["describe", str(folder / "fit.toml")]) == exit_codes.USAGE
    shown = capsys.readouterr().err
    assert "fit.csv is a link out of the folder of the problem file. Put the file itself there." in shown
    assert "hidden" not in shown
    (folder / "fit.csv").unlink()
    (folder / "fit.csv").symlink_to("fit.csv")
    assert main(["describe", str(folder / "fit.toml")]) == exit_codes.USAGE
    assert "fit.csv cannot be read" in capsys.readouterr().err
    # A link within the folder is a name like any other, and some installers link every file to a store.
    (folder / "fit.csv").unlink()
    (folder / "own.csv").write_text("t,y\n1,0.4\n")
    (folder / "fit.csv").symlink_to("own.csv")
    assert main(["describe", str(folder / "fit.toml")]) == exit_codes.OK
    installed = tmp_path / "installed"
    installed.mkdir()
    for name in ("fit.toml", "fit.csv"):
        (installed / name).symlink_to(folder / name)
    assert main(["describe", str(installed / "fit.toml")]) == exit_codes.OK


@pytest.mark.parametrize("what", ["problem", "data", "records"])
def test_a_pipe_in_the_place_of_a_file_is_refused(tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]):
    run, problem = tmp_path / RUN.name, tmp_path / "fit.toml"
    shutil.copytree(RUN, run)
    problem.write_text(FIT)
    path = {"problem": problem, "data": tmp_path / "fit.csv", "records": run / "records.jsonl"}[what]
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert main(["show", str(run)] if what == "records" else ["describe", str(problem)]) == exit_codes.USAGE
    assert "is not a regular file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{'a.' * 20_000}a = 1", "a key has more than 100 dots"),
        (f"[{'a.' * 20_000}a]", "a key has more than 100 dots"),
        (
            '[grids.x]\npoints = 1_000_000\nfirst = 0\nlast = 1\nboundary = "periodic"\n'
            '[grids.y]\npoints = 1_000_000\nfirst = 0\nlast = 1\nboundary = "periodic"\n'
            '[states]\nu = { grid = ["x", "y"], initial = "x*y" }\n[equations]\nu = "-u"',
            "more than 1000000 components",
        ),
        (
            '[states]\ny = { size = 100_001, initial = "sin(i)" }\n[equations]\ny = "-y"',
            "more than 100000 initial values that follow from a formula",
        ),
        (
            '[grids.x]\npoints = 100_001\nfirst = 0\nlast = 1\nboundary = "periodic"\n'
            '[states]\nu = { grid = ["x"], initial = "sin(x)" }\n[equations]\nu = "-u"',
            "more than 100000 initial values that follow from a formula",
        ),
        (f"[parameters]\nk = {'9' * 5000}\n[states]\ny = 1\n[equations]\ny = '-k*y'", "a whole number has more digits"),
    ],
)
def test_a_large_file_is_refused_at_once(tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "large.toml"
    path.write_text(f'spec = 1\nname = "large"\ntitle = "Large"\nsuite = "pde"\n[time]\nt1 = 1\n{text}\n')
    assert main(["describe", str(path)]) == exit_codes.USAGE
    assert message in capsys.readouterr().err


def test_many_decimals_in_a_line_are_no_key(tmp_path: Path):
    path = tmp_path / "decimals.toml"
    path.write_text(
        'spec = 1\nname = "decimals"\ntitle = "Decimals"\n[time]\nt1 = 1\n[parameters]\n'
        f'k = [{", ".join(["0.5"] * 200)}]\n[states]\ny = 1\n[equations]\ny = "-y*sum(k)"\n'
    )
    assert load_problem(path).n_parameters == 200


def test_many_logarithmic_times_are_made(tmp_path: Path):
    path = tmp_path / "many.toml"
    path.write_text(
        'spec = 1\nname = "many"\ntitle = "Many"\n[time]\nt1 = 1e5\nsave.spacing = "log"\n'
        "save.first = 1e-3\nsave.count = 10000\n"
        '[states]\ny = 1\n[equations]\ny = "-y"\n'
    )
    times = [float(time) for time in load_problem(path).save_times]
    assert len(times) == 10_000
    assert times == pytest.approx([1e-3 * 1e8 ** (k / 9999) for k in range(10_000)], rel=1e-5)


def test_a_closed_pipe_is_no_failed_check():
    script = f"'{sys.executable}' -m sciml_bench verify '{RUN}' --all | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
    for _ in range(3):
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=300)
        assert (done.stdout.strip(), done.stderr) == ("0", "")


def test_a_terminal_without_utf_8_gets_what_it_can_show():
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "sciml_bench", "list", "suites"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_title_cannot_control_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "one.toml"
    path.write_text(
        'spec = 1\nname = "one"\ntitle = "red \\u001b[31m\\u202e text"\ntags = ["\\u0007bell"]\n[time]\nt1 = 1\n'
        '[states]\ny = 1\n[equations]\ny = "-y"\n'
    )
    assert main(["describe", str(path)]) == exit_codes.OK
    shown = capsys.readouterr().out
    assert "red [31m text" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_a_line_too_long_for_a_record_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    longest = max(map(len, (RUN / "records.jsonl").read_bytes().splitlines())) + 2
    for module in (jsonl, query):
        monkeypatch.setattr(module, "LONGEST_LINE_BYTES", longest)
    # DuckDB's own limit is stated in the text of its question.
    monkeypatch.setattr(query, "insert_raw", lambda *args: insert_raw(*args).replace(str(2**26), str(longest)))
    run = tmp_path / "run"
    shutil.copytree(RUN, run)
    records = (RUN / "records.jsonl").read_text(encoding="utf-8")
    (run / "records.jsonl").write_text(f"[{'1,' * longest}1]\n{records}", encoding="utf-8")
    assert main(["query", "select count(*) as points from points", str(run), "--csv"]) == exit_codes.OK
    printed = capsys.readouterr()
    assert printed.out == "points\n162\n"
    assert "left out, since they hold no record: 1 lines" in printed.err
    assert main(["verify", str(run)]) == exit_codes.CHECK_FAILED
    assert "INVALID lines: every line is a record" in capsys.readouterr().out
    assert [number for number, _ in jsonl.numbered_lines(run / "records.jsonl")] == list(range(1, 56))


def test_an_interruption_while_the_command_is_imported_has_no_traceback():
    script = """
import os, signal, sys
# Ignored in a process that a shell started in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
from sciml_bench.__main__ import main

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "sciml_bench.cli.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == -signal.SIGINT
    assert done.stderr == ""


def test_a_link_to_itself_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    assert main(["export", str(RUN), "--to", "csv", "--summary", "-o", str(loop)]) == exit_codes.USAGE
    assert "Too many levels of symbolic links" in capsys.readouterr().err
    assert loop.is_symlink()


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ({"cells": [3]}, "cells[0]: an object expected, found 3"),
        ({"cells": [{"cell": 3}]}, "cells[0]: 'label' is missing"),
        ({"profile": None, "problems": [None]}, "profile: an object expected, found null"),
        ({"skipped": {}}, "skipped: a list expected, found an object"),
        ({"settings": []}, "settings: an object expected, found a list"),
        ({"settings": {"threads": 1e300}}, "settings.threads: "),
    ],
)
def test_a_plan_of_another_shape_is_named_and_stops_no_plan(
    tmp_path: Path, plan: dict[str, Any], reason: str, capsys: pytest.CaptureFixture[str]
):
    broken = tmp_path / "2030-01-01T00-00-00Z_broken"
    shutil.copytree(RUN, broken)
    kept = json.loads((RUN / "plan.json").read_text(encoding="utf-8"))
    (broken / "plan.json").write_text(json.dumps({**kept, **plan}))
    for command in ("show", "report", "verify"):
        assert main([command, str(broken)]) == exit_codes.USAGE
        assert f"plan.json is not a plan of this version: {reason}" in capsys.readouterr().err
    words = ["robertson", "--adapter", "scipy", "--profile", "smoke", "--out", str(tmp_path)]
    assert main(["plan", *words]) == exit_codes.OK


@pytest.mark.parametrize("name", ["environment.json", "environments/abc.json"])
@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_pipe_in_the_place_of_an_environment_is_refused(
    tmp_path: Path, name: str, command: str, capsys: pytest.CaptureFixture[str]
):
    run = tmp_path / RUN.name
    shutil.copytree(RUN, run)
    (run / name).parent.mkdir(exist_ok=True)
    (run / name).unlink(missing_ok=True)
    os.mkfifo(run / name)
    assert main([command, str(run)]) in (exit_codes.OK, exit_codes.CHECK_FAILED, exit_codes.USAGE)
    assert "Traceback" not in capsys.readouterr().err


def test_a_device_in_the_place_of_records_answers_no_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    run = tmp_path / RUN.name
    shutil.copytree(RUN, run)
    (run / "records.jsonl").unlink()
    (run / "records.jsonl").symlink_to("/dev/zero")
    assert main(["query", "select count(*) from records", str(run)]) == exit_codes.USAGE
    assert "is not a regular file" in capsys.readouterr().err


def commanded(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run([sys.executable, "-m", "sciml_bench", *words], text=True, stderr=subprocess.PIPE, **options)


def test_an_output_that_is_full_is_no_failed_check():
    with Path("/dev/full").open("w") as full:
        done = commanded("verify", str(RUN), stdout=full)
    assert done.returncode == exit_codes.USAGE
    assert done.stderr.strip() == "ERROR: the output cannot be written: No space left on device"


def test_a_locale_without_utf_8_gets_what_it_can_show():
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = commanded("show", str(RUN), stdout=subprocess.PIPE, env={**os.environ, **plain})
    assert done.returncode == exit_codes.OK
    assert done.stderr == ""


def test_records_whose_checksums_were_taken_away_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    stored = RUN.parent / "robertson-julia"
    first, *others = (stored / "records.jsonl").read_text(encoding="utf-8").splitlines()
    bare = [f"{line[: line.rindex(',')]}}}" for line in (first, *others)]
    for lines_now, code, said in (
        ([first, bare[1], *others[1:]], exit_codes.CHECK_FAILED, "it has no checksum, and a line before it has one"),
        (bare, exit_codes.OK, "it has no checksum"),
    ):
        run = tmp_path / f"run{code}"
        shutil.copytree(stored, run, ignore=shutil.ignore_patterns("*.html", "*.png"))
        (run / "records.jsonl").write_text("\n".join(lines_now) + "\n", encoding="utf-8")
        assert main(["verify", str(run), "--all"]) == code
        assert said in capsys.readouterr().out


def test_a_missing_function_is_refused_with_what_to_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "angle.toml"
    path.write_text(FIT.replace('"-y"', '"atan2(y, 1)"').partition("[loss]")[0])
    assert main(["describe", str(path)]) == exit_codes.USAGE
    assert "angle.toml:9: " in capsys.readouterr().err


def test_a_bad_problem_does_not_stop_a_good_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(FIT.partition("[loss]")[0].replace('"fit"', '"good"'))
    bad.write_text(FIT.partition("[loss]")[0].replace('"fit"', '"bad"').replace('"-y"', '"4*sign(y)*y**2"'))
    words = ["--adapter", "scipy", "--method", "rk45", "--profile", "smoke", "--out", str(tmp_path / "runs")]
    assert main(["run", str(bad), str(good), *words]) in (exit_codes.OK, exit_codes.BROKEN_CELLS)
    run = next((tmp_path / "runs").glob("2*"))
    records = [json.loads(line) for line in (run / "records.jsonl").read_text(encoding="utf-8").splitlines()]
    assert "ok" in {record["outcome"] for record in records if record["cell"]["problem"] == "good"}


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_part_of_a_run_is_shown_as_json(tmp_path: Path, count: int, capsys: pytest.CaptureFixture[str]):
    run = tmp_path / "run"
    shutil.copytree(RUN, run, ignore=shutil.ignore_patterns("*.html", "*.png"))
    records = (run / "records.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "records.jsonl").write_text("".join(records[:count]), encoding="utf-8")
    assert main(["show", str(run), "--json"]) == exit_codes.OK
    json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
