"""The cost of a function of emitted source in libraries that run each operation separately."""

from __future__ import annotations

import ast
import math

from sciml_bench.emit.symbolic.rows import ENTRIES_PER_OPERATION

# Measured in PyTorch 2.13 on one core, where a product of two numbers is 1: taking an array apart, and putting numbers
# together, cost more the more they are; a number of Python's own is made an array first.
_TAKEN_APART = 0.4

_PUT_TOGETHER = 0.2

_PYTHON_NUMBER = 0.4


def operations(text: str) -> float:
    """The cost of one call of the ``rhs`` of a module, in operations of the library; large matrices count as more."""
    tree = ast.parse(text)
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "rhs")
    return sum(map(_cost, ast.walk(function))) + sum(map(_entries, tree.body)) / ENTRIES_PER_OPERATION


def _cost(node: ast.AST) -> float:
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Call(func=ast.Attribute(attr="unbind"))):
            # The call itself is counted as it is met.
            return _TAKEN_APART * len(names) - 1.0
        case ast.BinOp(left=left, right=right):
            return 1.0 + _PYTHON_NUMBER * (_is_number(left) or _is_number(right))
        case ast.UnaryOp(operand=operand):
            return 0.0 if _is_number(operand) else 1.0
        case ast.Call(func=ast.Attribute(attr="stack" | "cat"), args=[ast.List(elts=items), *_]):
            return 1.0 + _PUT_TOGETHER * len(items)
        case ast.Call() | ast.Subscript() | ast.Compare():
            return 1.0
    return 0.0


def _is_number(node: ast.AST) -> bool:
    match node:
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.Constant(value=int() | float()):
            return True
    return False


def _entries(node: ast.stmt) -> int:
    """Entries of the matrices that a statement of a module makes."""
    if isinstance(node, ast.Assign) or (isinstance(node, ast.FunctionDef) and node.name == "prepared"):
        return sum(map(_of_array, ast.walk(node)))
    return 0


def _of_array(node: ast.AST) -> int:
    match node:
        case ast.Call(func=ast.Attribute(attr="tensor"), args=[rows]):
            return sum(isinstance(inner, ast.Constant) for inner in ast.walk(rows))
        case ast.Call(func=ast.Name(id="placed"), args=[*_, ast.Tuple(elts=shape)]):
            return math.prod(int(ast.unparse(size)) for size in shape)
        case ast.Call(func=ast.Name(id="picked"), args=[ast.Tuple(elts=entries), size]):
            return len(entries) * int(ast.unparse(size))
    return 0
