"""The [training] table: what it gives, what it refuses, and what it is hashed to."""

from __future__ import annotations

import dataclasses
import json

import jsonschema
import pytest
from stubs.small_problems import ORBIT

from sciml_bench.errors import ProblemError
from sciml_bench.record.task import Task, Training
from sciml_bench.spec.schema import problem_schema
from sciml_bench.spec.tables.training import OPTIMISERS, TRAINING

TABLE = {"optimiser": '"adam"', "learning_rate": "0.05", "steps": "300", "rtol": "1e-7", "atol": "1e-9"}


def with_training(**changes: str | None) -> str:
    """The harmonic oscillator with a [training] table; ``None`` leaves a key out."""
    lines = (f"{key} = {value}" for key, value in {**TABLE, **changes}.items() if value is not None)
    return ORBIT + "\n[training]\n" + "\n".join(lines) + "\n"


def test_a_problem_without_the_table_has_no_training(load) -> None:
    assert load(ORBIT).training is None


def test_numbers_that_the_file_leaves_out_are_the_published_ones(load) -> None:
    training = load(with_training(target="10")).training
    assert training == Training("adam", 0.05, 300, 1e-7, 1e-9, target=10.0, beta1=0.9, beta2=0.999, epsilon=1e-8)
    assert load(with_training(optimiser='"rmsprop"')).training.decay == 0.9
    assert load(with_training(optimiser='"sgd"')).training == Training("sgd", 0.05, 300, 1e-7, 1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"optimiser": '"adm"'}, "'adm' is no optimiser. One of adam, adamw, rmsprop, sgd."),
        ({"optimiser": '"sgd"', "beta1": "0.9"}, "'beta1' is not a setting of sgd. Remove it; sgd has learning_rate."),
        ({"optimiser": '"adamw"'}, "[training] is missing 'weight_decay'. Add a line `weight_decay = …`."),
        ({"learning_rate": "0"}, "'learning_rate' must be positive"),
        ({"learning_rate": None}, "[training] is missing 'learning_rate'"),
        ({"beta2": "1"}, "'beta2' must be at least 0 and below 1."),
        ({"steps": "0"}, "'steps' must be an integer from 1"),
        ({"steps": "1.5"}, "'steps' must be an integer from 1"),
        ({"rtol": "1"}, "'rtol' must be positive and below 1."),
        ({"target": '"low"'}, "in 'target'"),
        ({"epsilom": "1"}, "unknown key 'epsilom' in [training]. Did you mean 'epsilon'?"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(load, changes, message) -> None:
    text = with_training(**changes)
    with pytest.raises(ProblemError) as raised:
        load(text)
    assert message in str(raised.value)
    assert raised.value.line is not None
    assert raised.value.line > text.splitlines().index("[training]")


def test_the_training_is_no_part_of_the_mathematics(load) -> None:
    plain, trained = load(ORBIT), load(with_training())
    assert plain.spec_hash == trained.spec_hash


def test_the_hash_tells_what_decides_the_curve(load) -> None:
    training = load(with_training()).training
    longer = dataclasses.replace(training, steps=10, target=3.0)
    assert longer.hash == training.hash
    for change in ({"learning_rate": 0.1}, {"beta1": 0.8}, {"rtol": 1e-6}, {"optimiser": "adamw", "weight_decay": 1.0}):
        assert dataclasses.replace(training, **change).hash != training.hash


def test_a_task_carries_it_to_the_worker(load) -> None:
    from stubs.tasks import stub_task

    task = stub_task(training=load(with_training()).training)
    assert Task.from_json(task.to_json()) == task
    assert Task.from_json(stub_task().to_json()).training is None


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_the_schema_knows_the_table(optimiser: str) -> None:
    wanted = {key: json.loads(value) for key, value in TABLE.items()} | {"optimiser": optimiser, "target": 1.5}
    data = {"spec": 1, "name": "a", "title": "A", "time": {"t1": 1}, "states": {"y": 1}, "equations": {"y": "y"}}
    jsonschema.validate({**data, "training": wanted}, problem_schema())
    for key in [key.name for key in TRAINING.keys if key.required]:
        lacking = {name: value for name, value in wanted.items() if name != key}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**data, "training": lacking}, problem_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "training": {**wanted, "target": [1, 2]}}, problem_schema())
