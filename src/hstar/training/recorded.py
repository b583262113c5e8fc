"""A training step on a GPU, recorded once and replayed.

A step is some hundred small operations; starting them one by one takes longer than most of them.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

WARM_UP_STEPS = 3  # until lazy initialisation (compiled code, optimiser state) has finished


class RecordedStep:
    """Calls `compute` with tensors that always have the same shapes. The first calls are plain
    ones; then the operations are recorded, and later calls only replay them. All else that differs
    from step to step must lie in tensors on the device."""

    def __init__(self, compute: Callable[[list[Tensor]], None]) -> None:
        self.compute = compute
        self.tensors: list[Tensor] = []
        self.graph: torch.cuda.CUDAGraph | None = None
        self.calls = 0

    def __call__(self, drawn: list[Tensor]) -> None:
        if not self.tensors:
            self.tensors = [tensor.clone() for tensor in drawn]
        for held, tensor in zip(self.tensors, drawn, strict=True):
            held.copy_(tensor)
        self.calls += 1
        if self.calls <= WARM_UP_STEPS:
            stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self.compute(self.tensors)
            torch.cuda.current_stream().wait_stream(stream)
            return
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.compute(self.tensors)
        self.graph.replay()
