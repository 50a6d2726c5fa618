"""Search in the latent space of a generative model."""
