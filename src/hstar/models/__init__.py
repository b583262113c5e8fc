"""The models by name. To add one: one file with its entry and one line here."""

from hstar.models.model import Model
from hstar.runtime.registry import Registry, of_class

MODELS: Registry[Model] = Registry(
    "model",
    {
        "nlm": "hstar.models.nlm:NLM_MODEL",
        "hgn": "hstar.models.hgn:HGN_MODEL",
        "gnn": "hstar.models.gnn:GNN_MODEL",
        "linear": "hstar.models.linear:LINEAR_MODEL",
        "mlp": "hstar.models.mlp:MLP_MODEL",
    },
    "hstar.models",
    of_class(Model),
)
