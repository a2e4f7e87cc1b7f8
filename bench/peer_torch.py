# PyTorch as a peer of the benchmark: the modules of torch.nn, as a user would call them. Weights and inputs are random.
# OMP_NUM_THREADS sets the number of threads.
import os
import warnings

import torch
from torch import nn

from peer import Refused, lengths, serve

MODULES = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


def make_module(request):
    if request.cell not in MODULES:
        raise Refused("PyTorch has no such cell")
    module = MODULES[request.cell](
        request.input, request.hidden, request.layers, bidirectional=request.directions == 2
    )
    if request.dtype == "bf16":
        return module.bfloat16()
    if request.dtype == "int8":
        if request.cell == "rnn" or request.purpose == "train":
            raise Refused("PyTorch has no int8 for it")
        warnings.simplefilter("ignore")
        return torch.ao.quantization.quantize_dynamic(module, {type(module)}, torch.qint8)
    return module


def make_input(request):
    x = torch.rand(request.steps, request.rows, request.input) * 2 - 1
    if request.dtype == "bf16":
        x = x.bfloat16()
    if request.purpose == "train":
        x.requires_grad_()
    return x


def train(request, module, x):
    parameters = list(module.parameters())
    size = (request.steps, request.rows, request.directions * request.hidden)
    output_gradient = torch.rand(size, dtype=x.dtype) * 2 - 1
    row_lengths = torch.tensor(lengths(request)) if request.ragged else None

    def run():
        x.grad = None
        for parameter in parameters:
            parameter.grad = None
        if row_lengths is None:
            module(x)[0].backward(output_gradient)
            return
        packed = nn.utils.rnn.pack_padded_sequence(x, row_lengths, enforce_sorted=False)
        y, _ = nn.utils.rnn.pad_packed_sequence(module(packed)[0], total_length=request.steps)
        y.backward(output_gradient)

    return run


def infer(request, module, x):
    row_lengths = torch.tensor(lengths(request)) if request.ragged else None
    states = None

    def run():
        nonlocal states
        with torch.inference_mode():
            if row_lengths is None:
                _, states = module(x, states)
            else:
                packed = nn.utils.rnn.pack_padded_sequence(x, row_lengths, enforce_sorted=False)
                nn.utils.rnn.pad_packed_sequence(module(packed)[0], total_length=request.steps)

    return run


class LanguageModel(nn.Module):
    """One-hot symbols, recurrent layers, a head: the default network of `unroll train`."""

    def __init__(self, request):
        super().__init__()
        self.vocabulary = request.input
        self.recurrent = make_module(request)
        self.head = nn.Linear(request.hidden, request.input)

    def forward(self, tokens, states):
        x = nn.functional.one_hot(tokens, self.vocabulary).to(torch.float32)
        y, states = self.recurrent(x, states)
        return self.head(y), states


def train_on_text(request):
    """Returns a function that runs an update: truncated backpropagation with carried states, clipping, Adam."""
    model = LanguageModel(request)
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    text = torch.randint(request.input, (100 * request.steps + 1, request.rows))
    states, at = None, 0

    def run():
        nonlocal states, at
        tokens, targets = text[at : at + request.steps], text[at + 1 : at + 1 + request.steps]
        at = (at + request.steps) % (100 * request.steps)
        adam.zero_grad()
        z, states = model(tokens, states)
        states = tuple(state.detach() for state in states)
        loss = nn.functional.cross_entropy(z.reshape(-1, request.input), targets.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1)
        adam.step()
        return loss.item()

    return run


def prepare(request):
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    version = "PyTorch " + torch.__version__
    if request.purpose == "text":
        return version, train_on_text(request)
    module, x = make_module(request), make_input(request)
    run = (train if request.purpose == "train" else infer)(request, module, x)
    return version, run


if __name__ == "__main__":
    serve(prepare)
