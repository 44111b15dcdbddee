/**
 * The two-sided p value of Wilcoxon's signed-rank test, in its normal approximation: the probability of differences at
 * least as far from zero if pairs differ by chance alone. One slow response counts no more than its rank.
 */
export function signedRankP(differences: readonly number[]): number {
  const ranked = differences.filter((one) => one !== 0).sort((a, b) => Math.abs(a) - Math.abs(b));
  const n = ranked.length;
  if (n === 0) return 1;
  const positive = ranked.reduce((sum, one, i) => sum + (one > 0 ? i + 1 : 0), 0);
  const mean = (n * (n + 1)) / 4;
  const deviation = Math.sqrt((n * (n + 1) * (2 * n + 1)) / 24);
  return twoSided(Math.abs(positive - mean) / deviation);
}

/** Twice the normal distribution's tail: Abramowitz and Stegun, 7.1.26, whose error is below 1.5e-7. */
function twoSided(z: number): number {
  const x = z / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * x);
  const coefficients = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
  return coefficients.reduce((sum, one) => (sum + one) * t, 0) * Math.exp(-x * x);
}
