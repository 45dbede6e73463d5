"""The published iterations, written from the papers' equations with samples as rows: X ~ H Z."""

import numpy as np


def lee_seung(X, H, Z, n_iter):
    """Lee and Seung's multiplicative rules for ||X - HZ||^2; yields (H, Z) after each iteration."""
    for _ in range(n_iter):
        H = H * (X @ Z.T) / (H @ Z @ Z.T)
        Z = Z * (H.T @ X) / (H.T @ H @ Z)
        yield H, Z


def lee_seung_kl(X, H, Z, n_iter):
    """The same for the divergence D(X || HZ), each factor's entries one by one."""
    for _ in range(n_iter):
        R = X / (H @ Z)
        H = np.array([[H[i, a] * (R[i] @ Z[a]) / Z[a].sum() for a in range(len(Z))] for i in range(len(X))])
        R = X / (H @ Z)
        Z = np.array(
            [[Z[a, j] * (H[:, a] @ R[:, j]) / H[:, a].sum() for j in range(X.shape[1])] for a in range(len(Z))]
        )
        yield H, Z


def semi_nmf(X, H, n_iter):
    """Ding, Li and Jordan's Semi-NMF (Trigeorgis eq. 4 and 5), with the components that are best for each H."""

    def pos(A):
        return (np.abs(A) + A) / 2

    def neg(A):
        return (np.abs(A) - A) / 2

    Z = np.linalg.pinv(H) @ X
    for _ in range(n_iter):
        B, G = X @ Z.T, Z @ Z.T
        H = H * np.sqrt((pos(B) + H @ neg(G)) / (neg(B) + H @ pos(G)))
        Z = np.linalg.pinv(H) @ X
        yield H, Z


def optimal_gradient(H, B, G, n_iter):
    """NeNMF's inner loop: Nesterov's method for min 1/2 <HG, H> - <B, H> over H >= 0."""
    lipschitz = np.linalg.norm(G, 2)
    Y, a = H, 1.0
    for _ in range(n_iter):
        new = np.maximum(0, Y - (Y @ G - B) / lipschitz)
        a_new = (1 + np.sqrt(4 * a**2 + 1)) / 2
        Y = new + (a - 1) / a_new * (new - H)
        H, a = new, a_new
    return H


def nenmf(X, H, Z, n_iter, n_inner=200):
    """NeNMF (Guan et al.): both factors in turn by optimal gradients; yields (H, Z) after each iteration."""
    for _ in range(n_iter):
        H = optimal_gradient(H, X @ Z.T, Z @ Z.T, n_inner)
        Z = optimal_gradient(Z.T, X.T @ H, H.T @ H, n_inner).T
        yield H, Z


def divergence(X, Y):
    """Generalised Kullback-Leibler divergence, 0 log 0 = 0."""
    safe = np.where(X > 0, X, 1)
    return float((X * np.log(safe / np.maximum(Y, 1e-300)) * (X > 0) - X + Y).sum())


def objective(X, H, Z, loss="frobenius"):
    """What the models minimise, with the residual written out."""
    return divergence(X, H @ Z) if loss == "kl" else float(((X - H @ Z) ** 2).sum()) / 2


def svd_tail(X, k):
    """||X - X_k||: no rank-k model can be nearer."""
    return float(np.linalg.norm(np.linalg.svd(X, compute_uv=False)[k:]))


def kkt(X, H, Z):
    """Largest violation of the optimality conditions of both factors of an NMF, relative to the data's gradient."""
    H_grad, Z_grad = (H @ Z - X) @ Z.T, H.T @ (H @ Z - X)
    return max(
        np.linalg.norm(np.minimum(H, H_grad)) / np.linalg.norm(X @ Z.T),
        np.linalg.norm(np.minimum(Z, Z_grad)) / np.linalg.norm(H.T @ X),
    )
