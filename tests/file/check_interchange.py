"""Compares our import and export with PyTorch and Keras: run by test_interchange.sh. Files go to a temporary folder.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

binary = sys.argv[1]
root = pathlib.Path(__file__).resolve().parents[2]
place = pathlib.Path(tempfile.mkdtemp())
counts = {"passed": 0, "failed": 0, "skipped": 0}


def check(holds, what):
    counts["passed" if holds else "failed"] += 1
    if not holds:
        print("FAILED", what)
    return holds


def skip(why):
    counts["skipped"] += 1
    print("skipped:", why)


def unroll(*words, code=0):
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True)
    check(done.returncode == code, f"unroll {' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr + done.stdout         # the requested output comes last


# ---- PyTorch -----------------------------------------------------------------------------

def torch_networks(nn):
    class Net(nn.Module):
        def __init__(self, **modules):
            super().__init__()
            for name, module in modules.items():
                self.add_module(name, module)

    return {
        "tagger": (lambda: Net(embed=nn.Embedding(19, 6), lstm=nn.LSTM(6, 10, 3, bidirectional=True),
                               fc=nn.Linear(20, 5)), []),
        "gru": (lambda: Net(encoder=Net(rnn=nn.GRU(4, 7, 2)), out=nn.Linear(7, 3, bias=False)), []),
        "projected": (lambda: Net(lstm=nn.LSTM(4, 9, 2, proj_size=5, bias=False)), []),
        "relu": (lambda: Net(rnn=nn.RNN(4, 6, nonlinearity="relu"), fc=nn.Linear(6, 2)), ["--nonlinearity", "relu"]),
        "deep": (lambda: Net(lstm=nn.LSTM(4, 8), a=nn.Linear(8, 8), b=nn.Linear(8, 2)), ["--order", "lstm,a:tanh,b"]),
        "two": (lambda: Net(a=nn.LSTM(4, 8), b=nn.GRU(8, 6, 2, bidirectional=True), c=nn.Linear(12, 2)), []),
    }


def there_and_back(name, make, options):
    """The weights are loaded into a new module, strictly and bit for bit."""
    import torch
    from safetensors.torch import load_file, save_file
    source, model, back = place / f"{name}.pt.safetensors", place / f"{name}.safetensors", place / f"{name}.back"
    net, fresh = make(), make()
    save_file(net.state_dict(), source)
    unroll("import", "torch", source, "-o", model, *options)
    unroll("export", model, "--to", "torch", "-o", back)
    fresh.load_state_dict(load_file(back), strict=True)
    for key, value in net.state_dict().items():
        check(torch.equal(fresh.state_dict()[key], value), f"{name}: {key} changed")


def trained_by_us(cell):
    """A model that we trained, loaded strictly, gives our outputs in PyTorch."""
    import numpy
    import torch
    from safetensors.torch import load_file
    from torch import nn
    text, run, file = place / "text.txt", place / f"run-{cell}", place / f"{cell}.exported"
    text.write_text("the quick brown fox jumps over a lazy dog\n" * 40)
    unroll("train", text, "--cell", cell, "--hidden", 12, "--layers", 2, "--embed", 12, "--tied", "--steps", 3,
           "--batch", 4, "--bptt", 8, "--out", run)
    unroll("export", run, "--to", "torch", "-o", file)
    symbols = json.loads(unroll("inspect", run, "--json").splitlines()[-1])["specification"]["input"]
    net = nn.Module()
    net.embedding, net.head = nn.Embedding(symbols, 12), nn.Linear(12, symbols)
    net.rnn = (nn.LSTM if cell == "lstm" else nn.GRU)(12, 12, 2)
    net.head.weight = net.embedding.weight
    net.load_state_dict(load_file(file), strict=True)
    tokens = torch.randint(symbols, (11, 3))
    with torch.no_grad():
        y, last = net.rnn(net.embedding(tokens))
    arrays = {"tokens": tokens.numpy(), "y": net.head(y).detach().numpy(),
              "hn": (last[0] if cell == "lstm" else last).numpy()}
    numpy.savez(place / "reference.npz", **arrays)
    unroll("run", run, place / "reference.npz", "--compare", "--tolerance", "2e-6")
    numpy.savez(place / "wrong.npz", **{**arrays, "y": arrays["y"] + 0.01})
    unroll("run", run, place / "wrong.npz", "--compare", code=1)
    unroll("run", run, place / "reference.npz", "-o", place / "y.npz")
    written = numpy.load(place / "y.npz")
    check(written["y"].shape == arrays["y"].shape and abs(written["y"] - arrays["y"]).max() < 1e-5, "run writes y")
    check(abs(written["hn"] - arrays["hn"]).max() < 1e-5, "run writes hn")


def test_torch():
    try:
        import safetensors.torch
        from torch import nn
    except ImportError as missing:
        return skip(f"PyTorch: {missing}")
    for name, (make, options) in torch_networks(nn).items():
        there_and_back(name, make, options)
    for cell in ("lstm", "gru"):
        trained_by_us(cell)


# ---- Keras -------------------------------------------------------------------------------

def keras_models(keras):
    layers, dense, open_steps = keras.layers, keras.layers.Dense, keras.Input((None, 5))
    both = layers.Bidirectional
    inputs = keras.Input((None, 5))
    functional = keras.Model(inputs, dense(2)(layers.GRU(4, return_sequences=True)(inputs)))
    return {
        "language": [keras.Input((None,)), layers.Embedding(17, 6), layers.LSTM(8, return_sequences=True),
                     layers.LSTM(8, return_sequences=True), dense(17, activation="softmax")],
        "grus": [open_steps, layers.GRU(8, return_sequences=True), layers.Dropout(0.2),
                 layers.GRU(8, return_sequences=True, reset_after=False), dense(7, activation="relu"), dense(3)],
        "both": [open_steps, both(layers.LSTM(6, return_sequences=True)),
                 both(layers.GRU(4, return_sequences=True, reset_after=False)),
                 layers.TimeDistributed(dense(3, use_bias=False)), layers.Activation("tanh")],
        "simple": [keras.Input((9, 5)), layers.SimpleRNN(6, return_sequences=True),
                   layers.SimpleRNN(6, activation="relu")],
        "last": [keras.Input((9, 5)), layers.GRU(6, use_bias=False), dense(2, activation="sigmoid")],
        "functional": functional,
        "masked": [keras.Input((9,)), layers.Embedding(17, 6, mask_zero=True), both(layers.LSTM(5, return_sequences=True)),
                   layers.GRU(4), dense(3)],
    }


def refused_models(keras):
    layers = keras.layers
    inputs = keras.Input((None, 5))
    h = layers.GRU(5, return_sequences=True)(inputs)
    return {
        "the last step of one direction": [layers.Bidirectional(layers.LSTM(6)), layers.Dense(2)],
        "can't be converted": [layers.Conv1D(6, 3), layers.Dense(2)],
        "the activation 'hard_sigmoid'": [layers.LSTM(6, recurrent_activation="hard_sigmoid")],
        "does not read": keras.Model(inputs, layers.Dense(2)(h + inputs)),
    }


def convert(keras, name, model, code=0):
    if isinstance(model, list):
        model = keras.Sequential(model if hasattr(model[0], "_keras_history") else [keras.Input((None, 5)), *model])
    import numpy
    model.set_weights([w + numpy.random.uniform(-0.3, 0.3, w.shape) for w in model.get_weights()])
    source = place / f"{name}.keras"
    model.save(source)
    words = [str(source), "-o", str(place / f"{name}.weights"), "--reference", str(place / f"{name}.npz")]
    found, error = (by_command if name in ("language", "refused0") else by_call)(words)
    check(found == code, f"{name}: {found} {error}")
    return error


def by_command(words):
    done = subprocess.run([sys.executable, root / "tools/keras_to_unroll.py", *words], capture_output=True, text=True)
    return done.returncode, done.stderr


def by_call(words):
    """Runs the same without another Python process, which takes seconds to start."""
    sys.path.insert(0, str(root / "tools"))
    from keras_to_unroll import main
    sys.path.pop(0)
    try:
        return main(words), ""
    except SystemExit as end:
        return int(bool(end.code)), str(end.code)


def swap_gates(name):
    """The comparison must detect a file whose first two gates are exchanged."""
    from safetensors.numpy import load_file, save_file
    from safetensors import safe_open
    file = place / f"{name}.weights"
    tensors = load_file(file)
    with safe_open(file, "numpy") as opened:
        metadata = opened.metadata()
    key = next(k for k in sorted(tensors) if "weight_hh_l0" in k)
    rows = tensors[key].copy()
    width = rows.shape[1]
    tensors[key][:width], tensors[key][width:2 * width] = rows[width:2 * width], rows[:width]
    save_file(tensors, place / "swapped.weights", metadata=metadata)
    unroll("import", "torch", place / "swapped.weights", "--verify", place / f"{name}.npz", "--batch-first", code=1)


def without_lengths(name):
    """The comparison must detect that rows are padded."""
    import numpy
    arrays = dict(numpy.load(place / f"{name}.npz"))
    check(arrays.pop("lengths").tolist() == [1, 5, 9], "the reference of a masked model has rows of all lengths")
    numpy.savez(place / "unmasked.npz", **arrays)
    unroll("import", "torch", place / f"{name}.weights", "--verify", place / "unmasked.npz", "--batch-first", code=1)


def test_keras():
    try:
        import keras
    except ImportError as missing:
        return skip(f"Keras: {missing}")
    keras.utils.set_random_seed(5)
    for name, model in keras_models(keras).items():
        convert(keras, name, model)
        unroll("import", "torch", place / f"{name}.weights", "--verify", place / f"{name}.npz", "--batch-first",
               "--tolerance", "2e-6", "-o", place / f"{name}.safetensors")
    for name in ("language", "grus", "both"):
        swap_gates(name)
    without_lengths("masked")
    for number, (says, model) in enumerate(refused_models(keras).items()):
        error = convert(keras, f"refused{number}", model, code=1)
        check(says in error, f"'{says}' is not in: {error}")


test_torch()
test_keras()
subprocess.run(["rm", "-rf", place])
print("interchange: {passed} passed, {failed} failed, {skipped} skipped".format(**counts))
sys.exit(counts["failed"] > 0)
