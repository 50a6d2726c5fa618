"""Colours of every figure: dark enough on white for text, and told apart without red and green (Okabe and Ito)."""

INK, GREY, LIGHT = "#1a1a1a", "#595959", "#d9d9d9"
BLUE, ORANGE, GREEN, PURPLE, BROWN = "#0072b2", "#b35900", "#00795a", "#8f4a7a", "#6b5200"
