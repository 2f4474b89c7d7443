"""A BERT encoder as an ONNX graph: token vectors and a mask in, unit vectors out (mean pooling).

The words' own vectors stay outside: their table (the bulk of a multilingual model) is mapped from disk, so only the
words in use cost memory. The nodes are onnxruntime's fused ones, with eight-bit weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from refdesk.adapters.bert_weights import Bert, Layer, Linear, Norm

OPSET = 20
"""The first that has Gelu; IR version 9 belongs to it."""
FUSED = "com.microsoft"


class _Graph:
    """Collects nodes and constants; every method returns the name of what it made."""

    def __init__(self, bert: Bert) -> None:
        self.bert = bert
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: NDArray[np.generic]) -> str:
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def op(self, kind: str, *inputs: str, outputs: tuple[str, ...] = (), **attributes: Any) -> str:
        names = outputs or (f"{kind}{len(self.nodes)}",)
        self.nodes.append(helper.make_node(kind, list(inputs), list(names), **attributes))
        return names[0]

    def norm(self, x: str, norm: Norm) -> str:
        scale, shift = self.constant(norm.scale), self.constant(norm.shift)
        return self.op("LayerNormalization", x, scale, shift, epsilon=self.bert.epsilon, axis=-1)

    def linear(self, x: str, linear: Linear) -> str:
        """One scale per output; the input is quantised as it comes."""
        scale = (np.maximum(np.abs(linear.matrix).max(axis=1), 1e-12) / 127).astype(np.float32)
        values = np.rint(linear.matrix / scale[:, None]).astype(np.int8).T
        constants = (values, scale, np.zeros(len(scale), np.int8), linear.bias)
        return self.op("DynamicQuantizeMatMul", x, *map(self.constant, constants), domain=FUSED)

    def layer(self, x: str, number: int, layer: Layer) -> str:
        heads = tuple(f"{part}{number}" for part in ("query", "key", "value"))
        self.op("Split", self.linear(x, layer.attention), outputs=heads, num_outputs=3, axis=-1)
        mixed = self.op("MultiHeadAttention", *heads, "", "attention_mask", num_heads=self.bert.heads, domain=FUSED)
        x = self.norm(self.op("Add", x, self.linear(mixed, layer.mixed)), layer.mixed_norm)
        inner = self.op("Gelu", self.linear(x, layer.inner))
        return self.norm(self.op("Add", x, self.linear(inner, layer.outer)), layer.outer_norm)

    def pooled(self, x: str) -> None:
        """The sum points where the mean does, and its length goes anyway."""
        tokens, last = self.constant(np.array([1])), self.constant(np.array([2]))
        mask = self.op("Unsqueeze", self.op("Cast", "attention_mask", to=TensorProto.FLOAT), last)
        total = self.op("ReduceSum", self.op("Mul", x, mask), tokens, keepdims=0)
        self.op("Div", total, self.op("ReduceL2", total, tokens, keepdims=1), outputs=("embedding",))


def encoder(bert: Bert) -> bytes:
    graph = _Graph(bert)
    x = graph.norm("token_vectors", bert.norm)
    for number, layer in enumerate(bert.layers):
        x = graph.layer(x, number, layer)
    graph.pooled(x)
    hidden = bert.places.shape[1]
    inputs = [
        helper.make_tensor_value_info("token_vectors", TensorProto.FLOAT, ["batch", "tokens", hidden]),
        helper.make_tensor_value_info("attention_mask", TensorProto.INT32, ["batch", "tokens"]),
    ]
    outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", hidden])]
    made = helper.make_graph(graph.nodes, "encoder", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
    return bytes(helper.make_model(made, opset_imports=opsets, ir_version=9).SerializeToString())
