"""The published evaluation study: its models and curves, by simulated participants."""
