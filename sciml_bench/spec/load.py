"""Loads a problem file: every table in order, everything checked, nothing guessed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import sympy

from sciml_bench.record.task import CONVENTIONAL
from sciml_bench.spec.batch import Batch
from sciml_bench.spec.discontinuities.switching import with_switches
from sciml_bench.spec.document import Document
from sciml_bench.spec.given import Given
from sciml_bench.spec.keys import A_NUMBER, Choice, Key, Table, Whole, number_key
from sciml_bench.spec.language.dependence import depends_on_theta
from sciml_bench.spec.language.expression import Typed, number
from sciml_bench.spec.language.functions import operators
from sciml_bench.spec.language.matrix import Matrices
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import Problem, symbol
from sciml_bench.spec.network import Network
from sciml_bench.spec.quantities import Parameter
from sciml_bench.spec.reader import Reader
from sciml_bench.spec.tables import saved_times
from sciml_bench.spec.tables.algebraic import declare_algebraic, load_algebraic, refuse_residuals
from sciml_bench.spec.tables.batch import load_batch, refuse_unbatched
from sciml_bench.spec.tables.brownian import drawn
from sciml_bench.spec.tables.conditions import constant_states, load_conditions
from sciml_bench.spec.tables.control import load_controls
from sciml_bench.spec.tables.declarations import load_constants, load_grids, load_parameters, load_states
from sciml_bench.spec.tables.equations import (
    load_definitions,
    load_equations,
    load_exact,
    load_implicit,
    load_invariants,
)
from sciml_bench.spec.tables.events import frozen_after_end, load_events, refuse_saved_events
from sciml_bench.spec.tables.fit import loss_of
from sciml_bench.spec.tables.identity import load_identity
from sciml_bench.spec.tables.latent import checked, load_encoding, load_given
from sciml_bench.spec.tables.loss import load_loss
from sciml_bench.spec.tables.networks import load_networks
from sciml_bench.spec.tables.observables import load_observables, times_of
from sciml_bench.spec.tables.published import load_published, load_published_gradients
from sciml_bench.spec.tables.training import load_training

SPEC = 1
SUITES = ("stiff", "nonstiff", "pde", "neural", "events", "dae")
TOP_KEYS = (
    "spec", "name", "title", "suite", "tags", "tier", "heavy", "description", "source", "time", "constants",
    "parameters", "grids", "networks", "data", "encoding", "conditions", "control", "states", "definitions",
    "equations", "algebraic", "events", "implicit", "invariants", "exact", "loss", "observables", "measurements",
    "batch", "training", "published", "published_gradient",
)  # fmt: skip
MAX_SAVED_TIMES = 10_000
SAVE = Table(
    Key("spacing", {"enum": ["linear", "log"]}), number_key("first"), Whole("count", 2, MAX_SAVED_TIMES),
    Key("times", {"type": "array", "items": A_NUMBER, "minItems": 1}),
)  # fmt: skip
TIME = Table(
    number_key("t0"), number_key("t1", required=True), Key("save", SAVE.schema),
    Key("breakpoints", {"type": "array", "items": A_NUMBER}),
)  # fmt: skip
SUITE = Choice("suite", SUITES, "suite", "nonstiff")
_MATHEMATICAL = (
    "spec", "time", "constants", "parameters", "grids", "networks", "encoding", "control", "states", "definitions",
    "equations", "loss", "observables", "events", "algebraic",
)  # fmt: skip


def load_problem(path: Path | str) -> Problem:
    """Load and check a problem file.

    Raises:
        ProblemError: anything about the file is wrong; the message says what, in which line, and how to fix it.
    """
    reader = Reader(Document.read(Path(path)))
    document = reader.document
    if document.data.get("suite") == CONVENTIONAL:
        cure = "`sciml-bench run` and `describe` take it; this takes differential equations."
        raise document.error("this file declares a model of the conventional track.", "", "suite", cure)
    document.known_keys(document.data, TOP_KEYS, "")
    if document.data.get("spec") != SPEC:
        raise document.error(f"'spec' must be {SPEC}.", "", "spec", f"Write `spec = {SPEC}` in the first line.")
    identity, suite = load_identity(document), SUITE.read(document, document.data, "")
    constants, numbers = load_constants(reader)
    matrices = Matrices(numbers)
    parameters = load_parameters(reader)
    reader.scope.names["t"] = Typed(symbol("t"))
    grids = load_grids(reader)
    reader.scope.operators.update(operators(grids, matrices, constants))
    networks = load_networks(reader)
    given = load_given(reader)
    conditions = load_conditions(reader)
    encoding = load_encoding(reader)
    states = load_states(reader, grids)
    variables = declare_algebraic(reader)
    t0, t1, save_times, breakpoints = _time(reader, parameters)
    controls = load_controls(reader, t0, t1)
    # Solvers stop where a path goes over to another polynomial.
    declared = breakpoints
    breakpoints = tuple(sorted({*breakpoints, *(t for control in controls for t in control.times[1:-1])}))
    definitions = load_definitions(reader, matrices)
    equations, texts = load_equations(reader, states)
    algebraic = load_algebraic(reader, variables, states, (*parameters, *constants), definitions, equations, t0)
    states += algebraic.states
    equations |= algebraic.equations
    encoding += algebraic.encoding
    events = load_events(reader, states, definitions, t0, t1)
    states, equations, events = frozen_after_end(reader, states, equations, events)
    breakpoints = tuple(sorted({*breakpoints, *(t for event in events for t in event.at)}))
    # Read before others can use a parameter or a network: one that is only used in an invariant is a mistake.
    observables = load_observables(reader, t0, t1, definitions, conditions.names)
    reader.refuse_unused("conditions", conditions.columns)
    read = [*(item.expr for item in definitions), *equations.values(), *(item.of for item in observables)]
    read += [expr for event in events for expr in event.expressions]
    constant = constant_states(conditions, [*read, *(item.sigma for item in observables if item.sigma is not None)])
    states += constant
    equations |= {state.name: sympy.S.Zero for state in constant}
    given += conditions.given
    save_times = times_of(reader, observables, t0, t1) if observables else save_times
    refuse_saved_events(reader, events, save_times)
    loss = load_loss(reader, states, save_times, given, bool(observables))
    if observables:
        loss, measured = loss_of(reader, observables, states, (t0, *save_times), len(conditions.names), loss)
        given += measured
    reader.warn_of_unused("parameters", [parameter.name for parameter in parameters])
    reader.refuse_unused("networks", [network.name for network in networks])
    for control in controls:
        reader.refuse_unused(f"control.{control.name}", [control.name])
    implicit = load_implicit(reader, states, equations)
    invariants = load_invariants(reader)
    refuse_residuals(reader, algebraic.residuals, invariants)
    exact = load_exact(reader, states)
    reader.refuse_unused("definitions", [*(definition.name for definition in definitions), *matrices.defined])
    reader.refuse_unused("constants", document.table("constants"))
    motions = {control.data: control.brownian for control in controls if control.brownian is not None}
    batch = load_batch(reader, states, given, driven=bool(motions))
    given += drawn(reader, motions, batch.size)
    problem = Problem(
        **identity, suite=suite, t0=t0, t1=t1, save_times=save_times, breakpoints=breakpoints, grids=grids,
        constants=constants, matrices=matrices.constants, parameters=parameters, states=states,
        definitions=definitions + algebraic.definitions,
        equations=equations, implicit=implicit, invariants=invariants, exact=exact, loss=loss,
        networks=networks, batch=batch, given=given, encoding=encoding, controls=controls,
        conditions=conditions.names if len(conditions.names) > 1 else (), training=load_training(reader),
        spec_hash=_spec_hash(reader, loss.data + loss.weights, networks, batch, given), path=str(path),
        declared_hash=_hash({key: _canonical(document.data.get(key, {})) for key in ("invariants", "exact")}),
        equation_texts={**texts, **algebraic.texts}, events=events, algebraic=algebraic.residuals,
    )  # fmt: skip
    if batch.size > 1:
        refuse_unbatched(reader, problem)
    if not depends_on_theta(problem):
        cure = "Let it look at a state in whose equation a parameter stands, or at one that such a state changes."
        raise document.error("the loss depends on no parameter, so that its gradient is zero.", "loss", "of", cure)
    problem = with_switches(document, replace(problem, invariants={**invariants, **problem.residuals}), declared)
    problem = checked(reader, problem)
    return _with_published(reader, problem)


def _with_published(reader: Reader, problem: Problem) -> Problem:
    return replace(
        problem,
        published=load_published(reader, problem),
        published_gradients=load_published_gradients(reader, problem),
    )


def _time(reader: Reader, parameters: Sequence[Parameter]) -> tuple[Node, Node, tuple[Node, ...], tuple[Node, ...]]:
    document = reader.document
    data = document.table("time", True)
    TIME.check(document, data, "time")
    if "t1" not in data:
        raise document.error("[time] is missing 't1'.", "time", cure="Add the end of the time span, `t1 = …`.")
    t0, t1 = reader.constant(data.get("t0", 0), "time", "t0"), reader.constant(data["t1"], "time", "t1")
    if not t1 > t0:
        raise document.error(f"the time span runs from {t0} to {t1}: t1 must be larger than t0.", "time", "t1")
    given = data.get("breakpoints", [])
    if not isinstance(given, list):
        raise document.error("'breakpoints' must be a list.", "time", "breakpoints")
    breakpoints = tuple(_breakpoint(reader, value, parameters) for value in given)
    if any(not a < b for a, b in zip((t0, *breakpoints), (*breakpoints, t1), strict=True)):
        raise document.error("'breakpoints' must increase and lie inside (t0, t1).", "time", "breakpoints")
    return t0, t1, _save_times(reader, data.get("save", {"spacing": "linear", "count": 20}), t0, t1), breakpoints


def _breakpoint(reader: Reader, value: Any, parameters: Sequence[Parameter]) -> Node:
    """A time at which the equations are not smooth, with the values of the parameters that it depends on."""
    scalars = {item.name: item for item in parameters if not item.shape}
    scope = reader.constants_scope(**{name: reader.scope.names[name] for name in scalars})
    used = set(scope.used)
    typed = reader.expression(value, "time", "breakpoints", scope)
    # A parameter that only a breakpoint names has no part in the equations.
    scope.used.difference_update(scalars.keys() - used)
    known = {symbol(name): item.values[0] for name, item in scalars.items()}
    return reader.constant_of(replace(typed, expr=typed.expr.xreplace(known)), "time", "breakpoints")


def _save_times(reader: Reader, save: Any, t0: Node, t1: Node) -> tuple[Node, ...]:
    document = reader.document
    if not isinstance(save, dict):
        raise document.error("'save' must be a table.", "time", "save", 'As in { spacing = "linear", count = 20 }.')
    SAVE.check(document, save, "time")
    if "times" in save:
        if len(save) > 1 or not isinstance(save["times"], list) or not save["times"]:
            raise document.error("'times' must be a list, and the only key of 'save'.", "time", "save")
        saved = reader.constants(save["times"], "time", "save")
        if saved[0] == t0 and saved[1:]:
            # No solver has to go there: what the loss adds at t0 is known before.
            reader.saves_start, saved = True, saved[1:]
        if any(not a < b for a, b in pairwise((t0, *saved))) or (t0, *saved)[-1] != t1:
            raise document.error(
                "saved times must increase, start with t0 or after it, and end with t1.", "time", "save"
            )
        return saved
    count = save.get("count")
    if not isinstance(count, int) or isinstance(count, bool) or not 2 <= count <= MAX_SAVED_TIMES:
        raise document.error(f"'count' of saved times must be 2 to {MAX_SAVED_TIMES}.", "time", "save")
    if save.get("spacing", "linear") == "linear":
        return saved_times.linear(t0, t1, count)
    if save["spacing"] != "log":
        raise document.error("'spacing' must be linear or log.", "time", "save")
    first = reader.constant(save.get("first"), "time", "save")
    if not 0 < first < t1 - t0:
        raise document.error("'first' must be positive and smaller than t1 - t0.", "time", "save")
    return saved_times.logarithmic(t0, t1, first, count)


def _spec_hash(
    reader: Reader,
    data: tuple[tuple[float, ...], ...],
    networks: tuple[Network, ...],
    batch: Batch,
    given: tuple[Given, ...],
) -> str:
    document = reader.document
    content = {key: _canonical(document.data[key]) for key in _MATHEMATICAL if key in document.data}
    if data:
        content["data"] = data
    if networks:
        content["weights"] = [network.sha256 for network in networks]
    if batch.size > 1:
        content["batch"] = [batch.size, batch.spread, batch.seed, *batch.drawn]
    if given:
        content["given"] = [[item.name, item.shape, item.rows[: batch.size]] for item in given]
    if reader.files:
        content["files"] = reader.files
    return _hash(content)


def _hash(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """The mathematical content of a value: numbers by value, strings without white space.

    Scales of tolerances and stated hashes are no part of it.
    """
    if isinstance(value, dict):
        # The order of states and definitions is kept: it is the order of the flat state.
        return [[key, _canonical(entry)] for key, entry in value.items() if key not in ("atol_scale", "sha256")]
    if isinstance(value, list):
        return [_canonical(entry) for entry in value]
    if isinstance(value, bool):
        return value
    if isinstance(value, int | Decimal):
        return str(number(value))
    return "".join(str(value).split())
