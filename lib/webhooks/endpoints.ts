import type { Context, Tx } from "../context";
import { AppError } from "../errors";
import { recordOperatorEvent } from "../platform/audit/operator-events";
import type { WebhookEndpoint as Row } from "../platform/db/generated/client";
import { newId } from "../platform/db/ids";
import { encryptSecret } from "../platform/keys/stored-secrets";
import { type Precondition, stateOf } from "../platform/precondition";
import type { Operator } from "../principal";
import type { ChangedEndpoint, Endpoint, Endpoints, EndpointWithSecret, NewEndpoint } from "./schema";
import { newWebhookSecret, webhookPurpose } from "./signature";

type Deps = Pick<Context, "config" | "db" | "now" | "webhooks">;

const MAX_ENDPOINTS = 50;
/** How long deliveries are also signed with the previous secret. */
const ROTATION_MS = 24 * 60 * 60 * 1000;

/** All endpoints, newest first. */
export async function listEndpoints({ db }: Pick<Deps, "db">): Promise<Endpoints> {
  return { endpoints: (await db.webhookEndpoint.findMany({ orderBy: { id: "desc" } })).map(describe) };
}

/** @throws AppError not_found */
export async function findEndpoint({ db }: Pick<Deps, "db">, id: string): Promise<Endpoint> {
  const row = await db.webhookEndpoint.findUnique({ where: { id } });
  if (!row) throw new AppError("not_found");
  return describe(row);
}

/** Creates an endpoint. Only this result has its secret. @throws AppError validation_failed, webhook_limit_reached */
export async function createEndpoint(
  deps: Deps,
  operator: Operator,
  { url, eventTypes, description = null }: NewEndpoint,
): Promise<EndpointWithSecret> {
  deps.webhooks.checkUrl(url);
  const { db } = deps;
  const id = newId();
  const plain = newWebhookSecret();
  const secret = await encryptSecret(deps, webhookPurpose(id), plain);
  const row = await db.$transaction(async (tx) => {
    if ((await tx.webhookEndpoint.count()) >= MAX_ENDPOINTS) throw new AppError("webhook_limit_reached");
    const details = { url, eventTypes, description };
    await recordOperatorEvent(tx, deps.now(), operator, { type: "webhook_created", target: `webhook:${id}`, details });
    const data = { id, url, eventTypes, description, secret, createdAt: deps.now() };
    return tx.webhookEndpoint.create({ data });
  });
  await deps.webhooks.refresh();
  return { ...describe(row), secret: plain };
}

/** Identifies what an operator can change of an endpoint, for a precondition. */
export function endpointState({ url, eventTypes, description, disabledAt }: Omit<Endpoint, "status">): string {
  return stateOf([url, [...eventTypes].sort(), description, disabledAt === null]);
}

/**
 * Changes an endpoint. Enabling it makes its waiting deliveries due.
 * @throws AppError not_found, validation_failed, precondition_failed
 */
export async function changeEndpoint(
  deps: Deps,
  operator: Operator,
  id: string,
  { enabled, ...fields }: ChangedEndpoint,
  precondition?: Precondition,
): Promise<Endpoint> {
  if (fields.url !== undefined) deps.webhooks.checkUrl(fields.url);
  const at = deps.now();
  const changed = await deps.db.$transaction(async (tx) => {
    const before = await lockEndpoint(tx, id);
    precondition?.check(endpointState(describe(before)));
    const isToggled = enabled !== undefined && enabled !== (before.disabledAt === null);
    const toggled = enabled
      ? { disabledAt: null, disabledReason: null, failingSince: null }
      : { disabledAt: at, disabledReason: "operator" };
    const data = { ...fields, ...(isToggled ? toggled : {}) };
    const after = await tx.webhookEndpoint.update({ where: { id }, data });
    const details = { from: auditPart(before), to: auditPart(after) };
    await recordOperatorEvent(tx, at, operator, { type: "webhook_changed", target: `webhook:${id}`, details });
    return after;
  });
  await deps.webhooks.refresh();
  deps.webhooks.wake();
  return describe(changed);
}

/** Deletes an endpoint with its deliveries. @throws AppError not_found */
export async function deleteEndpoint(deps: Deps, operator: Operator, id: string): Promise<void> {
  await deps.db.$transaction(async (tx) => {
    const row = await tx.webhookEndpoint.findUnique({ where: { id } });
    const { count } = await tx.webhookEndpoint.deleteMany({ where: { id } });
    if (!row || count === 0) throw new AppError("not_found");
    const event = { type: "webhook_deleted", target: `webhook:${id}`, details: auditPart(row) } as const;
    await recordOperatorEvent(tx, deps.now(), operator, event);
  });
  await deps.webhooks.refresh();
}

/**
 * Replaces an endpoint's secret. For a day deliveries are signed with both. Only this result has the new one.
 * @throws AppError not_found
 */
export async function rotateSecret(deps: Deps, operator: Operator, id: string): Promise<EndpointWithSecret> {
  const plain = newWebhookSecret();
  const secret = await encryptSecret(deps, webhookPurpose(id), plain);
  const at = deps.now();
  const previousSecretExpiresAt = new Date(at.getTime() + ROTATION_MS);
  const row = await deps.db.$transaction(async (tx) => {
    const { secret: previousSecret } = await lockEndpoint(tx, id);
    await recordOperatorEvent(tx, at, operator, { type: "webhook_secret_rotated", target: `webhook:${id}` });
    const data = { secret, previousSecret, previousSecretExpiresAt };
    return tx.webhookEndpoint.update({ where: { id }, data });
  });
  return { ...describe(row), secret: plain };
}

async function lockEndpoint(tx: Tx, id: string): Promise<Row> {
  await tx.$queryRaw`SELECT FROM "WebhookEndpoint" WHERE "id" = ${id}::uuid FOR NO KEY UPDATE`;
  const row = await tx.webhookEndpoint.findUnique({ where: { id } });
  if (!row) throw new AppError("not_found");
  return row;
}

function auditPart({ url, eventTypes, description, disabledAt }: Row) {
  return { url, eventTypes, description, enabled: disabledAt === null };
}

function describe({ secret: _, previousSecret: __, ...row }: Row): Endpoint {
  const disabledReason = row.disabledReason as Endpoint["disabledReason"];
  const enabled = row.failingSince === null ? "enabled" : "failing";
  return { ...row, disabledReason, status: row.disabledAt === null ? enabled : "disabled" };
}
