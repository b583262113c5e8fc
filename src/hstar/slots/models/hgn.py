"""STRIPS-HGN: a recurrent network on the hypergraph of a task (Shen, Trevizan, Thiebaux, 2020).

With e an edge, v a node, u the globals, r and s the nodes in an edge's receiver and sender slots:

    e0, v0, u0 = MLP(cost, senders, receivers), MLP(in state, in goal), MLP(nodes, edges)
    repeat:  e = MLP(e0, e, r0_1, r_1, .., s0_1, s_1, ..)
             v = MLP(sum of e that v receives from, v0, v)
             u = MLP(sum of all e, sum of all v, u0, u)
    output = Linear(MLP(u))

Every MLP has two layers, both with a leaky ReLU. All steps share their weights. Only the last is
decoded, and no ReLU follows, as in Núñez-Molina et al. (IJCAI 2024); Shen et al. train on all steps
and end in a ReLU. A missing slot contributes nothing.

The first layer of the edges reads some 700 numbers each; they are never put side by side. Its
weights for a slot are applied to the nodes that occur in that slot, and every edge adds up what its
slots got. The weights for e0, r0, s0 and v0 are applied once, before the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu_

from hstar.slots.features.feature import Config, check_options, moved
from hstar.slots.features.hypergraph import Bags, Wiring
from hstar.slots.features.hypergraph_inputs import HypergraphBatch
from hstar.slots.models.model import Model, defaults_of, draw_linear_layers

SLOPE = 0.01


@dataclass(frozen=True, slots=True)
class HGNConfig:
    """`normalise` feeds log(1 + x) of costs and numbers of nodes, edges, senders, receivers."""

    receiver_slots: int
    sender_slots: int
    hidden: int = 32
    steps: int = 4
    outputs: int = 2
    normalise: bool = True

    def __post_init__(self) -> None:
        check_options(asdict(self), defaults_of(HGNConfig))


class _BagSum(torch.autograd.Function):
    """Sums of rows (rows, W) -> (results, W)."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, bags: Bags, transposed: Bags) -> Tensor:
        ctx.transposed = transposed
        return bags.sum(rows)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return ctx.transposed.sum(gradient.contiguous()), None, None


class _SlotSum(torch.autograd.Function):
    """Per edge the sum of weights[column] applied to the nodes in its slots.

    (nodes, lanes * H), (columns, H, H) -> (edges, lanes * H)
    """

    @staticmethod
    def forward(ctx: Any, nodes: Tensor, weights: Tensor, wiring: Wiring) -> Tensor:
        ctx.wiring = wiring
        ctx.save_for_backward(nodes, weights)
        pairs = wiring.pair_nodes.sum(nodes)
        return wiring.edge_pairs.sum(_per_column(pairs, weights, wiring))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        wiring: Wiring = ctx.wiring
        nodes, weights = ctx.saved_tensors
        by_pair = wiring.pair_edges.sum(gradient.contiguous())
        by_node = _per_column(by_pair, weights.transpose(1, 2), wiring)
        pairs = wiring.pair_nodes.sum(nodes)  # gathered again: cheaper than memory for all steps
        by_weight = torch.empty_like(weights)
        columns = zip(*(_columns(x, weights, wiring) for x in (pairs, by_pair)), strict=True)
        for k, (x, y) in enumerate(columns):
            torch.mm(x.t(), y, out=by_weight[k])
        return wiring.node_pairs.sum(by_node), by_weight, None


def _per_column(pairs: Tensor, weights: Tensor, wiring: Wiring) -> Tensor:
    """Each pair times the matrix of its column; (pairs, lanes * H) both."""
    result = torch.empty_like(pairs)
    columns = (_columns(x, weights, wiring) for x in (pairs, result))
    for x, out, matrix in zip(*columns, weights, strict=True):
        torch.mm(x, matrix, out=out)
    return result


def _columns(pairs: Tensor, weights: Tensor, wiring: Wiring) -> Sequence[Tensor]:
    """The pairs of each column, (pairs * lanes, H)."""
    width = weights.shape[1]
    lanes = pairs.shape[1] // width
    narrow = pairs.view(len(pairs) * lanes, width)
    return torch.split_with_sizes(narrow, [size * lanes for size in wiring.columns])


class MLP(nn.Module):
    """Two layers, each with a leaky ReLU."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, hidden)
        self.second = nn.Linear(hidden, hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.from_first(self.first(x))

    def from_first(self, sums: Tensor) -> Tensor:
        """The output, from the sums of the first layer, which are overwritten."""
        return leaky_relu_(self.second(leaky_relu_(sums, SLOPE)), SLOPE)


class _Update(nn.Module):
    def __init__(self, edge: int, node: int, globals: int, hidden: int) -> None:
        super().__init__()
        self.edge = MLP(edge, hidden)
        self.node = MLP(node, hidden)
        self.globals = MLP(globals, hidden)


class HGN(nn.Module):
    """float[B, outputs] from a HypergraphBatch of B states, in the dtype of the weights."""

    def __init__(self, config: HGNConfig, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        hidden = config.hidden
        slots = config.receiver_slots + config.sender_slots
        self.encoder = _Update(3, 2, 2, hidden)
        self.core = _Update(2 * hidden * (1 + slots), 3 * hidden, 4 * hidden, hidden)
        self.decoder = MLP(hidden, hidden)
        self.output = nn.Linear(hidden, config.outputs)
        draw_linear_layers(self, generator)

    def forward(self, batch: HypergraphBatch) -> Tensor:
        weights = self.core.edge.first.weight
        if batch.nodes.device != weights.device:
            batch = moved(batch, weights.device)
        edges, graphs = batch.edges.to(weights.dtype), batch.globals.to(weights.dtype)
        if self.config.normalise:
            edges, graphs = edges.log1p(), graphs.log1p()
        lanes = batch.nodes.shape[1]
        e0 = _in_lanes(self.encoder.edge(edges), lanes)  # (edges * lanes, H)
        v0 = self.encoder.node(batch.nodes.to(weights.dtype).view(-1, 2))  # (nodes * lanes, H)
        u0 = _in_lanes(self.encoder.globals(graphs), lanes)  # (graphs * lanes, H)
        u = self._steps(e0, v0, u0, batch.wiring, lanes)
        result: Tensor = self.output(self.decoder(u))
        return result

    def _steps(self, e0: Tensor, v0: Tensor, u0: Tensor, wiring: Wiring, lanes: int) -> Tensor:
        """The globals after all steps."""

        edge, node, hidden = self.core.edge, self.core.node, self.config.hidden

        def on_lanes(apply: Any, rows: Tensor, *others: object) -> Tensor:
            """`apply` works on (rows, lanes * H), all lanes of a row side by side."""
            wide = apply(rows.view(len(rows) // lanes, lanes * hidden), *others)
            narrow: Tensor = wide.view(len(wide) * lanes, hidden)
            return narrow

        def slot_sum(nodes: Tensor, matrices: Tensor) -> Tensor:
            return on_lanes(_SlotSum.apply, nodes, matrices, wiring)

        def bag_sum(rows: Tensor, bags: Bags, transposed: Bags) -> Tensor:
            return on_lanes(_BagSum.apply, rows, bags, transposed)

        # Weights of the edges' first layer: (out, the edge and its slots, initial or now, in).
        parts = edge.first.weight.view(hidden, -1, 2, hidden)
        slots0, slots = parts[:, 1:].permute(2, 1, 3, 0).contiguous()  # (columns, in, out) both
        from_e0, from_e = parts[:, 0].permute(1, 2, 0)  # (in, out) both
        from_sum, from_v0, from_v = node.first.weight.view(hidden, 3, hidden).permute(1, 2, 0)
        e_constant = torch.addmm(edge.first.bias, e0, from_e0) + slot_sum(v0, slots0)
        v_constant = torch.addmm(node.first.bias, v0, from_v0)

        e, v, u = e0, v0, u0
        for _ in range(self.config.steps):
            sums = torch.addmm(e_constant, e, from_e).add_(slot_sum(v, slots))
            e = edge.from_first(sums)
            received = bag_sum(e, wiring.receiver_edges, wiring.edge_receivers)
            v = node.from_first(torch.addmm(v_constant, received, from_sum).addmm_(v, from_v))
            all_e = bag_sum(e, wiring.graph_edges, wiring.edge_graph)
            all_v = bag_sum(v, wiring.graph_nodes, wiring.node_graph)
            u = self.core.globals(torch.cat([all_e, all_v, u0, u], dim=1))
        return u


def _in_lanes(rows: Tensor, lanes: int) -> Tensor:
    """(rows, H) -> (rows * lanes, H), each row repeated"""
    return rows[:, None].expand(-1, lanes, -1).reshape(len(rows) * lanes, rows.shape[1])


class HGNModel(Model):
    """It has no native form: search runs it in torch on whole expansions."""

    name = "hgn"
    features = ("hypergraph",)
    options = defaults_of(HGNConfig)
    training = {"learning_rate": 1e-3, "weight_decay": 0.0}  # noqa: RUF012

    def configure(self, features: Config, outputs: int, options: Config) -> Config:
        slots = (features["receiver_slots"], features["sender_slots"])
        return asdict(HGNConfig(*slots, outputs=outputs, **options))

    def build(self, config: Config, generator: torch.Generator) -> HGN:
        with torch.random.fork_rng(devices=[]):  # layers draw from the global generator first
            return HGN(HGNConfig(**config), generator)


HGN_MODEL = HGNModel()
