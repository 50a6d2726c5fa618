"""What the columns of a table mean: kinds, units, bounds, steps, who may change what, and rules.

A `Schema` is the one place that says which values exist and which may change. Arrays that follow a schema
hold float64 values in the unit that people say; a binary, ordinal or categorical value is the index of its
level; NaN is a missing value, and only where the feature declares that values may be missing.
"""

from wayforward.schema.feature import Actionability, Bounds, Direction, Feature, Kind, Level
from wayforward.schema.origin import Origin, pandas_types
from wayforward.schema.schema import Schema
from wayforward.schema.tables import SchemaWarning, decode_column, native_table, read_frame
from wayforward.schema.translation import FeatureWords

__all__ = [
    "Actionability",
    "Bounds",
    "Direction",
    "Feature",
    "FeatureWords",
    "Kind",
    "Level",
    "Origin",
    "Schema",
    "SchemaWarning",
    "decode_column",
    "native_table",
    "pandas_types",
    "read_frame",
]
