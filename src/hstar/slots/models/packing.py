"""Weights in few bytes, in the shortest of three forms.

packed     each weight in its bits
coded      the Huffman code of DEFLATE (RFC 1951), without its search for repetitions
adaptive   range coded with learned probabilities (cpp/networks/integer/weight_code.hpp)
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hstar import _core

FEWEST_BITS, MOST_BITS = 2, 8
PACKED, CODED, ADAPTIVE = "packed", "coded", "adaptive"
Bytes = NDArray[np.uint8]


def shortest(weights: NDArray[np.int8], bits: int) -> tuple[str, Bytes]:
    """How the weights are written, and their bytes uint8[N]. Raises ValueError."""
    forms = [(form, write(weights, bits)) for form, (write, _) in FORMS.items()]
    return min(forms, key=lambda form: len(form[1]))


def read(form: str, held: Bytes, bits: int, shape: Sequence[int]) -> NDArray[np.int8]:
    """What a form holds, int8 of a shape. Raises ValueError."""
    if form not in FORMS:
        raise ValueError(f"weights in the form {form!r} are unknown")
    weights = FORMS[form][1](held, bits, shape)
    check(weights, bits)
    return weights


def check(weights: NDArray[np.int8], bits: int) -> None:
    """Raises ValueError for weights that their bits do not hold."""
    if not FEWEST_BITS <= bits <= MOST_BITS:
        raise ValueError(f"weights have {FEWEST_BITS} to {MOST_BITS} bits, not {bits}")
    if weights.size and int(np.abs(weights.astype(np.int16)).max()) >= 2 ** (bits - 1):
        raise ValueError(f"a weight does not fit in {bits} bits")


def pack(weights: NDArray[np.int8], bits: int) -> Bytes:
    """uint8[ceil(size * bits / 8)]: each weight plus 2^(bits - 1), lowest bits first."""
    check(weights, bits)
    shifted = (weights.astype(np.int16).ravel() + 2 ** (bits - 1)).astype(np.uint8)
    each = np.unpackbits(shifted[:, None], axis=1, bitorder="little")[:, :bits]
    return np.packbits(each.ravel(), bitorder="little")


def unpack(packed: Bytes, bits: int, shape: Sequence[int]) -> NDArray[np.int8]:
    """int8 of a shape. Raises ValueError for packed weights of another size."""
    size = int(np.prod(shape))
    if not FEWEST_BITS <= bits <= MOST_BITS or packed.shape != (-(-size * bits // 8),):
        raise ValueError("a layer has another number of weights")
    each = np.unpackbits(packed, count=size * bits, bitorder="little").reshape(size, bits)
    shifted = np.packbits(each, axis=1, bitorder="little")[:, 0].astype(np.int16)
    weights: NDArray[np.int8] = (shifted - 2 ** (bits - 1)).astype(np.int8).reshape(shape)
    return weights


def encode(weights: NDArray[np.int8], bits: int) -> Bytes:
    coder = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_HUFFMAN_ONLY)
    content = coder.compress(np.ascontiguousarray(weights).tobytes()) + coder.flush()
    return np.frombuffer(content, dtype=np.uint8)


def decode(coded: Bytes, bits: int, shape: Sequence[int]) -> NDArray[np.int8]:
    """Raises ValueError for what is no DEFLATE code of so many weights."""
    size = int(np.prod(shape))
    decoder = zlib.decompressobj(-15)
    try:
        content = decoder.decompress(coded.tobytes(), size + 1)
    except zlib.error as error:
        raise ValueError(f"the weights of a layer are damaged ({error})") from None
    if len(content) != size or not decoder.eof or decoder.unused_data:
        raise ValueError("a layer has another number of weights")
    return np.frombuffer(content, dtype=np.int8).reshape(shape)


def encode_adaptively(weights: NDArray[np.int8], bits: int) -> Bytes:
    """Of weights [rows, columns]. Raises ValueError where they do not fit in the bits."""
    code = _core.encode_weights(np.ascontiguousarray(weights), bits)
    return np.frombuffer(code, dtype=np.uint8)


def decode_adaptively(code: Bytes, bits: int, shape: Sequence[int]) -> NDArray[np.int8]:
    """Raises ValueError for what is no code of weights of such a shape."""
    rows, columns = shape
    if code.dtype != np.uint8 or code.ndim != 1 or min(rows, columns) < 0:
        raise ValueError("a layer has another number of weights")
    try:
        return _core.decode_weights(np.ascontiguousarray(code), rows, columns, bits)
    except ValueError as error:
        raise ValueError(f"the weights of a layer are damaged ({error})") from None


# How each form is written (weights, bits) and read (bytes, bits, shape).
FORMS: dict[str, tuple[Callable[..., Bytes], Callable[..., NDArray[np.int8]]]] = {
    PACKED: (pack, unpack),
    CODED: (encode, decode),
    ADAPTIVE: (encode_adaptively, decode_adaptively),
}
