#!/usr/bin/env python3
"""Makes tests/vectors/audio: features and resampled sounds as librosa, torchaudio and Kaldi compute them, and a short
sound in the formats of libsndfile. tests/audio compares our own with them.

    pip install librosa==0.11.0 torchaudio==2.11.0 kaldi-native-fbank==1.23.0 soundfile safetensors
    python tools/make_audio_vectors.py

Each tensor NAME has the metadata entry NAME: "FEATURES;RATE" or "FROM;TO;QUALITY"; its input is in.RATE. Energies are
before the logarithm."""
import pathlib

import kaldi_native_fbank
import librosa
import numpy as np
import scipy.fft
import soundfile
import torch
import torchaudio
from safetensors.numpy import save_file

here = pathlib.Path(__file__).resolve().parent.parent / "tests/vectors/audio"
random = np.random.default_rng(1)
tensors, about = {}, {}


def sound(rate, seconds):
    """A rising tone and noise, as 16-bit integers store it."""
    t = np.arange(int(rate * seconds)) / rate
    tone = 0.3 * np.sin(2 * np.pi * (200 + 0.1 * rate * t / seconds) * t)
    return (np.round(32767 * (tone + 0.1 * random.standard_normal(len(t)))) / 32768).astype(np.float32)


def framed(y, window, hop):
    """Frame t ends at sample (t + 1) hop."""
    padded = np.pad(y.astype(np.float64), (window - hop, 0))
    return np.stack([padded[t * hop : t * hop + window] for t in range(len(y) // hop)])


def smooth(n):
    """The smallest even number from n on without a prime factor above 5."""
    while True:
        rest = n
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1 and n % 2 == 0:
            return n
        n += 1


def add(name, value, what):
    tensors[name], about[name] = np.ascontiguousarray(value, dtype=np.float32), what


def of_librosa(y, rate, mels, window, hop):
    size = smooth(window)
    left = (size - window) // 2
    padded = np.pad(y.astype(np.float64), (window - hop + left, size - window - left))
    return librosa.feature.melspectrogram(y=padded, sr=rate, n_fft=size, win_length=window, hop_length=hop, center=False,
                                          n_mels=mels, dtype=np.float64).T


for rate in (8000, 11025, 16000, 48000):
    add(f"in.{rate}", sound(rate, 0.12), "")
x8, x11, x16, x48 = (tensors[f"in.{rate}"] for rate in (8000, 11025, 16000, 48000))

add("mel.librosa.16k", of_librosa(x16, 16000, 40, 400, 160), "log-mel:40,25ms,10ms;16000")
add("mel.librosa.11k", of_librosa(x11, 11025, 32, 276, 110), "log-mel:32,276,110;11025")
add("mel.librosa.80", of_librosa(x16, 16000, 80, 800, 320), "log-mel:80,50ms,20ms;16000")

frames = torch.from_numpy(framed(x16, 400, 160)) * torch.hann_window(400, dtype=torch.float64)
power = torch.fft.rfft(frames).abs() ** 2
filters = torchaudio.functional.melscale_fbanks(201, 20.0, 7600.0, 40, 16000, norm=None, mel_scale="htk").double()
add("mel.torchaudio", (power @ filters).numpy(), "log-mel:40,25ms,10ms,scale=htk,low=20,high=7600;16000")

options = kaldi_native_fbank.FbankOptions()
options.frame_opts.dither = 0
options.frame_opts.samp_freq = 8000
options.mel_opts.num_bins = 23
fbank = kaldi_native_fbank.OnlineFbank(options)
fbank.accept_waveform(8000, (np.pad(x8, (200 - 80, 0)) * 32768).tolist())
fbank.input_finished()
add("mel.kaldi", np.exp([fbank.get_frame(i) for i in range(fbank.num_frames_ready)]),
    "log-mel:23,25ms,10ms,scale=kaldi;8000")

logs = np.log(np.maximum(of_librosa(x16, 16000, 40, 400, 160), 1e-10))
add("mfcc", scipy.fft.dct(logs, type=2, norm="ortho")[:, :13], "mfcc:13,25ms,10ms;16000")

hann = np.sqrt(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(512) / 512))
spectrum = np.fft.rfft(framed(x16, 512, 256) * hann)
add("spectrum", np.concatenate([spectrum.real, spectrum.imag], axis=1), "spectrum:512,256;16000")

# RNNoise: compute_band_energy of src/denoise.c
edges = [0, 2, 4, 6, 8, 10, 12, 15, 18, 21, 24, 28, 32, 36, 41, 47, 53, 60, 68, 77, 87, 98, 110, 124, 140, 157, 176, 198,
         223, 251, 282, 317, 356, 400]
window = np.sin(np.pi / 2 * np.sin(np.pi * (np.arange(960) + 0.5) / 960) ** 2)
bins = np.abs(np.fft.rfft(32768 * framed(x48, 960, 480) * window) / 960) ** 2
sums = np.zeros((len(bins), 34))
for i, (low, high) in enumerate(zip(edges, edges[1:])):
    for j in range(high - low):
        sums[:, i] += (1 - j / (high - low)) * bins[:, low + j]
        sums[:, i + 1] += j / (high - low) * bins[:, low + j]
sums[:, 1] = (sums[:, 0] + sums[:, 1]) * 2 / 3
sums[:, 32] = (sums[:, 32] + sums[:, 33]) * 2 / 3
add("bands", np.log10(1e-2 + sums[:, 1:33]), "bands:32;48000")

best = dict(lowpass_filter_width=64, rolloff=0.9475937167399596, resampling_method="sinc_interp_kaiser",
            beta=14.769656459379492)
for before, after in ((16000, 8000), (48000, 11025), (8000, 16000), (11025, 16000)):
    given = torch.from_numpy(tensors[f"in.{before}"]).double()
    for quality, how in (("best", best), ("fast", {})):
        add(f"rate.{before}.{after}.{quality}", torchaudio.functional.resample(given, before, after, **how).numpy(),
            f"{before};{after};{quality}")

here.mkdir(parents=True, exist_ok=True)
save_file(tensors, here / "audio.safetensors", about)
short = x16[:800]
for name, form, kind in (("tone.flac", "FLAC", "PCM_16"), ("tone.aiff", "AIFF", "PCM_16"), ("tone.ogg", "OGG", "VORBIS"),
                         ("tone.opus", "OGG", "OPUS"), ("tone.mp3", "MP3", "MPEG_LAYER_III")):
    soundfile.write(here / name, short, 16000, format=form, subtype=kind)
for kind in ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"):
    soundfile.write(here / f"tone-{kind.lower().replace('_', '-')}.wav", short[:200], 16000, format="WAV", subtype=kind)
