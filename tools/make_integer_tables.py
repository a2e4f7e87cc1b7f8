#!/usr/bin/env python3
"""Prints src/stream/program/integer_tables.h: the tables of sigmoid, 2^x and log2 that integer programs interpolate.

    tools/make_integer_tables.py >src/stream/program/integer_tables.h
"""
from decimal import Decimal, getcontext

getcontext().prec = 40
ONE, TWO = Decimal(1), Decimal(2)


def table(name, says, values):
    print(f"/* ==== {name} ==== */")
    print(f"/* {says} */")
    print(f"static const uint16_t {name}[{len(values)}] = {{")
    for i in range(0, len(values), 16):
        print("    " + ", ".join(str(v) for v in values[i:i + 16]) + ("," if i + 16 < len(values) else ""))
    print("};\n")


def rounded(x):
    return min(65535, int(x + Decimal("0.5")))


print("""/* ==== about ====
 * Tables of integer_functions.h, in sections like that file's. Printed by tools/make_integer_tables.py. */""")
table("half_sigmoid_table", "sigmoid(i / 32) - 1/2 in units of 2^-17",
      [rounded((ONE / (ONE + (-Decimal(i) / 32).exp()) - ONE / 2) * 2**17) for i in range(513)])
table("exp2_table", "2^(i / 256) - 1 in units of 2^-15",
      [rounded((TWO ** (Decimal(i) / 256) - 1) * 2**15) for i in range(257)])
table("log2_table", "log2(1 + i / 256) in units of 2^-15",
      [rounded((ONE + Decimal(i) / 256).ln() / TWO.ln() * 2**15) for i in range(257)])
