import { issueVerificationToken, VERIFICATION_TTL_HOURS } from "../../auth/email-verification";
import { providerTitle } from "../../auth/sign-in-providers/providers";
import type { Context } from "../../context";
import { composeEmail, composeOnDevice } from "../../platform/mail/compose-email";
import {
  type Email,
  type EmailData,
  type EmailInput,
  type EmailKind,
  SECURITY_NOTICES,
} from "../../platform/mail/emails";
import type { Compose, Queued } from "../../platform/mail/queue";
import { enqueue } from "../../push/outbox/enqueue";
import { CONFIRM_TTL_HOURS, findConfirmToken, findUndo, UNDO_TTL_DAYS } from "../email-change/tokens";
import { findInvitation, INVITATION_TTL_SECONDS } from "../invitations";
import { issueResetToken, RESET_TTL_MINUTES } from "../password-reset";
import { listIdentities } from "../sign-in-methods/identities";
import { notMeToken } from "./not-me";

type Deps = Pick<Context, "config" | "db" | "dbNow" | "now">;

/** Makes an email of a kind from what its text needs. `prepare` returns null if there is nothing left to send. */
type ComposeKind = <Kind extends EmailKind>(
  kind: Kind,
  prepare: (queued: Queued<EmailData[Kind]>) => Promise<EmailInput[Kind] | null>,
) => Compose<EmailData[Kind]>;

/** Composes the emails about a change of email. Whether the new email has an account is looked up when it is sent. */
function emailChangeEmails(deps: Deps, compose: ComposeKind) {
  const { baseUrl } = deps.config;
  const confirm = compose("email_change_confirm", async ({ data }) => {
    const token = await findConfirmToken(deps, data.changeId);
    return token === null ? null : { link: `${baseUrl}/email-change#token=${token}`, ttlHours: CONFIRM_TTL_HOURS };
  });
  const inUse = compose("email_in_use", async () => ({ forgotUrl: `${baseUrl}/forgot` }));
  const notice = compose("email_change_notice", async ({ to }) => {
    const undo = await findUndo(deps, to);
    if (!undo) return null;
    const undoLink = `${baseUrl}/email-change/undo#token=${undo.token}`;
    return { newEmail: undo.newEmail, undoLink, undoDays: UNDO_TTL_DAYS };
  });
  return {
    email_change_confirm: async (queued: Queued<EmailData["email_change_confirm"]>) => {
      const isInUse = (await deps.db.account.count({ where: { email: queued.to } })) > 0;
      return isInUse ? inUse({ ...queued, data: null }) : confirm(queued);
    },
    email_in_use: inUse,
    email_change_notice: notice,
  };
}

const MINUTE_SECONDS = 60;
const DAY_SECONDS = 24 * 60 * MINUTE_SECONDS;

/** How long the queue tries to send an email of each kind. */
export const EMAIL_TTL_SECONDS: Record<EmailKind, number> = {
  password_reset: RESET_TTL_MINUTES * MINUTE_SECONDS,
  invitation: INVITATION_TTL_SECONDS,
  password_changed: 3 * DAY_SECONDS,
  email_verification: DAY_SECONDS,
  registered_already: DAY_SECONDS,
  new_sign_in: 3 * DAY_SECONDS,
  factor_added: 3 * DAY_SECONDS,
  factor_removed: 3 * DAY_SECONDS,
  email_change_confirm: DAY_SECONDS,
  email_in_use: DAY_SECONDS,
  email_change_notice: 7 * DAY_SECONDS,
  email_changed: 3 * DAY_SECONDS,
  identity_linked: 3 * DAY_SECONDS,
  identity_unlinked: 3 * DAY_SECONDS,
  account_deleted: 3 * DAY_SECONDS,
  rollout_halted: 3 * DAY_SECONDS,
  webhook_disabled: 3 * DAY_SECONDS,
  policy_loosened: 3 * DAY_SECONDS,
  publisher_added: 3 * DAY_SECONDS,
};

/**
 * Composes the emails to account holders. The queue calls this when it sends, so that links and lists are current;
 * null means that there is nothing left to send. Tokens are in the link's fragment, which browsers send to no server.
 */
export function accountEmails(deps: Deps): { [Kind in EmailKind]: Compose<EmailData[Kind]> } {
  const { baseUrl } = deps.config;
  const notMe = async (email: string) => {
    const account = await deps.db.account.findUnique({ where: { email }, select: { id: true, sessionEpoch: true } });
    // Without an account there is nothing to protect: it was deleted, or has another email by now.
    return { notMeLink: account ? `${baseUrl}/not-me#token=${notMeToken(deps, account)}` : `${baseUrl}/forgot` };
  };
  const compose: ComposeKind = (kind, prepare) => async (queued) => {
    const input = await prepare(queued);
    const email = input && composeEmail(kind, { to: queued.to, locale: queued.locale, config: deps.config }, input);
    return email && (await holdNotice(deps, kind, queued, email)) ? null : email;
  };
  const changes = emailChangeEmails(deps, compose);
  const reset = compose("password_reset", async ({ to }) => {
    const token = await issueResetToken(deps, to);
    return token === null ? null : { link: `${baseUrl}/reset#token=${token}`, ttlMinutes: RESET_TTL_MINUTES };
  });
  return {
    ...changes,
    // The former owner of an email that was changed can undo that instead.
    password_reset: async (queued) => (await reset(queued)) ?? changes.email_change_notice(queued),
    email_verification: compose("email_verification", ({ to }) => verificationLink(deps, to)),
    invitation: compose("invitation", async ({ to }) => {
      const invitation = await findInvitation(deps, to);
      if (!invitation) return null;
      const { token, expiresAt } = invitation;
      return { brand: deps.config.BRAND_NAME, link: `${baseUrl}/invitation#token=${token}`, expiresAt };
    }),
    registered_already: compose("registered_already", async () => ({ forgotUrl: `${baseUrl}/forgot` })),
    password_changed: compose("password_changed", async ({ to }) => {
      const providers = await findLinkedProviders(deps, to);
      return { ...(await notMe(to)), accountUrl: `${baseUrl}/account`, providers };
    }),
    new_sign_in: compose("new_sign_in", async ({ to, data: { client, network, at } }) => {
      return { ...(await notMe(to)), client, network, at: new Date(at) };
    }),
    factor_added: compose("factor_added", async ({ to, data }) => ({ ...(await notMe(to)), factor: data.factor })),
    factor_removed: compose("factor_removed", async ({ to, data }) => ({ ...(await notMe(to)), factor: data.factor })),
    email_changed: compose("email_changed", async ({ to }) => notMe(to)),
    identity_linked: compose("identity_linked", async ({ to, data }) => {
      const linked = await findIdentity(deps, to, data?.provider);
      return linked && { ...(await notMe(to)), ...linked };
    }),
    identity_unlinked: compose("identity_unlinked", async ({ to, data }) => {
      return {
        ...(await notMe(to)),
        provider: data && providerTitle(data.provider),
        byProvider: data?.byProvider === true,
      };
    }),
    account_deleted: compose("account_deleted", async () => ({})),
    rollout_halted: compose("rollout_halted", async ({ data }) => data),
    webhook_disabled: compose("webhook_disabled", async ({ data }) => data),
    policy_loosened: compose("policy_loosened", async ({ data }) => {
      return { ...data, at: new Date(data.at), auditUrl: `${baseUrl}/console/settings/audit` };
    }),
    publisher_added: compose("publisher_added", async ({ data: { publisherId, ...data } }) => {
      return { ...data, publisherUrl: `${baseUrl}/console/settings/publishers/${publisherId}` };
    }),
  };
}

async function verificationLink(deps: Deps, email: string): Promise<EmailInput["email_verification"] | null> {
  const token = await issueVerificationToken(deps, email);
  if (token === null) return null;
  const link = `${deps.config.baseUrl}/verify#token=${token}`;
  const isAgain = (await deps.db.account.count({ where: { email, emailVerifiedAt: { not: null } } })) > 0;
  return { link, ttlHours: VERIFICATION_TTL_HOURS, isAgain };
}

/**
 * Holds a notice whose email would not reach its owner, or is not wanted: the account's devices show it instead. Returns
 * whether it did. An email that somebody has asked for is sent: its arrival is what ends the problem.
 */
async function holdNotice({ db, dbNow }: Deps, kind: EmailKind, { id, to }: { id: string; to: string }, email: Email) {
  if (!SECURITY_NOTICES.includes(kind)) return false;
  const where = { email: to, emailProblem: { not: null } };
  const account = await db.account.findUnique({ where, select: { id: true } });
  if (!account) return false;
  if (kind === "new_sign_in") return true; // the sign-in itself has notified the devices
  const message = { kind: "security.notice", eventId: id, ...composeOnDevice(email) } as const;
  await db.$transaction((tx) =>
    enqueue(tx, dbNow(), { eventKey: `email:${id}`, to: { accountId: account.id }, message }),
  );
  return true;
}

async function findLinkedProviders({ db }: Pick<Deps, "db">, email: string) {
  const account = await db.account.findUnique({ where: { email }, select: { id: true } });
  const identities = account ? await listIdentities(db, account.id) : [];
  return identities.map(({ provider, linkedAt }) => ({ title: providerTitle(provider), linkedAt }));
}

/** The newest linked identity of an email, of one provider if it is given. */
async function findIdentity({ db }: Pick<Deps, "db">, email: string, provider: string | undefined) {
  const identity = await db.identity.findFirst({
    where: { account: { email }, provider },
    orderBy: { createdAt: "desc" },
    select: { provider: true, account: { select: { passwordHash: true } } },
  });
  if (!identity) return null;
  return { provider: providerTitle(identity.provider), hasPassword: identity.account.passwordHash !== null };
}
