import {
  type AccountChange,
  type DeletedAccount,
  type ProviderChange,
  Role,
  type RoleChange,
} from "../../../../lib/accounts/admin/schema";
import { PROVIDER_NAMES } from "../../../../lib/auth/sign-in-providers/providers";
import { isUuid } from "../../../../lib/platform/db/ids";
import { CodedError, UsageError } from "../../../command-line";
import type { CommandContext } from "../../command";
import { confirm, isInteractive } from "../../output/confirm";
import { ACCOUNTS, findAccount } from "./find-account";

type Options = { reason?: string };

export async function grant(context: CommandContext, account: string, role: string, options: Options): Promise<void> {
  requireOneOf("role", role, Role.options);
  await change<RoleChange>(
    context,
    account,
    "grant",
    { role, reason: options.reason },
    ({ email }, { isChanged, previousRole }) =>
      isChanged ? `${email} is now ${role} (was ${previousRole}).` : `${email} already has the role ${role}.`,
  );
}

export async function disable(context: CommandContext, account: string, options: Options): Promise<void> {
  await change<AccountChange>(
    context,
    account,
    "disable",
    { reason: options.reason },
    ({ email }, { isChanged, sessionsEnded }) =>
      isChanged ? `${email} is disabled, ${revoked(sessionsEnded)}.` : `${email} is already disabled.`,
  );
}

export async function enable(context: CommandContext, account: string, options: Options): Promise<void> {
  await change<AccountChange>(context, account, "enable", { reason: options.reason }, ({ email }, { isChanged }) =>
    isChanged ? `${email} can sign in again.` : `${email} is not disabled.`,
  );
}

export async function revokeSessions(
  context: CommandContext,
  account: string,
  { session, reason }: Options & { session?: string },
): Promise<void> {
  if (session === undefined) {
    return change<AccountChange>(
      context,
      account,
      "revoke-sessions",
      { reason },
      ({ email }, { sessionsEnded }) => `${email}: ${revoked(sessionsEnded)}.`,
    );
  }
  if (!isUuid(session)) throw new UsageError("--session takes the id of a session, as `show` prints it.");
  const { id, email } = await findAccount(context.api, account);
  const path = `${ACCOUNTS}/${id}/sessions/${session}${reason === undefined ? "" : `?${new URLSearchParams({ reason })}`}`;
  const missing = { not_found: `${email} has no live session ${session}. Nothing was changed.` };
  const result = await withMessages(missing, () => context.api.request<AccountChange>("DELETE", path));
  context.output.result(result, [`${email}: ${revoked(1)}.`]);
}

export async function unlink(
  context: CommandContext,
  account: string,
  provider: string,
  options: Options,
): Promise<void> {
  requireOneOf("provider", provider, PROVIDER_NAMES);
  await change<ProviderChange>(
    context,
    account,
    "unlink",
    { provider, reason: options.reason },
    ({ email }, { identitiesRemoved: count }) =>
      `${email}: ${count} ${provider} ${count === 1 ? "identity" : "identities"} removed, signed out on all devices.`,
    (email) => ({ not_found: `${email} is not linked to ${provider}. Nothing was changed.` }),
  );
}

export async function resetFactors(context: CommandContext, account: string, options: Options): Promise<void> {
  await change<AccountChange>(
    context,
    account,
    "reset-factors",
    { reason: options.reason },
    ({ email }) => `${email}: the second factors and passkeys are removed, signed out on all devices.`,
    (email) => ({ no_second_factor: `${email} has no second factor and no passkey. Nothing was changed.` }),
  );
}

export async function deleteAccount(
  { api, output }: CommandContext,
  account: string,
  { yes = false, reason }: Options & { yes?: boolean },
): Promise<void> {
  if (!yes && !isInteractive()) throw new UsageError("delete: --yes is missing.");
  const { id, email } = await findAccount(api, account);
  if (!yes && !(await confirm(`Delete ${email} and all its data?`)))
    throw new CodedError("canceled", "Nothing was changed.");
  const query = reason === undefined ? "" : `?${new URLSearchParams({ reason })}`;
  const deleted = await api.request<DeletedAccount>("DELETE", `${ACCOUNTS}/${id}${query}`);
  output.result(deleted, [`${email} is deleted. Store subscriptions continue until they are canceled in the store.`]);
}

/** Makes a change and prints what it did. `messagesOf` has a message of its own for some errors, by their codes. */
async function change<Result extends object>(
  { api, output }: CommandContext,
  idOrEmail: string,
  verb: string,
  body: Options & { role?: string; provider?: string },
  describe: (account: { email: string }, result: Result) => string,
  messagesOf: (email: string) => Readonly<Record<string, string>> = () => ({}),
): Promise<void> {
  const account = await findAccount(api, idOrEmail);
  const send = () => api.request<Result>("POST", `${ACCOUNTS}/${account.id}/${verb}`, body);
  const result = await withMessages(messagesOf(account.email), send);
  output.result(result, [describe(account, result)]);
}

async function withMessages<T>(messages: Readonly<Record<string, string>>, send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    const message = error instanceof CodedError ? messages[error.code] : undefined;
    throw message === undefined ? error : new CodedError((error as CodedError).code, message);
  }
}

/** @throws UsageError */
function requireOneOf(name: string, value: string, values: readonly string[]): void {
  if (!values.includes(value)) throw new UsageError(`Unknown ${name}: ${value}. Use ${values.join(", ")}.`);
}

const revoked = (sessions: number) => `${sessions} ${sessions === 1 ? "session" : "sessions"} revoked`;
