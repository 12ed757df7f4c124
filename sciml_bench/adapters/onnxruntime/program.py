"""Worker side of the adapter of ONNX Runtime: one session, whose graph is optimised when it is made."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime

from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.models import ModelProgram
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Task


class OnnxRuntimeProgram(ModelProgram):
    """Inference by ``InferenceSession.run`` with all optimisations of the graph; there are no gradients."""

    def __init__(self, task: Task):
        super().__init__(task)
        cell = task.cell
        graph = load_source(task).build_graph(self._arrays(), "FLOAT")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = task.threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self._threads = task.threads
        provider = _provider(cell.device)
        self._session = onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=[provider])

    def place(self, inputs: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
        return {"x0": np.ascontiguousarray(inputs, np.int64 if inputs.dtype.kind == "i" else np.float32)}

    def solve(self, inputs: dict[str, np.ndarray]) -> Any:
        return self._session.run(None, inputs)[0]

    def gradient(self, inputs: Any) -> Any:
        raise SolverFailure(Outcome.UNSUPPORTED, "ONNX Runtime infers only: its sessions have no gradients")

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: a session returns NumPy arrays."""

    def outputs(self, output: np.ndarray) -> np.ndarray:
        return output

    def loss_and_gradient(self, output: Any) -> tuple[float, np.ndarray]:
        raise SolverFailure(Outcome.UNSUPPORTED, "ONNX Runtime infers only: its sessions have no gradients")

    def versions(self) -> dict[str, str]:
        return {
            "onnxruntime": onnxruntime.__version__,
            "onnx": onnx.__version__,
            "onnxruntime_provider": self._session.get_providers()[0],
            "threads_onnxruntime": str(self._threads),
        }

    def _arrays(self) -> dict[str, np.ndarray]:
        """The weights by name, in their neutral layout."""
        found: dict[str, np.ndarray] = {}
        start = 0
        for slot in self.learning.slots:
            array = self.weights[start : start + slot.size].reshape(slot.shape)
            found[f"{slot.layer}.{slot.role}"] = array.astype(np.float32)
            start += slot.size
        return found


def _provider(device: str) -> str:
    wanted = "CUDAExecutionProvider" if device == "gpu" else "CPUExecutionProvider"
    if wanted not in onnxruntime.get_available_providers():
        raise SolverFailure(Outcome.UNSUPPORTED, "ONNX Runtime sees no GPU here; run: pip install onnxruntime-gpu")
    return wanted
