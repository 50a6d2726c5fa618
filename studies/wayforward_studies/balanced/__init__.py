"""Tables and figures of balanced recourse (Gao & Lakkaraju 2023), measured again."""
