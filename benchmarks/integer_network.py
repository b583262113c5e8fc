"""States per second of integer networks on one core, for each instruction set this machine has.

    python benchmarks/integer_network.py

The shapes are those of the cube's networks (see learn_cube.py), the weights random: no number in a
network changes its speed. Batches of 15 are what IDA* evaluates at a time, of 4096 what sweeps do.
CPU time of the process is measured, so other work on the machine matters little.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from hstar import _core
from hstar.slots.models.integer_network import IntegerLayer, Network

SHAPES = {
    "8-corner": ((24,) * 8, [600, 200, 200, 200, 200, 200, 12]),
    "6-edge": ((24,) * 6, [1400, 460, 460, 460, 460, 460, 460, 460, 11]),
    "7-edge": ((24,) * 7, [1600, 650, 650, 650, 650, 650, 650, 650, 12]),
}


def random_network(sizes: tuple[int, ...], widths: list[int]) -> Network:
    rng = np.random.default_rng(0)
    layers = []
    for number, width in enumerate(widths):
        inputs = sum(sizes) if number == 0 else widths[number - 1]
        joined = number >= 3 and number % 2 == 1 and number < len(widths) - 1
        layers.append(
            IntegerLayer(
                rng.integers(-127, 128, (inputs, width) if number == 0 else (width, inputs)).astype(
                    np.int8
                ),
                rng.integers(-1000, 1000, width).astype(np.int32),
                rng.integers(1000, 65536, width).astype(np.int32),
                25,
                1 << 24 if joined else 0,
            )
        )
    return Network(sizes, tuple(layers))


def states_per_second(core: _core.IntegerNetwork, batch: int, sizes: tuple[int, ...]) -> float:
    rng = np.random.default_rng(1)
    digits = np.stack([rng.integers(0, size, batch) for size in sizes], axis=1).astype(np.int32)
    core.forward(digits)
    done, start = 0, time.process_time()
    while time.process_time() - start < 1.0:
        core.forward(digits)
        done += batch
    return done / (time.process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=list(SHAPES))
    given = parser.parse_args()
    print(
        "| network | weights | kernel | states/s, batches of 4096 | of 15 |\n|---|---|---|---|---|"
    )
    for name, (sizes, widths) in SHAPES.items():
        if given.only not in (None, name):
            continue
        network = random_network(sizes, widths)
        for kernel in _core.integer_kernel_names():
            core = network.on_kernel(kernel)
            many, few = (states_per_second(core, batch, sizes) for batch in (4096, 15))
            print(f"| {name} | {network.num_parameters:,} | {kernel} | {many:,.0f} | {few:,.0f} |")


if __name__ == "__main__":
    main()
