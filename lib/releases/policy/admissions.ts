import type { Tx } from "../../context";
import { AppError } from "../../errors";
import { personOf } from "../../platform/audit/operator-events";
import type { ReleaseAdmission } from "../../platform/db/generated/client";
import { newId } from "../../platform/db/ids";
import type { Operator } from "../../principal";
import { releaseFiles } from "../release-files";
import type { Artifact, Release } from "../schema";
import type { PublicKeys } from "../signatures";
import type { Requirement } from "./schema";
import {
  buildOf,
  fileKeyOf,
  hashesInManifest,
  isInForce,
  isSigned,
  isTrusted,
  LOOSENING_DELAY_MS,
  type Terms,
  termsAt,
} from "./terms";

/**
 * What a write of the catalog publishes: files of a release, whose signatures and attestations were verified with the product's
 * keys, of which it adds `newKeys` to the catalog.
 */
export type Publication = {
  release: Release;
  files: readonly Artifact[];
  publicKeys: PublicKeys;
  newKeys: readonly string[];
};

type Admitted = Pick<ReleaseAdmission, "files" | "proofs" | "approvedBy" | "admittedAt">;

/** Whether files are offered: they were admitted, or the policy's current terms are met without further approvals. */
export function isAdmitted({ admittedAt, approvedBy, proofs }: Admitted, { requirements, approvals }: Terms): boolean {
  const hasProofs = requirements.every((one) => proofs.includes(one));
  return admittedAt !== null || (approvedBy.length >= approvals && hasProofs);
}

/** Terms in force. `since`: of the requirement of a publisher. */
type TermsInForce = Terms & { since: Date };

/** Locks the policy of a product until the transaction ends, and counts a change of what it admits. false: it has none. */
async function lockPolicy(tx: Tx, product: string): Promise<boolean> {
  const { count } = await tx.releasePolicy.updateMany({ where: { product }, data: { revision: { increment: 1 } } });
  return count > 0;
}

/** Locks the policy of a product. Returns the terms that are in force; null if the product has none. */
export async function lockTerms(tx: Tx, at: Date, product: string): Promise<TermsInForce | null> {
  if (!(await lockPolicy(tx, product))) return null;
  const row = await tx.releasePolicy.findUniqueOrThrow({ where: { product } });
  const terms = termsAt(row, at);
  return isInForce(terms) ? { ...terms, since: row.since } : null;
}

/**
 * Admits what a write publishes, in its transaction. Returns the ids of the releases of which files wait for approvals.
 * @throws AppError policy_unmet, and then nothing is published
 */
export async function admitPublications(
  tx: Tx,
  at: Date,
  operator: Operator,
  publications: readonly Publication[],
): Promise<string[]> {
  const terms = await lockAllTerms(
    tx,
    at,
    publications.map(({ release }) => release),
  );
  const pending: string[] = [];
  for (const publication of publications) {
    const { release, files } = publication;
    const own = terms.get(release.product);
    if (!own) continue;
    const rows = await tx.releaseAdmission.findMany({ where: { product: release.product, build: buildOf(release) } });
    const known = new Set(rows.flatMap((row) => row.files));
    const keys = [...new Set(files.map(fileKeyOf))];
    const added = keys.filter((key) => !known.has(key));
    const proofs = proofsOf(publication, own, await isTrustedPublisher(tx, at, operator, own));
    refuseKeys(own, publication);
    if (added.length > 0) refuseWithout(proofs, own, publication);
    await addProofs(tx, rows, keys, proofs);
    if (added.length > 0) await admit(tx, at, operator, { release, files: added, proofs }, own);
    const rest = rows.filter((row) => row.files.some((key) => keys.includes(key)) && !isAdmitted(row, own));
    if (rest.length > 0 || (added.length > 0 && own.approvals > 0)) pending.push(release.id);
  }
  return pending;
}

/**
 * Admits the same files on another channel. Returns the ids of the sources whose promotion waits for approvals.
 * @throws AppError policy_unmet, release_pending
 */
export async function admitPromotions(
  tx: Tx,
  at: Date,
  operator: Operator,
  promotions: readonly { source: Release; channel: string }[],
): Promise<string[]> {
  const sources = promotions.map(({ source }) => source);
  const terms = await lockAllTerms(tx, at, sources);
  await assertAdmitted(tx, at, sources);
  const pending: string[] = [];
  for (const { source, channel } of promotions) {
    const own = terms.get(source.product);
    if (!own) continue;
    const rows = await tx.releaseAdmission.findMany({ where: { product: source.product, build: buildOf(source) } });
    const files = [...new Set(releaseFiles(source).map(fileKeyOf))];
    const used = rows.filter((row) => row.files.some((key) => files.includes(key)));
    const proofs = own.requirements.filter((one) => used.every((row) => row.proofs.includes(one)));
    const missing = own.requirements.find((one) => !proofs.includes(one));
    if (missing)
      throw unmet(`${source.id} was published without what ${source.product}'s policy requires: ${missing}.`);
    await admit(tx, at, operator, { release: { ...source, channel }, files, proofs }, own);
    if (own.approvals > 0) pending.push(source.id);
  }
  return pending;
}

/** Refuses to offer releases of which a file was not admitted. @throws AppError release_pending, policy_unmet */
export async function assertAdmitted(tx: Tx, at: Date, releases: readonly Release[]): Promise<void> {
  const products = [...new Set(releases.map(({ product }) => product))];
  const policies = await tx.releasePolicy.findMany({ where: { product: { in: products } } });
  for (const policy of policies) {
    const terms = termsAt(policy, at);
    if (!isInForce(terms)) continue;
    for (const release of releases.filter(({ product }) => product === policy.product)) {
      const rows = await tx.releaseAdmission.findMany({ where: { product: release.product, build: buildOf(release) } });
      const isIn = (some: typeof rows) => {
        const keys = new Set(some.flatMap(({ files }) => files));
        return releaseFiles(release).every((file) => keys.has(fileKeyOf(file)));
      };
      if (isIn(rows.filter((row) => isAdmitted(row, terms)))) continue;
      if (isIn(rows)) throw new AppError("release_pending", `${release.id} waits for the approval of an admin.`);
      throw unmet(`${release.id} has a file that was not published through this service.`);
    }
  }
}

/** Forgets what was admitted of releases that are removed. */
export async function removeAdmissions(tx: Tx, releases: readonly Release[]): Promise<void> {
  if (releases.length === 0) return;
  const products = productsOf(releases);
  for (const product of products) await lockPolicy(tx, product);
  await tx.releaseAdmission.deleteMany({ where: { product: { in: products }, build: { in: releases.map(buildOf) } } });
}

/** Admits releases as they are, when a product gets a policy: in place of all that was admitted before. */
export async function admitExisting(tx: Tx, at: Date, product: string, releases: readonly Release[]): Promise<void> {
  await tx.releaseAdmission.deleteMany({ where: { product } });
  const rows = releases.map((release) => ({
    id: newId(),
    build: buildOf(release),
    files: [...new Set(releaseFiles(release).map(fileKeyOf))],
  }));
  // In one statement: a catalog has thousands of releases.
  await tx.$executeRaw`
    INSERT INTO "ReleaseAdmission" (id, product, build, files, proofs, "publishedBy", at, "admittedAt")
    SELECT id, ${product}, build, files, '{}', '{}', ${at}::timestamptz, ${at}::timestamptz
    FROM json_to_recordset(${JSON.stringify(rows)}::json) AS given (id uuid, build text, files text[])`;
}

/** Keeps what the terms offer now, so that stricter ones withdraw nothing. */
export async function keepAdmitted(tx: Tx, at: Date, product: string, terms: Terms): Promise<void> {
  const rows = await tx.releaseAdmission.findMany({ where: { product, admittedAt: null } });
  const ids = rows.filter((row) => isAdmitted(row, terms)).map(({ id }) => id);
  if (ids.length > 0) await tx.releaseAdmission.updateMany({ where: { id: { in: ids } }, data: { admittedAt: at } });
}

/** Whether an admin or a key made the account an admin within a day: it could be a second one of whoever published. */
export async function isNewAdmin(tx: Tx, at: Date, { accountId }: Pick<Operator, "accountId">): Promise<boolean> {
  if (accountId === null) return false;
  const OR = ["account:", "key:"].map((start) => ({ actor: { startsWith: start } }));
  const since = { gt: new Date(at.getTime() - LOOSENING_DELAY_MS) };
  return (await tx.auditEvent.count({ where: { accountId, type: "role_changed", at: since, OR } })) > 0;
}

/** In one order everywhere, so that no two writes wait for each other. */
const productsOf = (releases: readonly Release[]) => [...new Set(releases.map(({ product }) => product))].sort();

/** Locks the policies of releases' products. Returns the terms that are in force by product. */
export async function lockAllTerms(tx: Tx, at: Date, releases: readonly Release[]): Promise<Map<string, TermsInForce>> {
  const locked = new Map<string, TermsInForce>();
  for (const product of productsOf(releases)) {
    const terms = await lockTerms(tx, at, product);
    if (terms) locked.set(product, terms);
  }
  return locked;
}

async function admit(
  tx: Tx,
  at: Date,
  operator: Operator,
  { release, files, proofs }: { release: Release; files: string[]; proofs: Requirement[] },
  { approvals }: Terms,
): Promise<void> {
  const { product } = release;
  const admittedAt = approvals === 0 ? at : null;
  const publishedBy = await publishersOf(tx, at, operator);
  const data = { id: newId(), product, build: buildOf(release), files, proofs, publishedBy, at, admittedAt };
  await tx.releaseAdmission.create({ data });
}

/** Files that are published again may have more proofs than before. */
async function addProofs(tx: Tx, rows: readonly ReleaseAdmission[], keys: readonly string[], proofs: Requirement[]) {
  for (const { id, files, proofs: before } of rows) {
    const added = proofs.filter((one) => !before.includes(one));
    if (added.length === 0 || !files.every((key) => keys.includes(key))) continue;
    await tx.releaseAdmission.update({ where: { id }, data: { proofs: [...before, ...added] } });
  }
}

/** Who published something, and who made the key for it, or lately added the publisher: none of them can approve it. */
async function publishersOf(tx: Tx, at: Date, { accountId, actor, publisher }: Operator): Promise<string[]> {
  const [, keyId] = /^key:(.+)$/.exec(actor) ?? [];
  const key = keyId === undefined ? null : await tx.apiKey.findUnique({ where: { id: keyId } });
  const createdAt = { gt: new Date(at.getTime() - LOOSENING_DELAY_MS) };
  const recent = publisher && (await tx.publisher.findUnique({ where: { id: publisher.id, createdAt } }));
  const creator = key && (key.createdBy ?? (await creatorOf(tx, key.id)));
  return [personOf({ accountId, actor }), creator, recent?.createdBy].filter((one) => typeof one === "string");
}

/** Who made a key before keys had `createdBy`, as the audit trail has it. */
async function creatorOf(tx: Tx, keyId: string): Promise<string | null> {
  const event = await tx.auditEvent.findFirst({ where: { type: "key_created", target: `key:${keyId}` } });
  return event && personOf({ accountId: event.accountId, actor: event.actor as Operator["actor"] });
}

/** Whether a CI job publishes, of a publisher that is not too new to count. */
async function isTrustedPublisher(tx: Tx, at: Date, { publisher }: Operator, terms: TermsInForce): Promise<boolean> {
  if (!publisher) return false;
  const row = await tx.publisher.findUnique({ where: { id: publisher.id } });
  return row !== null && isTrusted(row, terms, at);
}

function proofsOf(
  { release, files, publicKeys }: Publication,
  { publicKeys: counted }: Terms,
  isPublisher: boolean,
): Requirement[] {
  const named = hashesInManifest(release, counted);
  const met: Record<Requirement, boolean> = {
    signature: files.every((file) => named.includes(file.sha512) || isSigned(file, publicKeys, counted)),
    publisher: isPublisher,
    attestation: files.every(({ attestation }) => attestation !== undefined),
  };
  return (Object.keys(met) as Requirement[]).filter((one) => met[one]);
}

const NEEDED: Record<Requirement, string> = {
  signature: "a signature of each file by one of the policy's keys",
  publisher: "a trusted publisher, added at least 24 hours ago: publish it from CI",
  attestation: "an attestation of each file (--attestation)",
};

/** Signed documents that are served would no longer match the product's keys. */
function refuseKeys({ requirements, publicKeys }: Terms, { release, newKeys }: Publication): void {
  const other = requirements.includes("signature") && newKeys.find((key) => !publicKeys.includes(key));
  if (other)
    throw unmet(`${other} is not among the keys of ${release.product}'s policy: an admin adds it there first.`);
}

function refuseWithout(proofs: readonly Requirement[], { requirements }: Terms, { release }: Publication): void {
  const missing = requirements.filter((one) => !proofs.includes(one));
  if (missing.length === 0) return;
  const needed = missing.map((one) => NEEDED[one]).join("; and ");
  throw unmet(`${release.product}'s policy requires ${needed}. Nothing was published.`);
}

const unmet = (detail: string) => new AppError("policy_unmet", detail);
