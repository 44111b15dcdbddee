import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { Prisma } from "../../platform/db/generated/client";
import { NIL_ID } from "../../platform/db/ids";
import { sql } from "../../platform/db/sql";
import { BATCH_SIZE, EVERY_DEVICE, type MessageTarget, readCandidates, selectAudience } from "../outbox/recipients";
import { type AudienceEstimateInput, DEFAULT_PER_SECOND, type Estimate, type EstimateQuery } from "./schema";

type Deps = Pick<Context, "config" | "db">;

/** The most devices that are counted. For more, the planner's statistics are exact enough, and do not read the table. */
const MAX_EXACT_DEVICES = 100_000;

/**
 * Returns how many devices an announcement is for, and how long it takes.
 * @throws AppError validation_failed for an app that is not in APNS_BUNDLE_IDS
 */
export async function estimateAnnouncement(
  { config, db }: Deps,
  { bundleId, perSecond = DEFAULT_PER_SECOND }: EstimateQuery,
): Promise<Estimate> {
  const known = config.APNS_BUNDLE_IDS;
  if (bundleId !== undefined && !known.includes(bundleId)) {
    const detail = `${bundleId} is not in APNS_BUNDLE_IDS: ${known.join(", ")}`;
    const errors = [{ pointer: "/to/bundleId", code: "unknown_bundle_id", detail }];
    throw new AppError("validation_failed", { detail, errors });
  }
  const ofApp = bundleId === undefined ? sql`true` : sql`"bundleId" = ${bundleId}`;
  const select = sql`SELECT 1 FROM "PushDevice" WHERE "status" = 'active' AND ${ofApp}`;
  const [counted] = await db.$queryRaw<{ devices: number }[]>`
    SELECT count(*)::int AS "devices" FROM (${select} LIMIT ${MAX_EXACT_DEVICES + 1}) AS device`;
  const count = counted?.devices ?? 0;
  const isExact = count <= MAX_EXACT_DEVICES;
  const devices = isExact ? count : Math.max(await planRows(db, select), MAX_EXACT_DEVICES);
  return { devices, isExact, perSecond, seconds: Math.ceil(devices / perSecond) };
}

const MAX_BATCHES = 20;

type AudienceDeps = Deps & Pick<Context, "entitledAccounts">;

/** Returns how many devices a message to an audience is for, and how long sending it takes. @throws as above */
export async function estimateAudience(
  deps: AudienceDeps,
  { audience, perSecond }: AudienceEstimateInput,
): Promise<Estimate> {
  const { devices, isExact } = await estimateRecipients(deps, { ...EVERY_DEVICE, audience });
  return { devices, isExact, perSecond, seconds: Math.ceil(devices / perSecond) };
}

/** Returns how many devices a message is for. Reads at most 100,000 of them, and estimates the rest. @throws as above */
export async function estimateRecipients(
  deps: AudienceDeps,
  target: MessageTarget,
): Promise<Pick<Estimate, "devices" | "isExact">> {
  const all = await estimateAnnouncement(deps, { bundleId: target.audience?.bundleId });
  let [devices, seen, after] = [0, 0, NIL_ID];
  for (let i = 0; i < MAX_BATCHES; i++) {
    const batch = await readCandidates(deps.db, target, { status: "active", after });
    devices += (await selectAudience(deps, deps.db, batch, target.audience)).length;
    seen += batch.length;
    if (batch.length < BATCH_SIZE) return { devices, isExact: true };
    after = batch.at(-1)?.id ?? after;
  }
  return { devices: Math.round((devices / seen) * all.devices), isExact: false };
}

type Plan = { "QUERY PLAN": { Plan: { "Plan Rows": number } }[] };

/** How many rows the planner expects (PostgreSQL, "EXPLAIN"). */
async function planRows(db: Context["db"], select: Prisma.Sql): Promise<number> {
  const [row] = await db.$queryRaw<Plan[]>`EXPLAIN (FORMAT JSON) ${select}`;
  return row?.["QUERY PLAN"][0]?.Plan["Plan Rows"] ?? 0;
}
