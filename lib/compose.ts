import path from "node:path";
import { withdrawConsent } from "./accounts/consent";
import { accountEmails, EMAIL_TTL_SECONDS } from "./accounts/emails/account-emails";
import { announceDisabledEndpoint } from "./accounts/emails/operator-emails";
import { authentication } from "./auth/authenticate";
import { createOperatorKey } from "./auth/local-operator";
import { createHasher, hasherPoolSize } from "./auth/passwords/hasher";
import { createAppleRevocations } from "./auth/sign-in-providers/apple-revocations";
import type { Context } from "./context";
import { createAppAttestApi } from "./platform/adapters/app-attest-api";
import { createBillingApis } from "./platform/adapters/billing-sources";
import { createBreachLookup } from "./platform/adapters/breach-lookup";
import { allowedNetworks, createMailer, createPushTransport, createWebPush } from "./platform/adapters/create-adapters";
import { createObjectStorage } from "./platform/adapters/s3";
import type { Config } from "./platform/config";
import { databaseNow } from "./platform/db/clock";
import { EmbeddedUnavailableError, hasSpace, openingFailure } from "./platform/db/embedded/failures";
import { openLater } from "./platform/db/embedded/open-later";
import { type Database, openDatabase } from "./platform/db/open";
import { withTransactionCheck } from "./platform/db/transaction";
import { withSecrets } from "./platform/embedded-secrets";
import { isNoSpace } from "./platform/files/no-space";
import { withProxyWarning } from "./platform/http/client-ip";
import { freeIdempotencyKeys } from "./platform/http/idempotency";
import { loadDataKeys, pseudonym, vapidKeys } from "./platform/keys/data-keys";
import { decryptSecret } from "./platform/keys/stored-secrets";
import { createEmailQueue } from "./platform/mail/queue";
import { fetchText } from "./platform/outbound";
import { createRateLimits } from "./platform/rate-limits";
import { warnOfDatabase } from "./platform/startup";
import { createLog } from "./platform/telemetry/log";
import { openTelemetry } from "./platform/telemetry/metrics";
import { removeDevices } from "./push/devices/devices";
import { startWorker } from "./push/worker/worker";
import { type Adoption, createAdoption } from "./releases/adoption/adoption";
import { type Catalog, openCatalog } from "./releases/catalog/catalog";
import { createReleaseMirror, type ReleaseMirror } from "./releases/mirror/mirror";
import { openGuardedCatalog, type Policies } from "./releases/policy/guarded-catalog";
import { createScheduledCatalog, type Rollouts } from "./releases/rollouts/scheduled-catalog";
import { createUpdateReports, type UpdateReports } from "./releases/rollouts/update-report-counts";
import { createReconciler } from "./subscriptions/reconcile/reconciler";
import { createEntitledAccounts } from "./subscriptions/status/read-status";
import { webhookPurpose } from "./webhooks/signature";
import { createWebhooks, type Webhooks } from "./webhooks/webhooks";

/** The parts of domains, which use the Context themselves. */
declare module "./context" {
  interface Context {
    catalog: Catalog;
    /** Counts update checks and downloads. */
    adoption: Adoption;
    /** Counts what clients report about updates. */
    updateReports: UpdateReports;
    /** The policies of products, which `catalog` applies. */
    policies: Policies;
    /** The schedules of rollouts, which `catalog` applies. */
    rollouts: Rollouts;
    /** Announces events to the endpoints of operators. */
    webhooks: Webhooks;
    /** Writes what updaters request to RELEASE_MIRROR. Null: it is not set. */
    mirror: ReleaseMirror | null;
  }
}

/** Parts that tests and scripts pass in. They replace those that the configuration selects. */
export type Overrides = Partial<Pick<Context, "catalog" | "database" | "now" | "dbNow" | "log" | "mailer" | "push">> & {
  /** Lets queries that a transaction would block fail at once. */
  checksTransactions?: boolean;
};

/** The composition root: opens all parts of the service. @throws DataDirInUseError */
export async function composeContext(given: Config, overrides: Overrides = {}): Promise<Context> {
  const log = overrides.log ?? createLog(given.LOG_LEVEL);
  const config = await readConfig(given);
  process.env.NEXTAUTH_URL = config.baseUrl; // next-auth reads it from the environment alone
  const { now = () => new Date(), dbNow = databaseNow } = overrides;
  const database = overrides.database ?? (await open(config, log));
  const db = await openClient({ config, database, dbNow, log }, overrides);
  const deps = { config, db, dbNow, log, now };
  const telemetry = await openTelemetry({ ...deps, database });
  const mailer = overrides.mailer ?? createMailer(config, log);
  const emails = createEmailQueue({ ...deps, mailer }, EMAIL_TTL_SECONDS, accountEmails(deps));
  const base = { ...deps, count: telemetry.count, emails, entitledAccounts: createEntitledAccounts(deps), fetchText };
  const webhooks = openWebhooks(base);
  const releases = await openReleases({ ...base, catalog: overrides.catalog ?? (await openCatalog(config, log)) });
  const billing = createBillingApis(config);
  const appleRevocations = createAppleRevocations(base);
  const reconciler = createReconciler({ ...base, billing, webhooks });
  const hasher = createHasher(hasherPoolSize(config.BCRYPT_COST));
  const push = overrides.push === undefined ? await createPushTransport(config, log) : overrides.push;
  const webPush = createWebPush(config, () => vapidKeys({ config, db }));
  const worker = config.PUSH_WORKER === "inline" ? startWorker({ ...base, push, webPush }) : null;
  return {
    ...base,
    database,
    limits: createRateLimits({ config, db, dbNow, log, now, pseudonymOf: (text) => pseudonym({ config, db }, text) }),
    authentication,
    hasher,
    breaches: createBreachLookup(config, log),
    mailer,
    push,
    webPush,
    wakePush: () => worker?.wake(),
    removeDevices,
    withdrawConsent,
    appAttest: createAppAttestApi(config),
    billing,
    appleRevocations,
    reconciler,
    ...releases.parts,
    webhooks,
    operatorKey: config.mode === "embedded" ? createOperatorKey() : null,
    observe: withProxyWarning({ config, log }, telemetry.observe),
    isDraining: false,
    close: async () => {
      await worker?.stop();
      push?.close();
      const parts = [telemetry, releases, webhooks, emails, appleRevocations, reconciler, mailer, hasher, database];
      for (const part of parts) await part.close();
      log.flush();
    },
  };
}

/** The configuration with its secrets, which a first start writes. */
async function readConfig(given: Config): Promise<Context["config"]> {
  try {
    return await withSecrets(given);
  } catch (error) {
    throw isNoSpace(error) ? openingFailure(path.join(given.DATA_DIR, "db"), error) : error;
  }
}

/**
 * The client of all services. Of the embedded database, which no other process has open, it first frees the leases of a
 * process that was killed, and reads the data keys: a transaction would block that query.
 */
async function openClient(
  { config, database, dbNow, log }: Pick<Context, "config" | "database" | "dbNow" | "log">,
  { checksTransactions = false }: Overrides,
) {
  const db = checksTransactions ? withTransactionCheck(database.client) : database.client;
  if (database.embedded) await freeIdempotencyKeys({ db, dbNow, log });
  if (config.mode === "embedded") await loadDataKeys({ config, db }).catch(() => {}); // `warnAtStart` reads them again
  return db;
}

/** Opens what `npm run worker` needs to send notifications. @throws Error if the settings do not allow it */
export async function composeWorker(given: Config): Promise<Pick<Context, "log" | "close">> {
  if (given.mode === "embedded")
    throw new Error("DATABASE_URL is not set: with the embedded database the service itself sends notifications.");
  const log = createLog(given.LOG_LEVEL);
  const config = await withSecrets(given);
  const push = await createPushTransport(config, log);
  if (!push) log.warn("APNS_KEY, APNS_KEY_ID and APNS_TEAM_ID are not set: only browsers get notifications");
  const database = await open(config, log);
  const deps = { config, db: database.client, dbNow: databaseNow, log };
  const now = () => new Date();
  const telemetry = await openTelemetry({ ...deps, database, now });
  void warnOfDatabase({ database, log });
  const entitledAccounts = createEntitledAccounts({ config, now });
  const webPush = createWebPush(config, () => vapidKeys(deps));
  const worker = startWorker({ ...deps, count: telemetry.count, entitledAccounts, now, push, webPush });
  return {
    log,
    close: async () => {
      await worker.stop();
      push?.close();
      await telemetry.close();
      await database.close();
      log.flush();
    },
  };
}

type ReleaseDeps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "log" | "now">;

async function openReleases({ config, db, log, now, ...deps }: ReleaseDeps) {
  const { catalog, policies } = await openGuardedCatalog({ ...deps, config, db, log });
  const scheduled = createScheduledCatalog({ catalog, db, log, now });
  const adoption = createAdoption({ db, isOn: config.RELEASE_ADOPTION === "on", log, now, secrets: config.secrets });
  const updateReports = createUpdateReports({ db, log, now });
  const storage = createObjectStorage(config, now);
  const served = { ...deps, ...scheduled, config, db, log, now, policies, storage };
  const mirror = createReleaseMirror({ ...served, allowed: allowedNetworks(config) });
  const close = async () => {
    scheduled.catalog.close();
    await Promise.all([adoption.close(), updateReports.close(), mirror?.close()]);
  };
  return { parts: { ...scheduled, policies, adoption, updateReports, storage, mirror }, close };
}

type WebhookDeps = Pick<Context, "config" | "db" | "dbNow" | "emails" | "log" | "now">;

function openWebhooks({ config, db, dbNow, emails, log, now }: WebhookDeps) {
  return createWebhooks({
    allowed: allowedNetworks(config),
    db,
    dbNow,
    log,
    userAgent: `Homeport/${config.build.version}`,
    decrypt: (endpointId, stored) => decryptSecret({ config, db }, webhookPurpose(endpointId), stored),
    onDisabled: (tx, endpoint) => announceDisabledEndpoint({ config, emails, now }, tx, endpoint),
  });
}

/** Opens the database. What needs none is served without an embedded database that cannot be opened. */
async function open(config: Config, log: Context["log"]): Promise<Database> {
  const openOnce = () => openDatabase(config, hooksOf(config, log));
  try {
    return await openOnce();
  } catch (error) {
    if (!(error instanceof EmbeddedUnavailableError)) throw error;
    const log503 = (cause: Error) =>
      log.error(
        { err: cause.cause },
        `${cause.message} Until then updates and downloads are served, and all else is 503.`,
      );
    log503(error);
    return openLater(error, {
      open: openOnce,
      hasSpace: () => hasSpace(config.DATA_DIR),
      onOpen: () => log.info("the disk has free space again: the embedded database is open"),
      onFailure: (cause) => log503(cause as Error),
    });
  }
}

function hooksOf({ DATA_DIR: folder }: Config, log: Context["log"]): Parameters<typeof openDatabase>[1] {
  return {
    onConnectionError: (error) => log.warn({ err: error }, "a database connection was lost"),
    onFatal: (error) => {
      log.fatal({ err: error }, "the embedded database has failed: stopping, the next start recovers it");
      log.flush();
      process.exit(1);
    },
    onStorage: (isFull, freeBytes) => {
      if (isFull) log.error({ folder, freeBytes }, "the disk is almost full: writes are refused until space is free");
      else log.info({ folder, freeBytes }, "the disk has free space again: writes are accepted");
    },
  };
}
