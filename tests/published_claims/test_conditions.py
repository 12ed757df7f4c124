"""Conditions of claims: all are there, each has a mark, and what differs says how."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from sciml_bench.adapters import registry
from sciml_bench.errors import ProblemError
from sciml_bench.published_claims.collection import claims, folder
from sciml_bench.published_claims.conditions import CONDITIONS, NO_CONDITIONS, Mark
from sciml_bench.published_claims.load import load_claim
from sciml_bench.published_claims.schema import claim_schema
from sciml_bench.record.task import AT

GOOD = folder() / "C05.toml"
# Its fair setting ends before the one that is nearest to the source.
ELSEWHERE = folder() / "C01.toml"
SPAN = 'span = { mark = "same", source = "0 to 1e5" }'


@pytest.mark.parametrize("name", sorted(claims()))
def test_every_claim_of_the_suite_marks_every_condition(name: str):
    claim = claims()[name]
    assert tuple(condition.name for condition in claim.conditions.each) == CONDITIONS
    marks = {condition.mark for condition in claim.conditions.each}
    assert (Mark.NOT_MEASURED in marks) is not claim.testable
    for condition in claim.conditions.each:
        if condition.mark is Mark.DIFFERS:
            assert condition.effect
            assert condition.ours not in ("", condition.source)


PUBLISHED = [name for name, claim in claims().items() if claim.published is not None]
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")


def told(name: str, condition: str) -> str:
    """What a condition says of ours."""
    known = next(item for item in claims()[name].conditions.each if item.name == condition)
    return known.ours or known.source


@pytest.mark.parametrize("name", PUBLISHED)
def test_ours_are_those_that_are_measured(name: str):
    """The words of a condition are held against the sides and the problem that its claim measures."""
    claim = claims()[name]
    assert claim.published is not None
    sides = claim.published.sides.values()
    numbers = {float(number) for number in _NUMBER.findall(told(name, "tolerances"))}
    for side in sides:
        # A fixed step that is written as a tolerance is none.
        if side.rtol is not None and registry.adapter(side.adapter.partition(AT)[0]).method(side.method).adaptive:
            assert {side.rtol, side.tolerances.atol} <= numbers, side.words
    single = {side.precision == "float32" for side in sides}
    assert single == {"single" in told(name, "precision")}
    changed = dict(claim.published.workload.changes)
    if "time.t1" in changed:
        assert float(changed["time.t1"]) in {float(number) for number in _NUMBER.findall(told(name, "span"))}


@pytest.mark.parametrize("name", sorted(claims()))
def test_every_claim_states_statistic_call_path_and_machine(name: str):
    claim = claims()[name]
    timing, path, machine = (claim.conditions[key] for key in ("timing", "call_path", "machine"))
    assert set(timing.sides) == set(path.sides) == set(claim.figure.sides)
    assert ("count" in timing.sides.values()) == claim.figure.is_count
    assert machine.device
    assert machine.threads


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('fast = "minimum", slow', "slow", "the condition 'timing' does not say 'fast' of the source"),
        ('fast = "minimum"', 'fast = "best"', "'fast' of the condition 'timing' cannot be 'best'"),
        (
            'call_path = { mark = "same", fast = "direct"',
            'call_path = { mark = "same", fast = "far"',
            "cannot be 'far'",
        ),
        ('device = "cpu"', 'device = "tpu"', "'device' of the condition 'machine' cannot be 'tpu'"),
        ('threads = "not said", ', "", "the condition 'machine' does not say 'threads' of the source"),
        ("machine = { mark", 'machine = { fast = "mean", mark', "unknown key 'fast'"),
    ],
)
def test_what_these_do_not_say_is_refused(tmp_path: Path, old: str, new: str, complaint: str):
    with pytest.raises(ProblemError, match=complaint):
        load_claim(written(tmp_path, old, new))


_RATIO = re.compile(r"(\d[\d,.]*) ?[x×]")


@pytest.mark.parametrize("name", [name for name, claim in claims().items() if claim.figure.derived])
def test_a_ratio_that_the_source_prints_is_not_called_derived(name: str):
    figure = claims()[name].figure
    first, *rest = figure.says.split(": ")
    printed = {float(number.replace(",", "")) for number in _RATIO.findall(first)}
    assert figure.ratio is None or figure.ratio not in printed or rest == []


def written(tmp_path: Path, old: str, new: str) -> Path:
    text = GOOD.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path = tmp_path / "claim.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("new", "complaint"),
    [
        ("", "the condition 'span' is missing"),
        ('span = { source = "0 to 1e5" }', "the condition 'span' has no mark"),
        ('span = { mark = "alike", source = "0 to 1e5" }', "the condition 'span' cannot be 'alike'"),
        ('span = { mark = "not measured", source = "0 to 1e5" }', "cannot be 'not measured'"),
        ('span = { mark = "same" }', "does not say what the source did"),
        ('span = { mark = "same", source = " " }', "must be a non-empty string"),
        ('span = "same"', "the condition 'span' must be a table"),
        ('span = { mark = "same", source = "1", effect = "more" }', "which has no effect"),
        ('span = { mark = "same", source = "1", more = "more" }', "unknown key 'more'"),
        ('span = { mark = "differs", source = "1", ours = "2", larger = 2 }', "does not say how"),
        ('span = { mark = "differs", source = "1", ours = "2", effect = "more" }', "does not say how"),
        ('span = { mark = "differs", source = "1", effect = "more", larger = 2 }', "does not say how"),
        ('span = { mark = "same", source = "1", smaller = 2 }', "which has no effect"),
        ('span = { mark = "differs", source = "1", ours = "2", effect = "more", ratio = true }', "can only be false"),
        (
            'span = { mark = "differs", source = "1", ours = "2", effect = "more", ratio = false, larger = 2 }',
            "can only be false",
        ),
        (
            'span = { mark = "differs", source = "1", ours = "2", effect = "more", larger = 0.5 }',
            "must be above 1",
        ),
        (
            'span = { mark = "differs", source = "1", ours = "2", effect = "more", smaller = "some" }',
            "'smaller' must be a number",
        ),
        (
            'span = { mark = "differs", source = "1", ours = "2", effect = "more", smaller = true }',
            "'smaller' must be a number",
        ),
        (
            f'span = {{ mark = "differs", source = "1", ours = "2", effect = "more", larger = {10**400} }}',
            "'larger' is inf",
        ),
    ],
)
def test_a_condition_that_says_too_little_is_refused_with_its_line_and_cure(tmp_path: Path, new: str, complaint: str):
    path = written(tmp_path, SPAN, new)
    with pytest.raises(ProblemError, match=complaint) as caught:
        load_claim(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert caught.value.line == lines.index("[conditions]") + (1 if not new else 3)
    assert caught.value.cure or "non-empty" in complaint
    if complaint != "the condition 'span' cannot be 'alike'":
        return
    assert "same, differs, unknown" in caught.value.cure


def test_a_claim_without_conditions_is_refused(tmp_path: Path):
    text = GOOD.read_text(encoding="utf-8")
    start, end = text.index("[conditions]"), text.index("[published]")
    path = tmp_path / "claim.toml"
    path.write_text(text[:start] + text[end:], encoding="utf-8")
    with pytest.raises(ProblemError, match=r"needs the table \[conditions\]") as caught:
        load_claim(path)
    assert caught.value.line == 1
    assert "tolerances" in caught.value.cure


def test_what_is_not_measured_cannot_be_the_same(tmp_path: Path):
    text = (folder() / "C34.toml").read_text(encoding="utf-8")
    path = tmp_path / "claim.toml"
    path.write_text(
        text.replace('span = { mark = "unknown" }', 'span = { mark = "same", source = "1" }'), encoding="utf-8"
    )
    with pytest.raises(ProblemError, match="cannot be 'same', as no setting is measured"):
        load_claim(path)


def test_a_difference_that_touches_the_ratio_is_called_in_the_spirit_of_it(tmp_path: Path):
    conditions = load_claim(GOOD).conditions
    assert conditions.setting == "in the spirit of it"
    assert conditions.distance == "1 differs (method), 2 unknown (machine, version); touching the ratio: method"
    near = load_claim(written(tmp_path, 'which helps SciPy", smaller = 1.2', 'which helps SciPy", ratio = false'))
    assert near.conditions.setting == "as stated"
    text = near.path.read_text(encoding="utf-8").replace(
        'machine = { mark = "unknown"', 'machine = { mark = "same", source = "ours"'
    )
    near.path.write_text(text, encoding="utf-8")
    assert load_claim(near.path).conditions.setting == "as published", "of the version alone nothing is known"
    text = near.path.read_text(encoding="utf-8")
    near.path.write_text(text.replace(SPAN, 'span = { mark = "unknown" }'), encoding="utf-8")
    assert load_claim(near.path).conditions.setting == "as stated"


def test_the_schema_refuses_what_the_loader_does():
    validator = jsonschema.Draft202012Validator(claim_schema())
    text = GOOD.read_text(encoding="utf-8")
    for new in (
        "",
        'span = { source = "0 to 1e5" }',
        'span = { mark = "alike", source = "1" }',
        'span = { mark = "same", source = "1", effect = "more" }',
        'span = { mark = "differs", source = "1", ours = "2", effect = "more" }',
        'span = { mark = "differs", source = "1", ours = "2", effect = "more", larger = 0.5 }',
        'span = { mark = "same", source = "1", larger = 2 }',
    ):
        assert list(validator.iter_errors(tomllib.loads(text.replace(SPAN, new)))) != [], new


def test_a_fair_comparison_keeps_the_conditions_that_it_does_not_mend():
    names = {item.name for item in load_claim(GOOD).conditions.kept((), NO_CONDITIONS).each}
    assert {"problem", "span", "saved", "sizes", "batch", "timing", "call_path", "machine"} == names
    assert "method" in {item.name for item in load_claim(GOOD).conditions.kept({"method"}, NO_CONDITIONS).each}


def test_a_fair_setting_of_another_workload_compares_it_with_the_source(tmp_path: Path):
    text = ELSEWHERE.read_text(encoding="utf-8")
    path = tmp_path / "claim.toml"
    path.write_text(text.replace(text[text.index("[fair.conditions]") :], ""), encoding="utf-8")
    with pytest.raises(ProblemError, match=r"\[fair\] has another 'saved' than \[published\]"):
        load_claim(path)
    for wrong in ('sizes = { mark = "differs", source = "1" }', "version = {}", 'batch = { mark = "not measured" }'):
        path.write_text(text.replace("[fair.conditions]\n", f"[fair.conditions]\n{wrong}\n"), encoding="utf-8")
        with pytest.raises(ProblemError):
            load_claim(path)
    path.write_text(re.sub(r"\n\[fair.conditions\][^[]*", "\nconditions = 3\n", text), encoding="utf-8")
    with pytest.raises(ProblemError):
        load_claim(path)


def test_what_a_fair_setting_states_again_takes_the_place_of_the_condition():
    claim = load_claim(ELSEWHERE)
    kept = claim.conditions.kept((), claim.fair_conditions)
    assert (claim.conditions["span"].ours, kept["span"].ours) == ("0 to 10", "0 to 5")
    assert "tolerances" not in {item.name for item in kept.each}
    assert "tolerances" in {item.name for item in claim.conditions.kept((), load_claim(GOOD).fair_conditions).each}
    assert len({item.name for item in kept.each}) == len(kept.each)
