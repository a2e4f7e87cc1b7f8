# Runs everyday tasks, each as one `unroll train` on the raw file, with the defaults except for the options in its row.
# Reports the score on held-out data, the naive floor, the target, and the CPU seconds of the whole command. Then it
# compares whole epochs with PyTorch and its DataLoader (peer_tasks.py): same network and batch, in turns, on 1 and 2
# threads. Tasks without data here are skipped with a message. Prints a table, or with --json a line of JSON per result.
# Does not measure the speed of kernels (run.py).
import argparse
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))


def ucr(name, goal):
    folder = f"ucr_uea_small/{name}"
    return dict(name=name, data=f"{folder}/{name}_TRAIN.ts", options=["--test", f"DATA/{folder}/{name}_TEST.ts"],
                metric="accuracy", at_least=goal, seeds=5)


SCORES = [
    dict(name="ETTh1", data="ett/ETTh1.csv", rows=14401, metric="mse", at_most=0.32, cpu=10,
         options="--task forecast --target all --horizon 24 --val 2880 --test 2880".split()),
    dict(name="MNIST-rows", data="mnist_gz/train-images-idx3-ubyte.gz", options=["--test", "5000"],
         metric="accuracy", at_least=0.983),
    ucr("GunPoint", 0.91),
    ucr("ItalyPowerDemand", 0.955),
    ucr("BasicMotions", 0.95),
    dict(name="names18", data="names18", without="SOURCE.txt", options=["--test", "0.2"], metric="accuracy", at_least=0.80),
    dict(name="FSDD", data="fsdd/recordings", classes="_", options=["--test", "0.1"], metric="accuracy", at_least=0.97),
    dict(name="FSDD-speaker", data="fsdd/recordings", classes="_", held="theo", metric="accuracy", at_least=0.85,
         options=["--test", "FOLDER/held"]),
    dict(name="FSDD-wake", data="fsdd/recordings", classes="_", metric="misses", at_most=0.05,
         options=["--wake", "7", "--test", "0.1"]),
    dict(name="voice", data="fsdd/recordings", noise="noise", metric="auc", at_least=0.95,
         options=["--epochs", "12", "--test", "FOLDER/test"]),
    dict(name="EWT", data="ud_english_ewt_tsv/train.tsv", metric="accuracy", at_least=0.925,
         options=["--task", "tag", "--test", "DATA/ud_english_ewt_tsv/dev.tsv"]),
    dict(name="EWT-crf", data="ud_english_ewt_tsv/train.tsv", metric="accuracy", at_least=0.925,
         options=["--task", "tag", "--loss", "crf", "--test", "DATA/ud_english_ewt_tsv/dev.tsv"]),
    dict(name="digits", data="fsdd/recordings", joined=True, metric="wer", at_most=0.03,
         options=["--unaligned", "text", "--epochs", "12", "--test", "FOLDER/test.jsonl"]),
    dict(name="JSB", data="polymusic_txt/JSB_Chorales.train.txt", part="val", metric="loss", at_most=8.6,
         options="--task lm --tokens sets --val DATA/polymusic_txt/JSB_Chorales.valid.txt".split()),
    dict(name="tinyshakespeare", data="tinyshakespeare/input.txt", part="val", metric="loss", at_most=1.50,
         options=["--epochs", "10"]),
    dict(name="adding-200", make="adding", metric="mse", at_most=1e-3, options=["--task", "regress", "--test", "2000"]),
    dict(name="adding-200-orthogonal", make="adding", metric="mse", at_most=1e-3,
         options="--task regress --test 2000 --init-weights orthogonal".split()),
    dict(name="amp", make="amp", part="val", metric="esr", at_most=0.01, options=["--epochs", "60", "--val", "0.1"]),
    dict(name="recommend", make="markov", metric="recall@20", of_optimum=0.98, options="--task recommend --group session --test 0.1".split()),
]

EPOCHS = [
    dict(name="MNIST-rows", data="mnist_gz/train-images-idx3-ubyte.gz", peer="mnist", at_least=2, options=[]),
    dict(name="ETTh1", data="ett/ETTh1.csv", rows=14401, peer="forecast", at_least=2,
         options="--task forecast --target all --horizon 24".split()),
    dict(name="EWT", data="ud_english_ewt_tsv/train.tsv", peer="tag", at_least=4, options=["--task", "tag"]),
    dict(name="names18", data="names18", without="SOURCE.txt", peer="names", at_least=4, options=[]),
    dict(name="digits", data="fsdd/recordings", joined=True, peer="transcribe", at_least=2,
         options="--unaligned text --layers 3 --hidden 256".split()),
]


# ---- generated data, from a seed


def write_npy(archive, name, values, shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    archive.writestr(name, b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + values)


def make_adding(folder, examples=20000, steps=200):
    """Writes the adding problem: x [T, 2] holds uniform numbers and two marks; y is the sum of the marked ones. No
    optimum."""
    import array
    import zipfile

    rng, x, y = random.Random(1), array.array("f"), array.array("f")
    for _ in range(examples):
        values = [rng.random() for _ in range(steps)]
        marks = {rng.randrange(steps // 2), steps // 2 + rng.randrange(steps // 2)}
        for t, value in enumerate(values):
            x.extend((value, float(t in marks)))
        y.append(sum(values[t] for t in marks))
    path = os.path.join(folder, "adding.npz")
    with zipfile.ZipFile(path, "w") as archive:
        write_npy(archive, "x.npy", x.tobytes(), (examples, steps, 2))
        write_npy(archive, "y.npy", y.tobytes(), (examples,))
    return path, None


def make_markov(folder, items=200, choices=40, sessions=40000, length=20):
    """Writes sessions of a Markov chain. Each item has `choices` successors, the k-th likeliest with a weight of 1 / k.
    The optimum of recall@20 is the probability of the 20 likeliest."""
    rng = random.Random(1)
    follow = [rng.sample(range(items), choices) for _ in range(items)]
    weights = [1 / (k + 1) for k in range(choices)]
    path = os.path.join(folder, "sessions.csv")
    with open(path, "w") as file:
        file.write("session,item\n")
        for session in range(sessions):
            item = rng.randrange(items)
            for _ in range(length):
                file.write(f"{session},item{item}\n")
                item = rng.choices(follow[item], weights)[0]
    return path, sum(weights[:20]) / sum(weights)


def make_pair(folder):
    """Writes a minute of a synthetic tube amplifier (make_amp.py). No optimum."""
    subprocess.run([sys.executable, os.path.join(HERE, "make_amp.py"), os.path.join(folder, "amp")], check=True)
    return os.path.join(folder, "amp"), None


MAKERS = {"adding": make_adding, "markov": make_markov, "amp": make_pair}


class Missing(Exception):
    pass


def find_data(row, given, folder):
    """Returns the path of a row's data, and the optimum if it is known."""
    if "make" in row:
        return MAKERS[row["make"]](folder)
    path = os.path.join(given.data, row["data"])
    if not os.path.exists(path):
        raise Missing(f"no {path}")
    if "without" in row:
        files = shutil.ignore_patterns(row["without"])
        path = shutil.copytree(path, os.path.join(folder, os.path.basename(path)), ignore=files)
    if "joined" in row:
        done = subprocess.run([given.python, os.path.join(HERE, "make_digits.py"), path, folder], capture_output=True, text=True)
        if done.returncode:
            raise Missing(f"digits: {done.stderr.strip().splitlines()[-1]}")
        return os.path.join(folder, "train.jsonl"), None
    if "noise" in row:
        make = [given.python, os.path.join(HERE, "make_noisy_speech.py"), path, os.path.join(given.data, row["noise"]), folder]
        done = subprocess.run(make, capture_output=True, text=True)
        if done.returncode:
            raise Missing(f"{row['name']}: {done.stderr.strip().splitlines()[-1]}")
        print(f"{row['name']}: the energy of a frame has an AUC of {done.stdout.strip()}", file=sys.stderr)
        return os.path.join(folder, "train"), None
    if "classes" in row:                 # a folder for each class, the name of a file before this text
        for name in os.listdir(path):
            kind, rest = name.split(row["classes"], 1)
            held = row.get("held", "/") in rest          # sounds of this speaker are only in the test
            target = os.path.join(folder, "held" if held else "classes", kind)
            os.makedirs(target, exist_ok=True)
            shutil.copy(os.path.join(path, name), target)
        return os.path.join(folder, "classes"), None
    if "rows" in row:
        stem, ending = os.path.splitext(os.path.basename(path))
        short = os.path.join(folder, f"{stem}_{row['rows'] - 1}{ending}")     # without the header
        with open(path) as source, open(short, "w") as file:
            file.writelines(line for line, _ in zip(source, range(row["rows"])))
        path = short
    return path, None


# ---- runs


def run_json(command, environment=None):
    """Returns the last line of standard output as JSON, and the CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout.strip().split("\n")[-1]), seconds


def train(given, folder, path, row, more):
    options = [option.replace("DATA", given.data).replace("FOLDER", folder) for option in row["options"]]
    command = [given.unroll, "train", path, *options, *more, "--json", "--quiet"]
    return run_json([*command, "--out", os.path.join(folder, f"run-{time.monotonic_ns()}")])


def score(given, folder, row):
    path, optimum = find_data(row, given, folder)
    values, cpu, floor = [], 0, None
    for seed in range(1, row.get("seeds", 1) + 1):
        result, seconds = train(given, folder, path, row, ["--seed", str(seed)])
        part = result[row.get("part", "test")]
        values.append(part[row["metric"]])
        floor, cpu = part.get("floor"), cpu + seconds
    value = sum(values) / len(values)
    goal = row.get("at_least", row.get("at_most", optimum and optimum * row["of_optimum"]))
    reached = value <= goal if "at_most" in row else value >= goal
    return dict(name=row["name"], metric=row["metric"], value=value, floor=floor, goal=goal,
                cpu_seconds=cpu / len(values), cpu_goal=row.get("cpu"), values=values,
                reached=reached and cpu / len(values) <= row.get("cpu", cpu))


def epochs(given, folder, row, threads):
    """Measures wall and CPU seconds of an epoch, without startup and shutdown. The best of several turns counts,
    because other load can only add time."""
    path, _ = find_data(row, given, folder)
    ours, theirs = [], []
    for _ in range(given.turns):
        more = ["--val", "0", "--threads", str(threads), "--batch", str(given.batch)]
        one, cpu_of_one = train(given, folder, path, row, [*more, "--steps", "1"])
        result, cpu = train(given, folder, path, row, [*more, "--epochs", "1"])
        share = result["steps"] / (result["steps"] - 1)
        ours.append(((result["seconds"] - one["seconds"]) * share, (cpu - cpu_of_one) * share))
        peer = [given.python, os.path.join(HERE, "peer_tasks.py"), row["peer"], path, "--batch", str(given.batch)]
        peer += ["--batches", str(given.batches)]
        found = run_json(peer, {"OMP_NUM_THREADS": str(threads)})[0]
        theirs.append((min(found["epochs"]), min(found["cpu_epochs"])))
    (seconds, cpu_seconds), (pytorch, cpu_pytorch) = ([min(x) for x in zip(*side)] for side in (ours, theirs))
    ratio = pytorch / seconds
    return dict(name=row["name"], threads=threads, seconds=seconds, pytorch_seconds=pytorch, ratio=ratio,
                cpu_seconds=cpu_seconds, pytorch_cpu_seconds=cpu_pytorch, cpu_ratio=cpu_pytorch / cpu_seconds,
                goal=row["at_least"], reached=ratio >= row["at_least"])


# ---- what is printed


def print_score(r):
    floor = "" if r["floor"] is None else f"floor {r['floor']:.4g}"
    print(f"{r['name']:24} {r['metric']:>10} {r['value']:<8.4g}  {floor:14} to reach {r['goal']:<7.4g} "
          f"{r['cpu_seconds']:7.1f} CPU s  {'' if r['reached'] else 'missed'}", flush=True)


def print_epochs(r):
    print(f"{r['name']:24} {r['threads']} thread{'s' * (r['threads'] > 1):1}  {r['seconds']:7.2f} s an epoch, PyTorch "
          f"{r['pytorch_seconds']:7.2f} s: {r['ratio']:.2f} times (CPU {r['cpu_seconds']:.2f} and "
          f"{r['pytorch_cpu_seconds']:.2f} s: {r['cpu_ratio']:.2f})  to reach {r['goal']}  "
          f"{'' if r['reached'] else 'missed'}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", help="the folder of the data sets")
    parser.add_argument("--only", default="", help="names of rows, by commas; 'scores' or 'epochs': all of these")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--unroll", default=os.path.join(HERE, "../build/unroll"))
    parser.add_argument("--python", default=sys.executable, help="one that has PyTorch")
    parser.add_argument("--batch", type=int, default=64, help="of the epochs")
    parser.add_argument("--turns", type=int, default=2, help="of the epochs")
    parser.add_argument("--batches", type=int, default=0, help="of PyTorch's epochs, which are extrapolated; 0: all")
    given = parser.parse_args()
    wanted = [name for name in given.only.split(",") if name]
    jobs = [("scores", row, score, print_score, ()) for row in SCORES]
    jobs += [("epochs", row, epochs, print_epochs, (threads,)) for row in EPOCHS for threads in (1, 2)]
    for kind, row, measure, show, more in jobs:
        if wanted and kind not in wanted and row["name"] not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = measure(given, folder, row, *more)
            except Missing as missing:
                print(f"{row['name']}: skipped: {missing}", file=sys.stderr)
                continue
        print(json.dumps({"kind": kind, **result})) if given.json else show(result)


if __name__ == "__main__":
    main()
