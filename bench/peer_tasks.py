# PyTorch as a peer in whole tasks (bench/tasks.py). It trains the default network of `unroll train` on batches from a
# DataLoader, packed where rows are ragged, as a user would write it. Prints one line of JSON: wall and CPU seconds of
# each epoch. Does not measure quality, and parsing is not timed. Threads: OMP_NUM_THREADS.
import argparse
import csv
import gzip
import itertools
import json
import os
import re
import time

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset, RandomSampler


class Examples(Dataset):
    """Pairs of a sequence [T, F] (or of ids [T]) and its target."""

    def __init__(self, inputs, targets):
        self.inputs, self.targets = inputs, targets

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        return self.inputs[index], self.targets[index]


class Pooled(nn.Module):
    """A bidirectional GRU, its mean and maximum over time concatenated, a linear head."""

    def __init__(self, width, classes, vocabulary=0, hidden=128):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width) if vocabulary else nn.Identity()
        self.rnn = nn.GRU(width, hidden, bidirectional=True)
        self.head = nn.Linear(4 * hidden, classes)

    def forward(self, x, lengths):
        if lengths is None:
            y = self.rnn(self.embed(x))[0]
            return self.head(torch.cat((y.mean(0), y.amax(0)), 1))
        packed = pack_padded_sequence(self.embed(x), lengths, enforce_sorted=False)
        y, _ = pad_packed_sequence(self.rnn(packed)[0])
        valid = (torch.arange(y.shape[0])[:, None] < lengths).unsqueeze(2)
        mean = (y * valid).sum(0) / lengths[:, None]
        return self.head(torch.cat((mean, y.masked_fill(~valid, -torch.inf).amax(0)), 1))


class Tagger(nn.Module):
    """Concatenated embeddings of the columns, a bidirectional LSTM, a linear head at each step."""

    def __init__(self, columns, tags, hidden=128):
        super().__init__()
        self.embeds = nn.ModuleList(nn.Embedding(n, width) for n, width in columns)
        self.rnn = nn.LSTM(sum(width for _, width in columns), hidden, bidirectional=True)
        self.head = nn.Linear(2 * hidden, tags)

    def forward(self, x, lengths):
        embedded = torch.cat([embed(x[..., i]) for i, embed in enumerate(self.embeds)], -1)
        packed = pack_padded_sequence(embedded, lengths, enforce_sorted=False)
        return self.head(pad_packed_sequence(self.rnn(packed)[0])[0])


class Forecaster(nn.Module):
    """A GRU that reads each period less its last value, the change of that value, and the value. Each step predicts
    quantiles of the whole horizon."""

    def __init__(self, period, horizon, hidden=64):
        super().__init__()
        self.rnn = nn.GRU(period + 2, hidden)
        self.head = nn.Linear(hidden, horizon * len(LEVELS))

    def forward(self, x):
        last = x[..., -1:]
        change = torch.diff(last, dim=0, prepend=last[:1])
        y = self.head(self.rnn(torch.cat((x - last, change, last.clamp(-4, 4)), -1))[0])
        return y.unflatten(-1, (-1, len(LEVELS))) + last.unsqueeze(-1)


class Transcriber(nn.Module):
    """Three bidirectional LSTMs, a linear head at each step."""

    def __init__(self, width, classes, hidden=256):
        super().__init__()
        self.rnn = nn.LSTM(width, hidden, 3, bidirectional=True)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
        return self.head(pad_packed_sequence(self.rnn(packed)[0])[0]).log_softmax(2)


LEVELS = torch.arange(1, 10) / 10


def whole(batch):
    x, y = zip(*batch)
    return torch.stack(x, 1), None, torch.stack(y)


def ragged(batch):
    x, y = zip(*batch)
    return pad_sequence(x), torch.tensor([len(row) for row in x]), torch.stack(y)


def ragged_steps(batch):
    x, y = zip(*batch)
    return pad_sequence(x), torch.tensor([len(row) for row in x]), pad_sequence(y, padding_value=-100)


def ragged_texts(batch):
    x, y = zip(*batch)
    lengths = torch.tensor([len(row) for row in x]), torch.tensor([len(text) for text in y])
    return pad_sequence(x), lengths, torch.cat(y)


def texts_loss(model, batch):
    x, (steps, letters), y = batch
    return nn.functional.ctc_loss(model(x, steps), y, steps, letters)


def classes_loss(model, batch):
    x, lengths, y = batch
    return nn.functional.cross_entropy(model(x, lengths), y)


def steps_loss(model, batch):
    x, lengths, y = batch
    return nn.functional.cross_entropy(model(x, lengths).flatten(0, 1), y.flatten())


def quantiles_loss(model, batch):
    error = batch[1].unsqueeze(-1) - model(batch[0])
    return torch.maximum(LEVELS * error, (LEVELS - 1) * error).mean()


def read_idx(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        bytes = file.read()
    dimensions = bytes[3]
    shape = np.frombuffer(bytes, ">i4", dimensions, 4)
    return np.frombuffer(bytes, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def mnist(path, held_out):
    images = torch.tensor(read_idx(path) / np.float32(255))[: -held_out or None]
    labels = torch.tensor(read_idx(path.replace("images-idx3", "labels-idx1")).astype(np.int64))
    return Examples(images, labels), Pooled(28, 10), whole, classes_loss


def names(path, held_out):
    files = sorted(os.listdir(path))
    lines = [(line, i) for i, name in enumerate(files) for line in open(os.path.join(path, name)).read().split("\n") if line]
    number = {character: i for i, character in enumerate(sorted({c for line, _ in lines for c in line}))}
    x = [torch.tensor([number[c] for c in line]) for line, _ in lines]
    keep = torch.randperm(len(x))[held_out:].tolist()
    data = Examples([x[i] for i in keep], torch.tensor([lines[i][1] for i in keep]))
    return data, Pooled(32, len(files), len(number)), ragged, classes_loss


def lower(word):
    return re.sub("[0-9]", "0", word.lower())


def shape_of(word):
    kinds = ("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word)
    return "".join(kind for kind, _ in itertools.groupby(kinds))


FEATURES = [(100, lower), (16, lambda w: lower(w)[-1:]), (32, lambda w: lower(w)[-2:]), (50, lambda w: lower(w)[-3:]),
            (16, shape_of)]


def tagging(path, held_out):
    sentences = [[line.split("\t") for line in block.split("\n") if "\t" in line and line[0] != "#"]
                 for block in open(path).read().split("\n\n")]
    sentences = [sentence for sentence in sentences if sentence][: -held_out or None]
    word, tag = (1, 3) if len(sentences[0][0]) > 4 else (0, -1)
    features = [feature for _, feature in FEATURES]
    numbers = [{f: i + 1 for i, f in enumerate(sorted({feature(line[word]) for s in sentences for line in s}))}
               for feature in features]
    tags = {t: i for i, t in enumerate(sorted({line[tag] for s in sentences for line in s}))}
    x = [torch.tensor([[n[f(line[word])] for n, f in zip(numbers, features)] for line in s]) for s in sentences]
    y = [torch.tensor([tags[line[tag]] for line in s]) for s in sentences]
    columns = [(len(n) + 1, width) for n, (width, _) in zip(numbers, FEATURES)]
    return Examples(x, y), Tagger(columns, len(tags)), ragged_steps, steps_loss


class Windows(Dataset):
    """Every window of every column: [steps, period], and the horizon after each of its steps [steps, horizon]. An epoch
    draws one window in four, because they overlap."""

    one_of = 4

    def __init__(self, series, steps, period, horizon):
        self.series, self.steps, self.period, self.horizon = series, steps, period, horizon
        self.origins = series.shape[1] - steps * period - horizon + 1

    def __len__(self):
        return self.origins * self.series.shape[0]

    def __getitem__(self, index):
        column, origin = index % self.series.shape[0], index // self.series.shape[0]
        read = self.steps * self.period
        window = self.series[column, origin : origin + read + self.horizon]
        targets = window[self.period :].unfold(0, self.horizon, self.period)
        return window[:read].reshape(self.steps, self.period), targets


def forecast(path, held_out):
    with open(path) as file:
        rows = list(csv.reader(file))[1:14401]
    series = torch.tensor([[float(cell) for cell in row[1:]] for row in rows]).T[:, : -held_out or None]
    series = (series - series.mean(1, True)) / series.std(1, keepdim=True)
    collate = lambda batch: (torch.stack([x for x, _ in batch], 1), torch.stack([y for _, y in batch], 1))
    return Windows(series, 14, 24, 24), Forecaster(24, 24), collate, quantiles_loss


def transcribe(path, held_out):
    with open(path) as file:
        rows = [json.loads(line) for line in file][: -held_out or None]
    number = {letter: i + 1 for i, letter in enumerate(sorted({letter for row in rows for letter in row["text"]}))}
    x = [torch.tensor(row["x"]) for row in rows]
    y = [torch.tensor([number[letter] for letter in row["text"]]) for row in rows]
    return Examples(x, y), Transcriber(x[0].shape[1], len(number) + 1), ragged_texts, texts_loss


TASKS = {"transcribe": transcribe, "mnist": mnist, "names": names, "tag": tagging, "forecast": forecast}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("path")
    parser.add_argument("--held-out", type=int, default=0)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batches", type=int, default=0, help="of an epoch, at most; the rest is extrapolated")
    given = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    data, model, collate, loss_of = TASKS[given.task](given.path, given.held_out)
    sampler = RandomSampler(data, num_samples=len(data) // getattr(data, "one_of", 1))
    loader = DataLoader(data, given.batch, sampler=sampler, collate_fn=collate)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    seconds, cpu_seconds = [], []
    for _ in range(given.epochs):
        begin, used = time.perf_counter(), time.process_time()
        for done, batch in enumerate(loader, 1):
            optimizer.zero_grad()
            loss = loss_of(model, batch)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1)
            optimizer.step()
            if done == given.batches:
                break
        seconds.append((time.perf_counter() - begin) * len(loader) / done)
        cpu_seconds.append((time.process_time() - used) * len(loader) / done)
    print(json.dumps({"epochs": seconds, "cpu_epochs": cpu_seconds, "examples": len(data), "updates": len(loader),
                      "parameters": sum(p.numel() for p in model.parameters()), "loss": loss.item()}))


if __name__ == "__main__":
    main()
