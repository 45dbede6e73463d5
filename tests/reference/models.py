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
    """Ding, Li and Jordan's Semi-NMF (Trigeorgis eq. 4 and 5): the components first."""

    def pos(A):
        return (np.abs(A) + A) / 2

    def neg(A):
        return (np.abs(A) - A) / 2

    for _ in range(n_iter):
        Z = np.linalg.pinv(H) @ X
        B, G = X @ Z.T, Z @ Z.T
        H = H * np.sqrt((pos(B) + H @ neg(G)) / (neg(B) + H @ pos(G)))
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


def projected(F, gradient):
    """Norm of the gradient where F is positive or the gradient negative."""
    return np.sqrt(sum(g * g for f, g in zip(F.ravel(), gradient.ravel(), strict=True) if f > 0 or g < 0))


def nenmf_to_the_letter(X, H, Z, tol, max_iter):
    """NeNMF with the authors' inner and outer stopping rules; yields (H, Z) and whether the loop has converged."""

    def least_squares(H, B, G, inner):
        Y, a, lipschitz = H, 1.0, np.linalg.norm(G, 2)
        for step in range(1, 1001):
            new = np.maximum(0, Y - (Y @ G - B) / lipschitz)
            a_new = (1 + np.sqrt(4 * a**2 + 1)) / 2
            Y = new + (a - 1) / a_new * (new - H)
            H, a = new, a_new
            if step >= 10 and projected(Y, Y @ G - B) <= inner:
                break
        return H, step

    def both(H, Z):
        return np.hypot(projected(H, (H @ Z - X) @ Z.T), projected(Z, H.T @ (H @ Z - X)))

    first = both(H, Z)
    inner_H = inner_Z = max(tol, 1e-3) * first
    for n_iter in range(1, max_iter + 1):
        H, steps = least_squares(H, X @ Z.T, Z @ Z.T, inner_H)
        inner_H = inner_H / 10 if steps == 10 else inner_H
        Z, steps = least_squares(Z.T, X.T @ H, H.T @ H, inner_Z)
        Z, inner_Z = Z.T, inner_Z / 10 if steps == 10 else inner_Z
        done = both(H, Z) <= tol * first and n_iter >= 10
        yield H, Z, done
        if done:
            break


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


# --------------------------------------------------------------------------------------------------- with labels


def class_mask(y, owners):
    """M of class-driven NMF, eq. 5 of Xiao et al., entry by entry: every coefficient not of the sample's own class.

    y holds classes 0, 1, ... and -1 where unknown; owners those of the components, -1 for none.
    """
    M = np.zeros((len(y), len(owners)))
    for i, label in enumerate(y):
        for a, owner in enumerate(owners):
            M[i, a] = label >= 0 and owner >= 0 and owner != label
    return M


def class_driven(X, H, Z, M, alpha, n_iter):
    """Class-driven NMF (Xiao et al.) for ||X - HZ||^2 + alpha sum(M * H); yields (H, Z) after each iteration."""
    for _ in range(n_iter):
        H = H * (X @ Z.T) / (H @ Z @ Z.T + alpha / 2 * M)
        Z = Z * (H.T @ X) / (H.T @ H @ Z)
        yield H, Z


def class_driven_kl(X, H, Z, M, alpha, n_iter):
    """The same for D(X || HZ) + alpha sum(M * H), the objective its update belongs to."""
    for _ in range(n_iter):
        H = H * ((X / (H @ Z)) @ Z.T) / (Z.sum(1) + alpha * M)
        Z = Z * (H.T @ (X / (H @ Z))) / H.sum(0)[:, None]
        yield H, Z


def label_constraints(y):
    """A of constrained NMF, dense: a column for each class, then one for each sample of unknown class."""
    classes = [c for c in np.unique(y) if c >= 0]
    columns = [y == c for c in classes] + [np.arange(len(y)) == i for i in np.flatnonzero(y < 0)]
    return np.array(columns, dtype=float).T


def constrained(X, H, Z, A, n_iter):
    """Constrained NMF (Liu et al.), ||X - A Q Z||^2 from the class means of H; yields (A Q, Z)."""
    Q = np.linalg.pinv(A) @ H
    for _ in range(n_iter):
        Q = Q * (A.T @ X @ Z.T) / (A.T @ A @ Q @ Z @ Z.T)
        H = A @ Q
        Z = Z * (H.T @ X) / (H.T @ H @ Z)
        yield H, Z


def constrained_kl(X, H, Z, A, n_iter):
    """The same for D(X || A Q Z)."""
    Q = np.linalg.pinv(A) @ H
    for _ in range(n_iter):
        Q = Q * (A.T @ (X / (A @ Q @ Z)) @ Z.T) / np.outer(A.sum(0), Z.sum(1))
        H = A @ Q
        Z = Z * (H.T @ (X / (H @ Z))) / H.sum(0)[:, None]
        yield H, Z


def scatter_matrices(y):
    """I - P and P - M over the labelled samples, dense: h^T (I - P) h is the scatter within classes, the other between.

    P takes the mean of a class, M that of all.
    """
    known = (y >= 0).astype(float)
    same = np.equal.outer(y, y) * np.outer(known, known)
    P = same / np.maximum(same.sum(1), 1)[:, None]
    return np.diag(known) - P, P - np.outer(known, known) / known.sum()


def discriminant(X, H, Z, y, within, n_iter):
    """DNMF as Trigeorgis et al. ran it: the components first, D = I for all samples; yields (H, Z)."""
    means = np.zeros((len(y), len(y)))  # links of weight 1 / n_c inside class c, each sample to itself too
    for i, j in np.ndindex(means.shape):
        if y[i] >= 0 and y[i] == y[j]:
            means[i, j] = 1 / np.sum(y == y[i])
    for _ in range(n_iter):
        Z = Z * (H.T @ X) / (H.T @ H @ Z)
        H = H * (X @ Z.T + within * means @ H) / (H @ Z @ Z.T + within * H)
        yield H, Z


def laplacian(W):
    """Degrees on the diagonal, less the edges."""
    return np.diag(W.sum(1)) - W


def gnmf(X, H, Z, W, alpha, n_iter):
    """Cai et al.'s GNMF, which begins with components of unit length; yields (H, Z) after each iteration."""
    size = np.linalg.norm(Z, axis=1)
    H, Z = H * size, Z / size[:, None]
    for _ in range(n_iter):
        H = H * (X @ Z.T + alpha * W @ H) / (H @ Z @ Z.T + alpha * W.sum(1)[:, None] * H)
        Z = Z * (H.T @ X) / (H.T @ H @ Z)
        yield H, Z


def gnmf_kl(X, H, Z, W, alpha, n_iter):
    """The same for the divergence: each component of the codes is the solution of a linear system."""
    size = np.linalg.norm(Z, axis=1)
    H, Z = H * size, Z / size[:, None]
    for _ in range(n_iter):
        mass, identity = H * (X / (H @ Z) @ Z.T), np.eye(len(X))
        for a in range(len(Z)):
            H[:, a] = np.linalg.solve(Z[a].sum() * identity + alpha * laplacian(W), mass[:, a])
        Z = Z * (H.T @ (X / (H @ Z))) / H.sum(0)[:, None]
        yield H.copy(), Z


def wsf(X, H, W, alpha, n_iter):
    """Trigeorgis et al.'s weakly supervised Semi-NMF: the components first."""

    def pos(A):
        return (np.abs(A) + A) / 2

    def neg(A):
        return (np.abs(A) - A) / 2

    for _ in range(n_iter):
        Z = np.linalg.pinv(H) @ X
        B, G = X @ Z.T, Z @ Z.T
        up = pos(B) + H @ neg(G) + alpha * W @ H
        H = H * np.sqrt(up / (neg(B) + H @ pos(G) + alpha * W.sum(1)[:, None] * H))
        yield H, Z


def slow_feature_nmf(X, H, Z, alpha, n_iter):
    """Zafeiriou et al.'s slow feature NMF: positive and negative parts of the Laplacian of a chain."""
    P = np.diff(np.eye(len(X)), axis=0).T  # H.T @ P are the differences in time
    L = P @ P.T
    for _ in range(n_iter):
        H = H * (X @ Z.T + 2 * alpha * np.maximum(-L, 0) @ H) / (H @ Z @ Z.T + 2 * alpha * np.maximum(L, 0) @ H)
        Z = Z * (H.T @ X) / (H.T @ H @ Z)
        yield H, Z


def concept_factorization(K, H, A, n_iter):
    """Xu and Gong's rules for inner products K of samples that are all non-negative; yields (H, A)."""
    for _ in range(n_iter):
        H = H * (K @ A) / (H @ (A.T @ K @ A))
        A = A * (K @ H) / (K @ A @ (H.T @ H))
        yield H, A


def concept_factorization_mixed(K, H, A, n_iter):
    """The same for inner products of any sign, whose positive and negative entries are split."""
    P, M = np.maximum(K, 0), np.maximum(-K, 0)
    for _ in range(n_iter):
        H = H * np.sqrt((P @ A + H @ (A.T @ M @ A)) / (M @ A + H @ (A.T @ P @ A)))
        G = H.T @ H
        A = A * np.sqrt((P @ H + M @ A @ G) / (M @ H + P @ A @ G))
        yield H, A


def non_smooth_nmf(V, H, Z, theta, n_iter):
    """A layer of Song and Lee's stack, V ~ H S Z; yields (H, S Z) after each iteration."""
    S = (1 - theta) * np.eye(len(Z)) + theta / len(Z)
    for _ in range(n_iter):
        smooth = S @ Z
        H = H * (V @ smooth.T) / (H @ smooth @ smooth.T)
        sharp = H @ S
        Z = Z * (sharp.T @ V) / (sharp.T @ sharp @ Z)
        yield H, S @ Z
