"""Experiments as data: suites and searches to rows, rows to pages."""
