import { isAppError } from "../../errors";
import { isDatabaseUnavailable, isTransactionConflict } from "../errors/database-errors";

const MAX_ATTEMPTS = 2;
/** Maximum attempts after a deadlock or a conflict, which a retry usually resolves. */
const MAX_RACE_ATTEMPTS = 4;

/**
 * Retries a transaction that fails, for example because its account was deleted concurrently or because of a deadlock.
 * Does not retry an `AppError`, or while the database is unavailable. `isRaceLost`: whether an error is such a conflict.
 * @throws the last attempt's error
 */
export async function withRetry<T>(attempt: () => Promise<T>, isRaceLost = isTransactionConflict): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      const isRace = isRaceLost(error);
      const maxAttempts = isRace ? MAX_RACE_ATTEMPTS : MAX_ATTEMPTS;
      if (attempts === maxAttempts || isAppError(error) || (isDatabaseUnavailable(error) && !isRace)) throw error;
    }
  }
}
