# Reads bench/regimes.txt, the table of regimes to measure. Independent of the peers, and measures nothing.
import os
from dataclasses import dataclass

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "regimes.txt")
CHOICES = {
    "cell": ("rnn", "lstm", "gru", "gru-before"),
    "purpose": ("infer", "train", "stream", "text"),
    "dtype": ("fp32", "bf16", "int8"),
    "form": ("-", "both", "ragged"),
    "peers": ("fp32", "bf16", "int8"),
}
GATES = {"rnn": 1, "lstm": 4, "gru": 3, "gru-before": 3}


@dataclass(frozen=True)
class Regime:
    part: str
    name: str
    cell: str
    purpose: str
    dtype: str
    shape: tuple  # layers, steps, rows, inputs, hidden units
    form: str
    peers: str
    threads: tuple
    target: float  # None: no target
    peak: float  # percent of the peak; None: no target
    plain: tuple  # both without AMX

    @property
    def key(self):
        return f"{self.part}/{self.name}"

    @property
    def directions(self):
        return 2 if self.form == "both" else 1

    def flop(self):
        """Returns the standard count: 2 m n k per product, a backward pass as two forward passes, all T x B steps."""
        layers, steps, rows, inputs, hidden = self.shape
        widths = inputs + hidden + (layers - 1) * (self.directions + 1) * hidden
        forward = 2 * GATES[self.cell] * hidden * widths * self.directions * steps * rows
        if self.purpose == "text":  # symbols are table look-ups; the head is a product
            forward += 2 * (hidden - GATES[self.cell] * hidden * self.directions) * inputs * steps * rows
        return forward * (1 if self.purpose in ("infer", "stream") else 3)


def number(word):
    return None if word == "-" else float(word)


def parse_line(line):
    part, name, cell, purpose, dtype, shape, form, peers, threads, target, peak, plain = line.split()
    regime = Regime(
        part,
        name,
        cell,
        purpose,
        dtype,
        tuple(map(int, shape.split(","))),
        form,
        peers,
        tuple(map(int, threads.split(","))),
        number(target),
        number(peak),
        (*map(number, plain.split(",")), None)[:2],
    )
    for field, choices in CHOICES.items():
        if getattr(regime, field) not in choices:
            raise ValueError(
                f"{regime.key}: {field} is {getattr(regime, field)}, not one of {' '.join(choices)}"
            )
    if len(regime.shape) != 5 or min(regime.shape) < 1 or min(regime.threads) < 1:
        raise ValueError(f"{regime.key}: the shape wants five numbers, all numbers at least 1")
    return regime


def read(path=TABLE):
    regimes = []
    with open(path) as file:
        for number_, line in enumerate(file, 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            try:
                regimes.append(parse_line(line))
            except ValueError as error:
                raise ValueError(f"{path}:{number_}: {error}") from None
    if len({regime.key for regime in regimes}) != len(regimes):
        raise ValueError(f"{path}: two regimes have one name")
    return regimes


def chosen(regimes, only):
    """Returns the regimes whose part or key is a word of `only`; all if it is empty."""
    words = only.replace(",", " ").split()
    found = [regime for regime in regimes if not words or regime.part in words or regime.key in words]
    unknown = [word for word in words if not any(word in (r.part, r.key) for r in regimes)]
    if unknown:
        raise ValueError(
            f"no regime is called {unknown[0]}; there are: "
            + " ".join(dict.fromkeys(r.part for r in regimes))
        )
    return found
