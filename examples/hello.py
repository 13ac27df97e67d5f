"""A first program for a cell: it greets, works a little, and leaves a file behind."""

import os
import platform
from pathlib import Path


def primes(limit):
    sieve = bytearray([1]) * limit
    sieve[:2] = b"\0\0"
    for n in range(2, int(limit**0.5) + 1):
        if sieve[n]:
            sieve[n * n :: n] = bytes(len(range(n * n, limit, n)))
    return [n for n in range(limit) if sieve[n]]


print(f"Hello from a cell. I am process {os.getpid()}, running Python {platform.python_version()}.")

found = primes(100_000)
print(f"There are {len(found)} primes below 100000; the last one is {found[-1]}.")

note = Path("primes.txt")
note.write_text("\n".join(map(str, found)) + "\n")
print(f"They are all in {note.resolve()}.")
