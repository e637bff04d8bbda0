"""Losses of a judge: by gradients of its sampled reasoning, and by labels alone."""

from __future__ import annotations

from typing import Literal

import torch

Form = Literal["paper", "released"]


def expectation(log_levels: torch.Tensor, levels: torch.Tensor) -> torch.Tensor:
    r"""Return :math:`\hat y = \sum_k k\,\pi(k)`.

    Args:
        log_levels: :math:`\log\pi(k)` [..., levels].
        levels: the scale [levels].

    Returns:
        [...], within the scale.
    """
    return log_levels.exp() @ levels


def leave_one_out(rewards: torch.Tensor) -> torch.Tensor:
    r"""Return the rewards less the mean of the other samples of their group.

    .. math:: A_i = r_i - \tfrac{1}{K - 1} \sum_{j \ne i} r_j

    Args:
        rewards: [..., K], K >= 2.

    Returns:
        [..., K]; its sum over a group is 0. The baseline does not depend on sample i, so that the
        policy gradient stays unbiased.
    """
    samples = rewards.shape[-1]
    return (rewards - rewards.mean(-1, keepdim=True)) * (samples / (samples - 1))


def standardised(advantages: torch.Tensor, rewards: torch.Tensor, clip: float) -> torch.Tensor:
    """Return advantages over the standard deviation of their group's rewards, clipped.

    Args:
        advantages: [..., K].
        rewards: [..., K].
        clip: the largest magnitude of what is returned; infinity for no clipping.

    Returns:
        [..., K]; zeros where the rewards of a group are equal.
    """
    spread = rewards.std(-1, keepdim=True)
    return (advantages / (spread + 1e-6)).clamp(-clip, clip)


def real_loss(
    log_reasoning: torch.Tensor,
    log_levels: torch.Tensor,
    scores: torch.Tensor,
    labels: torch.Tensor,
    levels: torch.Tensor,
    *,
    form: Form,
    strength: float,
    refinement: float,
    normalise: bool = True,
) -> torch.Tensor:
    r"""Return the loss whose gradient is the two-term estimator of regression-aware RL.

    .. math:: -\frac1K \sum_i \big[\tilde A_i \nabla\log\pi(c_i) + \beta \nabla r_i\big],
        \qquad r = -(\hat y - y)^2 + \lambda \log\pi(y)

    The paper's form standardises the leave-one-out advantages of r. The released code adds those of
    the two parts after each was standardised by itself, and has the probability :math:`\pi(y)` in
    place of its logarithm.

    Args:
        log_reasoning: :math:`\log\pi(c_i)` [batch, K].
        log_levels: :math:`\log\pi(k\mid c_i)` [batch, K, levels].
        scores: y of the squared error [batch], on the scale of ``levels``.
        labels: the level of :math:`\pi(y)`, int64 [batch].
        levels: the scale [levels].
        form: of r and its advantages.
        strength: :math:`\lambda`.
        refinement: :math:`\beta`.
        normalise: divide by the group's standard deviation and clip to [-1, 1]; without it the
            estimator is unbiased, and with :math:`\beta = 1` it is that of the gradient of
            :math:`-E_c[r]`.

    Returns:
        The mean over the batch, a scalar.

    Source: Zhang et al., REAL: Regression-Aware Reinforcement Learning for LLM-as-a-Judge,
    section 3; its released code.
    """
    error = -(expectation(log_levels, levels) - scores[:, None]).square()
    at = labels[:, None, None].expand(-1, log_levels.shape[1], 1)
    label = log_levels.gather(-1, at).squeeze(-1)
    if form == "released":
        label = label.exp()
    reward = error + strength * label
    with torch.no_grad():
        if form == "released":
            advantages = _advantages(error, normalise) + strength * _advantages(label, normalise)
        else:
            advantages = _advantages(reward, normalise)
    return -(advantages * log_reasoning + refinement * reward).mean()


def binary_loss(
    log_reasoning: torch.Tensor,
    log_levels: torch.Tensor,
    drawn: torch.Tensor,
    labels: torch.Tensor,
    *,
    normalise: bool = True,
) -> torch.Tensor:
    r"""Return the loss of group-relative policy gradients with a reward of 1 for the right level.

    .. math:: -\frac1K \sum_i \tilde A_i \nabla\log\big[\pi(c_i)\,\pi(k_i\mid c_i)\big],
        \qquad r_i = [k_i = y]

    Reasoning and level are one action; each batch is used once, so that there is no ratio to clip.

    Args:
        log_reasoning: [batch, K].
        log_levels: [batch, K, levels].
        drawn: the sampled levels :math:`k_i`, int64 [batch, K].
        labels: y, int64 [batch].
        normalise: subtract the group's mean and divide by its standard deviation; without it only
            the mean of the others is subtracted, and the estimator is unbiased.

    Source: Shao et al., DeepSeekMath, section 4.1 (GRPO), without the KL term.
    """
    rewards = (drawn == labels[:, None]).to(log_levels.dtype)
    if normalise:
        centred = rewards - rewards.mean(-1, keepdim=True)
        advantages = standardised(centred, rewards, torch.inf)
    else:
        advantages = leave_one_out(rewards)
    level = log_levels.gather(-1, drawn[..., None]).squeeze(-1)
    return -(advantages * (log_reasoning + level)).mean()


def label_loss(log_levels: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy of ``log_levels`` [batch, K, levels] on ``labels`` [batch]."""
    at = labels[:, None, None].expand(-1, log_levels.shape[1], 1)
    return -log_levels.gather(-1, at).mean()


def regression_loss(
    log_levels: torch.Tensor, scores: torch.Tensor, levels: torch.Tensor
) -> torch.Tensor:
    """Return the mean squared error of the expectation over ``levels``.

    Args:
        log_levels: [batch, K, levels].
        scores: [batch], on the scale of ``levels``.
        levels: the scale [levels].

    Source: Lukasik et al., Better autoregressive regression with LLMs via regression-aware
    fine-tuning, section 4.
    """
    return (expectation(log_levels, levels) - scores[:, None]).square().mean()


def _advantages(rewards: torch.Tensor, normalise: bool) -> torch.Tensor:
    advantages = leave_one_out(rewards)
    return standardised(advantages, rewards, 1.0) if normalise else advantages
