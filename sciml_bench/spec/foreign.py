"""Features of other languages that problem files do not have: one sentence each, with the nearest way."""

from __future__ import annotations

import ast
import re

FUNCTIONS = {
    "ln": "the natural logarithm is written log(x)",
    "pow": "a power is written x**n",
    "power": "a power is written x**n",
    "cbrt": "a cube root is written x**(1/3)",
    "atan2": "atan2 is missing: write 2*atan(y/(sqrt(x**2 + y**2) + x))",
    "round": "round is missing: write floor(x + 0.5)",
    "fmod": "a remainder is mod(a, b), which has the sign of b",
    "rem": "a remainder is mod(a, b), which has the sign of b",
    "heaviside": "a step is written where(t >= 5, 1, 0)",
    "piecewise": "a choice is written where(condition, a, b), and several are nested",
    "ifelse": "a choice is written where(condition, a, b)",
    "cond": "a choice is written where(condition, a, b)",
    "select": "a choice is written where(condition, a, b), and several are nested",
    "dirac": "impulses are missing: write a short pulse, where(t >= a and t < b, 1/(b - a), 0)",
    "interpolate": "a table is interpolated by interp(x, [0, 1, 2], [5, 7, 6]), in straight lines",
    "erf": "erf is missing: tanh(x*(1.1283792 + 0.1010947*x**2)) is right to 4e-4",
    "gamma": "the gamma function is missing: put its values into [constants]",
    "real": "complex numbers are missing: make the real and the imaginary part two states",
    "imag": "complex numbers are missing: make the real and the imaginary part two states",
    "conj": "complex numbers are missing: make the real and the imaginary part two states",
    "random": "random numbers in an equation are missing: a Brownian path is declared in a table [control.W]",
    "normal": "random numbers in an equation are missing: a Brownian path is declared in a table [control.W]",
    "inv": "the inverse of a matrix is missing: write the solved equations, or use solve_tridiagonal",
    "solve": "of linear solves there is only solve_tridiagonal(lower, diagonal, upper, b)",
    "array": "a vector with entries of parameters is written entry by entry, one state for each",
    "delay": "delays are missing: every right-hand side depends on the present state only",
}
"""Messages for functions that are not part of the expression language."""

KEYS = {
    "event": 'an event is a table: [events.NAME] with when = "x" or at = [12, 24], and reset = { v = "-0.9*v" }',
    "callbacks": 'an event is a table: [events.NAME] with when = "x" or at = [12, 24], and reset = { v = "-0.9*v" }',
    "doses": 'a dose is a scheduled event: [events.dose] with at = [12, 24] and reset = { c = "c + d" }',
    "dosing": 'a dose is a scheduled event: [events.dose] with at = [12, 24] and reset = { c = "c + d" }',
    "delays": "delays are missing: every right-hand side depends on the present state only",
    "lags": "delays are missing: every right-hand side depends on the present state only",
    "history": "delays are missing: every right-hand side depends on the present state only",
    "mass_matrix": "mass matrices are missing: solve for derivatives, and write the other equations as [algebraic.z]",
    "constraints": 'an algebraic equation is a table: [algebraic.z] with equation = "x + z - 1", which is zero',
    "units": "units are missing: convert to one system, and say so in 'description'",
    "noise": "noise is a table [control.W] with brownian = { channels = …, steps = …, seed = … }",
    "diffusion": "noise is a table [control.W] with brownian = { channels = …, steps = …, seed = … }",
    "observable": "an observed quantity is 'of' in [loss], or 'of' in a block [[observables]]",
    "priors": "priors are missing: a penalty of parameters is 'penalty' in [loss]",
    "bounds": "bounds on parameters are missing: write p = exp(log_p), and take log_p as the parameter",
    "functions": "function definitions are missing: name their values in [definitions]",
    "imports": "problem files import nothing: every formula is in the file",
    "reactions": "reactions are missing: write the rates of each species in [equations]",
    "jacobian": "Jacobians are derived from [equations], for every framework",
    "solver": "solvers are chosen by the command: sciml-bench run FILE --method …",
    "tolerances": "the profile sets the tolerances: sciml-bench run FILE --profile …",
    "rtol": "the profile sets the tolerances: sciml-bench run FILE --profile …",
    "atol": "absolute tolerances follow from the 'scale' of each state: x = { initial = 1, scale = 1e-6 }",
}
"""Messages for keys that a problem file does not have."""

_OPERATORS: dict[type[ast.AST], str] = {
    ast.BitXor: "a power is written **, not ^",
    ast.Mod: "a remainder is mod(a, b)",
    ast.FloorDiv: "write floor(a/b)",
    ast.MatMult: "products with matrices belong in [definitions] and [equations]",
    ast.IfExp: "a choice is written where(condition, a, b)",
    ast.List: 'a matrix stands before a vector, [[0, 1], [-k, 0]] @ y, or in [definitions] as A = [[0, 1], ["-k", 0]]',
    ast.Tuple: "an expression is one number or one field: give each component its own state",
    ast.Lambda: KEYS["functions"],
    ast.BitAnd: "conditions are joined by 'and', not &",
    ast.BitOr: "conditions are joined by 'or', not |",
    ast.Attribute: "functions have plain names, without a module: exp(x), not np.exp(x)",
}


def operator_hint(node: ast.AST) -> str:
    """Return the message for an operator or a form that is not part of the expression language; may be empty."""
    found = node.op if isinstance(node, ast.BinOp) else node
    return _OPERATORS.get(type(found), "")


def literal_hint(text: str) -> str:
    """Return the message for a literal that is not a real number; may be empty."""
    return "complex numbers are missing: make the real and the imaginary part two states" if text[-1:] in "jJ" else ""


def syntax_hint(text: str) -> str:
    """Return the message for a text that cannot be parsed; may be empty."""
    if re.search(r"\d\s*[A-Za-z_]\w*\s*$|\d\s*\(|\d [A-Za-z]", text):
        return "products need *, and numbers have no units"
    if re.search(r"\bif\b.*\bthen\b|\?", text):
        return _OPERATORS[ast.IfExp]
    if re.search(r"[A-Za-z_]\w*'", text):
        return "derivatives of states are not available on the right-hand side: repeat their expression"
    return ""
