"""Random problems whose quantities are all numbers, as text of problem files."""

from __future__ import annotations

import random

#: Names that emitted code might use for something of its own.
_STATES = ("x", "y", "z", "matrix", "products", "u", "t1", "given")
_PARAMETERS = ("a", "p", "MATRIX", "one", "offsets", "WEIGHTS", "placed")
_HEAD = ("spec = 1", 'name = "random"', 'title = "Random"', "[time]", "t1 = 1")
_FUNCTIONS = ("sin", "exp", "tanh", "cosh", "atan", "abs", "expm1", "log1p", "exprel", "sinc")


def text(seed: int) -> str:
    """A problem of one to eight states. Its right-hand sides are finite wherever states and parameters are positive."""
    chosen = random.Random(seed)
    states = chosen.sample(_STATES, chosen.randint(1, len(_STATES)))
    parameters = chosen.sample(_PARAMETERS, chosen.randint(0, 4))
    names = [*states, *states, *parameters, *(["t"] if chosen.random() < 0.4 else [])]
    definitions: dict[str, str] = {}
    for i in range(chosen.randint(0, 3)):
        definitions[f"d{i}"] = _expression(chosen, names, 2)
        names.append(f"d{i}")
    style = chosen.choice([_expression, _mass_action, _growth])
    equations = {state: style(chosen, names, 3, state) for state in states}
    # What is declared must be used.
    equations[states[-1]] += "".join(f" + {name}" for name in (*parameters, *definitions))
    lines = [*_HEAD, "[parameters]", *(f"{name} = 1.5" for name in parameters)]
    lines += ["[states]", *(f"{name} = {{ initial = 0.5, scale = 1 }}" for name in states)]
    if definitions:
        lines += ["[definitions]", *(f'{name} = "{value}"' for name, value in definitions.items())]
    return "\n".join([*lines, "[equations]", *(f'{name} = "{value}"' for name, value in equations.items()), ""])


def _number(chosen: random.Random) -> str:
    return chosen.choice(["2", "3", "0.5", "1.25", "7/3", "1"])


def _expression(chosen: random.Random, names: list[str], depth: int, _state: str = "") -> str:
    """Anything of the language but conditions."""
    if depth == 0 or chosen.random() < 0.15:
        return chosen.choice([*names, *names, _number(chosen)])
    a, b = (_expression(chosen, names, depth - 1) for _ in range(2))
    match chosen.randrange(10):
        case 0 | 1 | 2:
            return f"({a}) {chosen.choice('+-')} ({b})"
        case 3 | 4 | 5:
            return f"({a})*({b})"
        case 6:
            return f"({a})/(2 + ({b})**2)"
        case 7:
            return f"({a})**{chosen.choice(['2', '3', '5'])}"
        case 8:
            return f"(1 + ({a})**2)**{chosen.choice(['0.5', '(-0.5)', '(-1)', '1.5', '(-2)'])}"
        case _:
            return f"{chosen.choice(_FUNCTIONS)}(tanh({a}))"


def _mass_action(chosen: random.Random, names: list[str], _depth: int, _state: str) -> str:
    """A sum of products."""
    terms = ["*".join(chosen.choices(names, k=chosen.randint(1, 4))) for _ in range(chosen.randint(1, 5))]
    return " - ".join(f"{_number(chosen)}*{term}" for term in terms)


def _growth(chosen: random.Random, names: list[str], _depth: int, state: str) -> str:
    """The state times its rate."""
    return f"{state}*({_mass_action(chosen, names, 1, state)})"
