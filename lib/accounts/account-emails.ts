import { providerTitle } from "../auth/oauth/providers";
import { newestVerificationToken, VERIFICATION_TTL_HOURS } from "../auth/verification/email-verification";
import type { Context } from "../context";
import {
  accountDeletedEmail,
  type Email,
  type EmailKind,
  identityLinkedEmail,
  identityUnlinkedEmail,
  passwordChangedEmail,
  passwordResetEmail,
  registeredAlreadyEmail,
  verificationEmail,
} from "../mail/email-texts";
import { listIdentities } from "./identities";
import { issueResetToken, RESET_TTL_MINUTES } from "./password-reset-token";

type Deps = Pick<Context, "config" | "db" | "now">;

const MINUTE_SECONDS = 60;
const DAY_SECONDS = 24 * 60 * MINUTE_SECONDS;

/** How long the queue tries to send an email of each kind. */
export const EMAIL_TTL_SECONDS: Record<EmailKind, number> = {
  password_reset: RESET_TTL_MINUTES * MINUTE_SECONDS,
  password_changed: 3 * DAY_SECONDS,
  email_verification: DAY_SECONDS,
  registered_already: DAY_SECONDS,
  identity_linked: 3 * DAY_SECONDS,
  identity_unlinked: 3 * DAY_SECONDS,
  account_deleted: 3 * DAY_SECONDS,
};

/**
 * Composes the emails to account holders. The queue calls this when it sends, so that links and lists are current;
 * null means that there is nothing left to send. Tokens stand in the link's fragment, which browsers send to no server.
 */
export function accountEmails(deps: Deps): Record<EmailKind, (to: string) => Promise<Email | null>> {
  const { baseUrl } = deps.config;
  return {
    password_reset: async (to) => {
      const token = await issueResetToken(deps, to);
      const link = `${baseUrl}/reset#token=${token}`;
      return token === null ? null : passwordResetEmail(to, { link, ttlMinutes: RESET_TTL_MINUTES });
    },
    password_changed: async (to) =>
      passwordChangedEmail(to, { baseUrl, providers: await findLinkedProviders(deps, to) }),
    email_verification: async (to) => {
      const token = await newestVerificationToken(deps, to);
      const link = `${baseUrl}/verify#token=${token}`;
      return token === null ? null : verificationEmail(to, { link, ttlHours: VERIFICATION_TTL_HOURS });
    },
    registered_already: async (to) => registeredAlreadyEmail(to, { baseUrl }),
    identity_linked: async (to) => {
      const newest = await findNewestIdentity(deps, to);
      return newest && identityLinkedEmail(to, { baseUrl, ...newest });
    },
    identity_unlinked: async (to) => identityUnlinkedEmail(to, { baseUrl }),
    account_deleted: async (to) => accountDeletedEmail(to),
  };
}

async function findLinkedProviders({ db }: Pick<Deps, "db">, email: string) {
  const account = await db.account.findUnique({ where: { email }, select: { id: true } });
  const identities = account ? await listIdentities(db, account.id) : [];
  return identities.map(({ provider, createdAt }) => ({ title: providerTitle(provider), linkedAt: createdAt }));
}

async function findNewestIdentity({ db }: Pick<Deps, "db">, email: string) {
  const identity = await db.identity.findFirst({
    where: { account: { email } },
    orderBy: { createdAt: "desc" },
    select: { provider: true, account: { select: { passwordHash: true } } },
  });
  if (!identity) return null;
  return { provider: providerTitle(identity.provider), hasPassword: identity.account.passwordHash !== null };
}
