import { writeFile } from "node:fs/promises";
import { AccountsQuery } from "../../../../lib/accounts/admin/schema";
import { isUuid } from "../../../../lib/platform/db/ids";
import { CodedError } from "../../../command-line";
import type { CommandContext } from "../../command";
import { checked, parseLimit } from "../../options";
import type { AdminApi } from "../../transport/admin-api";
import { findAccount } from "./find-account";

const DEFAULT_LIMIT = "50";

type ListOptions = Pick<AccountsQuery, "role" | "state"> & { limit?: string };

export async function list(
  { api, output }: CommandContext,
  text: string | undefined,
  options: ListOptions,
): Promise<void> {
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

/** Shows an account. Of a deleted one, shows the events, and throws. @throws CodedError not_found */
export async function show({ api, output }: CommandContext, idOrEmail: string): Promise<void> {
  const account = await findAccount(api, idOrEmail).catch(async (error: unknown) => {
    const events = await readEvents(api, idOrEmail.trim(), Number(DEFAULT_LIMIT)).catch(() => []);
    if (events.length === 0) throw error;
    output.result(events, [JSON.stringify(events, null, 2)]);
    throw new CodedError("not_found", `The account ${idOrEmail} was deleted. Only its events remain.`);
  });
  const details = await api.call("showAccount", { params: { accountId: account.id } });
  output.result(details, [JSON.stringify(details, null, 2)]);
}

export async function events(
  { api, output }: CommandContext,
  idOrEmail: string,
  options: { limit?: string },
): Promise<void> {
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

export async function exportData(
  { api, output }: CommandContext,
  idOrEmail: string,
  { output: file, reason }: { output?: string; reason?: string },
): Promise<void> {
  const { id, email } = await findAccount(api, idOrEmail);
  const data = await api.call("exportAccountAsOperator", { params: { accountId: id }, query: { reason } });
  const text = JSON.stringify(data, null, 2);
  if (file === undefined) return output.result(data, [text]);
  await writeFile(file, `${text}\n`, { mode: 0o600, flag: "wx" });
  output.result({ id, email, file }, [`${email}: exported to ${file}.`]);
}

async function readEvents(api: AdminApi, id: string, limit: number) {
  return isUuid(id) ? api.list("listAccountEvents", "events", { params: { accountId: id } }, limit) : [];
}
