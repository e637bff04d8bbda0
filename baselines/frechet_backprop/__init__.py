"""Back-propagation of the Fréchet distance through the sampler."""
