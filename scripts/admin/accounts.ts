import { EMAIL_TTL_SECONDS } from "../../lib/accounts/emails/account-emails";
import {
  deleteAccount,
  describeAccount,
  disableAccount,
  enableAccount,
  findAccount,
  isAccountId,
  listAccountEvents,
  listAccounts,
  resetFactors,
  revokeSessions,
  setRole,
  unlinkIdentities,
} from "../../lib/admin/accounts";
import { PROVIDER_NAMES } from "../../lib/auth/oauth/providers";
import { loadConfig } from "../../lib/config";
import type { Context } from "../../lib/context";
import { databaseNow } from "../../lib/db/clock";
import { AccountRole } from "../../lib/db/generated/client";
import { COMMAND } from "../../lib/db/limits";
import { type Database, openDatabase } from "../../lib/db/open";
import type { EmailData } from "../../lib/mail/emails";
import { createEnqueueEmail } from "../../lib/mail/queue";
import { removeDevices } from "../../lib/push/devices";
import { withSecrets } from "../../lib/secrets";
import { runCommandLine, UsageError } from "../command-line";
import { rotateKeys } from "./accounts/rotate-keys";
import { operatorName } from "./operator-name";

const HELP = `Usage: npm run accounts -- COMMAND   (ACCOUNT is an id or an email)

  list [TEXT]               lists the newest 50 accounts, or those whose email contains TEXT
  show ACCOUNT              shows an account with its sessions, devices, subscriptions and events
  revoke-sessions ACCOUNT   signs an account out on all devices
  unlink ACCOUNT PROVIDER   unlinks a sign-in provider (${PROVIDER_NAMES.join(", ")}), and signs the account out on all devices
  reset-factors ACCOUNT     removes an account's second factors and passkeys, for an owner who has lost them, and signs it
                            out on all devices. Its owner gets an email
  grant ACCOUNT ROLE        gives an account a role (${Object.keys(AccountRole).join(", ")})
  disable ACCOUNT           disables an account: nobody can sign in to it, and it is signed out on all devices
  enable ACCOUNT            enables a disabled account
  delete ACCOUNT --yes      deletes an account and all its data
  rotate-keys               protects the stored keys with the first secret of NEXTAUTH_SECRET. With the embedded database
                            and without NEXTAUTH_SECRET, generates a new secret first. Nobody is signed out

With PostgreSQL (DATABASE_URL), run it at any time. With the embedded database, stop the service first.`;

const MAX_LISTED = 50;
const emails = { enqueue: createEnqueueEmail<EmailData>({ dbNow: databaseNow }, EMAIL_TTL_SECONDS) };
const depsOf = (config: Context["config"], database: Database) => ({
  config,
  db: database.client,
  dbNow: databaseNow,
  emails,
  now: () => new Date(),
  operator: operatorName(),
  removeDevices,
});
type Deps = ReturnType<typeof depsOf>;
type Account = NonNullable<Awaited<ReturnType<typeof findAccount>>>;

/** The values of the second argument of a command, which is required. */
const OPTIONS: Record<string, { name: string; values: readonly string[] }> = {
  unlink: { name: "provider", values: PROVIDER_NAMES },
  grant: { name: "role", values: Object.keys(AccountRole) },
  delete: { name: "argument", values: ["--yes"] },
};

/** The commands on one account. Each returns the text to print. */
const ACCOUNT_COMMANDS: Record<string, (deps: Deps, account: Account, option: string) => Promise<string>> = {
  show: async (deps, { id }) => JSON.stringify(await describeAccount(deps, id), null, 2),
  "revoke-sessions": async (deps, { id, email }) => `${email}: ${await revokeSessions(deps, id)} sessions revoked.`,
  unlink: async (deps, { id, email }, provider) => {
    const removed = await unlinkIdentities(deps, id, provider);
    if (removed === 0) throw new Error(`${email} is not linked to ${provider}. Nothing was changed.`);
    return `${email}: ${removed} ${provider} ${removed === 1 ? "identity" : "identities"} removed, signed out on all devices.`;
  },
  "reset-factors": async (deps, account) => {
    const isReset = await resetFactors(deps, account);
    if (!isReset) throw new Error(`${account.email} has no second factor and no passkey. Nothing was changed.`);
    return `${account.email}: the second factors and passkeys are removed, signed out on all devices.`;
  },
  grant: async (deps, { id, email }, option) => {
    const before = await setRole(deps, id, option as AccountRole);
    return before === option ? `${email} has the role ${option} already.` : `${email}: ${option}, was ${before}.`;
  },
  disable: async (deps, { id, email }) => {
    const ended = await disableAccount(deps, id);
    return ended === null ? `${email} is disabled already.` : `${email} is disabled, ${ended} sessions revoked.`;
  },
  enable: async (deps, { id, email }) =>
    (await enableAccount(deps, id)) ? `${email} can sign in again.` : `${email} is not disabled.`,
  delete: async (deps, { id, email }) => {
    await deleteAccount(deps, id);
    return `${email} is deleted. Store subscriptions continue until they are cancelled in the store.`;
  },
};

async function main([command = "", account = "", option = ""]: string[]): Promise<void> {
  checkArguments(command, account, option);
  const onConnectionError = (error: Error) => {
    throw error;
  };
  const given = loadConfig();
  const database = await openDatabase(given, { onConnectionError }, COMMAND);
  try {
    if (!(await database.migrated())) throw new Error("Migrations are missing: run `npm run db:migrate` first.");
    const deps = depsOf(await withSecrets(given), database);
    if (command === "rotate-keys") console.log(await rotateKeys(given, deps));
    else await runCommand(deps, command, account, option);
  } finally {
    await database.close();
  }
}

/** @throws UsageError */
function checkArguments(command: string, account: string, option: string): void {
  if (command === "list" || command === "rotate-keys") return;
  if (!Object.hasOwn(ACCOUNT_COMMANDS, command)) {
    throw new UsageError(command ? `Unknown command: ${command}` : "No command is given.");
  }
  const expected = OPTIONS[command];
  if (!account || (expected && option === "")) throw new UsageError(`${command}: an argument is missing.`);
  if (!expected || expected.values.includes(option)) return;
  throw new UsageError(`Unknown ${expected.name}: ${option}. Use ${expected.values.join(", ")}.`);
}

async function runCommand(deps: Deps, command: string, account: string, option: string): Promise<void> {
  const run = ACCOUNT_COMMANDS[command];
  if (!run) return printAccounts(deps, account);
  const found = await findAccount(deps, account);
  if (!found) return printDeletedAccount(deps, account);
  console.log(await run(deps, found, option));
}

/** Prints the events of a deleted account. @throws Error if there are none */
async function printDeletedAccount(deps: Deps, account: string): Promise<void> {
  const events = isAccountId(account) ? await listAccountEvents(deps, account.trim().toLowerCase()) : [];
  if (events.length === 0) throw new Error(`There is no account ${account}.`);
  console.error(`The account ${account} was deleted. Its events:`);
  console.log(JSON.stringify(events, null, 2));
  process.exitCode = 1;
}

async function printAccounts(deps: Deps, search: string): Promise<void> {
  const accounts = await listAccounts(deps, { search, limit: MAX_LISTED });
  if (accounts.length === 0) console.error("No accounts found.");
  for (const { id, email, emailVerifiedAt, role, disabledAt, createdAt } of accounts) {
    const marks = [emailVerifiedAt ? "verified" : "unverified", role !== "user" && role, disabledAt && "disabled"];
    console.log([id, createdAt.toISOString(), ...marks.filter(Boolean), email].join("  "));
  }
}

runCommandLine(HELP, main).finally(() => process.exit());
