# OpenVINO as a peer of the benchmark: the ONNX model, compiled for the CPU and low latency. The precision is set,
# because OpenVINO chooses bf16 where the processor supports it. It does not train.
import os

import openvino

from onnx_network import network, random_values
from peer import Refused, serve

PRECISION = {"fp32": "f32", "bf16": "bf16"}


def prepare(request):
    if request.dtype not in PRECISION:
        raise Refused("OpenVINO has no such type for it")
    model, inputs, _ = network(request)
    core = openvino.Core()
    compiled = core.compile_model(
        core.read_model(model),
        "CPU",
        {
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": "1",
            "INFERENCE_PRECISION_HINT": PRECISION[request.dtype],
            "INFERENCE_NUM_THREADS": os.environ["OMP_NUM_THREADS"],
        },
    )
    call = compiled.create_infer_request()
    for name, size in inputs.items():
        call.set_tensor(name, openvino.Tensor(random_values(size)))
    return "OpenVINO " + openvino.__version__.split("-")[0], call.infer


if __name__ == "__main__":
    serve(prepare)
