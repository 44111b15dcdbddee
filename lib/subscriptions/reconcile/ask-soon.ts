import type { Context } from "../../context";
import { customersOf } from "./customer-names";
import { reconcileCustomer } from "./customers";

type Deps = Pick<Context, "billing" | "config" | "db" | "dbNow" | "log" | "now">;

/** How long an answer, or none, is left alone. */
const AGAIN_MS = 15 * 60 * 1000;

/**
 * Asks the provider about lines that there is reason to doubt, and about customers who should have one, after whatever
 * the caller has to answer. Does nothing without an API key. Never throws: what cannot be asked now is asked at the next occasion, and by the operator.
 */
export async function askSoon({ billing, ...deps }: Deps, lineIds: string[], customers: string[] = []): Promise<void> {
  if (!billing || lineIds.length + customers.length === 0) return;
  try {
    const { db, now } = deps;
    const at = now();
    const claimed = await db.subscriptionLine.updateManyAndReturn({
      where: { id: { in: lineIds }, OR: [{ askedAt: null }, { askedAt: { lte: new Date(at.getTime() - AGAIN_MS) } }] },
      data: { askedAt: at },
      select: { id: true },
    });
    const owners = await customersOf(
      deps,
      claimed.map(({ id }) => id),
    );
    for (const name of [...customers, ...owners]) await reconcileCustomer({ ...deps, billing }, name);
  } catch (error) {
    deps.log.warn({ err: error }, "the billing provider could not be asked");
  }
}
