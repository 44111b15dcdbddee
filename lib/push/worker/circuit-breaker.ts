/** How many sends it looks back on, and how many of them may be to devices that APNs does not know. */
const WINDOW = 50;
const MAX_REJECTED = WINDOW / 5;

/** Takes what came of one send after the other, and says whether it is too much. */
export type CircuitBreaker = { isTooMuch: (isDoubtful: boolean) => boolean };

/**
 * Keeps a wrong key or host from wiping the device table: more than 20 % of the last 50 sends is too much. After that
 * it counts from nothing again, so that a few devices which are really gone do not close an environment for ever.
 */
export function createCircuitBreaker(): CircuitBreaker {
  let recent: boolean[] = [];
  let doubtful = 0;
  return {
    isTooMuch: (isDoubtful) => {
      recent.push(isDoubtful);
      if (isDoubtful) doubtful += 1;
      if (recent.length > WINDOW && recent.shift()) doubtful -= 1;
      if (doubtful <= MAX_REJECTED) return false;
      recent = [];
      doubtful = 0;
      return true;
    },
  };
}
