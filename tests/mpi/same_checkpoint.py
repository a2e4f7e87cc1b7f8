# Compares the tensors and the training state of two checkpoints. Each has one file of a kind, or shards with an index.
# Uses only Python's standard library. Usage: same_checkpoint.py DIR DIR
import json, os, struct, sys


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    facts = header.pop("__metadata__", {})
    return {name: data[8 + length + t["data_offsets"][0] : 8 + length + t["data_offsets"][1]]
            for name, t in header.items()}, facts


def checkpoint(folder):
    tensors, facts = {}, {}
    for kind in "model.safetensors", "optim.safetensors":
        index = os.path.join(folder, kind + ".index.json")
        names = [kind] if os.path.exists(os.path.join(folder, kind)) else []
        if os.path.exists(index):
            with open(index) as file:
                names += sorted(set(json.load(file)["weight_map"].values()))
        for name in names:
            some, facts[kind] = read(os.path.join(folder, name)) if not facts.get(kind) else (
                read(os.path.join(folder, name))[0], facts[kind])
            if set(some) & set(tensors):
                sys.exit(f"{folder}: {set(some) & set(tensors)} twice")
            tensors.update(some)
    for said in facts.values():
        for key in "checkpoint", "weights", "unroll_checksum":
            said.pop(key, None)
    return tensors, facts


one, other = (checkpoint(folder) for folder in sys.argv[1:3])
if one[1] != other[1]:
    sys.exit(f"they say different things: {one[1]} and {other[1]}")
if set(one[0]) != set(other[0]):
    sys.exit(f"one alone has {set(one[0]) ^ set(other[0])}")
for name in sorted(one[0]):
    if one[0][name] != other[0][name]:
        sys.exit(f"{name} differs")
