import type { Context, Tx } from "../../context";
import { batchLoad } from "../../platform/db/batch-load";
import { batchWrite } from "../../platform/db/batch-write";
import type { Prisma, PushDevice } from "../../platform/db/generated/client";
import { empty, sql } from "../../platform/db/sql";
import { type Device, toDevice } from "../schema";
import { deviceKey, type OwnedRegistration, registrationRows } from "./registration";

type Deps = Pick<Context, "db" | "dbNow" | "log">;

const keyOf = ({ owner, registration }: OwnedRegistration) => deviceKey(owner.account.id, registration);

/** Returns whether the device that registers is active. Concurrent calls share one statement. */
export async function isActiveDevice(db: Tx, given: OwnedRegistration): Promise<boolean> {
  return (await readStatus(db, keyOf(given))) === "active";
}

const readStatus = batchLoad(async (db, keys) => {
  const parts = keys.map((key) => key.split(" "));
  const column = (index: number) => parts.map((part) => part[index]);
  const rows = await db.$queryRaw<{ key: string; status: string }[]>`
    SELECT given."key", device."status"::text
    FROM unnest(${keys}::text[], ${column(0)}::uuid[], ${column(1)}::"PushEnvironment"[], ${column(2)}::text[],
      ${column(3)}::text[]) AS given ("key", "accountId", "environment", "bundleId", "token")
    JOIN "PushDevice" AS device USING ("accountId", "environment", "bundleId", "token")`;
  return new Map(rows.map(({ key, status }) => [key, status]));
});

/**
 * Refreshes an active device that registers with the same token, as nearly every registration does. Concurrent calls share
 * one statement. null if the device is not active or the session has ended.
 */
export async function refreshDevice(deps: Deps, given: OwnedRegistration): Promise<Device | null> {
  const row = await refresh(deps, given);
  return row && toDevice(row, given.owner.session.id);
}

/** A batch leaves out the rows that are locked, so that its other devices do not wait for them. */
const refresh = batchWrite<Deps, OwnedRegistration, PushDevice | null>({
  processMany: async (deps, given) => {
    const rows = await refreshRows(deps, given, sql`SKIP LOCKED`);
    return given.map((one) => rows.get(keyOf(one)) ?? refreshAlone(deps, one));
  },
  processOne: refreshAlone,
});

async function refreshAlone(deps: Deps, given: OwnedRegistration): Promise<PushDevice | null> {
  return (await refreshRows(deps, [given], empty)).get(keyOf(given)) ?? null;
}

/** Returns the refreshed rows by their `deviceKey`. `ifLocked` follows FOR UPDATE. */
async function refreshRows({ db, dbNow }: Deps, given: readonly OwnedRegistration[], ifLocked: Prisma.Sql) {
  const sessionIds = given.map(({ owner }) => owner.session.id);
  const rows = await db.$queryRaw<PushDevice[]>`
    WITH session AS MATERIALIZED (
      SELECT "id" FROM "Session" WHERE "id" = ANY(${sessionIds}::uuid[]) AND "revokedAt" IS NULL
      ORDER BY "id" FOR SHARE ${ifLocked}
    ), given AS MATERIALIZED (
      SELECT device."id", given.* FROM ${registrationRows(given)}
      JOIN session ON session."id" = given."sessionId"
      JOIN "PushDevice" AS device USING ("accountId", "environment", "bundleId", "token")
      WHERE device."status" = 'active'
      ORDER BY device."id" FOR NO KEY UPDATE OF device ${ifLocked}
    )
    UPDATE "PushDevice" AS device
    SET "sessionId" = given."sessionId", "registeredAt" = ${dbNow()}, "lastSeenAt" = ${dbNow()},
      "installationId" = coalesce(given."installationId", device."installationId"),
      "name" = coalesce(given."name", device."name"), "model" = coalesce(given."model", device."model"),
      "osVersion" = coalesce(given."osVersion", device."osVersion"),
      "appVersion" = coalesce(given."appVersion", device."appVersion"),
      "locale" = coalesce(given."locale", device."locale"),
      "timeZone" = coalesce(given."timeZone", device."timeZone")
    FROM given WHERE device."id" = given."id" RETURNING device.*`;
  return new Map(rows.map((row) => [deviceKey(row.accountId, row), row]));
}
