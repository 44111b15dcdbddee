import { NewAccount, Role } from "../../../lib/accounts/admin/schema";
import { PROVIDER_NAMES } from "../../../lib/auth/sign-in-providers/providers";
import { CommandError } from "../../../lib/errors";
import { isUuid } from "../../../lib/platform/db/ids";
import type { Locale } from "../../../lib/platform/locale";
import { UsageError } from "../../command-line";
import type { CommandContext } from "../command";
import { checked } from "../options";
import { confirm, isInteractive } from "../terminal";
import type { AdminApi } from "../transport/admin-api";
import type { ResultOf } from "../transport/operations";
import { findAccount } from "./find-account";

type Options = { reason?: string };

type Change<Result> = {
  send: (api: AdminApi, params: { accountId: string }, reason: string | undefined) => Promise<Result>;
  prints: (result: Result, email: string) => string;
  /** Messages of its own for some errors, by their codes. */
  errors?: (email: string) => Readonly<Record<string, string>>;
};

/** A command that makes a change to an account, and prints what it did. */
const change =
  <Result>({ send, prints, errors = () => ({}) }: Change<Result>) =>
  async ({ api, output }: CommandContext, account: string, { reason }: Options): Promise<void> => {
    const { id, email } = await findAccount(api, account);
    try {
      const result = await send(api, { accountId: id }, reason);
      output.result(result, [prints(result, email)]);
    } catch (error) {
      const message = error instanceof CommandError ? errors(email)[error.code] : undefined;
      throw message === undefined ? error : new CommandError((error as CommandError).code, message);
    }
  };

export const disable = change({
  send: (api, params, reason) => api.call("disableAccount", { params, body: { reason } }),
  prints: ({ isChanged, sessionsEnded }, email) =>
    isChanged ? `${email} is disabled, ${revoked(sessionsEnded)}.` : `${email} is already disabled.`,
});

export const enable = change({
  send: (api, params, reason) => api.call("enableAccount", { params, body: { reason } }),
  prints: ({ isChanged }, email) => (isChanged ? `${email} can sign in again.` : `${email} is not disabled.`),
});

export const restoreConsent = change({
  send: (api, params, reason) => api.call("restoreAccountConsent", { params, body: { reason } }),
  prints: ({ isChanged, account }, email) =>
    isChanged
      ? `${email}: consent was given again.${account.disabledAt ? " The account stays disabled." : ""}`
      : `No consent to ${email} is withdrawn.`,
});

export const resetFactors = change({
  send: (api, params, reason) => api.call("resetAccountFactors", { params, body: { reason } }),
  prints: (_, email) => `${email}: the second factors and passkeys are removed, signed out on all devices.`,
  errors: (email) => ({ no_second_factor: `${email} has no second factor and no passkey. Nothing was changed.` }),
});

export const recoveryCode = change({
  send: (api, params, reason) => api.call("createAccountRecoveryCode", { params, body: { reason } }),
  prints: ({ recoveryCode: code }) => code,
  errors: (email) => ({ factor_exists: `${email} has an authenticator app. No code was made.` }),
});

export const invite = change({
  send: (api, params, reason) => api.call("inviteAccount", { params, body: { reason } }),
  prints: ({ invitation }, email) => `${email} gets an invitation, ${expiry(invitation)}.`,
  errors: (email) => ({
    sign_in_method_exists: `${email} has a password or a passkey. Nothing was sent.`,
    account_disabled: `${email} is disabled. Nothing was sent.`,
  }),
});

type Created = { name?: string; locale?: Locale; invite?: boolean };

export async function create({ api, output }: CommandContext, email: string, options: Created): Promise<void> {
  const { name, locale, invite } = options;
  const optionOf = { email: "EMAIL", name: "--name", locale: "--locale" };
  const body = checked(NewAccount, { email, name, locale, invite }, optionOf);
  const created = await api.call("createAccount", { body });
  output.result(created, [created.account.id]);
  if (!output.isJson && created.invitation) {
    output.note(`${created.account.email} gets an invitation, ${expiry(created.invitation)}.`);
  }
}

const revokeAll = change({
  send: (api, params, reason) => api.call("endAccountSessions", { params, body: { reason } }),
  prints: ({ sessionsEnded }, email) => `${email}: ${revoked(sessionsEnded)}.`,
});

const revokeOne = (sessionId: string) =>
  change({
    send: (api, params, reason) =>
      api.call("endAccountSession", { params: { ...params, sessionId }, query: { reason } }),
    prints: (_, email) => `${email}: ${revoked(1)}.`,
    errors: (email) => ({ not_found: `${email} has no live session ${sessionId}. Nothing was changed.` }),
  });

export async function grant(context: CommandContext, account: string, name: string, options: Options): Promise<void> {
  const role = oneOf("role", name, Role.options);
  const granted = change({
    send: (api, params, reason) => api.call("setAccountRole", { params, body: { role, reason } }),
    prints: ({ isChanged, previousRole }, email) =>
      isChanged ? `${email} is now ${role} (was ${previousRole}).` : `${email} already has the role ${role}.`,
  });
  await granted(context, account, options);
}

export async function revokeSessions(
  context: CommandContext,
  account: string,
  options: Options & { session?: string },
): Promise<void> {
  const { session } = options;
  if (session !== undefined && !isUuid(session))
    throw new UsageError("--session takes the id of a session, as `show` prints it.");
  await (session === undefined ? revokeAll : revokeOne(session))(context, account, options);
}

export async function unlink(context: CommandContext, account: string, name: string, options: Options): Promise<void> {
  const provider = oneOf("provider", name, PROVIDER_NAMES);
  const unlinked = change({
    send: (api, params, reason) => api.call("unlinkAccountProvider", { params, body: { provider, reason } }),
    prints: ({ identitiesRemoved: count }, email) =>
      `${email}: ${count} ${provider} ${count === 1 ? "identity" : "identities"} removed, signed out on all devices.`,
    errors: (email) => ({ not_found: `${email} is not linked to ${provider}. Nothing was changed.` }),
  });
  await unlinked(context, account, options);
}

export async function deleteAccount(
  { api, output }: CommandContext,
  account: string,
  { yes = false, reason }: Options & { yes?: boolean },
): Promise<void> {
  if (!yes && !isInteractive()) throw new UsageError("delete: --yes is missing.");
  const { id, email } = await findAccount(api, account);
  if (!yes && !(await confirm(`Delete ${email} and all its data?`)))
    throw new CommandError("canceled", "Nothing was changed.");
  const deleted = await api.call("deleteAccountAsOperator", { params: { accountId: id }, query: { reason } });
  output.result(deleted, [`${email} is deleted. Store subscriptions continue until they are canceled in the store.`]);
}

/** @throws UsageError */
function oneOf<Value extends string>(name: string, given: string, values: readonly Value[]): Value {
  const value = values.find((known) => known === given);
  if (value === undefined) throw new UsageError(`Unknown ${name}: ${given}. Use ${values.join(", ")}.`);
  return value;
}

const revoked = (sessions: number) => `${sessions} ${sessions === 1 ? "session" : "sessions"} revoked`;

const expiry = (invitation: ResultOf<"inviteAccount">["invitation"]) => `valid until ${invitation?.expiresAt}`;
