import { createHash } from "node:crypto";
import type { Logger } from "pino";
import type { Config } from "../config";

/** Whether a password is known from a breach. Never throws: what cannot be asked counts as not known. */
export type BreachLookup = (password: string) => Promise<boolean>;

const TIMEOUT_MS = 1_000;
const PREFIX_LENGTH = 5;

/**
 * The range API of Have I Been Pwned ("Searching by range"), where `AUTH_BREACH_CHECK` is on: only the first five
 * characters of the password's SHA-1 leave, and padding hides from a listener how many answers there are.
 */
export function createBreachLookup(config: Config, log: Logger): BreachLookup {
  if (!config.AUTH_BREACH_CHECK) return async () => false;
  const base = config.AUTH_BREACH_CHECK_URL.replace(/\/$/, "");
  return async (password) => {
    const digest = createHash("sha1").update(password).digest("hex").toUpperCase();
    try {
      const answer = await fetch(`${base}/${digest.slice(0, PREFIX_LENGTH)}`, {
        headers: { "add-padding": "true", "user-agent": "homeport" },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (!answer.ok) throw new Error(`the range API answered ${answer.status}`);
      return isListed(await answer.text(), digest.slice(PREFIX_LENGTH));
    } catch (error) {
      log.warn({ err: error }, "the breach look-up failed: the password was let through");
      return false;
    }
  };
}

/** Lines of SUFFIX:COUNT; padding has a count of 0. */
function isListed(body: string, suffix: string): boolean {
  return body.split("\n").some((line) => {
    const [listed, count] = line.trim().split(":");
    return listed?.toUpperCase() === suffix && Number(count) > 0;
  });
}
