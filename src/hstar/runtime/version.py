"""The version that output files name; pyproject.toml reads it from here."""

VERSION = "0.1.0"
