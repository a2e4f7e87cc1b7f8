#!/usr/bin/env python3
"""Makes tests/vectors/*.safetensors: the results of PyTorch in float64, forward and backward, for
small recurrent networks with random weights, inputs, states and lengths. It is run by hand when a case is added;
building and testing Unroll need neither Python nor this script.

    pip install torch==2.13.0 pytorch-crf==0.7.2 numpy safetensors
    python tools/make_torch_vectors.py            # rewrites tests/vectors, a few seconds

Everything given (weights, inputs, states, cotangents) is rounded to float32 before use, so that both sides start
from the same numbers; results are rounded to float32 once, at the end. tests/vectors/README.md describes the
files. Cells that PyTorch lacks are written here as plain loops, which are checked against PyTorch on every other
case.
"""
import argparse
import dataclasses
import itertools
import json
import pathlib
import zlib

import numpy as np
import torch
import torchcrf
from safetensors.numpy import save_file
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

GATES = {"rnn": 1, "rnn-relu": 1, "lstm": 4, "gru": 3, "gru-before": 3}

# Cells whose gates multiply no state by a matrix: (gates of x, elementwise weight vectors).
DIAGONAL = {"mingru": (2, 0), "minlstm": (3, 0), "sru": (4, 2), "indrnn": (1, 1), "paragru": (3, 3), "paralstm": (3, 5)}
IGNORED_TARGET = -1

# relu and clipping have kinks. Within float32's error of one, a correct program may take the other slope, so draws that
# come closer than this are discarded.
KINK_MARGIN = 1e-4

# PyTorch and the plain loops differ only in the order of sums in float64.
LOOP_TOLERANCE = 1e-12


# Losses of one result per target; their defaults are delta = 1 (huber) and log_input=True, full=False (poisson).
LOSSES = {"mse": F.mse_loss, "huber": F.huber_loss, "bce": F.binary_cross_entropy_with_logits,
          "poisson": F.poisson_nll_loss}

# Losses of several results per target, results[..., k].
LEVELS = (0.125, 0.5, 0.75)
SMALLEST_SCALE = float(np.float32(1e-3))


def quantile_loss(results, targets):
    error = targets.unsqueeze(-1) - results
    levels = torch.tensor(LEVELS)
    return torch.maximum(levels * error, (levels - 1) * error).mean(-1).sum()


def gaussian_loss(results, targets):
    scale = F.softplus(results[..., 1]) + SMALLEST_SCALE
    return F.gaussian_nll_loss(results[..., 0], targets, scale ** 2, full=True, eps=0, reduction="sum")


def student_t_loss(results, targets):
    scale, freedom = F.softplus(results[..., 1]) + SMALLEST_SCALE, 2 + F.softplus(results[..., 2])
    return -torch.distributions.StudentT(freedom, results[..., 0], scale).log_prob(targets).sum()


OF_CLASSES = ("xent", "crf", "ctc")
WIDE_LOSSES = {"quantile:" + ",".join(map(str, LEVELS)): (3, quantile_loss), "gaussian": (2, gaussian_loss),
               "student-t": (3, student_t_loss)}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    cell: str
    layers: int = 1
    bidirectional: bool = False
    input: int = 5
    hidden: int = 6
    projection: int = 0     # width of h, 0: no projection
    bias: bool = True
    peephole: bool = False
    clip: float = 0.0       # bound on the inputs of the gates' activation functions, 0: none
    T: int = 7
    B: int = 3
    ragged: bool = False    # lengths differ from row to row; 1 and T always occur
    empty_row: bool = False # and one row has length 0
    vocab: int = 0          # > 0: the input is an embedding of this many tokens, of width `input`
    columns: tuple = ()     # (name, categories, width), concatenated; 0 categories: numbers; `input` is their width
    tied: bool = False      # the head uses the embedding's weights
    loss: str = ""          # one of OF_CLASSES, of LOSSES or WIDE_LOSSES, or "": no head
    outputs: int = 0        # of the head
    smoothing: float = 0.0  # "xent": label smoothing, with a weight for each class
    pool: str = ""          # before the head: "last", "mean", "max", "mean+max"; "": none

    @property
    def steps(self):
        """The steps of the head's output."""
        return 1 if self.pool else self.T

    @property
    def directions(self):
        return 2 if self.bidirectional else 1

    @property
    def width(self):
        """The width of h."""
        return self.projection or self.hidden

    @property
    def has_c(self):
        return self.cell in ("lstm", "sru", "paralstm")

    @property
    def in_torch(self):
        return self.cell != "gru-before" and self.cell not in DIAGONAL and not self.peephole and not self.clip

    def as_json(self):
        keys = dataclasses.asdict(self)
        if not self.columns:
            del keys["columns"]
        if not self.loss:
            for key in ("vocab", "tied", "loss", "outputs"):
                del keys[key]
        elif self.vocab:
            keys["embed"] = self.input
        if not self.pool:
            del keys["pool"]
        if not self.smoothing:
            del keys["smoothing"]
        return json.dumps(keys | {"torch": torch.__version__.split("+")[0]})


class PlainLoop(nn.Module):
    """Computes the equations step by step: all cells, on padded rows of any length, including 0."""

    def __init__(self, case):
        super().__init__()
        self.case = case
        self.nearest_kink = float("inf")
        for layer in range(case.layers):
            for suffix in self.suffixes(layer):
                for name, shape in self.shapes(layer):
                    self.register_parameter(name + suffix, nn.Parameter(torch.zeros(shape)))

    def suffixes(self, layer):
        return [f"_l{layer}", f"_l{layer}_reverse"][:self.case.directions]

    def shapes(self, layer):
        case = self.case
        gates, vectors = DIAGONAL.get(case.cell) or (GATES[case.cell], 0)
        rows, columns = gates * case.hidden, case.width * case.directions if layer else case.input
        yield "weight_ih", (rows, columns)
        if case.cell in DIAGONAL:
            yield "bias_ih", (rows,)
            if vectors:
                yield "weight_vector", (vectors, case.hidden)
            return
        yield "weight_hh", (rows, case.width)
        if case.bias:
            yield "bias_ih", (rows,)
            yield "bias_hh", (rows,)
        if case.projection:
            yield "weight_hr", (case.projection, case.hidden)
        if case.peephole:
            yield "weight_peephole", (3, case.hidden)

    def forward(self, x, lengths, h0, c0):
        final_h, final_c = [], []
        for layer in range(self.case.layers):
            outputs = []
            for suffix in self.suffixes(layer):
                k = len(final_h)
                y, h, c = self.one_direction(x, lengths, h0[k], c0[k], suffix)
                outputs.append(y)
                final_h.append(h)
                final_c.append(c)
            x = torch.cat(outputs, -1)
        return x, torch.stack(final_h), torch.stack(final_c)

    def one_direction(self, x, lengths, h, c, suffix):
        steps = range(len(x))
        y = [None] * len(x)
        # Backward in time a row keeps its initial state until its own last step comes up.
        for t in reversed(steps) if suffix.endswith("_reverse") else steps:
            alive = (t < lengths).unsqueeze(1)
            next_h, next_c = self.step(x[t], h, c, suffix)
            h = torch.where(alive, next_h, h)
            c = torch.where(alive, next_c, c)
            y[t] = torch.where(alive, next_h, torch.zeros_like(h))
        return torch.stack(y), h, c

    def step(self, x, h, c, suffix):
        weight = {name: getattr(self, name + suffix, None) for name in
                  ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr", "weight_peephole", "weight_vector")}
        from_x = F.linear(x, weight["weight_ih"], weight["bias_ih"])
        if self.case.cell in DIAGONAL:
            return self.diagonal(from_x.chunk(DIAGONAL[self.case.cell][0], 1), h, c, weight["weight_vector"])
        from_h = F.linear(h, weight["weight_hh"], weight["bias_hh"])
        if self.case.cell == "lstm":
            return self.lstm(from_x + from_h, c, weight)
        if self.case.cell == "gru":
            return self.gru(from_x, from_h, h), c
        if self.case.cell == "gru-before":
            return self.gru_before(from_x, from_h, h, weight), c
        return self.activate(torch.relu if self.case.cell == "rnn-relu" else torch.tanh, from_x + from_h), c

    def lstm(self, sums, c, weight):
        i, f, g, o = sums.chunk(4, 1)
        if self.case.peephole:
            peep_i, peep_f, peep_o = weight["weight_peephole"]
            i, f = i + peep_i * c, f + peep_f * c
        i = self.activate(torch.sigmoid, i)
        f = self.activate(torch.sigmoid, f)
        g = self.activate(torch.tanh, g)
        c = f * c + i * g
        if self.case.peephole:
            o = o + peep_o * c
        o = self.activate(torch.sigmoid, o)
        h = o * torch.tanh(c)          # a clip bounds the gates only
        return (F.linear(h, weight["weight_hr"]) if self.case.projection else h), c

    def gru(self, from_x, from_h, h):
        x_r, x_z, x_n = from_x.chunk(3, 1)
        h_r, h_z, h_n = from_h.chunk(3, 1)
        r = self.activate(torch.sigmoid, x_r + h_r)
        z = self.activate(torch.sigmoid, x_z + h_z)
        n = self.activate(torch.tanh, x_n + r * h_n)
        return (1 - z) * n + z * h

    def gru_before(self, from_x, from_h, h, weight):
        x_r, x_z, x_n = from_x.chunk(3, 1)
        h_r, h_z, _ = from_h.chunk(3, 1)
        r = self.activate(torch.sigmoid, x_r + h_r)
        z = self.activate(torch.sigmoid, x_z + h_z)
        bias = weight["bias_hh"][-self.case.hidden:] if self.case.bias else None
        n = self.activate(torch.tanh, x_n + F.linear(r * h, weight["weight_hh"][-self.case.hidden:], bias))
        return (1 - z) * n + z * h

    def diagonal(self, gates, h, c, v):
        """Each cell as in its paper; the comments of src/nn/cells name the papers."""
        if self.case.cell == "mingru":
            z, n = torch.sigmoid(gates[0]), gates[1]
            return (1 - z) * h + z * n, c
        if self.case.cell == "minlstm":
            f, i = torch.sigmoid(gates[0]), torch.sigmoid(gates[1])
            return f / (f + i) * h + i / (f + i) * gates[2], c
        if self.case.cell == "sru":
            f, r = torch.sigmoid(gates[0] + v[0] * c), torch.sigmoid(gates[1] + v[1] * c)
            c = f * c + (1 - f) * gates[2]
            return r * c + (1 - r) * gates[3], c
        if self.case.cell == "indrnn":
            return self.activate(torch.relu, gates[0] + v[0] * h), c
        if self.case.cell == "paragru":
            r, z = torch.sigmoid(gates[0] + v[0] * h), torch.sigmoid(gates[1] + v[1] * h)
            return (1 - z) * h + z * torch.tanh(gates[2] + v[2] * (r * h)), c
        f, g = torch.sigmoid(gates[0] + v[0] * h + v[3] * c), torch.tanh(gates[1] + v[1] * h)
        c = f * c + (1 - f) * g
        return torch.sigmoid(gates[2] + v[2] * h + v[4] * c) * torch.tanh(c), c

    def activate(self, function, a):
        if self.case.clip:
            self.note_kink(a.abs() - self.case.clip)
            a = a.clamp(-self.case.clip, self.case.clip)
        if function is torch.relu:
            self.note_kink(a)
        return function(a)

    def note_kink(self, distance):
        self.nearest_kink = min(self.nearest_kink, distance.abs().min().item())


def torch_rnn(case):
    kind = {"rnn": nn.RNN, "rnn-relu": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[case.cell]
    options = {"nonlinearity": "relu"} if case.cell == "rnn-relu" else {}
    if case.projection:
        options["proj_size"] = case.projection
    return kind(case.input, case.hidden, case.layers, bias=case.bias,
                bidirectional=case.bidirectional, **options)


def run_rnn(rnn, x, lengths, h0, c0):
    """Returns y [T, B, directions*width], zero in the padding, and the final states."""
    if isinstance(rnn, PlainLoop):
        return rnn(x, lengths, h0, c0)
    # PyTorch refuses a row of length 0; it is left out here and keeps its initial state.
    rows = lengths.nonzero().squeeze(1)
    packed = pack_padded_sequence(x[:, rows], lengths[rows], enforce_sorted=False)
    if isinstance(rnn, nn.LSTM):
        packed, (h, c) = rnn(packed, (h0[:, rows], c0[:, rows]))
        c = c0.index_copy(1, rows, c)
    else:
        packed, h = rnn(packed, h0[:, rows])
        c = c0
    y, _ = pad_packed_sequence(packed, total_length=len(x))
    y = y.new_zeros(len(x), len(lengths), y.shape[2]).index_copy(1, rows, y)
    return y, h0.index_copy(1, rows, h), c


def pooled(case, rnn, y, h, lengths):
    """Returns one row per sequence, [1, B, width]; rows of sequences of length 0 are ignored."""
    if not case.pool:
        return y
    valid = (torch.arange(len(y))[:, None] < lengths).unsqueeze(2)
    shown = torch.where(valid, y, -torch.inf)
    if "max" in case.pool and len(y) > 1:
        first, second = shown[:, lengths > 1].topk(2, 0).values
        if isinstance(rnn, PlainLoop):
            rnn.note_kink(first - second)
    made = {"last": lambda: torch.cat(list(h[-case.directions:]), 1),
            "mean": lambda: torch.where(valid, y, 0).sum(0) / lengths.clamp(min=1).unsqueeze(1),
            "max": lambda: torch.where(lengths.unsqueeze(1) > 0, shown.max(0).values, 0)}
    return torch.cat([made[pool]() for pool in case.pool.split("+")], 1).unsqueeze(0)


class Model(nn.Module):
    """[embedding ->] rnn [-> head]; the attribute names are those of the stored parameters."""

    def __init__(self, case, rnn):
        super().__init__()
        self.embedding = nn.Embedding(case.vocab, case.input) if case.vocab else None
        if case.columns:
            self.embedding = nn.ModuleDict({name: nn.Embedding(categories, width)
                                            for name, categories, width in case.columns if categories})
        self.rnn = rnn
        pools = len(case.pool.split("+"))
        self.head = nn.Linear(case.width * case.directions * pools, case.outputs) if case.loss else None
        if case.tied:
            self.head.weight = self.embedding.weight
        if case.loss == "crf":
            self.crf = torchcrf.CRF(case.outputs)


def embedded(case, model, tokens, x):
    """Returns the input of the first layer."""
    if not case.columns:
        return model.embedding(tokens) if case.vocab else x
    place = itertools.count()
    return torch.cat([model.embedding[name](tokens[:, :, next(place)]) if categories else x
                      for name, categories, _ in case.columns], 2)


def parameters(case, model):
    """Yields (name, parameter) in a fixed order. A network without a head is nn.LSTM alone, without "rnn." in front."""
    for name, parameter in sorted(model.named_parameters()):
        yield (name if case.loss else name.removeprefix("rnn.")), parameter


def draw_lengths(case, random):
    lengths = [case.T] * case.B
    if case.ragged:
        fixed = [case.T, 1] + [0] * case.empty_row
        lengths = fixed + list(random.randint(1, case.T + 1, case.B - len(fixed)))
        random.shuffle(lengths)
    return np.array(lengths, np.int32)


def draw(case, random):
    """Draws everything given: parameters, inputs, states, and cotangents or targets."""
    def normal(*shape):
        return random.standard_normal(shape).astype(np.float32)

    given = {name: random.uniform(-0.6, 0.6, tuple(parameter.shape)).astype(np.float32)
             for name, parameter in parameters(case, Model(case, PlainLoop(case)))}
    given["lengths"] = draw_lengths(case, random)
    valid = np.arange(case.steps)[:, None] < given["lengths"]
    # The padding of inputs holds ordinary numbers, so that a program that reads it is caught.
    if case.vocab:
        given["tokens"] = random.randint(0, case.vocab, (case.T, case.B)).astype(np.int32)
    elif case.columns:
        given["tokens"] = np.stack([random.randint(0, categories, (case.T, case.B))
                                    for _, categories, _ in case.columns if categories], 2).astype(np.int32)
        given["x"] = normal(case.T, case.B, sum(width for _, categories, width in case.columns if not categories))
    else:
        given["x"] = normal(case.T, case.B, case.input)
    layers = case.layers * case.directions
    given["h0"] = normal(layers, case.B, case.width)
    if case.has_c:
        given["c0"] = normal(layers, case.B, case.hidden)
    if case.loss == "xent":
        targets = random.randint(0, case.outputs, (case.steps, case.B))
        counted = valid & (random.uniform(size=valid.shape) < 0.8)
        given["targets"] = np.where(counted, targets, IGNORED_TARGET).astype(np.int32)
        if case.smoothing:
            given["class_weights"] = (random.randint(0, 16, case.outputs) / 8).astype(np.float32)
    elif case.loss == "crf":
        targets = random.randint(0, case.outputs, (case.steps, case.B))
        given["targets"] = np.where(valid, targets, IGNORED_TARGET).astype(np.int32)
    elif case.loss == "ctc":
        labels = random.randint(0, given["lengths"] // 2 + 1)  # steps enough, also for equal neighbors
        targets = random.randint(1, case.outputs, (case.steps, case.B))
        given["targets"] = np.where(np.arange(case.steps)[:, None] < labels, targets, 0).astype(np.int32)
    elif case.loss == "bce":
        given["targets"] = random.uniform(size=(case.steps, case.B, case.outputs)).astype(np.float32)
    elif case.loss == "poisson":
        given["targets"] = random.poisson(2, (case.steps, case.B, case.outputs)).astype(np.float32)
    elif case.loss in WIDE_LOSSES:
        given["targets"] = normal(case.steps, case.B, case.outputs // WIDE_LOSSES[case.loss][0])
        given["targets"][random.uniform(size=given["targets"].shape) < 0.2] = np.nan
    elif case.loss:
        given["targets"] = normal(case.steps, case.B, case.outputs)
    else:
        given["dy"] = normal(case.T, case.B, case.directions * case.width) * valid[:, :, None]
        given["dhN"] = normal(layers, case.B, case.width)
        if case.has_c:
            given["dcN"] = normal(layers, case.B, case.hidden)
    return given


def error_to_signal(z, y):
    """Returns the loss esr of a sound, whose samples all count."""
    def emphasized(x):
        return x[1:] - .85 * x[:-1]

    error = (emphasized(z) - emphasized(y)).square().mean() if len(y) > 1 else z.sum() * 0
    energy = emphasized(y).square().mean() if len(y) > 1 else y.sum() * 0
    return .75 * error / (energy + 1e-5) + .25 * (z.mean() - y.mean()) ** 2 / (y.square().mean() + 1e-5)


def summed_loss(case, model, out, targets, valid, class_weights):
    """Returns the loss summed over the counted targets, and their number (or weight)."""
    if case.loss == "crf":
        return -model.crf(out, targets.clamp(min=0).long(), mask=valid, reduction="sum"), valid.sum()
    if case.loss == "ctc":
        labels = (targets > 0).sum(0)
        loss = F.ctc_loss(out.log_softmax(2), targets.T.long(), valid.sum(0), labels, blank=0, reduction="sum")
        return loss, labels.clamp(min=1).sum()
    if case.loss == "esr":
        counted = valid.unsqueeze(-1) & ~targets.isnan()
        rows = [error_to_signal(out[:, b, k][counted[:, b, k]], targets[:, b, k][counted[:, b, k]].double())
                for b in range(case.B) for k in range(case.outputs) if counted[:, b, k].any()]
        return sum(rows), torch.tensor(float(len(rows)))
    if case.loss == "xent":
        weights = class_weights if class_weights is None else class_weights.double()
        loss = F.cross_entropy(out.flatten(0, 1), targets.flatten().long(), weight=weights,
                               label_smoothing=case.smoothing, ignore_index=IGNORED_TARGET, reduction="sum")
        counted = targets[targets != IGNORED_TARGET].long()
        return loss, counted.numel() * torch.ones(()) if weights is None else weights[counted].sum()
    if case.loss in WIDE_LOSSES:
        results, loss = WIDE_LOSSES[case.loss]
        counted = valid.unsqueeze(-1) & ~targets.isnan()
        return loss(out.unflatten(-1, (-1, results))[counted], targets[counted].double()), counted.sum()
    return LOSSES[case.loss](out[valid], targets[valid].double(), reduction="sum"), valid.sum() * case.outputs


def evaluate(case, rnn, given):
    """Returns all results of the network around `rnn`: outputs, and the gradients of the sum that README.md defines."""
    model = Model(case, rnn)
    for name, parameter in parameters(case, model):
        parameter.data = torch.tensor(given[name]).double()
    tensor = {name: torch.tensor(value) for name, value in given.items()}
    leaf = {name: tensor[name].double().requires_grad_() for name in ("x", "h0", "c0") if name in given}
    lengths = tensor["lengths"].long()

    x = embedded(case, model, tensor.get("tokens"), leaf.get("x"))
    c0 = leaf["c0"] if case.has_c else torch.zeros_like(leaf["h0"])
    y, h, c = run_rnn(model.rnn, x, lengths, leaf["h0"], c0)
    results = {"hN": h} | ({"cN": c} if case.has_c else {})
    if case.loss:
        out = model.head(pooled(case, model.rnn, y, h, lengths))
        valid = torch.arange(case.steps)[:, None] < lengths
        total, count = summed_loss(case, model, out, tensor["targets"], valid, tensor.get("class_weights"))
        results["logits" if case.loss in OF_CLASSES else "prediction"] = out
        results |= {"loss": total.reshape(1), "weight": count.reshape(1)}
    else:
        results["y"] = y
        total = (y * tensor["dy"]).sum() + (h * tensor["dhN"]).sum()
        if case.has_c:
            total = total + (c * tensor["dcN"]).sum()
    total.backward()
    for name, value in itertools.chain(parameters(case, model), leaf.items()):
        results["grad." + name] = value.grad
    return {name: value.detach().double().numpy() for name, value in results.items()}


def require_equal(case, results, others):
    assert results.keys() == others.keys(), f"{case.name}: PyTorch and the loop name different results"
    for name, value in results.items():
        error = np.abs(value - others[name]).max() / max(1, np.abs(value).max())
        assert error <= LOOP_TOLERANCE, f"{case.name}: {name} differs by {error:.1e} from the plain loop"


def make(case):
    """Returns the contents of a case's file, inputs and results, as arrays by name."""
    for attempt in itertools.count():
        # RandomState: the only generator of NumPy whose numbers are guaranteed never to change.
        given = draw(case, np.random.RandomState(zlib.crc32(f"{case.name} {attempt}".encode())))
        loop = PlainLoop(case)
        results = evaluate(case, loop, given)
        if loop.nearest_kink > KINK_MARGIN:
            break
    if case.in_torch:
        loop_results = results
        results = evaluate(case, torch_rnn(case), given)
        require_equal(case, results, loop_results)
    return given | {name: value.astype(np.float32) for name, value in results.items()}


def product_cases():
    """Every cell of PyTorch, shallow and deep, one and two directions, full and ragged."""
    for cell, layers, bidirectional, ragged in itertools.product(
            ("rnn", "rnn-relu", "lstm", "gru"), (1, 3), (False, True), (False, True)):
        name = f"{cell}-l{layers}-{'bi' if bidirectional else 'uni'}-{'ragged' if ragged else 'full'}"
        yield Case(name, cell, layers, bidirectional, ragged=ragged)


def shape_cases():
    """Sizes that blocks, tails and chunks of a fast program can get wrong."""
    yield Case("lstm-h20-l2", "lstm", 2, False, 3, 20)
    for cell in ("rnn", "lstm", "gru"):
        yield Case(f"{cell}-h20-bi", cell, 1, True, 9, 20, ragged=True)
    for cell in ("rnn", "rnn-relu", "lstm", "gru"):
        yield Case(f"{cell}-h33", cell, 1, False, 3, 33, ragged=True)
        yield Case(f"{cell}-empty-row", cell, 2, True, B=4, ragged=True, empty_row=True)
    for cell in ("rnn", "lstm", "gru"):
        yield Case(f"{cell}-one", cell, input=1, hidden=1, T=1, B=1)
        yield Case(f"{cell}-long", cell, 2, T=40, ragged=True)
        yield Case(f"{cell}-batch17", cell, input=3, T=5, B=17, ragged=True)


def option_cases():
    yield Case("lstm-no-bias", "lstm", 2, True, bias=False, ragged=True)
    yield Case("gru-no-bias", "gru", 2, True, bias=False, ragged=True)
    for layers, bidirectional in itertools.product((1, 2), (False, True)):
        name = f"lstm-projection-l{layers}-{'bi' if bidirectional else 'uni'}"
        yield Case(name, "lstm", layers, bidirectional, projection=4, ragged=layers == 2 or bidirectional)
    for name, cell, options in (("gru-before", "gru-before", {}),
                                ("lstm-peephole", "lstm", {"peephole": True}),
                                ("lstm-clip", "lstm", {"clip": 0.75}),
                                ("lstm-peephole-clip", "lstm", {"peephole": True, "clip": 0.75})):
        yield Case(f"{name}-l1-uni-full", cell, **options)
        yield Case(f"{name}-l2-bi-ragged", cell, 2, True, ragged=True, **options)
    yield Case("gru-before-empty-row", "gru-before", 2, True, B=4, ragged=True, empty_row=True)
    yield Case("gru-before-no-bias", "gru-before", bias=False, ragged=True)
    yield Case("gru-before-h20", "gru-before", input=9, hidden=20, ragged=True)


def diagonal_cases():
    for cell in DIAGONAL:
        yield Case(f"{cell}-l1-uni-full", cell, input=3, hidden=20)
        yield Case(f"{cell}-l2-bi-ragged", cell, 2, True, B=4, ragged=True, empty_row=True)


def model_cases():
    language = {"hidden": 16, "layers": 2, "vocab": 11, "outputs": 11, "loss": "xent"}
    yield Case("language-untied", "lstm", input=8, ragged=True, **language)
    yield Case("language-tied", "lstm", input=16, tied=True, ragged=True, **language)
    yield Case("language-tied-projection", "lstm", input=8, projection=8, tied=True, ragged=True, **language)
    yield Case("language-gru", "gru", input=8, ragged=True, **language)
    columns = (("word", 11, 6), ("numbers", 0, 3), ("suffix", 7, 4), ("shape", 5, 2))
    yield Case("tagging-columns", "lstm", 1, True, input=15, B=4, ragged=True, empty_row=True, columns=columns,
               loss="xent", outputs=5)
    yield Case("regression-full", "lstm", loss="mse", outputs=2)
    yield Case("regression-ragged", "gru", 2, True, ragged=True, B=4, empty_row=True, loss="mse", outputs=3)
    for loss in ("huber", "bce", "poisson"):
        yield Case(f"regression-{loss}", "gru", ragged=True, loss=loss, outputs=3)
    for loss, (results, _) in WIDE_LOSSES.items():
        yield Case(f"regression-{loss.split(':')[0]}", "gru", ragged=True, loss=loss, outputs=2 * results)
    yield Case("sequences-esr", "lstm", 1, T=9, B=5, ragged=True, loss="esr", outputs=2)
    for loss in ("crf", "ctc"):
        yield Case(f"sequences-{loss}", "lstm", 1, True, T=9, B=5, ragged=True, loss=loss, outputs=5)
    yield Case("classes-weighted", "lstm", ragged=True, loss="xent", outputs=5, smoothing=0.1)


def pool_cases():
    ragged = {"ragged": True, "empty_row": True}
    yield Case("pool-last", "lstm", 2, True, B=4, pool="last", loss="xent", outputs=5, **ragged)
    yield Case("pool-mean", "gru", B=4, pool="mean", loss="mse", outputs=3, **ragged)
    yield Case("pool-max", "rnn", 1, True, hidden=17, B=5, pool="max", loss="xent", outputs=4, **ragged)
    yield Case("pool-mean-max", "gru", 2, True, vocab=11, T=9, B=6, pool="mean+max", loss="xent", outputs=4, **ragged)


def main():
    repository = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Writes the PyTorch test vectors.")
    parser.add_argument("--out", type=pathlib.Path, default=repository / "tests" / "vectors")
    out = parser.parse_args().out
    torch.set_num_threads(1)    # for a fixed order of sums
    torch.set_default_dtype(torch.float64)
    out.mkdir(parents=True, exist_ok=True)
    for case in itertools.chain(product_cases(), shape_cases(), option_cases(), diagonal_cases(),
                                model_cases(), pool_cases()):
        path = out / f"{case.name}.safetensors"
        save_file(make(case), path, metadata={"case": case.as_json()})
        path.chmod(0o644)       # save_file leaves it readable by its owner alone
        print(f"{path.stat().st_size:6d} bytes  {path.name}")


if __name__ == "__main__":
    main()
