# Writes digit strings joined from the takes of the Free Spoken Digit Dataset as rows of log-mel frames and a text, for
# bench/tasks.py. Takes 0 to 4 of each speaker and digit are joined for the test only.
# Usage: make_digits.py RECORDINGS FOLDER: writes FOLDER/train.jsonl and FOLDER/test.jsonl
import json
import os
import sys
import wave

import numpy as np

WINDOW, HOP, BANDS, RATE = 200, 128, 40, 8000
WORDS = "zero one two three four five six seven eight nine".split()


def mel(f):
    return 2595 * np.log10(1 + f / 700)


def filters():
    edges = 700 * (10 ** (np.linspace(0, mel(RATE / 2), BANDS + 2) / 2595) - 1)
    f = np.fft.rfftfreq(256, 1 / RATE)
    rise = (f - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    fall = (edges[2:, None] - f) / (edges[2:] - edges[1:-1])[:, None]
    return np.maximum(0, np.minimum(rise, fall)).T


def read(path):
    with wave.open(path) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768


def frames(samples, bank):
    at = np.arange(0, len(samples) - WINDOW, HOP)[:, None] + np.arange(WINDOW)
    power = np.abs(np.fft.rfft(samples[at] * np.hanning(WINDOW), 256)) ** 2
    return np.log(np.maximum(power @ bank, 1e-8))


def write(path, takes, count, random, folder, bank):
    speakers = sorted({name.split("_")[1] for name in os.listdir(folder)})
    with open(path, "w") as file:
        for _ in range(count):
            speaker, digits = random.choice(speakers), random.randint(0, 10, random.randint(2, 7))
            parts = []
            for digit in digits:
                parts.append(read(os.path.join(folder, f"{digit}_{speaker}_{random.choice(takes)}.wav")))
                parts.append(random.normal(0, 1e-4, random.randint(0, 1200)))
            x = frames(np.concatenate(parts), bank)
            row = "],[".join(",".join(f"{value:.2f}" for value in frame) for frame in x)
            text = json.dumps(" ".join(WORDS[digit] for digit in digits))
            file.write(f'{{"x":[[{row}]],"text":{text}}}\n')


def main():
    folder, out = sys.argv[1:]
    random, bank = np.random.RandomState(1), filters()
    write(os.path.join(out, "train.jsonl"), np.arange(5, 50), 2500, random, folder, bank)
    write(os.path.join(out, "test.jsonl"), np.arange(5), 300, random, folder, bank)


if __name__ == "__main__":
    main()
