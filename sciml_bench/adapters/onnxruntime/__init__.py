"""ONNX Runtime, which infers only, for the models of the conventional track."""

from sciml_bench.adapters.onnxruntime.declaration import ADAPTER as ADAPTER
