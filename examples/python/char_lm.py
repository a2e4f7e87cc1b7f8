"""A typical character language model in PyTorch: embedding, LSTM, linear; truncated backpropagation with carried states,
Adam, clipping. Only the line that selects the LSTM depends on Unroll:

    python char_lm.py text.txt --lstm torch.nn
    python char_lm.py text.txt --lstm unroll.torch

"""

import argparse
import importlib
import statistics
import time

import torch
from torch import nn


class CharLM(nn.Module):
    def __init__(self, lstm, symbols, hidden, layers):
        super().__init__()
        self.embed = nn.Embedding(symbols, hidden)
        self.lstm = lstm(hidden, hidden, layers)
        self.head = nn.Linear(hidden, symbols)

    def forward(self, tokens, states):
        y, states = self.lstm(self.embed(tokens), states)
        return self.head(y), states


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    number = {symbol: i for i, symbol in enumerate(sorted(set(text)))}
    return torch.tensor([number[symbol] for symbol in text]), len(number)


def windows(tokens, batch, bptt):
    """Yields the text as `batch` parallel rows, [steps, batch] at a time with the next tokens, repeatedly."""
    rows = tokens[: len(tokens) // batch * batch].view(batch, -1).t().contiguous()
    if len(rows) <= bptt:
        raise SystemExit(f"the text is too short for {batch} rows of {bptt} characters")
    while True:
        for first in range(0, len(rows) - bptt, bptt):
            yield first == 0, rows[first : first + bptt], rows[first + 1 : first + bptt + 1]


def train(model, args, tokens):
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    data, states, seconds = windows(tokens, args.batch, args.bptt), None, []
    for step in range(1, args.steps + 1):
        begin = time.perf_counter()
        is_first, x, y = next(data)
        states = None if is_first else tuple(s.detach() for s in states)
        z, states = model(x, states)
        loss = nn.functional.cross_entropy(z.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
        if step % args.report == 0 or step == 1:
            print(f"step {step}  loss {loss.item():.5f}", flush=True)
    return args.batch * args.bptt / statistics.median(seconds[args.warmup :])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--lstm", default="torch.nn", help="the module that has LSTM: torch.nn or unroll.torch")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--bptt", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--report", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=5, help="steps that are not counted in the median")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    tokens, symbols = read(args.text)
    lstm = importlib.import_module(args.lstm).LSTM
    rate = train(CharLM(lstm, symbols, args.hidden, args.layers), args, tokens)
    print(f"{args.lstm}: {rate:,.0f} characters/s on {torch.get_num_threads()} threads")


if __name__ == "__main__":
    main()
