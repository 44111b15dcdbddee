import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import pLimit from "p-limit";
import { NEVER_REMOVED } from "../../auth/email-verification";
import { addHashes } from "../../auth/passwords/dummy-hash";
import { isImported, toStoredHash } from "../../auth/passwords/imported-hash";
import { totpPurpose } from "../../auth/second-factor/totp";
import { revokeAllSessions } from "../../auth/sessions/sessions";
import { issuerOf } from "../../auth/sign-in-providers/providers";
import type { Context, Tx } from "../../context";
import { AppError, isAppError } from "../../errors";
import type { AuditEventType } from "../../platform/audit/event-types";
import {
  actingOperator,
  actorOn,
  insertOperatorEvent,
  recordOperatorEvent,
} from "../../platform/audit/operator-events";
import { networkOf } from "../../platform/audit/security-events";
import { isTransactionConflict, isUniqueViolation } from "../../platform/database-errors";
import type { Prisma } from "../../platform/db/generated/client";
import { isUuid, NIL_ID, newId } from "../../platform/db/ids";
import { sql, uuidArray } from "../../platform/db/sql";
import { withRetry } from "../../platform/db/transaction";
import { parseJson } from "../../platform/http/body";
import { parseBody } from "../../platform/http/validation";
import { encryptSecret } from "../../platform/keys/stored-secrets";
import { perObject } from "../../platform/per-object";
import type { Operator } from "../../principal";
import { normalizeAppUserIds } from "../../subscriptions/app-user-ids";
import { linkImportedAccounts } from "../../subscriptions/inbox/inbox";
import { toStoredId } from "../../subscriptions/sanitize";
import { accountCreated } from "../../webhooks/events";
import { inviteInTx } from "../invitations";
import { AccountRecord, type ImportQuery, type ImportResult, MAX_RECORDS } from "./schema";

type Deps = Pick<
  Context,
  "billing" | "config" | "db" | "dbNow" | "emails" | "limits" | "log" | "now" | "removeDevices" | "webhooks"
>;

/**
 * A valid record. `id` is the account's if it is new; `passwordHash` is as it is stored; `keys` name what the record claims,
 * each of which one account has.
 */
type Entry = {
  line: number;
  id: string;
  record: AccountRecord;
  passwordHash: string | null;
  /** What billing events may call the account. */
  ids: string[];
  identities: Identity[];
  keys: string[];
};
type Identity = { key: string; provider: string; issuer: string; subject: string };
/** The secret of an authenticator app, encrypted for the account. */
type TotpSecrets = Map<Entry, { accountId: string; secret: string }>;

/** On the embedded database nothing runs beside a statement, so it is short. */
const RECORDS_PER_STATEMENT = { server: 100, embedded: 20 };
/** Imports take turns, and pause before and after each write: other requests, which need several statements, go through. */
const PAUSE_MS = 2;
const turnsOf = perObject((_db: Deps["db"]) => pLimit(1));
const pause = () => delay(PAUSE_MS);
const RECORDS_PER_TURN = 20;

/**
 * Imports accounts of another system: one JSON value a line. Each record that can be imported is, whatever the others are.
 * Sends no email unless told to, starts no session and grants no role. A repetition changes nothing.
 * @throws AppError validation_failed for more than 1,000 records; unauthenticated if the operator may no longer act
 */
export async function importAccounts(
  ctx: Deps,
  operator: Operator,
  body: Uint8Array,
  query: ImportQuery,
): Promise<{ results: ImportResult[] }> {
  const lines = splitLines(body);
  if (lines.length > MAX_RECORDS) {
    const detail = `At most ${MAX_RECORDS} records a request`;
    throw new AppError("validation_failed", { errors: [{ pointer: "", code: "too_big", detail }] });
  }
  const results: ImportResult[] = [];
  const step = query.dryRun ? MAX_RECORDS : RECORDS_PER_STATEMENT[ctx.config.mode];
  for (let i = 0; i < lines.length; i += step) {
    results.push(...(await turnsOf(ctx.db)(() => importLines(ctx, operator, lines.slice(i, i + step), query))));
  }
  if (!query.dryRun) {
    await linkImportedAccounts(ctx, { accountIds: results.flatMap(({ accountId }) => accountId ?? []) });
    if (query.notify) ctx.emails.wake();
  }
  return { results: results.sort((a, b) => a.line - b.line) };
}

async function importLines(ctx: Deps, operator: Operator, lines: Line[], query: ImportQuery): Promise<ImportResult[]> {
  const results: ImportResult[] = [];
  const entries: Entry[] = [];
  for (const [i, { line, bytes }] of lines.entries()) {
    if (i % RECORDS_PER_TURN === 0) await nextTurn();
    try {
      entries.push(toEntry(ctx, line, bytes));
    } catch (error) {
      results.push(refusal(line, error));
    }
  }
  const rounds = toRounds(entries);
  if (query.dryRun) return [...results, ...(await withRetry(() => rehearse(ctx, operator, rounds, query), isConflict))];
  for (const round of rounds)
    results.push(...(await withRetry(() => importRound(ctx, operator, round, query), isConflict)));
  const changed = results.filter(({ status }) => status === "created" || status === "updated");
  const changedLines = new Set(changed.map(({ line }) => line));
  await addHashes(
    ctx,
    entries.flatMap(({ line, passwordHash }) => (passwordHash && changedLines.has(line) ? [passwordHash] : [])),
  );
  return results;
}

type Line = { line: number; bytes: Uint8Array };

/** The lines that are not empty, numbered from 1. */
function splitLines(body: Uint8Array): Line[] {
  const lines: Line[] = [];
  for (let start = 0, line = 1; start < body.length; line++) {
    const newline = body.indexOf(10, start);
    const end = newline < 0 ? body.length : newline;
    const bytes = body.subarray(start, end);
    if (bytes.some((byte) => byte > 32)) lines.push({ line, bytes });
    start = end + 1;
  }
  return lines;
}

/** @throws AppError malformed_json, validation_failed */
function toEntry({ config, now }: Pick<Context, "config" | "now">, line: number, bytes: Uint8Array): Entry {
  const record = parseBody(AccountRecord, parseJson(bytes));
  const passwordHash = record.password ? toStoredHash(record.password, config.PASSWORD_IMPORT_MEMORY * 2 ** 20) : null;
  const { email, createdAt } = record;
  const ids = idsOf(record);
  const identities = record.identities.map(({ provider, subject }) => {
    const issuer = issuerOf(config, provider);
    return { key: identityKey(issuer, subject), provider, issuer, subject };
  });
  return {
    line,
    // A time before 1970 has no such id, and one to come would be before every other account in lists.
    id: newId(createdAt && createdAt.getTime() > 0 && createdAt < now() ? createdAt : undefined),
    record,
    passwordHash,
    ids,
    identities,
    keys: [...(email === undefined ? [] : [`email ${email}`]), ...ids.map(idKey), ...identities.map(({ key }) => key)],
  };
}

/** What billing events may call an account. The inbox has the hashes of emails. */
function idsOf({ externalId, appUserIds }: Pick<AccountRecord, "externalId" | "appUserIds">): string[] {
  const ids = externalId === undefined ? appUserIds : [externalId, ...appUserIds];
  return normalizeAppUserIds([...ids, ...ids.map(toStoredId)]);
}
const idKey = (id: string) => `id ${normalizeAppUserIds([id])[0]}`;
/** An identity whose issuer is not known yet has its provider in place of it. */
const identityKey = (issuer: string, subject: string) => `identity ${issuer} ${subject}`;

function refusal(line: number, error: unknown): ImportResult {
  if (!isAppError(error)) throw error;
  const [field] = error.extras.errors ?? [];
  if (!field) return { line, status: "refused", code: error.code };
  return { line, status: "refused", code: field.code, field: field.pointer, detail: field.detail };
}

/** Records that claim the same go one after the other, so that the later one sees the earlier. */
function toRounds(entries: readonly Entry[]): Entry[][] {
  const rounds: { entries: Entry[]; keys: Set<string> }[] = [];
  for (const entry of entries) {
    const after = rounds.findLastIndex(({ keys }) => entry.keys.some((key) => keys.has(key)));
    const round = rounds[after + 1] ?? { entries: [], keys: new Set<string>() };
    rounds[after + 1] = round;
    round.entries.push(entry);
    for (const key of entry.keys) round.keys.add(key);
  }
  return rounds.map((round) => round.entries);
}

class DryRun extends Error {
  constructor(readonly results: ImportResult[]) {
    super("A dry run is rolled back");
  }
}

class AccountChanged extends Error {}

/** Whether another request has registered, imported or changed an account meanwhile. */
const isConflict = (error: unknown) =>
  isUniqueViolation(error) || isTransactionConflict(error) || error instanceof AccountChanged;

/** Imports records that claim nothing in common. */
async function importRound(ctx: Deps, operator: Operator, entries: Entry[], query: ImportQuery) {
  const { results, added } = await plan(ctx, ctx.db, entries, query);
  if (added.length === 0) return results;
  const isOneStatement = added.every(({ isNew, hasTotp }) => isNew && !hasTotp) && !query.notify;
  if (!isOneStatement) return importInTransaction(ctx, operator, [entries], query);
  if ((await ctx.db.$executeRaw(insertAccounts(ctx, operator, added))) === 0) throw new AppError("unauthenticated");
  await pause();
  return results;
}

/** A dry run is rolled back, so it is one transaction: later rounds see the earlier ones. */
async function rehearse(ctx: Deps, operator: Operator, rounds: Entry[][], query: ImportQuery) {
  return importInTransaction(ctx, operator, rounds, query).catch((error: unknown) => {
    if (error instanceof DryRun) return error.results;
    throw error;
  });
}

async function importInTransaction(ctx: Deps, operator: Operator, rounds: Entry[][], query: ImportQuery) {
  const secrets = await encryptTotpSecrets(ctx, rounds.flat());
  return ctx.db.$transaction(async (tx) => {
    await tx.$executeRaw`SELECT ${LOCK}`;
    const results: ImportResult[] = [];
    for (const entries of rounds) results.push(...(await importInTx(ctx, tx, operator, { entries, secrets, query })));
    if (query.dryRun) throw new DryRun(results);
    return results;
  });
}

/** Imports that claim the same in another order would deadlock. */
const LOCK = sql`pg_advisory_xact_lock(hashtextextended('account import', 0))`;

/** Before the transaction, in which no secret may be encrypted. */
async function encryptTotpSecrets(ctx: Deps, entries: Entry[]): Promise<TotpSecrets> {
  const withTotp = entries.filter(({ record }) => record.totp);
  if (withTotp.length === 0) return new Map();
  const existing = await readExisting(ctx.db, withTotp, ctx.now());
  const secrets = withTotp.map(async (entry) => {
    const accountId = findExisting(entry, existing)?.id ?? entry.id;
    const secret = entry.record.totp?.secret.toUpperCase().replaceAll("=", "") ?? "";
    return [entry, { accountId, secret: await encryptSecret(ctx, totpPurpose(accountId), secret) }] as const;
  });
  return new Map(await Promise.all(secrets));
}

type Round = { entries: Entry[]; secrets: TotpSecrets; query: ImportQuery };

async function importInTx(ctx: Deps, tx: Tx, operator: Operator, { entries, secrets, query }: Round) {
  if (query.onConflict === "update") await lockExisting(tx, entries);
  const { results, added } = await plan(ctx, tx, entries, query);
  await write(ctx, tx, added, secrets);
  await changeAccess(ctx, tx, operator, added);
  if (added.length > 0) await recordOperatorEvent(tx, ctx.now(), operator, importEvent(added));
  if (query.notify && !query.dryRun) await notify(ctx, tx, operator, added);
  return results;
}

/** What becomes of records, by what the database has now. */
async function plan(ctx: Deps, db: Tx, entries: Entry[], query: ImportQuery) {
  const found = await readExisting(db, entries, ctx.now());
  if (db === ctx.db) await pause(); // others wait for the end of a transaction
  const results: ImportResult[] = [];
  const added: Addition[] = [];
  for (const entry of entries) {
    const { line } = entry;
    const existing = findExisting(entry, found);
    const addition = additionOf(ctx, entry, existing);
    const refused = findClaimed(entry, found, existing) ?? refusedConflict(existing, addition, query);
    if (refused) {
      results.push({ line, status: "refused", ...refused });
      continue;
    }
    const status = statusOf(existing, addition, query);
    if (status === "created" || status === "updated") added.push(addition);
    results.push({ line, status, accountId: addition.accountId });
  }
  return { results, added };
}

/**
 * Why an account that exists does not get what a record adds. Whoever registered an email here without verifying it may be
 * somebody else than its owner in the old system, and gets nothing of that owner's. Who may sign in as an operator is decided
 * here alone.
 */
function refusedConflict(existing: Existing | undefined, addition: Addition, { onConflict }: ImportQuery) {
  if (!existing || isEmpty(addition) || onConflict === "skip") return null;
  if (onConflict === "fail") return { code: "email_taken", field: "/email" };
  const isImported = existing.aliases.length > 0 || existing.unverifiedExpiresAt?.getTime() === NEVER_REMOVED.getTime();
  if (existing.emailVerifiedAt === null && !isImported) {
    const detail = "The account was registered here, and its email is not verified";
    return { code: "email_unverified", field: "/email", detail };
  }
  if (existing.role === "user" || accessEvents(addition).length === 0) return null;
  return { code: "operator_account", field: "", detail: "The account is an operator's: its sign-in stays as it is" };
}

/** What of an addition changes who can sign in, as the account's trail has it. */
function accessEvents({ data, identities, hasTotp }: Addition): { type: AuditEventType; provider?: string }[] {
  return [
    ...(data.passwordHash ? [{ type: "password_changed" as const }] : []),
    ...identities.map(({ provider }) => ({ type: "identity_linked" as const, provider })),
    ...(hasTotp ? [{ type: "totp_added" as const }] : []),
    ...(data.disabledAt ? [{ type: "account_disabled" as const }] : []),
  ];
}

function statusOf(existing: Existing | undefined, addition: Addition, { onConflict }: ImportQuery) {
  if (!existing) return "created";
  if (isEmpty(addition)) return "unchanged";
  return onConflict === "skip" ? "skipped" : "updated";
}

/** What a record adds to its account. `data` is of the account's row: all of it if the account is new. */
type Addition = {
  entry: Entry;
  accountId: string;
  isNew: boolean;
  data: Partial<Given>;
  identities: Identity[];
  aliases: string[];
  hasTotp: boolean;
};

const isEmpty = ({ data, identities, aliases, hasTotp }: Addition) =>
  Object.keys(data).length + identities.length + aliases.length === 0 && !hasTotp;

/**
 * A password that was set here, or whose hash a sign-in has replaced, stays, and so do a second factor and a role. Nothing
 * is removed.
 */
function additionOf(ctx: Deps, entry: Entry, existing: Existing | undefined): Addition {
  const { record, passwordHash } = entry;
  const { name, locale, externalId, totp } = record;
  const verifiedAt = record.emailVerified === true ? (record.createdAt ?? ctx.now()) : record.emailVerified || null;
  const given = {
    name: name ?? null,
    locale: locale ?? null,
    externalId: externalId ?? null,
    emailVerifiedAt: verifiedAt,
    disabledAt: record.disabled ? ctx.now() : null,
    passwordHash,
  };
  const identities = new Map(entry.identities.map((identity) => [identity.key, identity]));
  for (const { key, provider, subject } of entry.identities) {
    const isLinked = existing?.identities.some((one) => one === key || one === identityKey(provider, subject));
    if (isLinked) identities.delete(key);
  }
  return {
    entry,
    accountId: existing?.id ?? entry.id,
    isNew: !existing,
    data: existing ? changesOf(existing, given) : given,
    identities: [...identities.values()],
    aliases: entry.ids.filter((id) => !existing?.aliases.includes(id)),
    hasTotp: totp !== undefined && !existing?.hasTotp,
  };
}

type Given = { [Name in "name" | "locale" | "externalId" | "passwordHash"]: string | null } & {
  [Name in "emailVerifiedAt" | "disabledAt"]: Date | null;
};

function changesOf(existing: Existing, given: Given): Partial<Given> {
  const isKept = {
    externalId: existing.externalId !== null, // another one is an alias
    passwordHash: existing.passwordHash !== null && !isImported(existing.passwordHash),
    emailVerifiedAt: existing.emailVerifiedAt !== null,
    disabledAt: existing.disabledAt !== null,
  };
  const changed = Object.entries(given).filter(
    ([name, value]) =>
      value !== null && !isKept[name as keyof typeof isKept] && value !== existing[name as keyof Given],
  );
  return Object.fromEntries(changed);
}

const ROW = sql`id uuid, email text, "emailVerifiedAt" timestamptz, name text, locale text, "externalId" text,
  "passwordHash" text, "disabledAt" timestamptz, "createdAt" timestamptz`;

function rowsOf(added: Addition[], at: Date): string {
  const rows = added.map(({ accountId, entry: { record }, data }) => {
    const { email, createdAt = at } = record;
    return { ...data, id: accountId, email, createdAt };
  });
  return JSON.stringify(rows);
}

/**
 * Inserts accounts in one statement, with its event, or nothing if the operator may no longer act: on the embedded database,
 * others would wait for the end of an open transaction.
 */
function insertAccounts(ctx: Deps, operator: Operator, created: Addition[]): Prisma.Sql {
  const at = ctx.now();
  return sql`
    WITH locked AS MATERIALIZED (SELECT ${LOCK}),
    created AS (${insertRows(at, created, sql`locked, ${actingOperator(operator)},`)} RETURNING id),
    alias AS (${insertAliases(created)} JOIN created ON created.id = "accountId"),
    identity AS (${insertIdentities(created)} JOIN created ON created.id = "accountId")
    ${insertOperatorEvent(at, operator, importEvent(created))}`;
}

function insertRows(at: Date, created: Addition[], after = sql``) {
  return sql`
    INSERT INTO "Account" (id, email, "emailVerifiedAt", name, locale, "externalId", "passwordHash", "disabledAt", "createdAt",
      "updatedAt", "unverifiedExpiresAt")
    SELECT given.*, ${at}::timestamptz, ${NEVER_REMOVED}::timestamptz
    FROM ${after} json_to_recordset(${rowsOf(created, at)}::json) AS given (${ROW})`;
}

function insertAliases(added: Addition[]) {
  const aliases = added.flatMap(({ accountId, aliases }) => aliases.map((appUserId) => ({ appUserId, accountId })));
  return sql`
    INSERT INTO "AccountAlias" ("appUserId", "accountId") SELECT given.*
    FROM json_to_recordset(${JSON.stringify(aliases)}::json) AS given ("appUserId" text, "accountId" uuid)`;
}

function insertIdentities(added: Addition[]) {
  const identities = added.flatMap(({ accountId, identities }) =>
    identities.map((identity) => ({ ...identity, id: newId(), accountId })),
  );
  return sql`
    INSERT INTO "Identity" (id, "accountId", provider, issuer, subject) SELECT given.*
    FROM json_to_recordset(${JSON.stringify(identities)}::json)
      AS given (id uuid, "accountId" uuid, provider text, issuer text, subject text)`;
}

/** One statement a table: Prisma would take longer to write one than PostgreSQL to run it. */
async function write(ctx: Deps, tx: Tx, added: Addition[], secrets: TotpSecrets): Promise<void> {
  const at = ctx.now();
  const [created, updated] = [added.filter(({ isNew }) => isNew), added.filter(({ isNew }) => !isNew)];
  if (created.length > 0) await tx.$executeRaw(insertRows(at, created));
  if (updated.length > 0) {
    await tx.$executeRaw`
      UPDATE "Account" AS account SET "updatedAt" = ${at}::timestamptz, name = COALESCE(given.name, account.name),
        locale = COALESCE(given.locale, account.locale), "externalId" = COALESCE(given."externalId", account."externalId"),
        "emailVerifiedAt" = COALESCE(given."emailVerifiedAt", account."emailVerifiedAt"),
        "disabledAt" = COALESCE(given."disabledAt", account."disabledAt"),
        "passwordHash" = COALESCE(given."passwordHash", account."passwordHash")
      FROM json_to_recordset(${rowsOf(updated, at)}::json) AS given (${ROW}) WHERE account.id = given.id`;
  }
  await tx.$executeRaw(insertAliases(added));
  await tx.$executeRaw(insertIdentities(added));
  const factors = added.flatMap(({ accountId, entry, hasTotp }) => {
    const secret = hasTotp && secrets.get(entry);
    if (secret && secret.accountId !== accountId) throw new AccountChanged();
    return secret ? [{ accountId, sessionId: NIL_ID, secret: secret.secret, createdAt: at, confirmedAt: at }] : [];
  });
  if (factors.length > 0) await tx.totpFactor.createMany({ data: factors });
}

/** Records what changes who can sign in to accounts that exist, and signs those out that are disabled. */
async function changeAccess(ctx: Deps, tx: Tx, operator: Operator, added: Addition[]): Promise<void> {
  const at = ctx.now();
  const { ip, userAgent } = operator.source;
  const updated = added.filter(({ isNew }) => !isNew);
  const events = updated.flatMap((addition) => {
    const { accountId } = addition;
    const of = { accountId, at, actor: actorOn(operator, accountId), network: networkOf(ip), userAgent };
    return accessEvents(addition).map(({ type, ...details }) => ({ id: newId(), type, details, ...of }));
  });
  if (events.length > 0) await tx.auditEvent.createMany({ data: events });
  for (const { accountId, data } of updated) if (data.disabledAt) await revokeAllSessions(ctx, tx, at, accountId);
}

function importEvent(added: Addition[]) {
  const created = added.filter(({ isNew }) => isNew).length;
  const details = { created, updated: added.length - created };
  return { type: "accounts_imported", target: "accounts", details } as const;
}

async function notify(ctx: Deps, tx: Tx, operator: Operator, added: Addition[]): Promise<void> {
  const created = added.filter(({ isNew }) => isNew);
  await ctx.webhooks.record(
    tx,
    created.map(({ accountId }) => accountCreated(accountId)),
  );
  for (const { accountId: id, entry, data, identities } of created) {
    const { email } = entry.record;
    const canSignIn = data.passwordHash !== null || identities.length > 0 || data.disabledAt !== null;
    if (email !== undefined && !canSignIn) await inviteInTx(ctx, tx, operator, { id, email });
  }
}

type Existing = Given & {
  id: string;
  email: string;
  role: string;
  unverifiedExpiresAt: Date | null;
  aliases: string[];
  /** Keys of entries. */
  identities: string[];
  hasTotp: boolean;
};
type Found = {
  /** By email. */
  accounts: Map<string, Existing>;
  /** The account ids by what they have: `keys` of entries. Emails that are reserved have none. */
  owners: Map<string, string | null>;
};

/** So that no sign-in or change of a password comes between the reading of the accounts and their changes. */
async function lockExisting(tx: Tx, entries: Entry[]): Promise<void> {
  await tx.$queryRaw`SELECT FROM "Account" AS account WHERE ${isNamedBy(entries)} ORDER BY id FOR UPDATE`;
}

/**
 * Whether a record names an account: by its email, or by its `externalId` alone. Joins with `unnest` look each value up, where
 * `= ANY` of a small table would compare every row with every value.
 */
function isNamedBy(entries: Entry[]) {
  const emails = entries.flatMap(({ record }) => record.email ?? []);
  const ids = entries.flatMap(({ record, ids }) => (record.email === undefined ? ids : []));
  return sql`account.id = ANY(ARRAY(
    SELECT named.id FROM unnest(${emails}::text[]) AS given JOIN "Account" AS named ON named.email = given
    UNION ALL SELECT "accountId" FROM unnest(${ids}::text[]) AS given JOIN "AccountAlias" ON "appUserId" = given))`;
}

/** The account of a record's email; of its `externalId` if it has no email. */
function findExisting({ record }: Entry, { accounts, owners }: Found): Existing | undefined {
  if (record.email !== undefined) return accounts.get(record.email);
  const owner = record.externalId === undefined ? null : owners.get(idKey(record.externalId));
  return owner ? [...accounts.values()].find(({ id }) => id === owner) : undefined;
}

async function readExisting(db: Tx, entries: Entry[], now: Date): Promise<Found> {
  const accounts = await db.$queryRaw<Existing[]>`
    SELECT id::text, email, role::text, name, locale, "externalId", "passwordHash", "emailVerifiedAt", "disabledAt", "unverifiedExpiresAt",
      ARRAY(SELECT "appUserId" FROM "AccountAlias" WHERE "accountId" = account.id) AS aliases,
      ARRAY(SELECT concat('identity ', COALESCE(issuer, provider), ' ', subject) FROM "Identity"
        WHERE "accountId" = account.id) AS identities,
      EXISTS (SELECT FROM "TotpFactor" WHERE "accountId" = account.id AND "confirmedAt" IS NOT NULL) AS "hasTotp"
    FROM "Account" AS account WHERE ${isNamedBy(entries)}`;
  await nextTurn();
  const owners = await readOwners(db, entries, now);
  return { accounts: new Map(accounts.map((account) => [account.email, account])), owners };
}

async function readOwners(db: Tx, entries: Entry[], now: Date): Promise<Found["owners"]> {
  const emails = entries.flatMap(({ record }) => record.email ?? []);
  const ids = entries.flatMap((entry) => entry.ids);
  const identities = entries.flatMap(({ identities }) => identities);
  const each = (name: keyof Identity) => sql`${identities.map((identity) => identity[name])}::text[]`;
  // Events name an account by its own id, too, and may have said whose customer another id is: with a limit, PostgreSQL would not
  // look that up by the index. Of an identity whose issuer is not known yet, the provider has to be the same.
  const owners = await db.$queryRaw<{ key: string; accountId: string | null }[]>`
    WITH given AS MATERIALIZED (
      SELECT * FROM unnest(${each("key")}, ${each("provider")}, ${each("issuer")}, ${each("subject")})
        AS given (key, provider, issuer, subject))
    SELECT 'id ' || id::text AS key, id::text AS "accountId"
      FROM unnest(${uuidArray(ids.filter(isUuid))}) AS own JOIN "Account" ON id = own
    UNION ALL SELECT 'id ' || own, buyer FROM unnest(${ids}::text[]) AS own CROSS JOIN LATERAL (
      SELECT min("accountId"::text) AS buyer FROM "Purchase" WHERE "appUserIds" @> ARRAY[own]) AS bought WHERE buyer IS NOT NULL
    UNION ALL SELECT 'id ' || own, "accountId"::text FROM unnest(${ids}::text[]) AS own JOIN "AccountAlias" ON "appUserId" = own
    UNION ALL SELECT key, "accountId"::text FROM given JOIN "Identity" USING (issuer, subject)
    UNION ALL SELECT key, "accountId"::text FROM given JOIN "Identity" AS linked USING (provider, subject)
      WHERE linked.issuer IS NULL
    UNION ALL SELECT 'email ' || "oldEmail", NULL FROM unnest(${emails}::text[]) AS email JOIN "EmailChange" ON "oldEmail" = email
      WHERE "undoTokenHash" IS NOT NULL AND "expiresAt" > ${now}::timestamptz`;
  return new Map(owners.map(({ key, accountId }) => [key, accountId]));
}

/** What of a record belongs to another account. */
function findClaimed({ record, identities }: Entry, { owners }: Found, existing: Existing | undefined) {
  const isClaimed = (key: string) => owners.has(key) && owners.get(key) !== existing?.id;
  if (record.email === undefined && !existing) return { code: "required", field: "/email" };
  if (isClaimed(`email ${record.email}`) && !existing) return { code: "email_reserved", field: "/email" };
  const isTaken = (id: string) => idsOf({ appUserIds: [id] }).some((one) => isClaimed(idKey(one)));
  if (record.externalId !== undefined && isTaken(record.externalId)) return { code: "id_taken", field: "/externalId" };
  const id = record.appUserIds.findIndex(isTaken);
  if (id >= 0) return { code: "id_taken", field: `/appUserIds/${id}` };
  const identity = identities.findIndex(({ key }) => isClaimed(key));
  return identity < 0 ? null : { code: "identity_taken", field: `/identities/${identity}` };
}
