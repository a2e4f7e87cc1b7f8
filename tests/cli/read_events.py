"""Reads the TensorBoard events of a directory, implemented from the description of the format with Python's standard
library: lengths, masked CRC-32C sums and the fields of the messages. Prints "tag step value" for each scalar of the
run, without those that a later file invalidates, and fails on unknown content."""
import glob
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def check(data, masked):
    crc = crc32c(data)
    assert ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF == masked, "a sum is wrong"


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, at, shift = value | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            length, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value, at = data[at:at + length], at + length
            assert at <= len(data), "a field goes beyond its message"
        yield key >> 3, value


def records(path):
    data = open(path, "rb").read()
    at = 0
    while at < len(data):
        length, masked = struct.unpack_from("<QI", data, at)
        check(data[at:at + 8], masked)
        message = data[at + 12:at + 12 + length]
        check(message, *struct.unpack_from("<I", data, at + 12 + length))
        yield message
        at += 16 + length


def main(directory):
    scalars = {}
    for path in sorted(glob.glob(directory + "/events.out.tfevents.*")):
        for number, message in enumerate(records(path)):
            event = dict(fields(message))
            assert struct.unpack("<d", event[1])[0] > 1e9, "no time"
            assert (number == 0) == (event.get(3) == b"brain.Event:2"), "the version comes first, and once"
            if 7 in event:
                assert dict(fields(event[7])) == {1: 1}, "a session that does not start"
                scalars = {key: value for key, value in scalars.items() if key[1] < event[2]}
            for field, value in fields(event.get(5, b"")):
                value = dict(fields(value))
                scalars[value[1].decode(), event[2]] = struct.unpack("<f", value[2])[0]
    for (tag, step), value in sorted(scalars.items()):
        print(f"{tag} {step} {value:.5g}")


main(sys.argv[1])
