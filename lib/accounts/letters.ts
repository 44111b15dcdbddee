import { providerTitle } from "../auth/oauth/providers";
import { newestVerificationToken, VERIFICATION_TTL_HOURS } from "../auth/verification/email-verification";
import type { Context } from "../context";
import { listIdentities } from "./identities";
import { issueResetToken, RESET_TTL_MINUTES } from "./password-reset-token";

type Deps = Pick<Context, "config" | "db" | "now">;

const MINUTE_SECONDS = 60;
const DAY_SECONDS = 24 * 60 * MINUTE_SECONDS;

export type LetterKind =
  | "password_reset"
  | "password_changed"
  | "email_verification"
  | "registered_already"
  | "identity_linked"
  | "identity_unlinked"
  | "account_deleted";

/** How long each mail to account holders is worth sending. */
export const LETTER_TTL_SECONDS: Record<LetterKind, number> = {
  password_reset: RESET_TTL_MINUTES * MINUTE_SECONDS,
  password_changed: 3 * DAY_SECONDS,
  email_verification: DAY_SECONDS,
  registered_already: DAY_SECONDS,
  identity_linked: 3 * DAY_SECONDS,
  identity_unlinked: 3 * DAY_SECONDS,
  account_deleted: 3 * DAY_SECONDS,
};

type Letter = { to: string; subject: string; text: string };

/** How each mail to account holders is composed when it is sent; null where it has no reader any more. */
export function accountLetters(deps: Deps): Record<LetterKind, (to: string) => Promise<Letter | null>> {
  return {
    password_reset: (to) => resetLetter(deps, to),
    password_changed: (to) => changedLetter(deps, to),
    email_verification: (to) => verificationLetter(deps, to),
    registered_already: async (to) => registeredLetter(deps, to),
    identity_linked: (to) => linkedLetter(deps, to),
    identity_unlinked: async (to) => unlinkedLetter(deps, to),
    account_deleted: async (to) => deletedLetter(to),
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

/** Names the providers that the change of the password leaves linked. */
async function changedLetter({ config, db }: Pick<Deps, "config" | "db">, to: string) {
  const account = await db.account.findUnique({ where: { email: to }, select: { id: true } });
  const identities = account ? await listIdentities(db, account.id) : [];
  const linked = identities.map(
    ({ provider, createdAt }) => `- ${providerTitle(provider)}, since ${createdAt.toISOString().slice(0, 10)}`,
  );
  const text = [
    "Hello,",
    "",
    `the password of the account of ${to} was changed, and every device was signed out.`,
    "",
    "If it was you, all is well: sign in with the new password.",
    "If it was not, somebody else can read your mail. Change the password of your mailbox first, then this one:",
    "",
    `${config.baseUrl}/forgot`,
    ...(linked.length > 0
      ? [
          "",
          "These providers can still sign in to the account. Remove what is not yours on its page:",
          "",
          ...linked,
          "",
          `${config.baseUrl}/account`,
        ]
      : []),
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
    `the account of ${to} can now be signed in to with ${providerTitle(newest.provider)}.`,
    ...(newest.account.passwordHash === null
      ? [
          "It has no password: one that was set before the address was confirmed holds no longer. You can set a new one.",
        ]
      : []),
    "",
    "If it was not you, somebody else has signed in to it. Set a new password, then remove the provider on the",
    "account's page:",
    "",
    `${config.baseUrl}/forgot`,
  ].join("\n");
  return { to, subject: "A new way to sign in", text };
}

function unlinkedLetter({ config }: Pick<Deps, "config">, to: string) {
  const text = [
    "Hello,",
    "",
    `a sign-in provider was removed from the account of ${to}, and every other device was signed out.`,
    "",
    "If it was not you, somebody else has signed in to it. Set a new password:",
    "",
    `${config.baseUrl}/forgot`,
  ].join("\n");
  return { to, subject: "A way to sign in was removed", text };
}

function deletedLetter(to: string) {
  const text = [
    "Hello,",
    "",
    `the account of ${to} was deleted, with its sessions, devices and settings. This cannot be undone.`,
    "",
    "A subscription bought in an app store goes on until you cancel it there.",
    "",
    "If it was not you, somebody else has signed in to the account. Reply to this mail.",
  ].join("\n");
  return { to, subject: "Your account was deleted", text };
}
