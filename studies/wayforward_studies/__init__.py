"""Published tables and figures, measured again: one folder a paper."""
