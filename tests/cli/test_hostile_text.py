"""Texts of strangers at the command line: characters that control a terminal, and names that are not UTF-8."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import click
import pytest

from sciml_bench.adapters.registry import LoadError
from sciml_bench.cli import exit_codes
from sciml_bench.cli.main import _click_failure, main

RUN = Path(__file__).resolve().parents[2] / "results" / "stiff-quick"
PROBLEM = 'spec = 1\nname = "one"\ntitle = "One"\n[time]\nt1 = 1\n[states]\ny = 1\n[equations]\ny = "-y"\n'
HOSTILE = "\x1b[31m\u202e\x07"
CONTROLS = {"\x1b", "\u202e", "\x07", "\x9b"}


def assert_harmless(shown: str, *expected: str) -> None:
    assert not CONTROLS & set(shown)
    assert all(text in shown for text in expected)


@pytest.mark.parametrize(
    "text",
    [
        PROBLEM + '[parameters]\n"\\u001b[31mk" = 1\n',
        PROBLEM + '"\\u001b[31m\\u202e" = 1\n',
        PROBLEM.replace('"-y"', '"-\\u001b[31m y\\u0007"'),
        PROBLEM.replace('name = "one"', 'name = "\\u001b]0;title\\u0007"'),
        PROBLEM.replace('suite = "x"', "") + '["\\u009b31m"]\nx = 1\n',
    ],
)
def test_an_error_quotes_a_file_without_its_controls(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "one.toml"
    path.write_text(text)
    assert main(["describe", str(path)]) == exit_codes.USAGE
    found = capsys.readouterr()
    assert_harmless(found.out + found.err, "ERROR: ")


def test_a_folder_of_a_run_cannot_control_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / f"2030-01-01T00-00-00{HOSTILE}run"
    shutil.copytree(RUN, folder)
    for command in (["show"], ["show", str(folder)], ["show", f"{HOSTILE}absent"], ["verify"]):
        assert main([*command, "--out", str(tmp_path)]) == exit_codes.USAGE
        assert_harmless(capsys.readouterr().err, "ERROR: ")
    assert main(["list", "runs", "--out", str(tmp_path)]) == exit_codes.OK
    assert_harmless(capsys.readouterr().out)


def test_a_warning_and_a_wrong_word_cannot_control_a_terminal(capsys: pytest.CaptureFixture[str]):
    assert main([f"{HOSTILE}word"]) == exit_codes.USAGE
    assert _click_failure(click.UsageError(f"no {HOSTILE}option")) == exit_codes.USAGE
    assert_harmless(capsys.readouterr().err, "ERROR: ", "option")


def test_a_library_that_warns_cannot_control_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def warns(_words: list[str]) -> int:
        warnings.warn(f"beware {HOSTILE}of this", stacklevel=1)
        return 0

    monkeypatch.setattr("sciml_bench.cli.main._carry_out", warns)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        main(["list", "suites"])
    assert_harmless(capsys.readouterr().err, "warning: UserWarning: beware")


def test_why_a_package_does_not_load_is_printable():
    error = LoadError(f"their{HOSTILE}s", f"a{HOSTILE}b", f"SyntaxError: {HOSTILE}")
    assert_harmless(f"{error.name}{error.origin}{error.message}", "their", "SyntaxError")


def test_an_output_whose_name_is_not_utf_8_is_written_or_refused(tmp_path: Path):
    path = os.fsencode(tmp_path) + b"/\xff.csv"
    command = [sys.executable, "-m", "sciml_bench", "export", str(RUN), "--to", "csv", "--summary", "-o", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode in (exit_codes.OK, exit_codes.USAGE)
    assert "Traceback" not in done.stderr
    assert Path(os.fsdecode(path)).exists() is (done.returncode == exit_codes.OK)


def test_a_closed_output_is_no_failed_check():
    script = f"'{sys.executable}' -m sciml_bench list suites >&-"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("t1 = 1\n", "t1 = 1\nsave = { times = [nan, 1] }\n", "finite"),
        ("t1 = 1\n", "t1 = 1\nsave = { times = [inf] }\n", "finite"),
        ("y = 1\n", f"y = 0.{'1' * 5000}\n", ""),
        ("y = 1\n", f"y = {'1' * 5000}\n", ""),
        ('"-y"', f'"-y*0.{"1" * 5000}"', ""),
        ('"-y"', f'"-y*{"1" * 5000}"', ""),
    ],
)
def test_numbers_that_are_none_are_refused_in_a_sentence(
    tmp_path: Path, old: str, new: str, message: str, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "one.toml"
    path.write_text(PROBLEM.replace(old, new))
    code = main(["describe", str(path)])
    found = capsys.readouterr()
    assert code in (exit_codes.USAGE, exit_codes.OK)
    assert message in found.err
    if message:
        assert code == exit_codes.USAGE
