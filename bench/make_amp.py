#!/usr/bin/env python3
"""Writes the sounds of a synthetic tube amplifier: input.wav, plucked strings, and target.wav, the same through the amp.

The strings are Karplus and Strong's (1983), with random notes, levels and pauses. The amp is a coupling capacitor (high
pass at 30 Hz), a triode stage with a bias (an asymmetric tanh at four times the rate), a second capacitor and a cabinet
(low pass at 5 kHz). Usage: make_amp.py FOLDER [--seconds 60] [--rate 44100] [--drive 4] [--delay 0]
"""
import argparse
import math
import pathlib
import random
import struct

OVERSAMPLING = 4


def write_wav(path, samples, rate):
    """Writes mono floats of 32 bits."""
    data = struct.pack(f"<{len(samples)}f", *samples)
    form = struct.pack("<HHIIHHH", 3, 1, rate, 4 * rate, 4, 32, 0)
    fact = struct.pack("<I", len(samples))
    chunks = b"".join(name + struct.pack("<I", len(body)) + body
                      for name, body in ((b"fmt ", form), (b"fact", fact), (b"data", data)))
    path.write_bytes(b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks)


def pluck(frequency, count, rate, rng):
    """Returns a plucked string: noise in a delay line with a low pass."""
    size = max(2, round(rate / frequency))
    line = [rng.uniform(-1, 1) for _ in range(size)]
    out = []
    for t in range(count):
        out.append(line[t % size])
        line[t % size] = .498 * (line[t % size] + line[(t + 1) % size])
    return out


def play(seconds, rate, rng):
    """Returns a guitar: up to three strings at a time, of random level."""
    count = round(seconds * rate)
    sound = [0.0] * count
    at = 0
    while at < count:
        level = .5 * 10 ** rng.uniform(-1, 0)
        for _ in range(rng.choice((1, 1, 2, 3))):
            length = min(count - at, round(rng.uniform(.4, 1.5) * rate))
            for i, x in enumerate(pluck(82.4 * 2 ** (rng.randrange(36) / 12), length, rate, rng)):
                sound[at + i] += level * x
        at += round(rng.uniform(.15, .8) * rate)
    top = max(map(abs, sound))
    return [.9 * x / top for x in sound]


def amplify(sound, rate, drive):
    """Returns the sound after the amp."""
    high = math.exp(-2 * math.pi * 30 / rate)
    low = math.exp(-2 * math.pi * 5000 / rate)
    bias = .3
    capacitor = out = cabinet = last = last_wet = 0.0
    wet = []
    for x in sound:
        capacitor = high * (capacitor + x - last)
        stage = 0.0
        before = last
        for i in range(1, OVERSAMPLING + 1):  # linear interpolation, the mean of the stage's outputs
            grid = drive * (capacitor + (x - before) * (i / OVERSAMPLING - 1))
            stage += math.tanh(grid + bias) - math.tanh(bias)
        stage /= OVERSAMPLING
        last = x
        out = high * (out + stage - last_wet)
        last_wet = stage
        cabinet = (1 - low) * out + low * cabinet
        wet.append(.6 * cabinet)
    return wet


def main():
    parser = argparse.ArgumentParser(description="Writes the sounds of a synthetic tube amplifier.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=int, default=44100)
    parser.add_argument("--drive", type=float, default=4)
    parser.add_argument("--delay", type=int, default=0, help="samples by which the target is late")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    dry = play(arguments.seconds, arguments.rate, random.Random(1))
    wet = [0.0] * arguments.delay + amplify(dry, arguments.rate, arguments.drive)
    write_wav(arguments.folder / "input.wav", dry, arguments.rate)
    write_wav(arguments.folder / "target.wav", wet[:len(dry)], arguments.rate)


if __name__ == "__main__":
    main()
