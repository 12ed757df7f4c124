"""The facts of a problem that ``describe`` shows, as plain JSON values."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sciml_bench.spec import Problem
    from sciml_bench.spec.event import Event
    from sciml_bench.spec.network import Network
    from sciml_bench.spec.tables.control import Control


def facts(problem: Problem) -> dict[str, Any]:
    """The facts of a problem, as plain JSON values; exact numbers are text."""
    from sciml_bench.spec.discontinuities.switch import shown

    return {
        "name": problem.name,
        "title": problem.title,
        "suite": problem.suite,
        "tier": problem.tier,
        "tags": list(problem.tags),
        "description": problem.description,
        "source": {"citation": problem.source.citation, "url": problem.source.url, "note": problem.source.note},
        "time": {
            "t0": str(problem.t0),
            "t1": str(problem.t1),
            "save_times": [str(t) for t in problem.save_times],
            "breakpoints": [shown(t) for t in problem.breakpoints],
            "declared": [shown(t) for t in problem.switching.declared],
            "found": [{"time": shown(switch.time), "in": switch.origin} for switch in problem.switching.found],
            "moving": [moving.sentence for moving in problem.switching.unsettled],
        },
        **_seen(problem),
        "definitions": {item.name: item.text or str(item.expr) for item in problem.declared_definitions},
        "equations": {k: text for k, text in problem.equation_texts.items() if k not in problem.algebraic},
        "algebraic": {k: text for k, text in problem.equation_texts.items() if k in problem.algebraic},
        "events": [_event(event) for event in problem.events],
        "implicit": {name: str(terms) for name, terms in problem.implicit.items()},
        "n_states": problem.n_states,
        "n_parameters": problem.n_parameters,
        "data": [
            {"name": g.name, "shape": list(g.shape), "trajectories": len(g.rows)}
            for g in problem.given
            if g.name not in {c.data for c in problem.controls if c.brownian}
        ],
        "encoding": {item.name: item.text for item in problem.declared_encoding},
        "control": [_control(control) for control in problem.controls],
        "initial": _initial(problem),
        "parameters": dict(zip(problem.parameter_labels, map(str, problem.p), strict=True)),
        "networks": [_network(network) for network in problem.networks],
        "batch": dataclasses.asdict(problem.batch),
        "loss": _loss(problem),
        "gradient_with_respect_to": problem.wrt,
        "invariants": {name: str(expr) for name, expr in problem.invariants.items()},
        "has_exact_solution": bool(problem.exact),
        "published_at": [str(published.t) for published in problem.published],
        "training": None if problem.training is None else dataclasses.asdict(problem.training),
        "spec_hash": problem.spec_hash,
    }


def _seen(problem: Problem) -> dict[str, Any]:
    """The character of a problem, in numbers and in words, and the methods recommended for it."""
    from sciml_bench.references.diagnostics import character

    found = character(problem)
    suits = None if found.probed is None else found.probed.suits_explicit
    return {
        "seen": list(found.lines),
        "character": {
            "jacobian_nonzeros": found.nonzeros,
            "jacobian_band": found.band,
            "decay_times_span": found.stiffness,
            "growth_of_perturbations": found.growth,
            "digits_in_double_precision": found.digits,
        },
        "probe": None if found.probed is None or suits is None else found.probed.told,
        "recommended": None if suits is None else "explicit" if suits else "implicit",
    }


def _event(event: Event) -> dict[str, Any]:
    """An event, as plain values; expressions as in the file."""
    from sciml_bench.spec.discontinuities.switch import shown
    from sciml_bench.spec.event import RUNNING

    return {
        "name": event.name,
        "when": event.texts.get(event.name),
        "direction": None if event.when is None else event.way,
        "at": [shown(t) for t in event.at],
        "reset": {name: event.texts[f"{event.name}.{name}"] for name in event.reset if name != RUNNING},
        "ends": RUNNING in event.reset,
    }


def _control(control: Control) -> dict[str, Any]:
    """A path that drives the equation, as plain values."""
    told: dict[str, Any] = {"name": control.name, "data": control.data, "interpolation": control.interpolation}
    motion = control.brownian
    if motion is not None:
        del told["data"]
        told["brownian"] = {"channels": motion.channels, "steps": motion.steps, "seed": motion.seed}
    return told


def _initial(problem: Problem) -> dict[str, str]:
    """The initial values by component; as expressions if they are computed from theta or data."""
    from sciml_bench.spec.model import labels

    told: dict[str, str] = {}
    for state in problem.states:
        if state.start is not None:
            told[state.name] = state.start_text
        else:
            texts = {value: str(value) for value in dict.fromkeys(state.initial)}
            told |= {
                label: texts[value] for label, value in zip(labels(state.name, state.shape), state.initial, strict=True)
            }
    return told


def _loss(problem: Problem) -> dict[str, Any]:
    """The loss as plain values; expressions as in the file."""
    loss = problem.loss
    told = {item.name: getattr(loss, item.name) for item in dataclasses.fields(loss) if item.name != "texts"}
    return {**told, "data": [list(row) for row in loss.data], **dict.fromkeys(("of", "penalty")), **loss.texts}


def _network(network: Network) -> dict[str, Any]:
    return {
        "name": network.name,
        "inputs": network.inputs,
        "layers": [{"width": layer.outputs, "activation": layer.activation} for layer in network.layers],
        "pointwise": network.pointwise,
        "recurrent": network.recurrent,
        "n_weights": len(network.weights),
        "sha256": network.sha256,
    }
