"""A conversation with one person: questions in plain words, answers, and a state that can be put away."""
