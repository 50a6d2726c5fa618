"""How likely people are: conditional densities of groups, generative models, and the small networks they share."""
