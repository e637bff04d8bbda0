"""The Fréchet distance as a function that gradients pass through."""

from __future__ import annotations

import torch


class TorchFrechet:
    r"""The Fréchet distance of features to a fixed Gaussian, differentiable in the features.

    .. math:: \lVert\mu-\mu_r\rVert^2 + \mathrm{Tr}\,\Sigma + \mathrm{Tr}\,\Sigma_r
        - 2\,\mathrm{Tr}\,(\Sigma_r^{1/2}\Sigma\,\Sigma_r^{1/2})^{1/2}

    The trace of the root is the sum of the roots of the eigenvalues of a symmetric matrix, whose
    gradient needs no gap between eigenvalues. Everything is in double precision.

    Args:
        mean: :math:`\mu_r` [d].
        covariance: :math:`\Sigma_r` [d, d], symmetric and positive semi-definite.
    """

    def __init__(self, mean: torch.Tensor, covariance: torch.Tensor) -> None:
        self.mean = mean.double()
        covariance = covariance.double()
        values, vectors = torch.linalg.eigh(covariance)
        self.root = (vectors * values.clamp_min(0).sqrt()) @ vectors.T
        self.trace = covariance.trace()

    def __call__(self, features: torch.Tensor) -> torch.Tensor:
        """Return the distance of ``features`` [n, d], n >= 2, as a scalar of at least 0.

        Directions in which the features do not vary have no finite derivative of the root: what
        is under a billionth of the largest eigenvalue is held there, and has none.
        """
        features = features.double()
        mean = features.mean(0)
        centred = features - mean
        covariance = centred.T @ centred / (len(features) - 1)
        values = torch.linalg.eigvalsh(self.root @ covariance @ self.root)
        floor = values.detach().max().clamp_min(1e-300) * 1e-9
        roots = torch.where(values > floor, values, floor).sqrt()
        root = torch.where(values > floor, roots, torch.zeros_like(roots)).sum()
        apart = (mean - self.mean).square().sum()
        return (apart + covariance.trace() + self.trace - 2 * root).clamp_min(0)
