import { randomInt } from "node:crypto";
import type { Context } from "../context";
import { isAppError } from "../errors";

type Deps = Pick<Context, "limits">;

type LimitName = Parameters<Context["limits"]["consume"]>[0];

/** Many times longer than sending an email keeps the process busy. */
const MAX_SEND_DELAY_MS = 250;

/** Emails that a client causes as often as it likes: two kinds for any recipient, one with the account's password. */
export type EmailReason = "reset" | "verification" | "signIn";

/**
 * Counts an email that a caller requests. Returns false if it must not be sent. The limits are 3 an hour for a
 * recipient and client network, so that strangers do not use up the owner's, and 9 an hour for a recipient. Beyond them one
 * email every 20 minutes is sent, so that the mailbox always holds a link that works.
 */
export async function consumeEmailLimit({ limits }: Deps, reason: EmailReason, email: string, ip: string) {
  const isWithin = async (limit: LimitName, key: string) => {
    try {
      await limits.consume(limit, key);
      return true;
    } catch (error) {
      if (isAppError(error) && error.code === "rate_limited") return false;
      throw error;
    }
  };
  const isWithinHour =
    (await isWithin(`${reason}MailByNetwork`, `${email} ${ip}`)) && (await isWithin(`${reason}MailByEmail`, email));
  return isWithinHour || isWithin(`${reason}MailAtLeast`, email);
}

/** Sends what is queued after a random delay: the work, which only known emails cause, slows no next request. */
export function wakeAfterRandomDelay({ emails }: Pick<Context, "emails">): void {
  setTimeout(emails.wake, randomInt(MAX_SEND_DELAY_MS)).unref();
}
