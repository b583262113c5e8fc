"""Sampling from goal regressions for one problem (O'Toole, Ramirez, Lipovetzky, Pearce 2022)."""
