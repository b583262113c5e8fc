"""The models by name. To add one: one file with its entry and one line here."""

from hstar.runtime.registry import Registry, of_class
from hstar.slots.models.model import Model

MODELS: Registry[Model] = Registry(
    "model",
    {
        "nlm": "hstar.slots.models.nlm:NLM_MODEL",
        "hgn": "hstar.slots.models.hgn:HGN_MODEL",
        "gnn": "hstar.slots.models.gnn:GNN_MODEL",
        "linear": "hstar.slots.models.mlp:LINEAR_MODEL",
        "mlp": "hstar.slots.models.mlp:MLP_MODEL",
    },
    "hstar.models",
    of_class(Model),
)
