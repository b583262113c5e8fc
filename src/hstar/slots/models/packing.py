"""Weights in few bytes, in one of two forms.

adaptive   range coded with learned probabilities (cpp/networks/integer/weight_code.hpp)
coded      the Huffman code of DEFLATE (RFC 1951), longer; older files have it, new ones do not
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hstar import _core

FEWEST_BITS, MOST_BITS = 2, 8
CODED, ADAPTIVE = "coded", "adaptive"
Bytes = NDArray[np.uint8]


def write(weights: NDArray[np.int8], bits: int) -> Bytes:
    """The adaptive form uint8[N] of weights [rows, columns]. Raises ValueError where they do not
    fit in the bits."""
    code = _core.encode_weights(np.ascontiguousarray(weights), bits)
    return np.frombuffer(code, dtype=np.uint8)


def read(form: str, held: Bytes, bits: int, shape: tuple[int, int]) -> NDArray[np.int8]:
    """What a form holds, int8 of a shape. Raises ValueError for what is no code of such weights."""
    if form not in (CODED, ADAPTIVE):
        raise ValueError(f"weights in the form {form!r} are unknown")
    if not FEWEST_BITS <= bits <= MOST_BITS:
        raise ValueError(f"weights have {FEWEST_BITS} to {MOST_BITS} bits, not {bits}")
    if held.dtype != np.uint8 or held.ndim != 1 or min(shape) < 0:
        raise ValueError("a layer has another number of weights")
    try:
        if form == CODED:
            return _inflated(held, bits, shape)
        return _core.decode_weights(np.ascontiguousarray(held), *shape, bits)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"the weights of a layer are damaged ({error})") from None


def _inflated(coded: Bytes, bits: int, shape: Sequence[int]) -> NDArray[np.int8]:
    size = int(np.prod(shape))
    decoder = zlib.decompressobj(-15)
    content = decoder.decompress(coded.tobytes(), size + 1)
    if len(content) != size or not decoder.eof or decoder.unused_data:
        raise ValueError("there is another number of them")
    weights = np.frombuffer(content, dtype=np.int8).reshape(shape)
    if size and int(np.abs(weights.astype(np.int16)).max()) >= 2 ** (bits - 1):
        raise ValueError(f"one does not fit in {bits} bits")
    return weights
