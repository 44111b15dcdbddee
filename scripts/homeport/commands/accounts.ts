import { writeFile } from "node:fs/promises";
import { AccountsQuery, Role } from "../../../lib/accounts/admin/schema";
import { PROVIDER_NAMES } from "../../../lib/auth/sign-in-providers/providers";
import { CommandError } from "../../../lib/errors";
import { isUuid } from "../../../lib/platform/db/ids";
import { LOCALES } from "../../../lib/platform/locale";
import { AccessQuery } from "../../../lib/subscriptions/access/schema";
import type { CommandContext, DefineCommandGroup, HomeportCommand } from "../command";
import { checked, oneOf, parseLimit } from "../options";
import { printable } from "../output";
import { resolveFromCaller } from "../release/options";
import type { AdminApi } from "../transport/admin-api";
import {
  create,
  deleteAccount,
  disable,
  enable,
  grant,
  invite,
  recoveryCode,
  resetFactors,
  restoreConsent,
  revokeSessions,
  unlink,
} from "./account-changes";
import { defineImport } from "./accounts-import";
import { accountIdOf, findAccount } from "./find-account";

const DEFAULT_LIMIT = "50";

type ListOptions = Pick<AccountsQuery, "role" | "state"> & { limit?: string };

async function list({ api, output }: CommandContext, text: string | undefined, options: ListOptions): Promise<void> {
  const { role, state } = options;
  const given = { query: text?.trim() || undefined, role, state };
  const query = checked(AccountsQuery, given, { query: "TEXT", role: "--role", state: "--state" });
  const limit = parseLimit(options.limit ?? DEFAULT_LIMIT);
  const accounts = await api.list("searchAccounts", "accounts", { query }, limit);
  output.table(accounts, "No accounts found.", {
    id: "id",
    created: "createdAt",
    email: "email",
    verified: ({ emailVerifiedAt }) => (emailVerifiedAt ? "verified" : "unverified"),
    role: "role",
    state: ({ disabledAt }) => (disabledAt ? "disabled" : "active"),
    name: "name",
  });
}

/** Shows an account. Of a deleted one, shows the events, and throws. @throws CommandError not_found */
async function show({ api, output }: CommandContext, idOrEmail: string): Promise<void> {
  const account = await findAccount(api, idOrEmail).catch(async (error: unknown) => {
    const events = await readEvents(api, idOrEmail.trim(), Number(DEFAULT_LIMIT)).catch(() => []);
    if (events.length === 0) throw error;
    output.result(events, [JSON.stringify(events, null, 2)]);
    throw new CommandError("not_found", `The account ${idOrEmail} was deleted. Only its events remain.`);
  });
  const details = await api.call("showAccount", { params: { accountId: account.id } });
  output.result(details, [JSON.stringify(details, null, 2)]);
}

async function events({ api, output }: CommandContext, idOrEmail: string, options: { limit?: string }): Promise<void> {
  const limit = parseLimit(options.limit ?? DEFAULT_LIMIT);
  const id = isUuid(idOrEmail.trim()) ? idOrEmail.trim() : (await findAccount(api, idOrEmail)).id;
  output.table(await readEvents(api, id, limit), null, {
    time: "at",
    event: "type",
    actor: "actor",
    network: "network",
    details: ({ details }) => (details ? JSON.stringify(details) : null),
  });
}

/** Says why an account has access or not. */
async function why({ api, output }: CommandContext, idOrEmail: string, entitlement: string | undefined): Promise<void> {
  const query = checked(AccessQuery, { entitlement }, { entitlement: "ENTITLEMENT" });
  const accountId = await accountIdOf(api, idOrEmail.trim());
  const explained = await api.call("explainAccess", { params: { accountId }, query });
  const reasons = explained.reasons.flatMap(({ code, text, actions }) => [
    "",
    `${text} (${code})`,
    ...actions.map(
      (action) => `  - ${action.text}${(action.command ?? action.path) ? ` ${action.command ?? action.path}` : ""}`,
    ),
  ]);
  output.result(explained, [explained.text, ...reasons].map(printable));
}

async function exportData(
  { api, output }: CommandContext,
  idOrEmail: string,
  { output: file, reason }: { output?: string; reason?: string },
): Promise<void> {
  const { id, email } = await findAccount(api, idOrEmail);
  const data = await api.call("exportAccountAsOperator", { params: { accountId: id }, query: { reason } });
  const text = JSON.stringify(data, null, 2);
  if (file === undefined) return output.result(data, [text]);
  await writeFile(resolveFromCaller(file), `${text}\n`, { mode: 0o600, flag: "wx" });
  output.result({ id, email, file }, [`${email}: exported to ${file}.`]);
}

async function readEvents(api: AdminApi, id: string, limit: number) {
  return isUuid(id) ? api.list("listAccountEvents", "events", { params: { accountId: id } }, limit) : [];
}

const ROLES = Role.options;
const REASON = "the reason, for the audit trail";

/** `homeport accounts`. An account is named by its id or its email. */
export const defineAccounts: DefineCommandGroup = (accounts) => {
  accounts
    .command("list [text]")
    .description("list the newest accounts, or those with this id or whose email or name begins with TEXT")
    .option("--role <role>", `only accounts with this role: ${ROLES.join(", ")}`)
    .option("--state <state>", "only accounts in this state: active, disabled, unverified, consent_withdrawn")
    .option("--limit <count>", "maximum number (default: 50)")
    .run(list);
  accounts
    .command("create <email>")
    .description("create an account without a password, and print its id")
    .option("--name <name>", "the name of its owner")
    .addOption(oneOf("--locale <language>", `the language of its emails: ${LOCALES.join(", ")}`, LOCALES))
    .option("--invite", "email its owner a link that sets a password or a passkey")
    .run(create);
  accounts
    .command("show <account>")
    .description("show an account with its sessions, devices, purchases and events, as JSON")
    .run(show);
  accounts
    .command("events <account>")
    .description("list what happened to an account, newest first, even after it was deleted")
    .option("--limit <count>", "maximum number (default: 50)")
    .run(events);
  accounts
    .command("why <account> [entitlement]")
    .description("say why an account has access or not, or an entitlement or not, and what to do")
    .run(why);
  accounts
    .command("export <account>")
    .description("export all data of an account for its owner, as JSON")
    .option("--output <file>", "write a file that only its owner can read")
    .option("--reason <text>", REASON)
    .run(exportData);
  defineImport(accounts);
  defineChanges(accounts);
  accounts
    .command("rotate-keys")
    .description(
      "encrypt the stored keys with the first secret of NEXTAUTH_SECRET. With the embedded database and without the variable, " +
        "generate a new secret first. Nobody is signed out. A service with the embedded database must be stopped",
    )
    .run(async ({ output }) => (await import("./rotate-keys")).rotateKeys(output));
};

function defineChanges(accounts: HomeportCommand): void {
  const change = (usage: string, description: string) =>
    accounts.command(usage).description(description).option("--reason <text>", REASON);
  change("invite <account>", "email the owner of an account without a password and a passkey a link that sets one").run(
    invite,
  );
  change("grant <account> <role>", `give an account a role: ${ROLES.join(", ")}`).run(grant);
  change("disable <account>", "disable an account: it is signed out, and nobody can sign in to it").run(disable);
  change("enable <account>", "enable a disabled account").run(enable);
  change("restore-consent <account>", "record that a parent has given the consent to an account again").run(
    restoreConsent,
  );
  change("revoke-sessions <account>", "sign an account out on all devices")
    .option("--session <id>", "end this session only")
    .run(revokeSessions);
  change(
    "unlink <account> <provider>",
    `unlink a sign-in provider (${PROVIDER_NAMES.join(", ")}), and sign the account out`,
  ).run(unlink);
  change(
    "reset-factors <account>",
    "remove the second factors and passkeys of an owner who has lost them, and sign them out",
  ).run(resetFactors);
  change(
    "recovery-code <account>",
    "print a code that the owner of an account without an authenticator app needs for an emailed link",
  ).run(recoveryCode);
  change("delete <account>", "delete an account and all its data").option("--yes", "do not ask").run(deleteAccount);
}
