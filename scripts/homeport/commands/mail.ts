import { EmailRetry, EmailsQuery } from "../../../lib/accounts/emails/schema";
import { isUuid } from "../../../lib/platform/db/ids";
import { UsageError } from "../../command-line";
import type { CommandContext, DefineCommandGroup } from "../command";
import { checked, parseLimit } from "../options";

const DEFAULT_LIMIT = "50";

type ListOptions = { state?: string; to?: string; oldest?: boolean; limit: string };

export const defineMail: DefineCommandGroup = (mail) => {
  mail
    .command("list")
    .description("list the emails that are waiting to be sent, newest first, with the reason")
    .option("--state <state>", "queued, sending or retrying")
    .option("--to <email>", "only emails to this recipient")
    .option("--oldest", "oldest first")
    .option("--limit <count>", "maximum number", DEFAULT_LIMIT)
    .run(list);
  mail
    .command("retry [id...]")
    .description("send these emails, or all waiting emails, at once")
    .calls("retryQueuedEmails", {
      input: (ids: string[]) => ({ body: checked(EmailRetry, ids.length > 0 ? { ids } : {}, { ids: "ID" }) }),
      prints: ({ retried }) => `Sending ${retried} ${retried === 1 ? "email" : "emails"} now.`,
    });
  mail.command("remove <id...>").description("remove emails from the queue without sending them").run(remove);
};

async function list({ api, output }: CommandContext, { oldest, limit, ...filter }: ListOptions): Promise<void> {
  const given = { ...filter, order: oldest ? "oldest" : undefined };
  const query = checked(EmailsQuery, given, { state: "--state", to: "--to" });
  const found = await api.list("listQueuedEmails", "messages", { query }, parseLimit(limit));
  output.table(found, "No emails are waiting.", {
    id: "id",
    created: "createdAt",
    state: "state",
    attempts: "attempts",
    "next attempt": "nextAttemptAt",
    kind: "kind",
    to: "to",
    "last error": "lastError",
  });
}

async function remove({ api, output }: CommandContext, ids: string[]): Promise<void> {
  if (!ids.every(isUuid)) throw new UsageError("remove takes the ids of emails, as `list` prints them.");
  for (const emailId of ids) await api.call("removeQueuedEmail", { params: { emailId } });
  const lines = ids.map((id) => `${id} is removed.`);
  output.result({ removed: ids }, lines);
}
