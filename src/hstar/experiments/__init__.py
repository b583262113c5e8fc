"""Experiments as data: suites and configurations to rows, rows to pages."""
