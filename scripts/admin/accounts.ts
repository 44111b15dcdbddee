import { EMAIL_TTL_SECONDS } from "../../lib/accounts/account-emails";
import {
  deleteAccount,
  describeAccount,
  findAccount,
  isAccountId,
  listAccountEvents,
  listAccounts,
  revokeSessions,
  unlinkIdentities,
} from "../../lib/admin/accounts";
import { PROVIDER_NAMES } from "../../lib/auth/oauth/providers";
import { loadConfig } from "../../lib/config";
import { databaseNow } from "../../lib/db/clock";
import { COMMAND, type Database, openDatabase } from "../../lib/db/open";
import { createEnqueueEmail } from "../../lib/mail/queue";
import { removeDevices } from "../../lib/push/devices";
import { runCommandLine, UsageError } from "../command-line";

const HELP = `Usage: npm run accounts -- COMMAND   (ACCOUNT is an id or an email)

  list [TEXT]               lists the newest 50 accounts, or those whose email contains TEXT
  show ACCOUNT              shows an account with its sessions, devices, subscriptions and security events
  revoke-sessions ACCOUNT   signs an account out on all devices
  unlink ACCOUNT PROVIDER   unlinks a sign-in provider (${PROVIDER_NAMES.join(", ")}), and signs the account out on all devices
  delete ACCOUNT --yes      deletes an account and all its data

With PostgreSQL (DATABASE_URL), run it at any time. With the embedded database, stop the service first.`;

const MAX_LISTED = 50;
const emails = { enqueue: createEnqueueEmail({ dbNow: databaseNow }, EMAIL_TTL_SECONDS) };
const depsOf = (database: Database) => ({ db: database.client, emails, now: () => new Date(), removeDevices });
type Deps = ReturnType<typeof depsOf>;
type Account = NonNullable<Awaited<ReturnType<typeof findAccount>>>;

/** The commands on one account. Each returns the text to print. */
const ACCOUNT_COMMANDS: Record<string, (deps: Deps, account: Account, provider: string) => Promise<string>> = {
  show: async (deps, { id }) => JSON.stringify(await describeAccount(deps, id), null, 2),
  "revoke-sessions": async (deps, { id, email }) => `${email}: ${await revokeSessions(deps, id)} sessions revoked.`,
  unlink: async (deps, { id, email }, provider) => {
    const removed = await unlinkIdentities(deps, id, provider);
    if (removed === 0) throw new Error(`${email} is not linked to ${provider}. Nothing was changed.`);
    return `${email}: ${removed} ${provider} ${removed === 1 ? "identity" : "identities"} removed, signed out on all devices.`;
  },
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
  const database = await openDatabase(loadConfig(), { onConnectionError }, COMMAND);
  try {
    if (!(await database.migrated())) throw new Error("Migrations are missing: run `npm run db:migrate` first.");
    await runCommand(depsOf(database), command, account, option);
  } finally {
    await database.close();
  }
}

/** @throws UsageError */
function checkArguments(command: string, account: string, option: string): void {
  if (command === "list") return;
  if (!Object.hasOwn(ACCOUNT_COMMANDS, command)) {
    throw new UsageError(command ? `Unknown command: ${command}` : "No command is given.");
  }
  if (command === "unlink" && option !== "" && !PROVIDER_NAMES.some((known) => known === option)) {
    throw new UsageError(`Unknown provider: ${option}. Use ${PROVIDER_NAMES.join(", ")}.`);
  }
  const hasOption = command === "delete" ? option === "--yes" : command !== "unlink" || option !== "";
  if (!account || !hasOption) throw new UsageError(`${command}: an argument is missing.`);
}

async function runCommand(deps: Deps, command: string, account: string, option: string): Promise<void> {
  const run = ACCOUNT_COMMANDS[command];
  if (!run) return printAccounts(deps, account);
  const found = await findAccount(deps, account);
  if (!found) return printDeletedAccount(deps, account);
  console.log(await run(deps, found, option));
}

/** Prints the security events of a deleted account. @throws Error if there are none */
async function printDeletedAccount(deps: Deps, account: string): Promise<void> {
  const events = isAccountId(account) ? await listAccountEvents(deps, account.trim().toLowerCase()) : [];
  if (events.length === 0) throw new Error(`There is no account ${account}.`);
  console.error(`The account ${account} was deleted. Its security events:`);
  console.log(JSON.stringify(events, null, 2));
  process.exitCode = 1;
}

async function printAccounts(deps: Deps, search: string): Promise<void> {
  const accounts = await listAccounts(deps, { search, limit: MAX_LISTED });
  if (accounts.length === 0) console.error("No accounts found.");
  for (const { id, email, emailVerifiedAt, createdAt } of accounts) {
    console.log([id, createdAt.toISOString(), emailVerifiedAt ? "verified" : "unverified", email].join("  "));
  }
}

runCommandLine(HELP, main).finally(() => process.exit());
