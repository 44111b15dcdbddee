import type { Context } from "../../context";
import { isAppError } from "../../errors";

type Deps = Pick<Context, "limits">;
type LimitName = Parameters<Deps["limits"]["consume"]>[0];

/** What is mailed to whoever is said to own an address, before anybody has proved it. */
export type EmailReason = "reset" | "verification";

/**
 * Counts a mail to an address that a caller asks for; false where the address has had enough. Three an hour for each
 * client network, so that strangers do not spend the owner's; nine an hour from all of them. Over either one mail
 * every 20 minutes still goes: whoever is refused finds a mail in the mailbox whose link works.
 */
export async function consumeEmailLimit(
  { limits }: Deps,
  reason: EmailReason,
  email: string,
  network: string,
): Promise<boolean> {
  const isWithin = async (limit: LimitName, key: string) => {
    try {
      await limits.consume(limit, key);
      return true;
    } catch (error) {
      if (isAppError(error) && error.code === "rate_limited") return false;
      throw error;
    }
  };
  const isUsual =
    (await isWithin(`${reason}MailByNetwork`, `${email} ${network}`)) &&
    (await isWithin(`${reason}MailByEmail`, email));
  return isUsual || isWithin(`${reason}MailAtLeast`, email);
}
