# PyTorch on a GPU as a peer of bench/gpu.py: the modules of torch.nn, timed by CUDA events. A network that can be
# captured runs as a CUDA graph if that is faster, so that Python's cost between launches does not count.
import time

import torch
from torch import nn

from peer import MIN_RUNS, Refused, lengths, serve

MODULES = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
TYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
WARM_RUNS = 3
TRIAL_SECONDS = 0.05


def measure(run, seconds, _repeats=1):
    ms, begin = [], time.perf_counter()
    while len(ms) < MIN_RUNS or time.perf_counter() - begin < seconds:
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        run()
        last.record()
        last.synchronize()
        ms.append(first.elapsed_time(last))
    ms.sort()
    return {"ms": ms[0], "ms_median": ms[len(ms) // 2], "runs": len(ms)}


def make_run(request):
    dtype = TYPES[request.dtype]
    module = MODULES[request.cell](
        request.input, request.hidden, request.layers, bidirectional=request.directions == 2
    ).to("cuda", dtype)
    training = request.purpose == "train"
    module.train(training)
    shape = (request.steps, request.rows, request.input)
    x = (torch.rand(shape, device="cuda") * 2 - 1).to(dtype).requires_grad_(training)
    wide = (request.steps, request.rows, request.directions * request.hidden)
    output_gradient = (torch.rand(wide, device="cuda") * 2 - 1).to(dtype)
    row_lengths = torch.tensor(lengths(request)) if request.ragged else None

    def outputs():
        if row_lengths is None:
            return module(x)[0]
        packed = nn.utils.rnn.pack_padded_sequence(x, row_lengths, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(module(packed)[0], total_length=request.steps)[0]

    def run():
        if not training:
            with torch.no_grad():
                outputs()
            return
        for leaf in (x, *module.parameters()):
            leaf.grad = None
        outputs().backward(output_gradient)

    return run


def captured(run):
    """Returns the run as a single graph, or None if it cannot be captured."""
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            run()
        graph.replay()
        torch.cuda.synchronize()
    except RuntimeError:
        return None
    return graph.replay


def warm_up(run):
    """Runs on a separate stream, as graph capture requires."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_RUNS):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()


def prepare(request):
    if request.cell not in MODULES or request.dtype not in TYPES:
        raise Refused("PyTorch has no such cell or type")
    if not torch.cuda.is_available():
        raise Refused("PyTorch finds no GPU")
    torch.cuda.empty_cache()
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = request.dtype == "tf32"
    try:
        run = make_run(request)
        warm_up(run)
        replay = captured(run) if not request.ragged else None      # lengths are in host memory
        faster = replay and (
            measure(replay, TRIAL_SECONDS)["ms_median"] < measure(run, TRIAL_SECONDS)["ms_median"]
        )
    except RuntimeError as error:
        raise Refused(str(error).splitlines()[0]) from None
    return f"PyTorch {torch.__version__}{' graph' if faster else ''}", replay if faster else run


if __name__ == "__main__":
    serve(prepare, measure)
