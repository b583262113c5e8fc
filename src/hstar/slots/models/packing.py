"""Weights in few bytes, in one of three forms.

packed     each weight in its bits, for layers of a few weights
adaptive   range coded with learned probabilities (cpp/networks/integer/weight_code.hpp)
coded      the Huffman code of DEFLATE (RFC 1951), which is longer: only older files have it
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from hstar import _core

FEWEST_BITS, MOST_BITS = 2, 8
PACKED, CODED, ADAPTIVE = "packed", "coded", "adaptive"
Bytes = NDArray[np.uint8]


def write(weights: NDArray[np.int8], bits: int) -> tuple[str, Bytes]:
    """The shorter form of weights [rows, columns], and its bytes uint8[N]. Raises ValueError where
    they do not fit in the bits."""
    code = _core.encode_weights(np.ascontiguousarray(weights), bits)
    if len(code) < -(-weights.size * bits // 8):
        return ADAPTIVE, np.frombuffer(code, dtype=np.uint8)
    # Each weight plus 2^(bits - 1), lowest bits first.
    shifted = (weights.astype(np.int16).ravel() + 2 ** (bits - 1)).astype(np.uint8)
    each = np.unpackbits(shifted[:, None], axis=1, bitorder="little")[:, :bits]
    return PACKED, np.packbits(each.ravel(), bitorder="little")


def read(form: str, held: Bytes, bits: int, shape: tuple[int, int]) -> NDArray[np.int8]:
    """What a form holds, int8 of a shape. Raises ValueError for what is no code of such weights."""
    if form not in (PACKED, CODED, ADAPTIVE):
        raise ValueError(f"weights in the form {form!r} are unknown")
    if not FEWEST_BITS <= bits <= MOST_BITS:
        raise ValueError(f"weights have {FEWEST_BITS} to {MOST_BITS} bits, not {bits}")
    if held.dtype != np.uint8 or held.ndim != 1 or min(shape) < 0:
        raise ValueError("a layer has another number of weights")
    try:
        if form == ADAPTIVE:
            return _core.decode_weights(np.ascontiguousarray(held), *shape, bits)
        size = shape[0] * shape[1]
        weights = _unpacked(held, bits, size) if form == PACKED else _inflated(held, size)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"the weights of a layer are damaged ({error})") from None
    if size and int(np.abs(weights.astype(np.int16)).max()) >= 2 ** (bits - 1):
        raise ValueError(f"a weight does not fit in {bits} bits")
    return weights.reshape(shape)


def _unpacked(packed: Bytes, bits: int, size: int) -> NDArray[np.int8]:
    if len(packed) != -(-size * bits // 8):
        raise ValueError("there is another number of them")
    each = np.unpackbits(packed, count=size * bits, bitorder="little").reshape(size, bits)
    shifted = np.packbits(each, axis=1, bitorder="little")[:, 0].astype(np.int16)
    weights: NDArray[np.int8] = (shifted - 2 ** (bits - 1)).astype(np.int8)
    return weights


def _inflated(coded: Bytes, size: int) -> NDArray[np.int8]:
    decoder = zlib.decompressobj(-15)
    content = decoder.decompress(coded.tobytes(), size + 1)
    if len(content) != size or not decoder.eof or decoder.unused_data:
        raise ValueError("there is another number of them")
    return np.frombuffer(content, dtype=np.int8)
