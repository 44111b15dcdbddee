import type { Prisma, PushDevice } from "../../platform/db/generated/client";
import { empty, sql } from "../../platform/db/sql";
import type { Owner } from "../owner";
import type { Registration } from "./plan";

/** A registration and the account and session that it belongs to. */
export type OwnedRegistration = { owner: Owner; registration: Registration };

/** Identifies a device: an account has one row for what APNs delivers to. */
export function deviceKey(
  accountId: string,
  { environment, bundleId, token }: Pick<PushDevice, "environment" | "bundleId" | "token">,
): string {
  return `${accountId} ${environment} ${bundleId} ${token}`;
}

/** The columns of a registration. Fields that it omits are undefined. */
export function columnsOf({ token, environment, bundleId, installationId, device }: Registration) {
  return { token, environment, bundleId, installationId, ...device };
}

/**
 * Returns registrations as SQL: a relation of one statement for many. Each row has the columns of its registration, its
 * owner's ids, and those that `added` declares.
 */
export function registrationRows(
  rows: readonly (OwnedRegistration & { added?: Record<string, unknown> })[],
  added: Prisma.Sql = empty,
): Prisma.Sql {
  const values = rows.map(({ owner: { account, session }, registration, added }) => {
    return { ...columnsOf(registration), accountId: account.id, sessionId: session.id, ...added };
  });
  return sql`json_to_recordset(${JSON.stringify(values)}::json) AS given ("accountId" uuid, "sessionId" uuid,
    "installationId" uuid, "environment" "PushEnvironment", "bundleId" text, "token" text, "name" text, "model" text,
    "osVersion" text, "appVersion" text, "locale" text, "timeZone" text ${added})`;
}
