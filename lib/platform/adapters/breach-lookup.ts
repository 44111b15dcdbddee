import { createHash } from "node:crypto";
import type { Logger } from "pino";
import type { Config } from "../config";

/** Returns whether a password is in a known breach. Never throws: an unavailable service counts as not found. */
export type BreachLookup = (password: string) => Promise<boolean>;

const TIMEOUT_MS = 1_000;
const PREFIX_LENGTH = 5;

/**
 * Opens the range API of Have I Been Pwned ("Searching by range"), if `AUTH_BREACH_CHECK` is on. Only the first five
 * characters of the password's SHA-1 are sent, and padding hides the number of results from the network.
 */
export function createBreachLookup(config: Config, log: Logger): BreachLookup {
  if (!config.AUTH_BREACH_CHECK) return async () => false;
  const base = config.AUTH_BREACH_CHECK_URL.replace(/\/$/, "");
  return async (password) => {
    const digest = createHash("sha1").update(password).digest("hex").toUpperCase();
    try {
      const response = await fetch(`${base}/${digest.slice(0, PREFIX_LENGTH)}`, {
        headers: { "add-padding": "true", "user-agent": "homeport" },
        redirect: "error",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (!response.ok) throw new Error(`the range API returned status ${response.status}`);
      return isListed(await response.text(), digest.slice(PREFIX_LENGTH));
    } catch (error) {
      log.warn({ err: error }, "breach lookup failed: the password was accepted");
      return false;
    }
  };
}

/** The lines have the form SUFFIX:COUNT. Padding has a count of 0. */
function isListed(body: string, suffix: string): boolean {
  return body.split("\n").some((line) => {
    const [listed, count] = line.trim().split(":");
    return listed?.toUpperCase() === suffix && Number(count) > 0;
  });
}
