"""Experiments as data: suites and searches to rows, learners and columns to studies, and pages."""
