"""The clipped policy-gradient loss on steps of a flow."""

from __future__ import annotations

import torch


def clipped_loss(
    log_probability: torch.Tensor, old: torch.Tensor, advantages: torch.Tensor, clip: float
) -> torch.Tensor:
    r"""Return the clipped surrogate loss, averaged over pictures.

    .. math:: -\mathrm{mean}_i \min\big(r_i \hat A_i,\ \mathrm{clip}(r_i, 1 - c, 1 + c)\,\hat A_i
        \big), \qquad r_i = \exp(\log p_i - \log p_i^{\mathrm{old}})

    Args:
        log_probability: of one step of every picture under the policy that is trained [n].
        old: the same under the policy that drew the step [n].
        advantages: [n].
        clip: :math:`c`, above 0.

    Returns:
        A scalar, differentiable in ``log_probability``. On the policy that drew the steps its
        gradient is that of :math:`-\mathrm{mean}_i \hat A_i \log p_i`.

    Source: Schulman et al., Proximal Policy Optimization Algorithms, equation 7; Liu et al.,
    Flow-GRPO, equation 5, without the KL term.
    """
    ratio = (log_probability - old).exp()
    clipped = ratio.clamp(1 - clip, 1 + clip)
    return -torch.minimum(ratio * advantages, clipped * advantages).mean()
