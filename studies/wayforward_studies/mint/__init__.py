"""The demonstration of MINT (Karimi, Schoelkopf and Valera, 2021), measured again."""
