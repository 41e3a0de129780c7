"""What other runtimes compute of a graph, given to them as ONNX."""

from __future__ import annotations

from assay.native.onnx.file import onnx_bytes


def by_onnxruntime(graph, inputs):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        onnx_bytes(graph), options, providers=["CPUExecutionProvider"]
    )
    named = {value.name: array for value, array in zip(graph.inputs, inputs, strict=True)}
    return session.run(None, named)


def by_openvino(graph, inputs):
    import openvino

    core = openvino.Core()
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    compiled = core.compile_model(core.read_model(onnx_bytes(graph)), "CPU", settings)
    found = compiled(list(inputs))
    return [found[number] for number in range(len(graph.outputs))]
