# Writes recordings of spoken digits in noise, each with a file of labels for the times of speech, for voice activity in
# bench/tasks.py. The test has other speakers and other parts of the noises than the training. Levels differ by
# recording and the noise swells and fades, as in a room. Prints the AUC of the energy of a frame, the best that any
# threshold of the energy can do.
# Usage: make_noisy_speech.py RECORDINGS NOISES FOLDER: writes FOLDER/train and FOLDER/test
import glob
import os
import sys
import wave

import numpy as np

RATE, SECONDS, WINDOW, HOP, UNSEEN = 8000, 10, 200, 80, ("theo", "nicolas")


def read(path):
    """Returns the samples at RATE; rates that are multiples of it are filtered and thinned."""
    with wave.open(path) as file:
        samples, factor = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768, file.getframerate() // RATE
    t = np.arange(-32 * factor, 32 * factor + 1)
    taps = np.sinc(t * 0.9 / factor) * np.hanning(len(t))
    return np.convolve(samples, taps / taps.sum(), "same")[::factor] if factor > 1 else samples


def spoken(path):
    """Returns a take without the silence around it."""
    samples = read(path)
    loud = np.flatnonzero(np.abs(samples) > 0.03 * np.abs(samples).max())
    return samples[loud[0] : loud[-1] + 1]


def recording(takes, noises, random):
    """Returns samples, and where speech begins and ends."""
    clean, spans, at = np.zeros(RATE * SECONDS), [], int(RATE * random.uniform(0.1, 1.5))
    while True:
        take = spoken(takes[random.randint(len(takes))])
        if at + len(take) > len(clean):
            break
        clean[at : at + len(take)] = take / np.sqrt(np.mean(take**2))
        spans.append((at, at + len(take)))
        at += len(take) + int(RATE * random.uniform(0.1, 1.5))
    noise = noises[random.randint(len(noises))]
    noise = np.roll(np.resize(noise, len(clean) + RATE), random.randint(len(noise)))[: len(clean)]
    swell = np.interp(np.arange(len(clean)), np.linspace(0, len(clean), 11), random.uniform(-6, 6, 11))
    noise = noise / np.sqrt(np.mean(noise**2)) * 10 ** ((swell - random.uniform(0, 10)) / 20)
    mixed = (clean + noise) * 10 ** (random.uniform(-40, -20) / 20)
    return np.clip(mixed, -1, 1), spans


def energy_auc(recordings):
    """Returns the area under the ROC curve of the logarithm of a frame's energy, over all recordings."""
    energies, truths = [], []
    for samples, spans in recordings:
        ends = np.arange(HOP, len(samples) + 1, HOP)
        squares = np.concatenate([[0], np.cumsum(samples**2)])
        energies.append(squares[ends] - squares[np.maximum(ends - WINDOW, 0)])
        centers = ends - WINDOW / 2
        truths.append(np.any([(centers >= a) & (centers < b) for a, b in spans], axis=0))
    energy, truth = np.concatenate(energies), np.concatenate(truths)
    rank = np.empty(len(energy))
    rank[np.argsort(energy, kind="stable")] = np.arange(1, len(energy) + 1)
    ones = truth.sum()
    return (rank[truth].sum() - ones * (ones + 1) / 2) / (ones * (len(truth) - ones))


def write(folder, recordings):
    os.makedirs(folder)
    for number, (samples, spans) in enumerate(recordings):
        stem = os.path.join(folder, f"{number:03}")
        with wave.open(stem + ".wav", "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(np.rint(samples * 32767).astype("<i2").tobytes())
        with open(stem + ".txt", "w") as file:
            file.writelines(f"{a / RATE:.4f}\t{b / RATE:.4f}\tspeech\n" for a, b in spans)


def main():
    folder, noises, out = sys.argv[1:]
    random = np.random.RandomState(1)
    takes = sorted(glob.glob(os.path.join(folder, "*.wav")))
    sounds = [read(path) for path in sorted(glob.glob(os.path.join(noises, "*.wav")))]
    if not takes or not sounds:
        sys.exit(f"no .wav in {folder} or {noises}")
    for part, count in (("train", 150), ("test", 50)):
        unseen = part == "test"
        chosen = [path for path in takes if (os.path.basename(path).split("_")[1] in UNSEEN) == unseen]
        halves = [sound[len(sound) // 2 :] if unseen else sound[: len(sound) // 2] for sound in sounds]
        recordings = [recording(chosen, halves, random) for _ in range(count)]
        write(os.path.join(out, part), recordings)
    print(f"{energy_auc(recordings):.4f}")


if __name__ == "__main__":
    main()
