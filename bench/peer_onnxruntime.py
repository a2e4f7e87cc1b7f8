# ONNX Runtime as a peer of the benchmark: one operator per layer, with inputs and outputs bound once. int8 is its
# dynamic quantization. It does not train.
import os
import tempfile

import onnxruntime
from onnxruntime.quantization import QuantType, quantize_dynamic

from onnx_network import network, random_values
from peer import Refused, serve


def quantized(model):
    with tempfile.TemporaryDirectory() as folder:
        whole, small = os.path.join(folder, "fp32.onnx"), os.path.join(folder, "int8.onnx")
        with open(whole, "wb") as file:
            file.write(model)
        quantize_dynamic(whole, small, weight_type=QuantType.QInt8)
        with open(small, "rb") as file:
            return file.read()


def prepare(request):
    if request.dtype == "bf16" or (request.dtype == "int8" and request.cell != "lstm"):
        raise Refused("ONNX Runtime has no such type for it")
    model, inputs, outputs = network(request)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        quantized(model) if request.dtype == "int8" else model, options, providers=["CPUExecutionProvider"]
    )
    binding = session.io_binding()
    for name, size in inputs.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(random_values(size)))
    for name in outputs:
        binding.bind_output(name)
    return "ONNX Runtime " + onnxruntime.__version__, lambda: session.run_with_iobinding(binding)


if __name__ == "__main__":
    serve(prepare)
