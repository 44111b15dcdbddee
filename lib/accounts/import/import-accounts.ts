import { NEVER_REMOVED } from "../../auth/email-verification";
import { addHashes } from "../../auth/passwords/dummy-hash";
import { isImported, toStoredHash } from "../../auth/passwords/imported-hash";
import { totpPurpose } from "../../auth/second-factor/totp";
import { issuerOf } from "../../auth/sign-in-providers/providers";
import type { Context, Tx } from "../../context";
import { AppError, isAppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { isTransactionConflict, isUniqueViolation } from "../../platform/database-errors";
import type { Prisma } from "../../platform/db/generated/client";
import { isUuid, NIL_ID, newId } from "../../platform/db/ids";
import { uuidArray } from "../../platform/db/sql";
import { parseJson } from "../../platform/http/body";
import { parseBody } from "../../platform/http/validation";
import { encryptSecret } from "../../platform/keys/stored-secrets";
import type { Operator } from "../../principal";
import { normalizeAppUserIds } from "../../subscriptions/app-user-ids";
import { linkImportedAccounts } from "../../subscriptions/inbox/inbox";
import { accountCreated } from "../../webhooks/events";
import { AccountRecord, type ImportQuery, type ImportResult, MAX_RECORDS } from "./schema";

type Deps = Pick<Context, "billing" | "config" | "db" | "dbNow" | "limits" | "log" | "now" | "webhooks">;

/**
 * A valid record. `id` is the account's if it is new; `passwordHash` is as it is stored; `keys` name what the record claims,
 * each of which one account has.
 */
type Entry = { line: number; id: string; record: AccountRecord; passwordHash: string | null; keys: string[] };
/** The secret of an authenticator app, encrypted for the account. */
type TotpSecrets = Map<Entry, { accountId: string; secret: string }>;

const MAX_ATTEMPTS = 5;

/**
 * Imports accounts of another system: one JSON value a line. Each record that can be imported is, whatever the others are.
 * Sends no email, starts no session and grants no role. A repetition changes nothing.
 * @throws AppError validation_failed for more than 1,000 records
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
  const entries: Entry[] = [];
  for (const { line, bytes } of lines) {
    try {
      entries.push(toEntry(ctx, line, bytes));
    } catch (error) {
      results.push(refusal(line, error));
    }
  }
  const rounds = toRounds(entries);
  // A dry run is rolled back, so it is one transaction: later rounds see the earlier ones.
  for (const together of query.dryRun ? [rounds] : rounds.map((round) => [round]))
    results.push(...(await importRounds(ctx, operator, together, query)));
  if (!query.dryRun) {
    const changed = results.filter(({ status }) => status === "created" || status === "updated");
    const lines = new Set(changed.map(({ line }) => line));
    const hashes = entries.flatMap(({ line, passwordHash }) => (passwordHash && lines.has(line) ? [passwordHash] : []));
    await addHashes(ctx, hashes);
    await linkImportedAccounts(ctx, { accountIds: results.flatMap(({ accountId }) => accountId ?? []) });
  }
  return { results: results.sort((a, b) => a.line - b.line) };
}

/** The lines that are not empty, numbered from 1. */
function splitLines(body: Uint8Array): { line: number; bytes: Uint8Array }[] {
  const lines: { line: number; bytes: Uint8Array }[] = [];
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
function toEntry({ config }: Pick<Context, "config">, line: number, bytes: Uint8Array): Entry {
  const record = parseBody(AccountRecord, parseJson(bytes));
  const passwordHash = record.password ? toStoredHash(record.password, config.PASSWORD_IMPORT_MEMORY * 2 ** 20) : null;
  const { email, createdAt } = record;
  const ids = idsOf(record).map(idKey);
  const identities = record.identities.map(({ provider, subject }) => `identity ${provider} ${subject}`);
  return {
    line,
    // A time before 1970 has no such id.
    id: newId(createdAt && createdAt.getTime() > 0 ? createdAt : undefined),
    record,
    passwordHash,
    keys: [...(email === undefined ? [] : [`email ${email}`]), ...ids, ...identities],
  };
}

/** What billing events may call the account. */
const idsOf = ({ externalId, appUserIds }: AccountRecord) =>
  normalizeAppUserIds(externalId === undefined ? appUserIds : [externalId, ...appUserIds]);
const idKey = (id: string) => `id ${normalizeAppUserIds([id])[0]}`;

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

/** Somebody has registered, or another import has created, an account meanwhile. */
class AccountChanged extends Error {}

/** Imports rounds in one transaction; again if it lost a conflict with another one. */
async function importRounds(ctx: Deps, operator: Operator, rounds: Entry[][], query: ImportQuery) {
  for (let attempt = 1; ; attempt++) {
    const secrets = await encryptTotpSecrets(ctx, rounds.flat());
    try {
      return await ctx.db.$transaction(async (tx) => {
        const results: ImportResult[] = [];
        for (const entries of rounds)
          results.push(...(await importInTx(ctx, tx, operator, { entries, secrets, query })));
        if (query.dryRun) throw new DryRun(results);
        return results;
      });
    } catch (error) {
      if (error instanceof DryRun) return error.results;
      const isConflict = isUniqueViolation(error) || isTransactionConflict(error) || error instanceof AccountChanged;
      if (!isConflict || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Before the transaction, in which no secret may be encrypted. */
async function encryptTotpSecrets(ctx: Deps, entries: Entry[]): Promise<TotpSecrets> {
  const withTotp = entries.filter(({ record }) => record.totp);
  if (withTotp.length === 0) return new Map();
  const { accounts, owners } = await readExisting(ctx, ctx.db, withTotp);
  const secrets = withTotp.map(async (entry) => {
    const accountId = findExisting(entry, { accounts, owners })?.id ?? entry.id;
    const secret = entry.record.totp?.secret.toUpperCase().replace(/=+$/, "") ?? "";
    return [entry, { accountId, secret: await encryptSecret(ctx, totpPurpose(accountId), secret) }] as const;
  });
  return new Map(await Promise.all(secrets));
}

type Round = { entries: Entry[]; secrets: TotpSecrets; query: ImportQuery };

async function importInTx(ctx: Deps, tx: Tx, operator: Operator, { entries, secrets, query }: Round) {
  if (query.onConflict === "update") await lockExisting(tx, entries);
  const found = await readExisting(ctx, tx, entries);
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
  await write(ctx, tx, added, secrets);
  await announce(ctx, tx, operator, results, query);
  return results;
}

/**
 * Why an account that exists does not get what a record adds. Whoever registered an email here without verifying it may be
 * somebody else than its owner in the old system: they get neither the owner's purchases nor a verified email.
 */
function refusedConflict(existing: Existing | undefined, addition: Addition, { onConflict }: ImportQuery) {
  if (!existing || isEmpty(addition) || onConflict === "skip") return null;
  if (onConflict === "fail") return { code: "email_taken", field: "/email" };
  const { data, identities, aliases } = addition;
  const isOwners = data.emailVerifiedAt !== undefined || identities.length + aliases.length > 0;
  const isUnverified =
    existing.emailVerifiedAt === null && existing.unverifiedExpiresAt?.getTime() !== NEVER_REMOVED.getTime();
  const detail = "The account was registered here, and its email is not verified";
  return isOwners && isUnverified ? { code: "email_unverified", field: "/email", detail } : null;
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
  data: Prisma.AccountUncheckedUpdateInput;
  identities: AccountRecord["identities"];
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
  const isNamed = (identity: Identity) => existing?.identities.some((linked) => isSame(ctx, linked, identity));
  const isRepeated = ({ provider, subject }: Identity, index: number) =>
    record.identities.findIndex((one) => one.provider === provider && one.subject === subject) < index;
  return {
    entry,
    accountId: existing?.id ?? entry.id,
    isNew: !existing,
    data: existing ? changesOf(existing, given) : given,
    identities: record.identities.filter((identity, index) => !isNamed(identity) && !isRepeated(identity, index)),
    aliases: idsOf(record).filter((id) => !existing?.aliases.some(({ appUserId }) => appUserId === id)),
    hasTotp: totp !== undefined && !existing?.totpFactors.length,
  };
}

type Identity = AccountRecord["identities"][number];

/** Whether a linked identity is one of a record. Its issuer may not be known yet. */
const isSame = (
  { config }: Pick<Deps, "config">,
  linked: { provider: string; issuer: string | null; subject: string },
  { provider, subject }: Identity,
) =>
  linked.subject === subject &&
  (linked.issuer === null ? linked.provider === provider : linked.issuer === issuerOf(config, provider));

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

async function write(ctx: Deps, tx: Tx, added: Addition[], secrets: TotpSecrets): Promise<void> {
  const at = ctx.now();
  await tx.account.createMany({
    data: added.flatMap(({ isNew, entry: { id, record }, data }) => {
      const { email, createdAt = at } = record;
      if (!isNew || email === undefined) return [];
      return [{ ...(data as Given), id, email, createdAt, unverifiedExpiresAt: NEVER_REMOVED }];
    }),
  });
  for (const { accountId, isNew, data } of added) {
    if (!isNew && Object.keys(data).length > 0) await tx.account.update({ where: { id: accountId }, data });
  }
  const aliases = added.flatMap(({ accountId, aliases }) => aliases.map((appUserId) => ({ appUserId, accountId })));
  const identities = added.flatMap(({ accountId, identities }) =>
    identities.map(({ provider, subject }) => ({
      accountId,
      provider,
      subject,
      issuer: issuerOf(ctx.config, provider),
    })),
  );
  const factors = added.flatMap(({ accountId, entry, hasTotp }) => {
    const secret = hasTotp && secrets.get(entry);
    if (secret && secret.accountId !== accountId) throw new AccountChanged();
    return secret ? [{ accountId, sessionId: NIL_ID, secret: secret.secret, createdAt: at, confirmedAt: at }] : [];
  });
  if (aliases.length > 0) await tx.accountAlias.createMany({ data: aliases });
  if (identities.length > 0) await tx.identity.createMany({ data: identities });
  if (factors.length > 0) await tx.totpFactor.createMany({ data: factors });
}

async function announce(ctx: Deps, tx: Tx, operator: Operator, results: ImportResult[], { notify }: ImportQuery) {
  const idsWith = (status: ImportResult["status"]) =>
    results.flatMap((result) => (result.status === status && result.accountId ? [result.accountId] : []));
  const [created, updated] = [idsWith("created"), idsWith("updated")];
  if (created.length + updated.length === 0) return;
  const details = { created: created.length, updated: updated.length };
  await recordOperatorEvent(tx, ctx.now(), operator, { type: "accounts_imported", target: "accounts", details });
  if (notify) await ctx.webhooks.record(tx, created.map(accountCreated));
}

type Existing = Prisma.AccountGetPayload<{ include: { aliases: true; identities: true; totpFactors: true } }>;
type Found = {
  /** By email. */
  accounts: Map<string, Existing>;
  /** The account ids by what they have: `keys` of entries. Emails that are reserved have none. */
  owners: Map<string, string | null>;
};

/** So that no sign-in or change of a password comes between the reading of the accounts and their changes. */
async function lockExisting(tx: Tx, entries: Entry[]): Promise<void> {
  const emails = entries.flatMap(({ record }) => record.email ?? []);
  const aliases = await findAliases(tx, entries);
  await tx.$queryRaw`
    SELECT FROM "Account" WHERE "email" = ANY(${emails}) OR "id" = ANY(${uuidArray(aliases.map(({ accountId }) => accountId))})
    ORDER BY "id" FOR UPDATE`;
}

const findAliases = (db: Tx, entries: Entry[]) =>
  db.accountAlias.findMany({ where: { appUserId: { in: entries.flatMap(({ record }) => idsOf(record)) } } });

/** The account of a record's email; of its `externalId` if it has no email. */
function findExisting({ record }: Entry, { accounts, owners }: Found): Existing | undefined {
  if (record.email !== undefined) return accounts.get(record.email);
  const owner = record.externalId === undefined ? null : owners.get(idKey(record.externalId));
  return owner ? [...accounts.values()].find(({ id }) => id === owner) : undefined;
}

async function readExisting(ctx: Pick<Deps, "config" | "now">, db: Tx, entries: Entry[]): Promise<Found> {
  const emails = entries.flatMap(({ record }) => record.email ?? []);
  const identities = entries.flatMap(({ record }) => record.identities);
  const aliases = await findAliases(db, entries);
  // Events name an account by its own id, too.
  const ids = entries.flatMap(({ record }) => idsOf(record).filter(isUuid));
  const named = ids.length > 0 ? await db.account.findMany({ where: { id: { in: ids } }, select: { id: true } }) : [];
  const owned = aliases.map(({ accountId }) => accountId);
  const include = { aliases: true, identities: true, totpFactors: { where: { confirmedAt: { not: null } } } } as const;
  const accounts = await db.account.findMany({
    where: { OR: [{ email: { in: emails } }, { id: { in: owned } }] },
    include,
  });
  const subjects = [...new Set(identities.map(({ subject }) => subject))];
  const linked = subjects.length > 0 ? await db.identity.findMany({ where: { subject: { in: subjects } } }) : [];
  const where = { oldEmail: { in: emails }, undoTokenHash: { not: null }, expiresAt: { gt: ctx.now() } };
  const reserved = await db.emailChange.findMany({ where, select: { oldEmail: true } });
  const linkedTo = new Map(linked.map((one) => [`${one.issuer ?? one.provider} ${one.subject}`, one.accountId]));
  const ownerOf = ({ provider, subject }: Identity) =>
    linkedTo.get(`${issuerOf(ctx.config, provider)} ${subject}`) ?? linkedTo.get(`${provider} ${subject}`);
  return {
    accounts: new Map(accounts.map((account) => [account.email, account])),
    owners: new Map<string, string | null>([
      ...named.map(({ id }) => [idKey(id), id] as const),
      ...aliases.map(({ appUserId, accountId }) => [idKey(appUserId), accountId] as const),
      ...reserved.map(({ oldEmail }) => [`email ${oldEmail}`, null] as const),
      ...identities.flatMap((identity) => {
        const owner = ownerOf(identity);
        return owner ? [[`identity ${identity.provider} ${identity.subject}`, owner] as const] : [];
      }),
    ]),
  };
}

/** What of a record belongs to another account. */
function findClaimed({ record }: Entry, { owners }: Found, existing: Existing | undefined) {
  const isClaimed = (key: string) => owners.has(key) && owners.get(key) !== existing?.id;
  if (record.email === undefined && !existing) return { code: "required", field: "/email" };
  if (isClaimed(`email ${record.email}`) && !existing) return { code: "email_reserved", field: "/email" };
  if (record.externalId !== undefined && isClaimed(idKey(record.externalId)))
    return { code: "id_taken", field: "/externalId" };
  const id = record.appUserIds.findIndex((one) => isClaimed(idKey(one)));
  if (id >= 0) return { code: "id_taken", field: `/appUserIds/${id}` };
  const identity = record.identities.findIndex(({ provider, subject }) => isClaimed(`identity ${provider} ${subject}`));
  return identity < 0 ? null : { code: "identity_taken", field: `/identities/${identity}` };
}
