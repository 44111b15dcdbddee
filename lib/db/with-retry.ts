import { isAppError, isDatabaseUnavailable, isLostRace } from "../errors";

const MAX_ATTEMPTS = 2;
/** For deadlocks and conflicts, which a repetition usually resolves. */
const MAX_RACE_ATTEMPTS = 4;

/**
 * Runs a transaction again after it failed: an account may have been deleted under it, or two transactions may have
 * deadlocked. Not if the database is unavailable, nor for an `AppError`.
 * @throws the last attempt's error
 */
export async function withRetry<T>(attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      const isRace = isLostRace(error);
      const maxAttempts = isRace ? MAX_RACE_ATTEMPTS : MAX_ATTEMPTS;
      if (attempts === maxAttempts || isAppError(error) || (isDatabaseUnavailable(error) && !isRace)) throw error;
    }
  }
}
