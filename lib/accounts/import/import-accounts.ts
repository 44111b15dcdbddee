import { NEVER_REMOVED } from "../../auth/email-verification";
import { addHashes } from "../../auth/passwords/dummy-hash";
import { isImported, toStoredHash } from "../../auth/passwords/imported-hash";
import { totpPurpose } from "../../auth/second-factor/totp";
import { issuerOf } from "../../auth/sign-in-providers/providers";
import type { Context, Tx } from "../../context";
import { AppError, isAppError } from "../../errors";
import { recordOperatorEvent } from "../../platform/audit/operator-events";
import { isUniqueViolation } from "../../platform/database-errors";
import type { Prisma } from "../../platform/db/generated/client";
import { NIL_ID, newId } from "../../platform/db/ids";
import { parseJson } from "../../platform/http/body";
import { parseBody } from "../../platform/http/validation";
import { encryptSecret } from "../../platform/keys/stored-secrets";
import type { Operator } from "../../principal";
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
  for (const round of toRounds(entries)) results.push(...(await importRound(ctx, operator, round, query)));
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
  const ids = idsOf(record).map((id) => `id ${id}`);
  const identities = record.identities.map(({ provider, subject }) => `identity ${provider} ${subject}`);
  return {
    line,
    id: newId(record.createdAt),
    record,
    passwordHash,
    keys: [`email ${record.email}`, ...ids, ...identities],
  };
}

/** What billing events may call the account. */
const idsOf = ({ externalId, appUserIds }: AccountRecord) => [
  ...new Set(externalId === undefined ? appUserIds : [externalId, ...appUserIds]),
];

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

/** Imports records in one transaction; again if somebody has registered one of their emails meanwhile. */
async function importRound(ctx: Deps, operator: Operator, entries: Entry[], query: ImportQuery) {
  for (let attempt = 1; ; attempt++) {
    const secrets = await encryptTotpSecrets(ctx, entries);
    try {
      return await ctx.db.$transaction(async (tx) => {
        const results = await importInTx(ctx, tx, operator, { entries, secrets, query });
        if (query.dryRun) throw new DryRun(results);
        return results;
      });
    } catch (error) {
      if (error instanceof DryRun) return error.results;
      if (!isUniqueViolation(error) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Before the transaction, in which no secret may be encrypted. */
async function encryptTotpSecrets(ctx: Deps, entries: Entry[]): Promise<TotpSecrets> {
  const withTotp = entries.filter(({ record }) => record.totp);
  const where = { email: { in: withTotp.map(({ record }) => record.email) } };
  const existing =
    withTotp.length > 0 ? await ctx.db.account.findMany({ where, select: { id: true, email: true } }) : [];
  const ids = new Map(existing.map(({ id, email }) => [email, id]));
  const secrets = withTotp.map(async (entry) => {
    const accountId = ids.get(entry.record.email) ?? entry.id;
    const secret = entry.record.totp?.secret.toUpperCase().replace(/=+$/, "") ?? "";
    return [entry, { accountId, secret: await encryptSecret(ctx, totpPurpose(accountId), secret) }] as const;
  });
  return new Map(await Promise.all(secrets));
}

type Round = { entries: Entry[]; secrets: TotpSecrets; query: ImportQuery };

async function importInTx(ctx: Deps, tx: Tx, operator: Operator, { entries, secrets, query }: Round) {
  const found = await readExisting(ctx, tx, entries);
  const results: ImportResult[] = [];
  const added: Addition[] = [];
  for (const entry of entries) {
    const { line, record } = entry;
    const existing = found.accounts.get(record.email);
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

const refusedConflict = (existing: Existing | undefined, addition: Addition, { onConflict }: ImportQuery) =>
  existing && onConflict === "fail" && !isEmpty(addition) ? { code: "email_taken", field: "/email" } : null;

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
  const isNamed = ({ provider, subject }: AccountRecord["identities"][number]) =>
    existing?.identities.some((one) => one.subject === subject && one.issuer === issuerOf(ctx.config, provider));
  return {
    entry,
    accountId: existing?.id ?? entry.id,
    isNew: !existing,
    data: existing ? changesOf(existing, given) : given,
    identities: record.identities.filter((identity) => !isNamed(identity)),
    aliases: idsOf(record).filter((id) => !existing?.aliases.some(({ appUserId }) => appUserId === id)),
    hasTotp: totp !== undefined && !existing?.totpFactors.length,
  };
}

type Given = { [Name in "name" | "locale" | "externalId" | "passwordHash"]: string | null } & {
  [Name in "emailVerifiedAt" | "disabledAt"]: Date | null;
};

function changesOf(existing: Existing, given: Given): Partial<Given> {
  const isKept = {
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
    data: added
      .filter(({ isNew }) => isNew)
      .map(({ entry: { id, record }, data }) => ({
        ...(data as Given),
        id,
        email: record.email,
        createdAt: record.createdAt ?? at,
        unverifiedExpiresAt: NEVER_REMOVED,
      })),
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

async function readExisting(ctx: Deps, tx: Tx, entries: Entry[]): Promise<Found> {
  const emails = entries.map(({ record }) => record.email);
  const ids = entries.flatMap(({ record }) => idsOf(record));
  const identities = entries.flatMap(({ record }) => record.identities);
  const include = { aliases: true, identities: true, totpFactors: { where: { confirmedAt: { not: null } } } } as const;
  const accounts = await tx.account.findMany({ where: { email: { in: emails } }, include });
  const aliases = await tx.accountAlias.findMany({ where: { appUserId: { in: ids } } });
  const subjects = [...new Set(identities.map(({ subject }) => subject))];
  const linked = await tx.identity.findMany({ where: { subject: { in: subjects } } });
  const where = { oldEmail: { in: emails }, undoTokenHash: { not: null }, expiresAt: { gt: ctx.now() } };
  const reserved = await tx.emailChange.findMany({ where, select: { oldEmail: true } });
  const issued = (provider: string, subject: string) =>
    linked.find((one) => one.subject === subject && one.issuer === issuerOf(ctx.config, provider));
  return {
    accounts: new Map(accounts.map((account) => [account.email, account])),
    owners: new Map<string, string | null>([
      ...aliases.map(({ appUserId, accountId }) => [`id ${appUserId}`, accountId] as const),
      ...reserved.map(({ oldEmail }) => [`email ${oldEmail}`, null] as const),
      ...identities.flatMap(({ provider, subject }) => {
        const owner = issued(provider, subject)?.accountId;
        return owner ? [[`identity ${provider} ${subject}`, owner] as const] : [];
      }),
    ]),
  };
}

/** What of a record belongs to another account. */
function findClaimed({ record }: Entry, { owners }: Found, existing: Existing | undefined) {
  const isClaimed = (key: string) => owners.has(key) && owners.get(key) !== existing?.id;
  if (isClaimed(`email ${record.email}`) && !existing) return { code: "email_reserved", field: "/email" };
  if (record.externalId !== undefined && isClaimed(`id ${record.externalId}`))
    return { code: "id_taken", field: "/externalId" };
  const id = record.appUserIds.findIndex((one) => isClaimed(`id ${one}`));
  if (id >= 0) return { code: "id_taken", field: `/appUserIds/${id}` };
  const identity = record.identities.findIndex(({ provider, subject }) => isClaimed(`identity ${provider} ${subject}`));
  return identity < 0 ? null : { code: "identity_taken", field: `/identities/${identity}` };
}
