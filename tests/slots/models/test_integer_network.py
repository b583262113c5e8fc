"""Integer networks: every kernel, batch and packing gives what the definition says."""

from __future__ import annotations

import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from integer_oracle import emulate, forward, random_digits, random_layer, random_network
from numpy.typing import NDArray

from hstar import _core
from hstar.slots.models import packing
from hstar.slots.models.integer_network import IntegerLayer, Network


@pytest.mark.parametrize("seed", range(6))
def test_kernels_equal_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    digits = random_digits(rng, network, 12)
    expected = forward(network, digits)
    assert emulate(network, digits).tolist() == expected
    for kernel in _core.integer_kernel_names():
        assert network.on_kernel(kernel).forward(digits).tolist() == expected, kernel


@pytest.mark.parametrize("seed", range(6, 16))
def test_kernels_equal_each_other_in_every_batch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    digits = random_digits(rng, network, 150)
    expected = emulate(network, digits)
    for kernel in _core.integer_kernel_names():
        core = network.on_kernel(kernel)
        assert np.array_equal(core.forward(digits), expected)
        for size in (1, 3, 65):
            parts = [core.forward(digits[i : i + size]) for i in range(0, 150, size)]
            assert np.array_equal(np.concatenate(parts), expected)


@pytest.mark.parametrize(
    ("hidden", "width", "classes"), [(1, 129, 17), (100, 33, 2), (515, 80, 65), (64, 191, 1)]
)
def test_batches_that_fill_no_tiles(hidden: int, width: int, classes: int) -> None:
    """Kernels take 16 outputs, 64 inputs and up to 32 states at once; here each leaves a rest."""
    rng = np.random.default_rng(hidden)
    network = Network(
        (5, 24, 3),
        (
            random_layer(rng, 32, hidden, first=True),
            random_layer(rng, hidden, width),
            random_layer(rng, width, width),
            random_layer(rng, width, width, skip=1),
            random_layer(rng, width, classes),
        ),
    )
    digits = random_digits(rng, network, 600)
    expected = emulate(network, digits)
    for kernel in _core.integer_kernel_names():
        core = network.on_kernel(kernel)
        for size in (*range(1, 71), 255, 257, 600):
            assert np.array_equal(core.forward(digits[:size]), expected[:size]), (kernel, size)


@pytest.mark.parametrize("shift", [1, 2, 16, 17, 18, 31, 32, 33, 40, 47])
def test_every_shift_rounds_and_clamps(shift: int) -> None:
    """Results far outside 0 .. 127, at every place of the 64 bits of a product."""
    rng = np.random.default_rng(shift)

    def layer(inputs: int, outputs: int, first: bool, skip: int) -> IntegerLayer:
        plain = random_layer(rng, inputs, outputs, first=first)
        # Of all sizes: one of few bits ends within 0 .. 127 by one shift, one of many by another.
        bias = rng.integers(-(2**29), 2**29, outputs) >> rng.integers(0, 30, outputs)
        return replace(plain, bias=bias.astype(np.int32), shift=shift, skip=skip)

    factor = min(1 << shift, 2**31 - 1)
    network = Network(
        (24, 24),
        (
            layer(48, 70, True, 0),
            layer(70, 75, False, 0),
            layer(75, 70, False, 0),
            layer(70, 75, False, factor),
            replace(layer(75, 5, False, 0), shift=40),
        ),
    )
    digits = random_digits(rng, network, 40)
    expected = forward(network, digits)
    for kernel in _core.integer_kernel_names():
        assert network.on_kernel(kernel).forward(digits).tolist() == expected, kernel


def test_threads_do_not_share_registers() -> None:
    rng = np.random.default_rng(5)
    networks = [random_network(rng) for _ in range(4)]
    digits = [random_digits(rng, network, 777) for network in networks]
    expected = [emulate(network, some) for network, some in zip(networks, digits, strict=True)]
    for kernel in _core.integer_kernel_names():
        cores = [network.on_kernel(kernel) for network in networks]

        def agrees(job: int, cores: list[_core.IntegerNetwork] = cores) -> bool:
            which, size = job % 4, 1 + job * 37 % 777
            found = cores[which].forward(digits[which][:size])
            return np.array_equal(found, expected[which][:size])

        with ThreadPoolExecutor(4) as threads:
            assert all(threads.map(agrees, range(200))), kernel


def test_largest_numbers_do_not_saturate() -> None:
    """All activations 127 and all weights at their limits, with many inputs."""
    rng = np.random.default_rng(0)
    network = random_network(rng)
    first = replace(
        network.layers[0],
        weights=np.full((4, 500), 127, dtype=np.int8),
        bias=np.full(500, 1 << 20, dtype=np.int32),
        multiplier=np.full(500, 65535, dtype=np.int32),
        shift=1,
    )
    signs = np.where(rng.random((3, 500)) < 0.5, -127, 127).astype(np.int8)
    signs[0], signs[1] = 127, -127
    last = replace(
        network.layers[-1],
        weights=signs,
        bias=np.array([2**31 - 1 - 500 * 127 * 127, -(2**30), 0], dtype=np.int32),
        multiplier=np.full(3, 65535, dtype=np.int32),
        shift=20,
    )
    extreme = Network((4,), (first, last))
    digits = np.zeros((5, 1), dtype=np.int32)
    expected = emulate(extreme, digits)
    for kernel in _core.integer_kernel_names():
        assert np.array_equal(extreme.on_kernel(kernel).forward(digits), expected)
    too_large = replace(last, bias=np.array([2**31 - 500 * 127 * 127, 0, 0], dtype=np.int32))
    with pytest.raises(ValueError, match="overflow"):
        Network((4,), (first, too_large)).on_kernel("")


@pytest.mark.parametrize("bits", range(2, 9))
def test_packing(bits: int) -> None:
    largest = 2 ** (bits - 1) - 1
    rng = np.random.default_rng(bits)
    for rows in (1, 2, 13):
        weights = rng.integers(-largest, largest + 1, (rows, 7)).astype(np.int8)
        each = [f"{weight + largest + 1:0{bits}b}"[::-1] for weight in weights.ravel().tolist()]
        packed = np.packbits([int(bit) for bit in "".join(each)], bitorder="little")
        assert np.array_equal(packing.read(packing.PACKED, packed, bits, (rows, 7)), weights)
        with pytest.raises(ValueError, match="another number"):
            packing.read(packing.PACKED, packed[:-1], bits, (rows, 7))
        form, held = packing.write(weights, bits)
        assert np.array_equal(packing.read(form, held, bits, (rows, 7)), weights)
        assert np.array_equal(held, packed) if form == packing.PACKED else len(held) < len(packed)


def coded(weights: NDArray[np.int8], flush: int = zlib.Z_FINISH) -> NDArray[np.uint8]:
    """The form of older files."""
    coder = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_HUFFMAN_ONLY)
    held = coder.compress(np.ascontiguousarray(weights).tobytes()) + coder.flush(flush)
    if flush != zlib.Z_FINISH:
        held += coder.flush()
    return np.frombuffer(held, dtype=np.uint8)


def test_the_form_of_older_files_is_read() -> None:
    rng = np.random.default_rng(0)
    weights = np.clip(rng.normal(0, 9, (200, 100)).round(), -127, 127).astype(np.int8)
    held = coded(weights)
    assert np.array_equal(packing.read(packing.CODED, held, 8, (200, 100)), weights)
    form, shorter = packing.write(weights, 8)
    assert form == packing.ADAPTIVE and len(shorter) < len(held)
    for damaged in (held[:-1], held[: len(held) // 2], np.append(held, np.uint8(0)), held[:0]):
        with pytest.raises(ValueError, match="damaged"):
            packing.read(packing.CODED, damaged, 8, (200, 100))
    with pytest.raises(ValueError, match="another number"):
        packing.read(packing.CODED, held, 8, (200, 101))
    with pytest.raises(ValueError, match="unknown"):
        packing.read("folded", held, 8, (200, 100))


def test_file_form_is_the_same_network() -> None:
    rng = np.random.default_rng(3)
    network = random_network(rng)
    again = Network.from_file(network.to_metadata(), network.to_tensors())
    digits = random_digits(rng, network, 20)
    assert np.array_equal(again.forward(digits), network.forward(digits))


@pytest.mark.parametrize("flush", [zlib.Z_FINISH, zlib.Z_FULL_FLUSH])
def test_a_network_that_was_read_keeps_its_bytes(flush: int) -> None:
    """Another zlib makes other bytes of the same weights."""
    network = random_network(np.random.default_rng(4))
    layers = tuple(
        replace(layer, written=(packing.CODED, coded(layer.weights, flush)))
        for layer in network.layers
    )
    written = Network(network.domain_sizes, layers)
    again = Network.from_file(written.to_metadata(), written.to_tensors())
    assert again.to_metadata() == written.to_metadata()
    assert again.to_metadata()["forms"] == [packing.CODED] * len(layers)
    for name, tensor in written.to_tensors().items():
        assert np.array_equal(again.to_tensors()[name], tensor), name


def test_weights_beyond_their_bits_are_refused() -> None:
    held = coded(np.full((3, 4), -32, dtype=np.int8))
    for form, code in ((packing.CODED, held), (packing.PACKED, np.zeros(9, dtype=np.uint8))):
        with pytest.raises(ValueError, match="does not fit in 6 bits"):
            packing.read(form, code, 6, (3, 4))
    with pytest.raises(ValueError, match="fit"):
        packing.write(np.full((3, 4), -32, dtype=np.int8), 6)


def test_networks_that_do_not_fit_are_refused() -> None:
    network = random_network(np.random.default_rng(1))
    first, *rest = network.layers
    for layers in (
        (first,),
        (replace(first, shift=0), *rest),
        (replace(first, shift=48), *rest),
        (replace(first, multiplier=first.multiplier + 65536), *rest),
        (replace(first, weights=first.weights[:-1]), *rest),
        (replace(first, weights=np.full_like(first.weights, -128)), *rest),
        (first, replace(rest[0], skip=1), *rest[1:]),
        (first, *rest[:-1], replace(rest[-1], skip=1)),
    ):
        with pytest.raises(ValueError):
            Network(network.domain_sizes, tuple(layers)).on_kernel("")
    with pytest.raises(ValueError, match="kernel"):
        network.on_kernel("abacus")
    with pytest.raises(ValueError, match="digit"):
        network.forward(np.full((1, len(network.domain_sizes)), 99, dtype=np.int32))
