"""Keras on TensorFlow, for the models of the conventional track."""

from sciml_bench.adapters.keras.declaration import ADAPTER as ADAPTER
