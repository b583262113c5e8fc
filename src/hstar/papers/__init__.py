"""The papers: a recipe each, and the tables and figures they are compared by."""
