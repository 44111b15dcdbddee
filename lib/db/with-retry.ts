import { isAppError, isDatabaseUnavailable, isLostRace } from "../errors";

const MAX_ATTEMPTS = 4;

/**
 * Tries again what failed: an account may be deleted under the first attempt, and two transactions may have to
 * wait for each other. Not where the database is out of reach, and not for what fails twice in the same way.
 */
export async function withRetry<T>(attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      const most = isLostRace(error) ? MAX_ATTEMPTS : 2;
      if (attempts === most || isAppError(error) || (isDatabaseUnavailable(error) && !isLostRace(error))) throw error;
    }
  }
}
