const WINDOW = 50;
const MAX_REJECTED = WINDOW / 5;

/** Opens when APNs rejects too many device tokens. */
export type CircuitBreaker = {
  /** Records a result. Returns whether it opens the circuit. */
  record: (isRejected: boolean) => boolean;
};

/**
 * Keeps a wrong signing key or host from invalidating every device: it opens when APNs rejected more than 20% of the
 * last 50 device tokens. It then starts again from zero, so that a few devices that are really gone cannot keep an
 * environment paused.
 */
export function createCircuitBreaker(): CircuitBreaker {
  let recent: boolean[] = [];
  let rejected = 0;
  return {
    record: (isRejected) => {
      recent.push(isRejected);
      if (isRejected) rejected += 1;
      if (recent.length > WINDOW && recent.shift()) rejected -= 1;
      if (rejected <= MAX_REJECTED) return false;
      recent = [];
      rejected = 0;
      return true;
    },
  };
}
