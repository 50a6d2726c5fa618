"""The study of recourse with the person in the loop (HARE): its settings, tables and figures."""
