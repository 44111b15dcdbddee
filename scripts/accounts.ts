import { EMAIL_TTL_SECONDS } from "../lib/accounts/emails";
import {
  deleteAccount,
  describeAccount,
  findAccount,
  isAccountId,
  listAccounts,
  revokeSessions,
  unlinkIdentities,
} from "../lib/admin/accounts";
import { listSecurityEvents } from "../lib/audit/security-events";
import { PROVIDER_NAMES } from "../lib/auth/oauth/providers";
import { loadConfig } from "../lib/config";
import { databaseNow } from "../lib/db/clock";
import { type Database, openDatabase } from "../lib/db/open";
import { createEnqueueEmail } from "../lib/mail/queue";
import { runCommandLine, UsageError } from "./command-line";

const HELP = `Usage: npm run accounts -- COMMAND   (an account is named by its id or its e-mail address)

  list [TEXT]               the newest 50 accounts, or those whose address contains the text
  show ACCOUNT              what is known of one: sessions, devices, subscriptions, security events
  revoke-sessions ACCOUNT   signs it out everywhere
  unlink ACCOUNT PROVIDER   removes its sign-in with a provider (${PROVIDER_NAMES.join(", ")}), and signs it out everywhere
  delete ACCOUNT --yes      deletes it, with everything that hangs on it

On PostgreSQL (DATABASE_URL) at any time; on the embedded database while the service is stopped.`;

const MAX_LISTED = 50;
const emails = { enqueue: createEnqueueEmail({ dbNow: databaseNow }, EMAIL_TTL_SECONDS) };
const deps = (database: Database) => ({ db: database.client, emails, now: () => new Date() });
type Deps = ReturnType<typeof deps>;
type Found = NonNullable<Awaited<ReturnType<typeof findAccount>>>;

const ON_ACCOUNT: Record<string, (deps: Deps, account: Found, provider: string) => Promise<unknown>> = {
  show: async (deps, { id }) => JSON.stringify(await describeAccount(deps, id), null, 2),
  "revoke-sessions": async (deps, { id, email }) => `${email}: ${await revokeSessions(deps, id)} sessions ended.`,
  unlink: async (deps, { id, email }, provider) => {
    const removed = await unlinkIdentities(deps, id, provider);
    if (removed === 0) throw new Error(`${email} is not linked to ${provider}. Nothing was changed.`);
    return `${email}: ${removed} ${provider} ${removed === 1 ? "identity" : "identities"} removed, signed out everywhere.`;
  },
  delete: async (deps, { id, email }) => {
    await deleteAccount(deps, id);
    return `${email} is deleted. Subscriptions with a store go on until they are cancelled there.`;
  },
};

async function main([command = "", name = "", option = ""]: string[]): Promise<void> {
  const run = Object.hasOwn(ON_ACCOUNT, command) ? ON_ACCOUNT[command] : undefined;
  if (command === "unlink" && option !== "" && !PROVIDER_NAMES.some((known) => known === option)) {
    throw new UsageError(`Unknown provider: ${option}. Use ${PROVIDER_NAMES.join(", ")}.`);
  }
  const isWhole = command === "delete" ? option === "--yes" : command !== "unlink" || option !== "";
  if (command !== "list" && !run)
    throw new UsageError(command ? `Unknown command: ${command}` : "No command is given.");
  if (command !== "list" && (!name || !isWhole)) throw new UsageError(`${command}: an argument is missing.`);
  const config = loadConfig();
  const fail = (error: Error) => {
    throw error;
  };
  const database = await openDatabase(config, { onConnectionError: fail });
  try {
    if (!(await database.migrated())) throw new Error("Migrations are missing: run `npm run db:migrate` first.");
    if (!run) return await list(deps(database), name);
    const account = await findAccount(deps(database), name);
    if (!account) return await reportMissing(deps(database), name);
    console.log(await run(deps(database), account, option));
  } finally {
    await database.close();
  }
}

/** Prints the security events that a deleted account has left. @throws Error where there are none */
async function reportMissing(deps: Deps, name: string): Promise<void> {
  const events = isAccountId(name) ? await listSecurityEvents(deps, name.trim(), MAX_LISTED) : [];
  if (events.length === 0) throw new Error(`There is no account ${name}.`);
  console.error(`The account ${name} was deleted. Its security events:`);
  console.log(JSON.stringify(events, null, 2));
  process.exitCode = 1;
}

async function list(deps: Deps, search: string): Promise<void> {
  const accounts = await listAccounts(deps, { search, limit: MAX_LISTED });
  if (accounts.length === 0) console.error("No accounts found.");
  for (const { id, email, emailVerifiedAt, createdAt } of accounts) {
    console.log([id, createdAt.toISOString(), emailVerifiedAt ? "verified" : "unverified", email].join("  "));
  }
}

runCommandLine(HELP, main).finally(() => process.exit());
