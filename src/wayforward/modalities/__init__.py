"""Kinds of data beside tables, each behind one adapter: a row of units that can be replaced, and the raw thing itself.

A row is what problem, judge, methods and evaluation know; the model is asked about the raw thing that a row stands for.
"""
