"""Worker side: the user's function as a right-hand side of the flat state and the flat parameters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sciml_bench.importing.python_function import Call, from_file
from sciml_bench.record.task import Task

Stack = Callable[[Any], Any]


class GivenFunction:
    """``path.py:name`` of a task's options. The file is run: its user named it."""

    def __init__(self, task: Task):
        path = Path(task.options["path"])
        # It may import its neighbours when it is called.
        sys.path.insert(0, str(path.parent))
        function, given = from_file(path, task.options["function"])
        self._call = Call(function, given)
        self._shape = np.shape(given.y0)
        names = [] if task.theta is None or task.numbers.wrt != "parameters" else list(task.theta.labels)
        by_name = {name: key for key, name in self._call.names.items()}
        self._keys = [by_name[name] for name in names]
        built = [*self._call.build(self._call.values).values()]
        is_vector = [getattr(value, "shape", None) for value in built] == [(len(self._keys),)]
        #: True if theta is the function's one vector of parameters.
        self._takes_theta = is_vector and self._keys == [*self._call.values]

    def closed(self, p: Any, stack: Stack) -> Callable[[Any, Any], Any]:
        """The derivative of the flat state by time, with these parameters; ``stack`` makes an array of a sequence."""
        call, shape, states = self._call, self._shape, self._call.states
        if self._takes_theta:
            function = call.closed(call.function, call.values, lambda _vector: p)
        else:
            values = {**call.values, **dict(zip(self._keys, p, strict=True))}
            function = call.closed(call.function, values, _arrays(stack))
        if len(shape) == 1:

            def flat(t: Any, y: Any) -> Any:
                result = function(t, y)
                found = stack([result[name] for name in states] if isinstance(result, Mapping) else result)
                return found if found.ndim == 1 else found.reshape(-1)

            return flat
        return lambda t, y: stack(function(t, y.reshape(shape or (1,)))).reshape(-1)


def _arrays(stack: Stack) -> Callable[[Any], Any]:
    """Arrays of objects, which the importer makes of vectors of parameters, as arrays of the library."""
    return lambda value: stack(list(value.ravel())).reshape(value.shape) if isinstance(value, np.ndarray) else value
