import { newestVerificationToken, VERIFICATION_TTL_HOURS } from "../auth/verification";
import type { Context } from "../context";
import { issueResetToken, RESET_TTL_MINUTES } from "./reset-token";

type Deps = Pick<Context, "config" | "db" | "now">;

const MINUTE_SECONDS = 60;
const DAY_SECONDS = 24 * 60 * MINUTE_SECONDS;

export type LetterKind =
  | "password_reset"
  | "password_changed"
  | "email_verification"
  | "registered_already"
  | "identity_linked";

/** Every mail to account holders: how long it is worth sending, and how its text is made when it is. */
export function accountLetters(deps: Deps) {
  return {
    password_reset: { ttlSeconds: RESET_TTL_MINUTES * MINUTE_SECONDS, compose: (to: string) => resetLetter(deps, to) },
    password_changed: { ttlSeconds: 3 * DAY_SECONDS, compose: async (to: string) => changedLetter(deps, to) },
    email_verification: { ttlSeconds: DAY_SECONDS, compose: (to: string) => verificationLetter(deps, to) },
    registered_already: { ttlSeconds: DAY_SECONDS, compose: async (to: string) => registeredLetter(deps, to) },
    identity_linked: { ttlSeconds: 3 * DAY_SECONDS, compose: (to: string) => linkedLetter(deps, to) },
  };
}

/**
 * The mail with a link for choosing a new password; null where nobody has the address. The token stands in the
 * fragment, which no server and no Referer header gets to see.
 */
async function resetLetter(deps: Deps, to: string) {
  const { config } = deps;
  const token = await issueResetToken(deps, to);
  if (token === null) return null;
  const text = [
    "Hello,",
    "",
    `somebody, most likely you, asked for a new password for the account of ${to}.`,
    `This link sets one. It works once, within ${RESET_TTL_MINUTES} minutes:`,
    "",
    `${config.baseUrl}/reset#token=${token}`,
    "",
    "If it was not you, there is nothing to do: the password stays as it is.",
  ].join("\n");
  return { to, subject: "Reset your password", text };
}

function changedLetter({ config }: Pick<Deps, "config">, to: string) {
  const text = [
    "Hello,",
    "",
    `the password of the account of ${to} was changed, and every device was signed out.`,
    "",
    "If it was you, all is well: sign in with the new password.",
    "If it was not, somebody else can read your mail. Change the password of your mailbox first, then this one:",
    "",
    `${config.baseUrl}/forgot`,
  ].join("\n");
  return { to, subject: "Your password was changed", text };
}

/**
 * A link that proves the address; null where there is nothing to prove any more. Whoever follows it says, by the
 * password, which of several registrations is theirs.
 */
async function verificationLetter(deps: Deps, to: string) {
  const token = await newestVerificationToken(deps, to);
  if (token === null) return null;
  const text = [
    "Hello,",
    "",
    `somebody, most likely you, made an account with the address ${to}.`,
    `Confirm within ${VERIFICATION_TTL_HOURS} hours that it is yours:`,
    "",
    `${deps.config.baseUrl}/verify#token=${token}`,
    "",
    "The page asks for the password that you chose. If you signed in with a provider instead, open the link in the",
    "same browser.",
    "",
    "If it was not you, do not confirm: without it nobody can sign in.",
  ].join("\n");
  return { to, subject: "Confirm your e-mail address", text };
}

function registeredLetter({ config }: Pick<Deps, "config">, to: string) {
  const text = [
    "Hello,",
    "",
    `somebody, most likely you, tried to register with the address ${to}. It has an account already: sign in with it.`,
    "If you do not know its password any more, set a new one:",
    "",
    `${config.baseUrl}/forgot`,
    "",
    "If it was not you, there is nothing to do: nothing has changed.",
  ].join("\n");
  return { to, subject: "You have an account already", text };
}

/** Names the newest way to sign in, and says where there is no password; null where that way is gone again. */
async function linkedLetter({ config, db }: Pick<Deps, "config" | "db">, to: string) {
  const newest = await db.identity.findFirst({
    where: { account: { email: to } },
    orderBy: { createdAt: "desc" },
    select: { provider: true, account: { select: { passwordHash: true } } },
  });
  if (!newest) return null;
  const text = [
    "Hello,",
    "",
    `the account of ${to} can now be signed in to with ${newest.provider}.`,
    ...(newest.account.passwordHash === null
      ? [
          "It has no password: one that was set before the address was confirmed holds no longer. You can set a new one.",
        ]
      : []),
    "",
    "If it was not you, somebody else has signed in to it. Set a new password, and write to us:",
    "",
    `${config.baseUrl}/forgot`,
  ].join("\n");
  return { to, subject: "A new way to sign in", text };
}
