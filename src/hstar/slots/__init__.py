"""The slots of a learned heuristic: teachers, features, models, objectives, decodes; its file."""
