import type { Context } from "../../context";
import { batchWrite } from "../../platform/db/batch-write";
import type { PushDevice } from "../../platform/db/generated/client";
import { newId } from "../../platform/db/ids";
import { sql } from "../../platform/db/sql";
import { type Challenge, type Device, toDevice } from "../schema";
import { insertChallenges, NEW_CHALLENGE_COLUMNS, newChallenge, toChallenge } from "./challenges";
import { MAX_DEVICES, type OwnedRegistration, registrationRows } from "./registration";

type Deps = Pick<Context, "db" | "dbNow" | "log">;
type CreatedDevice = { device: Device; challenge: Challenge };

/**
 * Creates a device with its challenge, and the notification with the challenge's nonce. Concurrent calls share one
 * statement. null if the registration needs a transaction of its own: the session has ended or is locked, the account
 * has as many devices as it may have, or it knows the token or the installation.
 */
export const createDevice: (deps: Deps, given: OwnedRegistration) => Promise<CreatedDevice | null> = batchWrite({
  processMany: createDevices,
  processOne: async () => null,
});

async function createDevices(deps: Deps, given: readonly OwnedRegistration[]): Promise<(CreatedDevice | null)[]> {
  // One device of each account, so that `deviceCount` does not have to count those of the same statement.
  const byAccount = new Map(given.map((one) => [one.owner.account.id, one]));
  const added = new Map([...byAccount.values()].map((one) => [one, { id: newId(), ...newChallenge() }]));
  const rows = await insertDevices(
    deps,
    [...added].map(([one, columns]) => ({ ...one, added: columns })),
  );
  return given.map((one) => {
    const columns = added.get(one);
    const row = columns && rows.get(columns.id);
    return row ? { device: toDevice(row, one.owner.session.id), challenge: toChallenge(columns, row.createdAt) } : null;
  });
}

/**
 * Inserts the devices that need no transaction of their own. Returns them by id. Locks the accounts as `lockOwner` does,
 * but waits for none.
 */
async function insertDevices(
  { db, dbNow }: Deps,
  given: readonly (OwnedRegistration & { added: { id: string } })[],
): Promise<Map<string, PushDevice>> {
  const sessionIds = given.map(({ owner }) => owner.session.id);
  const rows = await db.$queryRaw<PushDevice[]>`
    WITH given AS MATERIALIZED (
      SELECT * FROM ${registrationRows(given, sql`, "id" uuid, ${NEW_CHALLENGE_COLUMNS}`)}
    ), owner AS MATERIALIZED (
      SELECT session."id" AS "sessionId", account."id" AS "accountId"
      FROM "Session" AS session JOIN "Account" AS account ON account."id" = session."accountId"
      WHERE session."id" = ANY(${sessionIds}::uuid[]) AND session."revokedAt" IS NULL
      FOR NO KEY UPDATE OF account SKIP LOCKED FOR SHARE OF session SKIP LOCKED
    ), device AS (
      INSERT INTO "PushDevice" ("id", "accountId", "sessionId", "installationId", "environment", "bundleId", "token",
        "name", "model", "osVersion", "appVersion", "locale", "timeZone", "createdAt", "registeredAt", "lastSeenAt")
      SELECT given."id", given."accountId", given."sessionId", given."installationId", given."environment",
        given."bundleId", given."token", given."name", given."model", given."osVersion", given."appVersion",
        given."locale", given."timeZone", ${dbNow()}, ${dbNow()}, ${dbNow()}
      FROM given JOIN owner USING ("sessionId", "accountId")
      WHERE "deviceCount"(owner."accountId") < ${MAX_DEVICES} AND NOT EXISTS (
        SELECT FROM "PushDevice" AS known
        WHERE known."accountId" = given."accountId" AND known."installationId" = given."installationId"
      )
      ON CONFLICT DO NOTHING RETURNING *
    ), challenged AS (
      SELECT given.*, device."id" AS "deviceId" FROM given JOIN device USING ("id")
    ), ${insertChallenges(dbNow())}
    SELECT * FROM device`;
  return new Map(rows.map((row) => [row.id, row]));
}
