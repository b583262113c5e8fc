"""A graph network on the objects of a state (Battaglia et al., 2018), with a policy if wanted.

It is the network of Rivlin, Hazan and Karpas, "Generalized Planning With Deep Reinforcement
Learning" (2020), in hstar's terms. With v a node, e an edge from s to r, u the globals:

    repeat:  m = MLP(e, v_s, v_r, u)
             v = norm(v + MLP(v, the m that v receives, u))
             u = norm(u + MLP(u, mean of all v, greatest of all v))
    output  = MLP(u) + sum over v of MLP(v, u)
    pi(a)  ~ exp MLP(schema of a, the v of its arguments, u), over the applicable operators a

A norm makes the mean over the channels 0 and the variance 1 (Ba, Kiros and Hinton, 2016). Without
it the gradients of reinforcement learning grow without bounds within 20 updates of a policy.
A node takes the greatest message in every channel, or with `attention` a weighted mean of them.
Rounds have weights of their own. With a policy, sigmoid(output) is V, the discounted chance to
reach the goal, and the output has the mean over v in place of the sum. The policy then has v and u
of its own: a step that improves the value must not change the policy.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from hstar.slots.features.atoms import Batch
from hstar.slots.features.feature import Config, check_options, moved
from hstar.slots.features.operators import ApplicableOperators, Schemas, most_parameters
from hstar.slots.features.vocabulary import Vocabulary
from hstar.slots.models.model import Model, defaults_of, draw_linear_layers

WIDEST = 2  # arity


@dataclass(frozen=True, slots=True)
class GNNConfig:
    """`channels` of arity 0, 1 and 2. Without `schemas` the network has no policy."""

    channels: list[int]
    hidden: int = 64
    rounds: int = 4
    attention: bool = False
    outputs: int = 1
    schemas: Schemas = ()

    def __post_init__(self) -> None:
        check_options(asdict(self), defaults_of(GNNConfig))


@dataclass(frozen=True, slots=True)
class ObjectGraphs:
    """States as B graphs: N nodes in all, one per object, and E edges, one per pair of objects that
    an atom or the goal names, in the order of their receivers.

    Nodes carry the unary channels of the atoms, and of binary channels what they say of a pair of
    the same object twice. The edge (i, j) carries the binary channels of (i, j) and of (j, i), so
    messages go both ways. Nullary channels are global.
    """

    globals: Tensor  # float (B, C0)
    nodes: Tensor  # float (N, C1 + C2)
    edges: Tensor  # float (E, 2 C2)
    senders: Tensor  # int64 (E,)
    receivers: Tensor  # int64 (E,)
    incoming: Tensor  # int64 (N,): how many edges each node receives
    sizes: Tensor  # int64 (B,): how many nodes each graph has
    first_node: Tensor  # int64 (B,)
    graph_of_node: Tensor  # int64 (N,)


def object_graphs(batch: Batch, channels: list[int]) -> ObjectGraphs:
    """The graphs of B states, from atoms with so many channels of arity 0, 1 and 2."""
    c0, c1, c2 = channels
    sizes = batch.sizes.astype(np.int64)
    first = np.cumsum(sizes) - sizes
    total = int(sizes.sum())
    graph = np.repeat(np.arange(len(sizes)), np.diff(batch.starts))  # of each entry
    arity, number = batch.entries[:, 0], batch.entries[:, 1].astype(np.int64)

    of_globals = np.zeros((len(sizes), c0), dtype=np.float32)
    chosen = arity == 0
    of_globals[graph[chosen], number[chosen]] = batch.values[chosen]

    nodes = np.zeros((total, c1 + c2), dtype=np.float32)
    chosen = arity == 1
    index, channel = np.divmod(number[chosen], max(c1, 1))
    nodes[first[graph[chosen]] + index, channel] = batch.values[chosen]

    chosen = arity == 2
    graph, values = graph[chosen], batch.values[chosen]
    pair, channel = np.divmod(number[chosen], max(c2, 1))
    a, b = np.divmod(pair, np.maximum(sizes[graph], 1))
    a, b = a + first[graph], b + first[graph]
    is_loop = a == b
    nodes[a[is_loop], c1 + channel[is_loop]] = values[is_loop]
    a, b, channel, values = (one[~is_loop] for one in (a, b, channel, values))
    keys = np.concatenate([b * total + a, a * total + b])  # receiver, sender
    found, place = np.unique(keys, return_inverse=True)
    edges = np.zeros((len(found), 2 * c2), dtype=np.float32)
    edges[place, np.concatenate([channel, c2 + channel])] = np.concatenate([values, values])
    receivers, senders = np.divmod(found, max(total, 1))
    made = (
        of_globals,
        nodes,
        edges,
        senders,
        receivers,
        np.bincount(receivers, minlength=total),
        sizes,
        first,
        np.repeat(np.arange(len(sizes)), sizes),
    )
    return ObjectGraphs(*(torch.from_numpy(one) for one in made))


def reduced(how: str, rows: Tensor, lengths: Tensor) -> Tensor:
    """(S, ...): the "sum" of consecutive rows (R, ...), or in each column their "max" and 0."""
    if len(lengths) == 0:  # which torch refuses
        return rows[:0]
    return torch.segment_reduce(rows, how, lengths=lengths, axis=0, initial=0, unsafe=True)


def segment_log_softmax(scores: Tensor, lengths: Tensor) -> Tensor:
    """(R,): log softmax among consecutive scores (R,)."""
    segment = torch.repeat_interleave(torch.arange(len(lengths), device=scores.device), lengths)
    with torch.no_grad():
        lowest = scores.min() if len(scores) else scores.sum()
        most = reduced("max", scores - lowest, lengths) + lowest
    shifted = scores - most.index_select(0, segment)
    total = reduced("sum", shifted.exp(), lengths)
    return shifted - total.log().index_select(0, segment)


class _MLP(nn.Module):
    """Two layers, the first given as sums of its parts."""

    def __init__(self, hidden: int, outputs: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(hidden, hidden)
        self.output = nn.Linear(hidden, outputs)

    def forward(self, sums: Tensor) -> Tensor:
        result: Tensor = self.output(relu(self.hidden(relu(sums))))
        return result


class _Round(nn.Module):
    def __init__(self, hidden: int, attention: bool) -> None:
        super().__init__()
        self.from_nodes = nn.Linear(hidden, 3 * hidden)  # as sender, as receiver, for itself
        self.from_globals = nn.Linear(hidden, 3 * hidden)  # for edges, nodes, globals
        self.from_edges = nn.Linear(hidden, hidden)
        self.message = nn.Linear(hidden, hidden)
        self.attention = nn.Linear(hidden, 1) if attention else None
        self.from_messages = nn.Linear(hidden, hidden)
        self.node = nn.Linear(hidden, hidden)
        self.pool = nn.Linear(hidden, hidden)
        self.from_pool = nn.Linear(2 * hidden, hidden)
        self.globals = nn.Linear(hidden, hidden)
        self.norm_of_nodes = nn.LayerNorm(hidden)
        self.norm_of_globals = nn.LayerNorm(hidden)

    def forward(self, e: Tensor, v: Tensor, u: Tensor, graphs: ObjectGraphs) -> Any:
        of = graphs.graph_of_node
        as_sender, as_receiver, for_node = self.from_nodes(v).chunk(3, dim=1)
        for_edges, for_nodes, for_globals = self.from_globals(u).chunk(3, dim=1)
        received = as_receiver + for_edges.index_select(0, of)
        m = self.from_edges(e) + as_sender.index_select(0, graphs.senders)
        m = m + received.index_select(0, graphs.receivers)
        m = relu(self.message(relu(m)))  # (E, H)
        if self.attention is None:
            taken = reduced("max", m, graphs.incoming)
        else:
            weights = segment_log_softmax(self.attention(m)[:, 0], graphs.incoming).exp()
            taken = reduced("sum", weights[:, None] * m, graphs.incoming)
        for_node = for_node + for_nodes.index_select(0, of) + self.from_messages(taken)
        v = self.norm_of_nodes(v + self.node(relu(for_node)))
        pooled = relu(self.pool(v))
        mean = reduced("sum", pooled, graphs.sizes) / graphs.sizes.clamp(min=1)[:, None]
        greatest = reduced("max", pooled, graphs.sizes)
        pooled = self.from_pool(torch.cat([mean, greatest], dim=1))
        return v, self.norm_of_globals(u + self.globals(relu(for_globals + pooled)))


class _Body(nn.Module):
    """All rounds: the v and u of graphs."""

    def __init__(self, config: GNNConfig) -> None:
        super().__init__()
        hidden, (c0, c1, c2) = config.hidden, config.channels
        self.edge = nn.Linear(2 * c2 + 1, hidden)  # + 1: no layer is empty
        self.node = nn.Linear(c1 + c2 + 1, hidden)
        self.globals = nn.Linear(c0 + 1, hidden)
        rounds = [_Round(hidden, config.attention) for _ in range(config.rounds)]
        self.rounds = nn.ModuleList(rounds)

    def forward(self, graphs: ObjectGraphs) -> tuple[Tensor, Tensor]:
        def encoded(layer: nn.Linear, rows: Tensor) -> Tensor:
            rows = rows.to(layer.weight.dtype)
            return relu(layer(nn.functional.pad(rows, (0, 1), value=1.0)))

        e, v = encoded(self.edge, graphs.edges), encoded(self.node, graphs.nodes)
        u = encoded(self.globals, graphs.globals)
        for one in self.rounds:
            v, u = one(e, v, u, graphs)
        return v, u


class GNN(nn.Module):
    """float[B, outputs] from the atoms of B states; `policy` gives log pi besides."""

    def __init__(self, config: GNNConfig, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.config = config
        hidden = config.hidden
        self.body = _Body(config)
        self.value_of_globals = _MLP(hidden, config.outputs)
        self.value_of_nodes = _MLP(hidden, config.outputs)
        self.nodes_for_value = nn.Linear(hidden, hidden)
        self.globals_for_value = nn.Linear(hidden, hidden)
        if config.schemas:
            widest = most_parameters(config.schemas)
            self.body_of_policy = _Body(config)
            self.schema = nn.Parameter(torch.zeros(len(config.schemas), hidden))
            self.argument = nn.Linear(hidden, widest * hidden)
            self.globals_for_policy = nn.Linear(hidden, hidden)
            self.score = _MLP(hidden, 1)
        self._draw(generator)

    @torch.no_grad()
    def _draw(self, generator: torch.Generator | None) -> None:
        draw_linear_layers(self, generator)
        if not self.config.schemas:
            return
        self.schema.normal_(generator=generator)
        # A policy begins near the uniform one, and V near 0.1: most states are far from a goal.
        self.score.output.weight.mul_(0.1)
        self.value_of_nodes.output.weight.mul_(0.1)
        self.value_of_nodes.output.bias.zero_()
        self.value_of_globals.output.weight.mul_(0.1)
        self.value_of_globals.output.bias.fill_(-2.0)

    def forward(self, batch: Batch) -> Tensor:
        return self._values(self._graphs(batch))

    def policy_parameters(self) -> list[nn.Parameter]:
        """All that the policy depends on, and the value does not."""
        parts = self.body_of_policy, self.argument, self.globals_for_policy, self.score
        return [self.schema, *(one for part in parts for one in part.parameters())]

    def value_parameters(self) -> list[nn.Parameter]:
        """The others."""
        of_policy = set(map(id, self.policy_parameters()))
        return [one for one in self.parameters() if id(one) not in of_policy]

    def policy(self, batch: Batch, choices: ApplicableOperators) -> tuple[Tensor, Tensor]:
        """log pi float[A] of all applicable operators, and the logit of V float[B]. Every state
        must have an applicable operator."""
        graphs = self._graphs(batch)
        v, u = self.body_of_policy(graphs)
        device = u.device
        counts = torch.from_numpy(choices.counts).to(device)
        state = torch.repeat_interleave(torch.arange(len(u), device=device), counts)
        arguments = torch.from_numpy(choices.arguments).to(device)  # (A, P)
        width = arguments.shape[1]
        # Row N stands for a place without an object and adds nothing.
        nobody = torch.full_like(arguments, len(v))
        rows = torch.where(arguments < 0, nobody, arguments + graphs.first_node[state][:, None])
        parts = torch.cat([self.argument(v), v.new_zeros(1, width * self.config.hidden)])
        parts = parts.view(-1, width, self.config.hidden)
        sums = self.schema.index_select(0, torch.from_numpy(choices.schema).to(device))
        sums = sums + self.globals_for_policy(u).index_select(0, state)
        for place in range(width):
            sums = sums + parts[:, place].index_select(0, rows[:, place])
        log_pi = segment_log_softmax(self.score(sums)[:, 0], counts)
        return log_pi, self._values(graphs)[:, 0]

    def _graphs(self, batch: Batch) -> ObjectGraphs:
        device = self.body.node.weight.device
        graphs: ObjectGraphs = moved(object_graphs(batch, self.config.channels), device)
        return graphs

    def _values(self, graphs: ObjectGraphs) -> Tensor:
        v, u = self.body(graphs)
        for_globals = self.globals_for_value(u)
        for_nodes = self.nodes_for_value(v) + for_globals.index_select(0, graphs.graph_of_node)
        of_nodes = self.value_of_nodes(for_nodes)
        total = reduced("sum", of_nodes, graphs.sizes)
        if self.config.schemas:  # a chance does not grow with the number of objects
            total = total / graphs.sizes.clamp(min=1)[:, None]
        result: Tensor = self.value_of_globals(for_globals) + total
        return result


class GNNModel(Model):
    """It has no native form: search runs it in torch on whole expansions."""

    name = "gnn"
    features = ("atoms",)
    options = defaults_of(GNNConfig)
    training = {"learning_rate": 1e-3, "weight_decay": 0.0}  # noqa: RUF012

    def configure(self, features: Config, outputs: int, options: Config) -> Config:
        vocabulary = Vocabulary.from_dict(features)
        wide = [name for name, arity in vocabulary.predicates if arity > WIDEST]
        if wide:
            raise ValueError(
                f"model 'gnn' sees predicates of at most {WIDEST} arguments, and {', '.join(wide)} "
                "has more; take model 'nlm', or leave it out with the option breadth=2"
            )
        channels = [*vocabulary.channels, 0, 0][: WIDEST + 1]
        return asdict(GNNConfig(channels, outputs=outputs, **options))

    def build(self, config: Config, generator: torch.Generator) -> GNN:
        schemas = tuple((str(name), int(arity)) for name, arity in config["schemas"])
        with torch.random.fork_rng(devices=[]):  # layers draw from the global generator first
            return GNN(GNNConfig(**{**config, "schemas": schemas}), generator)


GNN_MODEL = GNNModel()
