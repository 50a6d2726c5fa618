"""Descents along the slopes of a score, everybody at once."""
