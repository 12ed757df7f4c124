"""Events of SBML as events of problem files: what each becomes, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from importing.sbml_models import (
    TIME,
    apply,
    compartment,
    event,
    math,
    of,
    parameter,
    reaction,
    rule,
    species,
    write,
)  # fmt: skip
from needs import skip_without

from sciml_bench.errors import ProblemError
from sciml_bench.importing.importer import of_sbml
from sciml_bench.importing.sbml.network import equations_of
from sciml_bench.spec import load_problem
from sciml_bench.spec.model import Problem, symbol


@pytest.fixture(autouse=True)
def _libsbml() -> None:
    skip_without("libsbml")


C = of("Compartments", compartment("c", 2))
DECAY = (C, of("Species", species("A")), of("Parameters", parameter("k", 3)))
BREAKS = of("Reactions", reaction("r", "A", "", apply("times", "k", "A")))
ONE = "<cn> 1 </cn>"
AFTER = apply("gt", TIME, 0.3)


def loaded(*lists: str, folder: Path) -> Problem:
    """The problem of a model of these lists, from 0 to 1."""
    path = folder / "problem.toml"
    path.write_text(of_sbml(write(folder / "m.xml", *lists), (0.0, 1.0))[0], encoding="utf-8")
    return load_problem(path)


def test_an_event_at_a_time_is_scheduled(tmp_path: Path):
    events = of("Events", event("dose", AFTER, {"A": apply("plus", "A", "k")}))
    problem = loaded(*DECAY, BREAKS, events, folder=tmp_path)
    (dose,) = problem.events
    assert (dose.name, [float(t) for t in dose.at], str(dose.reset["A"])) == ("dose", [0.3], "A + k")


@pytest.mark.parametrize(
    ("trigger", "when", "direction"),
    [
        (apply("lt", "A", "k"), "A - k", -1),
        (apply("leq", "A", "k"), "A - k", -1),
        (apply("gt", "A", "k"), "A - k", 1),
        (apply("geq", TIME, "k"), "-k + t", 1),
    ],
)
def test_a_trigger_is_what_passes_zero_when_it_becomes_true(tmp_path: Path, trigger: str, when: str, direction: int):
    problem = loaded(*DECAY, BREAKS, of("Events", event("e", trigger, {"A": 2})), folder=tmp_path)
    assert [(str(e.when), e.direction) for e in problem.events] == [(when, direction)]


def test_a_parameter_that_an_event_changes_is_a_state(tmp_path: Path):
    quantities = of("Parameters", parameter("k", 3), parameter("on", 1, False))
    rates = of("Reactions", reaction("r", "A", "", apply("times", "k", "A", "on")))
    problem = loaded(C, DECAY[1], quantities, rates, of("Events", event("e", AFTER, {"on": 0})), folder=tmp_path)
    assert problem.state_labels == ("on", "A")
    assert problem.equations["on"] == 0
    assert [p.name for p in problem.parameters] == ["k"]
    assert problem.states[0].initial == (1,)


def test_a_concentration_that_is_kept_as_an_amount_jumps_by_the_size_before_the_event(tmp_path: Path):
    changing = of("Compartments", compartment("c", 2, False))
    events = of("Events", event("e", AFTER, {"c": 4, "A": 10}))
    problem = loaded(changing, *DECAY[1:], BREAKS, events, folder=tmp_path)
    before = {symbol("c"): 3, symbol("A_amount"): 1}
    after = {name: float(value.subs(before)) for name, value in problem.events[0].reset.items()}
    assert after == {"c": 4, "A_amount": 30}


def test_the_amount_of_a_species_with_a_rate_rule_stays_as_the_size_of_its_compartment_jumps(tmp_path: Path):
    changing, grows = of("Compartments", compartment("c", 2, False)), of("Rules", rule("rate", "A", "<ci> k </ci>"))
    events = of("Events", event("e", AFTER, {"c": 4}))
    (made,) = loaded(changing, *DECAY[1:], grows, events, folder=tmp_path).events
    assert {name: float(value.subs({symbol("A"): 6, symbol("c"): 3})) for name, value in made.reset.items()} == {
        "c": 4,
        "A": 4.5,
    }


def test_a_stoichiometry_may_jump(tmp_path: Path):
    reaction_ = reaction("r", "A", "", apply("times", "k", "A"))
    assert '<speciesReference species="A"' in reaction_
    named = reaction_.replace('<speciesReference species="A"', '<speciesReference id="share" species="A"')
    problem = loaded(*DECAY, of("Reactions", named), of("Events", event("e", AFTER, {"share": 3})), folder=tmp_path)
    assert problem.state_labels == ("share", "A")
    assert "share" in problem.equation_texts["A"]


@pytest.mark.parametrize("kind", ["lt", "geq"])
def test_a_trigger_may_be_a_function_that_is_one_comparison(tmp_path: Path, kind: str):
    lower = "<apply/>".replace("<apply/>", apply(kind, "<ci> x </ci>", "<ci> y </ci>"))
    define = (
        '<functionDefinition id="compared"><math xmlns="http://www.w3.org/1998/Math/MathML"><lambda><bvar><ci> x </ci>'
        f"</bvar><bvar><ci> y </ci></bvar>{lower}</lambda></math></functionDefinition>"
    )
    trigger = "<apply><ci> compared </ci><ci> A </ci><ci> k </ci></apply>"
    (made,) = loaded(
        of("FunctionDefinitions", define), *DECAY, BREAKS, of("Events", event("e", trigger, {"A": 4})), folder=tmp_path
    ).events
    assert (str(made.when), made.way) == ("A - k", "falling" if kind == "lt" else "rising")


SAME = {
    "a sign": apply("gt", apply("minus", "A"), -1),
    "a factor": apply("lt", apply("times", 2, "A"), 2),
    "both on one side": apply("lt", apply("minus", "A", 1), 0),
}


@pytest.mark.parametrize("name", SAME)
def test_one_trigger_in_different_words_is_refused(tmp_path: Path, name: str):
    pair = event("e", apply("lt", "A", 1), {"A": 7}, first(2)), event("f", SAME[name], {"B": "A"}, first(1))
    with pytest.raises(ProblemError, match="the events 'e', 'f' have one trigger, in different words"):
        loaded(*TWO, of("Events", *pair), folder=tmp_path)


def test_events_that_never_happen_are_left_out_with_a_note(tmp_path: Path):
    late, past = event("late", apply("gt", TIME, 7), {"A": 1}), event("past", apply("lt", TIME, 0.5), {"A": 1})
    path = write(tmp_path / "m.xml", *DECAY, BREAKS, of("Events", late, past))
    text, notes = of_sbml(path, (0.0, 1.0))
    assert "[events" not in text
    assert sorted(note for note in notes if "never happens" in note) == [
        "event 'late' never happens in the time span, and is left out",
        "event 'past' never happens in the time span, and is left out",
    ]


def test_saved_times_keep_clear_of_events(tmp_path: Path):
    """Twenty times from 0 to 1 would have one at 0.3."""
    problem = loaded(*DECAY, BREAKS, of("Events", event("e", AFTER, {"A": 1})), folder=tmp_path)
    assert len(problem.save_times) == 21
    assert float(problem.events[0].at[0]) not in map(float, problem.save_times)


def first(priority: int) -> str:
    """A priority of an event."""
    return f"<priority>{math(f'<cn> {priority} </cn>')}</priority>"


TWO = (of("Compartments", compartment("c", 1)), of("Species", species("A"), species("B")), DECAY[2], BREAKS)


@pytest.mark.parametrize("trigger", [AFTER, apply("lt", "A", 1)])
def test_events_at_once_take_values_of_before_if_they_say_so(tmp_path: Path, trigger: str):
    # The same condition with its sides exchanged.
    other = apply("gt", 1, "A") if trigger != AFTER else trigger
    pair = event("e", trigger, {"A": 7, "B": 3}, first(2)), event("f", other, {"B": "A"}, first(1))
    (made,) = loaded(*TWO, of("Events", *pair), folder=tmp_path).events
    assert {name: str(value) for name, value in made.reset.items()} == {"A": "7", "B": "A"}


@pytest.mark.parametrize("order", [1, -1])
def test_events_at_once_take_values_one_after_the_other_if_they_say_so(tmp_path: Path, order: int):
    pair = (
        event("e", apply("lt", "A", 1), {"A": 7}, first(order), before="false"),
        event("f", apply("lt", "A", 1), {"B": "A"}, first(0), before="false"),
    )
    (made,) = loaded(*TWO, of("Events", *pair), folder=tmp_path).events
    assert {name: str(value) for name, value in made.reset.items()} == {"A": "7", "B": "7" if order > 0 else "A"}


@pytest.mark.parametrize("kind", ["gt", "geq"])
def test_a_trigger_that_holds_at_its_threshold_has_a_note(tmp_path: Path, kind: str):
    path = write(tmp_path / "m.xml", *DECAY, BREAKS, of("Events", event("e", apply(kind, "A", "k"), {"A": 1})))
    _, notes = of_sbml(path, (0.0, 1.0))
    assert any("exactly at the threshold" in note for note in notes) == (kind == "geq")


def test_events_of_different_moments_keep_to_their_own(tmp_path: Path):
    pair = event("e", AFTER, {"A": 7}), event("f", apply("gt", TIME, 0.6), {"A": 2})
    assert [made.name for made in loaded(*TWO, of("Events", *pair), folder=tmp_path).events] == ["e", "f"]


REFUSED = {
    "a delayed event": ((*DECAY, BREAKS, of("Events", event("e", AFTER, {"A": 1}, f"<delay>{math(ONE)}</delay>"))),
                        "'e': it has a delay"),
    "a priority that changes": (
        (*DECAY, BREAKS, of("Events", event("e", AFTER, {"A": 1}, f"<priority>{math('<ci> A </ci>')}</priority>"))),
        "'e': its priority is not a number",
    ),
    "two events that set the same at once": (
        (*DECAY, BREAKS, of("Events", event("e", AFTER, {"A": 1}), event("f", AFTER, {"A": 2}))),
        "'e', 'f' happen at once, and more than one sets 'A'",
    ),
    "two events with values of different times": (
        (*DECAY, BREAKS, of("Events", event("e", AFTER, {"A": 1}, first(1)),
                            event("f", AFTER, {"A": "k"}, first(2), before="false"))),
        "'e', 'f' happen at once, and take values at different times",
    ),
    "two events of which one may take what the other sets": (
        (*DECAY[:2], of("Parameters", parameter("k", 3), parameter("n", 1, False)), BREAKS,
         of("Events", event("e", AFTER, {"A": "n"}, before="false"), event("f", AFTER, {"n": 2}, before="false"))),
        "'e', 'f' happen at once, and one may take what another has set",
    ),
    "an event beside one that changes a size": (
        (of("Compartments", compartment("c", 2, False)), *DECAY[1:], BREAKS,
         of("Events", event("e", AFTER, {"c": 4}), event("f", AFTER, {"A": 10}))),
        "'e', 'f' happen at once, and one of them changes the size of a compartment",
    ),
    "an event that another one may prevent": (
        (*DECAY, BREAKS, of("Events", event("e", apply("gt", "A", 1), {"A": 1}, first(1)),
                            event("f", apply("gt", "A", 1), {"A": 2}, first(2), persistent="false"))),
        "'e', 'f' happen at once, and one may prevent the other",
    ),
    "a trigger of two comparisons": (
        (*DECAY, BREAKS, of("Events", event("e", apply("and", AFTER, apply("lt", "A", 1)), {"A": 1}))),
        "'e': its trigger is not a single comparison",
    ),
    "an event at the start": (
        (*DECAY, BREAKS, of("Events", event("e", apply("geq", TIME, 0), {"A": 1}, initial="false"))),
        "'e': it happens at the start",
    ),
    "an event that may happen at the start": (
        (*DECAY, BREAKS, of("Events", event("e", apply("lt", "A", 5), {"A": 1}, initial="false"))),
        "'e': its trigger counts as false before the start",
    ),
    "an event that sets a reaction": (
        (*DECAY, BREAKS, of("Events", event("e", AFTER, {"r": 1}))), "assigns to 'r'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_problem_files_cannot_say_is_refused_with_its_line(tmp_path: Path, name: str):
    lists, message = REFUSED[name]
    path = write(tmp_path / "m.xml", *lists)
    with pytest.raises(ProblemError, match=message) as caught:
        equations_of(path, (0.0, 1.0))
    assert caught.value.line
