import type { Context } from "../../context";
import { recordAccountChange } from "../../platform/audit/operator-events";
import type { Operator } from "../../principal";
import { readExport } from "../export-account";
import { lockAccount } from "./change-account";
import type { WithReason } from "./schema";

/** Exports all data of an account for its owner, as the owner can. @throws AppError not_found */
export async function exportAccount(
  ctx: Pick<Context, "config" | "db" | "now">,
  operator: Operator,
  id: string,
  { reason }: WithReason = {},
) {
  const exportedAt = ctx.now();
  await ctx.db.$transaction(async (tx) => {
    await lockAccount(tx, id);
    await recordAccountChange(tx, exportedAt, operator, id, { type: "exported", reason });
  });
  return readExport(ctx, id, exportedAt);
}
