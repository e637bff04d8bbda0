"""The products and steps of ``podium.transport.products.Pair`` in torch, for a CUDA device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from podium.transport.products import FLOOR, LOWEST, Indices, Plan


class TorchPair:
    """Two symmetric matrices, dense or CSR as NumPy and SciPy hold them, computed with on a device.

    Plans are tensors of the matrices' dtype on that device. The methods are those of ``Pair``.
    """

    def __init__(self, source: Any, target: Any, device: str) -> None:
        self.source = source
        self.target = target
        self.device = device
        self._left = _tensor(source, device)
        self._right = _tensor(target, device)

    def array(self, values: Plan) -> torch.Tensor:
        """Return ``values`` as a tensor of the pair's dtype on its device."""
        return torch.tensor(np.asarray(values, dtype=self.source.dtype), device=self.device)

    def numpy(self, values: torch.Tensor) -> Plan:
        """Return a tensor as a NumPy array."""
        return np.asarray(values.cpu().numpy())

    def cross(self, plan: torch.Tensor) -> torch.Tensor:
        """Return A X B [n, m] for a plan X [n, m]."""
        half = (self._left @ plan).T.contiguous()
        return (self._right @ half).T.contiguous()

    def block(self, rows: Indices, columns: Indices) -> TorchPair:
        """Return the pair A[rows, rows], B[columns, columns]."""
        return TorchPair(self.source[rows][:, rows], self.target[columns][:, columns], self.device)

    def take(self, plan: torch.Tensor, rows: Indices, columns: Indices) -> torch.Tensor:
        """Return a copy of plan[rows, columns]."""
        return plan[self._at(rows)[:, None], self._at(columns)]

    def put(
        self, plan: torch.Tensor, rows: Indices, columns: Indices, values: torch.Tensor
    ) -> torch.Tensor:
        """Return the plan with ``values`` at [rows, columns]."""
        result = plan.clone()
        result[self._at(rows)[:, None], self._at(columns)] = values
        return result

    def inner(self, one: torch.Tensor, other: torch.Tensor) -> float:
        """Return the sum of the products of the entries."""
        return float(torch.dot(one.flatten(), other.flatten()))

    def largest(self, plan: torch.Tensor) -> Indices:
        """Return the column of the largest entry of each row."""
        return np.asarray(plan.argmax(1).cpu().numpy())

    def entries(self, plan: torch.Tensor, mapping: Indices) -> Plan:
        """Return the entry of each row in the column that ``mapping`` names, [n]."""
        return self.numpy(plan.gather(1, self._at(mapping)[:, None])[:, 0])

    def column_sums(self, plan: torch.Tensor, rows: Indices) -> Plan:
        """Return the column sums over some rows, [m]."""
        return self.numpy(plan[self._at(rows)].sum(0))

    def mirror(
        self, plan: torch.Tensor, gain: torch.Tensor, potential: torch.Tensor, step: float
    ) -> torch.Tensor:
        """Return the plan after a mirror step, not yet scaled to its marginals."""
        factor = gain + potential
        factor -= factor.amax(1, keepdim=True)
        result = factor.mul_(step).clamp_(min=LOWEST).exp_().mul_(plan)
        return torch.maximum(result, FLOOR * result.amax(1, keepdim=True))

    def scale(
        self,
        plan: torch.Tensor,
        a: torch.Tensor,
        b: torch.Tensor,
        iterations: int,
        tolerance: float,
    ) -> torch.Tensor:
        """Scale a plan in place to its marginals; return the logarithm of the column factors."""
        v = torch.ones_like(b)
        for _ in range(iterations):
            u = a / (plan @ v)
            columns = u @ plan
            if float((columns * v - b).abs().sum()) <= tolerance:
                break
            v = b / columns
        plan *= (a / (plan @ v))[:, None]
        plan *= v
        return v.log()

    def _at(self, positions: Indices) -> torch.Tensor:
        return torch.as_tensor(positions, dtype=torch.int64, device=self.device)


def _tensor(matrix: Any, device: str) -> torch.Tensor:
    if isinstance(matrix, np.ndarray):
        return torch.tensor(matrix, device=device)
    return torch.sparse_csr_tensor(
        torch.tensor(matrix.indptr, dtype=torch.int64),
        torch.tensor(matrix.indices, dtype=torch.int64),
        torch.tensor(matrix.data),
        size=matrix.shape,
        device=device,
        check_invariants=False,
    )
