import type { Context } from "../../context";
import { AppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import type { Operator } from "../../principal";
import { cancelMessage as cancelDeliveries } from "../outbox/cancel";
import { showMessage } from "./messages/list-messages";
import type { PushMessageDetails } from "./schema";

type Deps = Pick<Context, "db" | "dbNow" | "now">;

/** Cancels the deliveries of a message that are not sent yet. Does nothing if there are none. @throws AppError not_found */
export async function cancelMessage(deps: Deps, operator: Operator, id: string): Promise<PushMessageDetails> {
  const { db, dbNow, now } = deps;
  await db.$transaction(async (tx) => {
    const before = await tx.pushMessage.findUnique({ where: { id }, select: { kind: true, canceledAt: true } });
    const isLeft = before && (await cancelDeliveries(tx, dbNow(), id));
    if (before === null || isLeft === null) throw new AppError("not_found");
    if (!isLeft || before.canceledAt !== null) return;
    const event = { type: "push_canceled", target: `push:${id}`, details: { kind: before.kind } } as const;
    await recordOperatorEvent(tx, now(), operator, event);
  });
  return showMessage(deps, id);
}
