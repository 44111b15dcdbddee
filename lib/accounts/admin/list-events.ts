import type { Context } from "../../context";
import { AppError } from "../../errors";
import { type EventPosition, listSecurityEvents } from "../../platform/audit/list-events";
import { isUuid } from "../../platform/db/ids";
import { type PageQuery, readPage } from "../../platform/lists";
import { isStorableTime } from "../../platform/storable";
import type { AccountEvents } from "./schema";

/**
 * A page of an account's security events, newest first, also after the account was deleted.
 * @throws AppError not_found if there is neither the account nor an event of it; invalid_query
 */
export async function listAccountEvents(
  ctx: Pick<Context, "config" | "db">,
  accountId: string,
  page: PageQuery,
): Promise<AccountEvents> {
  const { entries, nextCursor } = await readPage(`events of ${accountId}`, page, async ({ after, take }) => {
    const events = await listSecurityEvents(ctx, accountId, take, toPosition(after));
    return events.map((event) => ({ id: `${event.at.toISOString()} ${event.id}`, event }));
  });
  if (entries.length === 0 && (await ctx.db.account.count({ where: { id: accountId } })) === 0) {
    throw new AppError("not_found");
  }
  return { events: entries.map(({ event }) => event), nextCursor };
}

function toPosition(cursor: string | null): EventPosition | undefined {
  const [time = "", id = ""] = cursor?.split(" ") ?? [];
  const at = new Date(time);
  return isStorableTime(at) && isUuid(id) ? { at, id } : undefined;
}
