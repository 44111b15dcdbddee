import { EmailRetry, EmailsQuery, type QueuedEmail } from "../../../lib/accounts/emails/schema";
import { isUuid } from "../../../lib/platform/db/ids";
import { UsageError } from "../../command-line";
import type { CommandContext, DefineCommandGroup } from "../command";
import { parseLimit, parseWith } from "../options";
import type { Json } from "../transport/admin-api";

const MAIL = "/api/admin/mail";
const DEFAULT_LIMIT = "50";

type ListOptions = { state?: string; to?: string; oldest?: boolean; limit: string };

/** `homeport mail` */
export const defineMail: DefineCommandGroup = (mail) => {
  mail
    .command("list")
    .description("list the emails that are waiting to be sent, newest first, with the reason")
    .option("--state <state>", "queued, sending or retrying")
    .option("--to <email>", "only emails to this recipient")
    .option("--oldest", "oldest first")
    .option("--limit <count>", "maximum number", DEFAULT_LIMIT)
    .run(list);
  mail.command("retry [id...]").description("send these emails, or all waiting emails, at once").run(retry);
  mail.command("remove <id...>").description("remove emails from the queue without sending them").run(remove);
};

async function list({ api, output }: CommandContext, { oldest, limit, ...filter }: ListOptions): Promise<void> {
  const query = { ...filter, order: oldest ? "oldest" : undefined };
  parseWith(EmailsQuery, query, { state: "--state", to: "--to" });
  const found = await api.list<Json<QueuedEmail>>(`${MAIL}/messages`, "messages", query, parseLimit(limit));
  if (found.length === 0) output.note("No emails are waiting.");
  output.table(found, {
    id: ({ id }) => id,
    created: ({ createdAt }) => createdAt,
    state: ({ state }) => state,
    attempts: ({ attempts }) => attempts,
    "next attempt": ({ nextAttemptAt }) => nextAttemptAt,
    kind: ({ kind }) => kind,
    to: ({ to }) => to,
    "last error": ({ lastError }) => lastError,
  });
}

async function retry({ api, output }: CommandContext, ids: string[]): Promise<void> {
  const input = ids.length > 0 ? { ids } : {};
  parseWith(EmailRetry, input, { ids: "ID" });
  const result = await api.request<{ retried: number }>("POST", `${MAIL}/retries`, input);
  output.result(result, [`Sending ${result.retried} ${result.retried === 1 ? "email" : "emails"} now.`]);
}

async function remove({ api, output }: CommandContext, ids: string[]): Promise<void> {
  if (!ids.every(isUuid)) throw new UsageError("remove takes the ids of emails, as `list` prints them.");
  for (const id of ids) await api.request("DELETE", `${MAIL}/messages/${id}`);
  output.result(
    { removed: ids },
    ids.map((id) => `${id} is removed.`),
  );
}
