#!/usr/bin/env python3
"""Makes tests/vectors/import: state_dicts of small PyTorch networks with random weights, as users save them, each with
the arrays that PyTorch computes from random inputs, states and lengths, in float64 and rounded once.
tests/file/test_torch.c imports them. Building and testing Unroll does not need this script.

    pip install torch==2.13.0 numpy safetensors
    python tools/make_import_vectors.py           # rewrites tests/vectors/import, a second

"""
import argparse
import json
import pathlib

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

T, B = 6, 3


class Net(nn.Module):
    """Modules in sequence, as in forward() of most recurrent networks."""

    def __init__(self, last_only=False, **modules):
        super().__init__()
        self.last_only = last_only
        self.order = list(modules)
        self.functions = {name: m[1] for name, m in modules.items() if isinstance(m, tuple)}
        for name, m in modules.items():
            holder = self
            *path, leaf = name.split("__")
            for part in path:
                if not hasattr(holder, part):
                    holder.add_module(part, nn.Module())
                holder = getattr(holder, part)
            holder.add_module(leaf, m[0] if isinstance(m, tuple) else m)

    def run(self, x, lengths, states):
        """Reads x time-major; returns y and the last states of each stack by name."""
        last = {}
        for name in self.order:
            m = self.get_submodule(name.replace("__", "."))
            if isinstance(m, nn.RNNBase):
                packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
                y, last[name] = m(packed, states.get(name))
                x, _ = pad_packed_sequence(y, total_length=T)
            else:
                x = m(x)
            x = self.functions.get(name, lambda v: v)(x)
        if self.last_only:
            x = x[torch.tensor(lengths) - 1, torch.arange(B)]
        return x, last


def random_states(m):
    planes = m.num_layers * (2 if m.bidirectional else 1)
    h = torch.randn(planes, B, m.proj_size or m.hidden_size) / 2
    return (h, torch.randn(planes, B, m.hidden_size) / 2) if isinstance(m, nn.LSTM) else h


def save(out, name, net, *, tokens=0, width=0, ragged=True, with_states=True, batch_first=False, bare=False,
         dtype=torch.float32, shards=0, drop=()):
    lengths = [4, T, 2] if ragged else [T] * B
    for p in net.parameters():
        p.data = p.data.to(dtype)
    state = {k: v.contiguous().clone() for k, v in net.state_dict().items() if k not in drop}
    if bare:
        state = {k.split(".", 1)[1]: v for k, v in state.items()}
    stacks = {n: net.get_submodule(n.replace("__", ".")) for n in net.order}
    stacks = {n: m for n, m in stacks.items() if isinstance(m, nn.RNNBase)}
    states = {n: random_states(m) for n, m in stacks.items()} if with_states else {}
    x = torch.randint(tokens, (T, B)) if tokens else torch.randn(T, B, width)
    net.double()
    double = {n: tuple(v.double() for v in s) if isinstance(s, tuple) else s.double() for n, s in states.items()}
    with torch.no_grad():
        y, last = net.run(x if tokens else x.double(), lengths, double)
    mask = torch.tensor([[t < n for n in lengths] for t in range(T)]).unsqueeze(-1)
    arrays = {"tokens" if tokens else "x": x, "y": y if net.last_only else y * mask}
    if batch_first:
        arrays = {k: v.transpose(0, 1) for k, v in arrays.items()}
    if ragged:
        arrays["lengths"] = torch.tensor(lengths)
    for n, m in stacks.items():
        suffix = f".{n.replace('__', '.')}" if len(stacks) > 1 else ""
        for kind, source in (("0", states), ("n", last)):
            if n not in source:
                continue
            values = source[n] if isinstance(source[n], tuple) else (source[n],)
            for letter, value in zip("hc", values):
                arrays[letter + kind + suffix] = value
    arrays = {k: np.ascontiguousarray(v.numpy().astype(np.float32) if v.is_floating_point() else v.numpy())
              for k, v in arrays.items()}
    np.savez(out / f"{name}.npz", **arrays)
    write_state(out, name, state, shards)


def write_state(out, name, state, shards):
    if not shards:
        save_file(state, out / f"{name}.safetensors", metadata={"format": "pt"})
        return
    where = {}
    for k in range(shards):
        file = f"{name}-{k + 1:05}-of-{shards:05}.safetensors"
        part = {key: state[key] for i, key in enumerate(sorted(state)) if i % shards == k}
        save_file(part, out / file, metadata={"format": "pt"})
        where.update({key: file for key in part})
    size = sum(v.numel() * v.element_size() for v in state.values())
    index = {"metadata": {"total_size": size}, "weight_map": where}
    (out / f"{name}.safetensors.index.json").write_text(json.dumps(index, indent=2, sort_keys=True) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="tests/vectors/import", type=pathlib.Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(20261121)
    save(out, "tagger", Net(encoder__embed=nn.Embedding(17, 6), encoder__lstm=nn.LSTM(6, 8, 2, bidirectional=True),
                            fc=nn.Linear(16, 5)), tokens=17)
    save(out, "bare-gru", Net(gru=nn.GRU(5, 7, 3, bidirectional=True)), width=5, bare=True, batch_first=True)
    save(out, "relu-rnn", Net(rnn=nn.RNN(5, 7, 2, nonlinearity="relu"), out=nn.Linear(7, 4, bias=False)), width=5)
    save(out, "tanh-rnn", Net(rnn=nn.RNN(5, 7, 2, bidirectional=True)), width=5, ragged=False)
    save(out, "projected", Net(lstm=nn.LSTM(5, 8, 2, proj_size=3, bidirectional=True)), width=5)
    save(out, "two-stacks", Net(model__lstm=nn.LSTM(5, 8, 2), model__gru=nn.GRU(8, 6, bidirectional=True),
                                model__head=nn.Linear(12, 3)), width=5)
    save(out, "deep-head", Net(lstm=nn.LSTM(5, 8), fc1=(nn.Linear(8, 8), torch.relu), fc2=nn.Linear(8, 8)), width=5)
    save(out, "half", Net(lstm=nn.LSTM(5, 8, bias=False), fc=nn.Linear(8, 2)), width=5, dtype=torch.float16)
    save(out, "brain", Net(gru=nn.GRU(5, 8), fc=nn.Linear(8, 2)), width=5, dtype=torch.bfloat16, with_states=False)
    save(out, "sharded", Net(lstm=nn.LSTM(5, 8, 2), fc=nn.Linear(8, 2)), width=5, shards=2)
    save(out, "classifier", Net(last_only=True, embedding=nn.Embedding(11, 4), gru=nn.GRU(4, 9), fc=nn.Linear(9, 3)),
         tokens=11, with_states=False)
    tied = Net(embedding=nn.Embedding(13, 8), rnn=nn.LSTM(8, 8, 2), head=nn.Linear(8, 13))
    tied.head.weight = tied.embedding.weight
    save(out, "tied", tied, tokens=13)


if __name__ == "__main__":
    main()
