"""Worker side: the user's function as a right-hand side of the flat state and the flat parameters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sciml_bench.importing.python.function import Call, from_file
from sciml_bench.importing.python.trees import Key
from sciml_bench.record.task import Task


class GivenFunction:
    """``path.py:name`` of a task's options. The file is run: its user named it."""

    def __init__(self, task: Task):
        path = Path(task.options["path"])
        # It may import its neighbours when it is called.
        sys.path.insert(0, str(path.parent))
        function, given = from_file(path, task.options["function"])
        self._call = Call(function, given)
        names = [] if task.theta is None or task.numbers.wrt != "parameters" else list(task.theta.labels)
        by_name = {name: key for key, name in self._call.names.items()}
        #: The places of parameters in theta.
        self._places = {by_name[name]: place for place, name in enumerate(names)}

    def closed(self, p: Any, arrays: Any) -> Callable[[Any, Any], Any]:
        """The derivative of the flat state by time, with these parameters.

        ``arrays`` makes arrays by ``asarray`` and ``concatenate``, as ``numpy`` and ``jax.numpy`` do.
        """
        call, places = self._call, self._places

        def leaf(keys: Sequence[Key], shape: tuple[int, ...] | None) -> Any:
            """Parameters that the model does not depend on are not in theta."""
            found = [places.get(key) for key in keys]
            if shape is None:
                return call.values[keys[0]] if found[0] is None else p[found[0]]
            first = found[0]
            if first is not None and found == list(range(first, first + len(found))):
                return (p if len(found) == len(places) else p[first : first + len(found)]).reshape(shape)
            values = (call.values[key] if place is None else p[place] for key, place in zip(keys, found, strict=True))
            return arrays.asarray(list(values)).reshape(shape)

        function = call.closed(call.function, call.arguments.filled(leaf))

        def of_vector(t: Any, y: Any) -> Any:
            result = function(t, y)
            is_array = isinstance(result, (list, tuple)) or hasattr(result, "shape")
            found = arrays.asarray(result if is_array else call.parts(result)[0])
            return found if found.ndim == 1 else found.reshape(-1)

        def of_parts(t: Any, y: Any) -> Any:
            parts = call.parts(function(t, call.state.of_vector(y)))
            return arrays.concatenate([arrays.asarray(part).reshape(-1) for part in parts])

        return of_vector if call.state.is_vector else of_parts
