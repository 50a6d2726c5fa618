"""The study of individual actionability (Budde et al., 2026): its settings, tables and figures."""
