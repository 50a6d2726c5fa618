"""Texts as rows of words that can be taken out: a problem, and answers that show the text with strikes."""

from wayforward.modalities.text.answers import TextRecourse
from wayforward.modalities.text.documents import Document, document_schema
from wayforward.modalities.text.model import TextModel
from wayforward.modalities.text.problem import TextProblem

__all__ = ["Document", "TextModel", "TextProblem", "TextRecourse", "document_schema"]
