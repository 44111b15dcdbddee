import type { Client } from "pg";

export type ConsolePage = { name: string; path: string };

/** One row of each list that the pages show. */
type Chosen = {
  account: string;
  appUserId: string;
  event: string;
  failedEvent: string;
  purchase: string;
  message: string;
};

/** Of the catalog that every workload has. */
const PRODUCT = "core";
const VERSION = "1.2499.0";

/** Every page of the console that reads the database, and the searches and filters of its lists. */
export async function listPages(database: Client): Promise<ConsolePage[]> {
  const { account, appUserId, event, failedEvent, purchase, message } = await chooseRows(database);
  return [
    ["overview", ""],
    ["accounts", "/accounts"],
    ["accounts by email", "/accounts?query=ada.n"],
    ["accounts by name", "/accounts?query=Nakamura"],
    ["accounts by name, disabled", "/accounts?query=Nakamura&state=disabled"],
    ["accounts by id", `/accounts?query=${account}`],
    ["accounts by App User ID", `/accounts?${new URLSearchParams({ query: appUserId })}`],
    ["accounts that are disabled", "/accounts?state=disabled"],
    ["accounts that are operators", "/accounts?role=admin"],
    ["one account", `/accounts/${account}`],
    ["billing inbox", "/billing"],
    ["billing inbox, failed", "/billing?state=failed"],
    ["billing inbox, by type", "/billing?type=EXPIRATION"],
    ["billing inbox, of an account", `/billing?account=${account}`],
    ["billing inbox, without an account", "/billing?unlinked=true"],
    ["one billing event", `/billing/events/${event}`],
    ["one failed billing event", `/billing/events/${failedEvent}`],
    ["one purchase", `/billing/purchases/${purchase}`],
    ["releases", "/releases"],
    ["one release", `/releases/${PRODUCT}/stable/${VERSION}`],
    ["push", "/push"],
    ["push, 30 days", "/push?period=month"],
    ["one message", `/push/messages/${message}`],
    ["deliveries", "/push/deliveries"],
    ["deliveries, failed", "/push/deliveries?state=failed"],
    ["deliveries, by reason", "/push/deliveries?reason=BadDeviceToken"],
    ["deliveries, to an account", `/push/deliveries?account=${account}`],
    ["announcement, estimated", "/push/announce?version=2.0.0"],
    ["mail queue", "/push/mail"],
    ["configuration", "/settings"],
    ["API keys", "/settings/keys"],
    ["operators", "/settings/operators"],
    ["audit trail", "/settings/audit"],
    ["audit trail, by type", "/settings/audit?type=registered"],
    ["audit trail, of an account", `/settings/audit?account=${account}`],
  ].map(([name = "", path = ""]) => ({ name, path: `/console${path}` }));
}

async function chooseRows(database: Client): Promise<Chosen> {
  const { rows } = await database.query<Chosen>(`
    SELECT purchase."accountId" AS "account", purchase."id" AS "purchase",
      (SELECT one FROM unnest(purchase."appUserIds") AS one WHERE one <> purchase."accountId"::text LIMIT 1) AS "appUserId",
      (SELECT "id" FROM "BillingEvent" WHERE "purchaseId" = purchase."id" ORDER BY "occurredAt" DESC LIMIT 1) AS "event",
      (SELECT "id" FROM "BillingEvent" WHERE "state" = 'failed' ORDER BY "receivedAt" DESC LIMIT 1) AS "failedEvent",
      (SELECT "id" FROM "PushMessage" ORDER BY "id" LIMIT 1) AS "message"
    FROM "Purchase" AS purchase WHERE purchase."accountId" IS NOT NULL ORDER BY purchase."id" OFFSET 10 LIMIT 1`);
  if (!rows[0]) throw new Error("The database is not seeded");
  return rows[0];
}
