"""Worker side of the adapter of Keras: a functional model on TensorFlow, in ``tf.function``, with XLA, or eager."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

# Keras runs on whatever its user's settings name; here it is TensorFlow.
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.keras.optimisers import optimiser_of
from sciml_bench.adapters.keras.weights import from_keras, to_keras
from sciml_bench.adapters.models import MIXED, ModelProgram, ModelTrainer
from sciml_bench.adapters.program import FloatArray, Trainer
from sciml_bench.adapters.tensorflow.compiling import TraceTimes
from sciml_bench.adapters.tensorflow.device import GPU, device_of, peak_bytes, synchronise
from sciml_bench.record.task import Task, Training


class Batch(NamedTuple):
    """Images (n, height, width, channels) or tokens (n, positions), and their labels."""

    inputs: tf.Tensor
    labels: tf.Tensor


class KerasProgram(ModelProgram):
    """The model is called as ``model(x, training=…)``; its training step is the one that Keras's guide for TensorFlow
    writes by hand. bfloat16 is Keras's policy ``mixed_bfloat16``."""

    def __init__(self, task: Task):
        super().__init__(task)
        cell = task.cell
        tf.config.threading.set_intra_op_parallelism_threads(task.threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        self.device = device_of(cell)
        self._dtype = "float64" if cell.precision == "float64" else "float32"
        keras.config.set_floatx(self._dtype)
        keras.config.set_dtype_policy("mixed_bfloat16" if cell.precision == MIXED else self._dtype)
        self.mode = cell.framework_mode
        self._traces, self._times = 0, TraceTimes()
        source = load_source(task)
        with tf.device(self.device):
            self.model: Any = source.build_model()
        self._fill()
        self.loss_of = source.loss
        self._solve = self.function("solve", lambda x: self.model(x, training=False))
        self._gradient = self.function("gradient", self.differentiate)

    def function(self, name: str, body: Callable[..., Any]) -> Callable[..., Any]:
        """The body as this mode runs it, each trace counted."""
        if self.mode == "eager":
            return body

        def traced(*inputs: Any) -> Any:
            self._traces += 1
            return body(*inputs)

        timed = self._times.timed(name, traced)
        return tf.function(timed, autograph=False, jit_compile=self.mode == "xla")

    def differentiate(self, inputs: tf.Tensor, labels: tf.Tensor) -> tuple[Any, list[Any]]:
        """The loss and its gradient, an array for each variable."""
        with tf.GradientTape() as tape:
            loss = self.loss_of(labels, self.model(inputs, training=True))
        # The gradient of an embedding is sparse, with a row for every token: Keras's optimisers take squares of these
        # rows before they add up the rows of the same token, which is not Adam.
        return loss, [tf.convert_to_tensor(part) for part in tape.gradient(loss, self.variables)]

    @property
    def variables(self) -> list[Any]:
        """The model's variables, layer by layer in the order of theta."""
        return [variable.value for variable in self.weight_variables]

    def place(self, inputs: np.ndarray, labels: np.ndarray) -> Batch:
        if inputs.ndim == 4:
            inputs = inputs.transpose(0, 2, 3, 1)
        dtype = "int32" if inputs.dtype.kind == "i" else self._dtype
        with tf.device(self.device):
            return Batch(tf.constant(inputs, dtype=dtype), tf.constant(labels, dtype="int32"))

    def solve(self, inputs: Batch) -> tf.Tensor:
        return self._solve(inputs.inputs)

    def gradient(self, inputs: Batch) -> tuple[tf.Tensor, list[tf.Tensor]]:
        return self._gradient(*inputs)

    def synchronise(self, output: Any) -> None:
        if self.device == GPU:
            # Reading would copy the output to the host.
            synchronise(self.device)
        else:
            for tensor in tf.nest.flatten(output)[-1:]:
                tf.convert_to_tensor(tensor).numpy()

    def outputs(self, output: tf.Tensor) -> np.ndarray:
        found = tf.cast(output, tf.float64).numpy()
        return found.transpose(0, 3, 1, 2) if found.ndim == 4 else found

    def loss_and_gradient(self, output: tuple[tf.Tensor, list[tf.Tensor]]) -> tuple[float, np.ndarray]:
        loss, gradient = output
        return float(loss), self.flat(tf.convert_to_tensor(part).numpy() for part in gradient)

    def flat(self, arrays: Any) -> np.ndarray:
        """Arrays of Keras's layout, one for each variable, in the order of theta."""
        return from_keras(self.learning.slots, arrays).astype(np.float64)

    def trainer(self, training: Training) -> Trainer:
        return KerasTrainer(self, training)

    def await_inputs(self, inputs: Any) -> None:
        synchronise(self.device)

    def peak_device_bytes(self) -> int | None:
        return peak_bytes(self.device)

    def trace_count(self) -> int:
        return self._traces

    def phases_ns(self) -> dict[str, int]:
        return self._times.ns

    def versions(self) -> dict[str, str]:
        return {
            "tensorflow": tf.__version__,
            "keras": keras.__version__,
            "tensorflow_device": self.device,
            "threads_tensorflow": str(tf.config.threading.get_intra_op_parallelism_threads()),
        }

    def _fill(self) -> None:
        """Put the weights into the layers of the same names."""
        self.weight_variables: list[Any] = []
        for name, arrays in to_keras(self.learning.slots, self.weights):
            layer = self.model.get_layer(name)
            layer.set_weights(arrays)
            self.weight_variables += layer.weights


class KerasTrainer(ModelTrainer):
    """Loss, gradient and the optimiser's step inside one ``tf.function``."""

    def __init__(self, program: KerasProgram, training: Training):
        super().__init__(program, training)
        self._run = program
        optimiser = optimiser_of(training)
        optimiser.build(program.weight_variables)

        def train(inputs: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
            loss, gradient = program.differentiate(inputs, labels)
            optimiser.apply(gradient, program.weight_variables)
            return loss

        self._train = program.function("training", train)

    def step(self) -> tf.Tensor:
        return self._train(*self.batch)

    def synchronise(self, output: tf.Tensor) -> None:
        self._run.synchronise(output)

    def read_loss(self, output: tf.Tensor) -> float:
        return float(output)

    def predict(self, batch: Batch) -> np.ndarray:
        return self._run.outputs(self._run.solve(batch))

    def theta(self) -> FloatArray:
        return self._run.flat(variable.numpy() for variable in self._run.variables)
