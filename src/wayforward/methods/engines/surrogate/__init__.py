"""Local surrogates: draw around each person, fit something simple there, read a contrast, ask the model itself."""
