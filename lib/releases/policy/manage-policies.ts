import type { Context, Tx } from "../../context";
import { AppError } from "../../errors";
import { personOf, recordOperatorEvent } from "../../platform/audit/operator-events";
import { readDatabaseTime } from "../../platform/db/clock";
import type { ReleasePolicy } from "../../platform/db/generated/client";
import { allAdminEmails } from "../../platform/find-account";
import { type Precondition, stateOf } from "../../platform/precondition";
import type { Operator } from "../../principal";
import { releasePublished } from "../../webhooks/events";
import { type ReleaseReader, withAccess } from "../access";
import { filterReleases, selectReleases } from "../publishing/filter-releases";
import type { EditableManifest } from "../publishing/manifest-file";
import { assertSeen, type ReleasePrecondition } from "../publishing/seen-state";
import { changeCatalog, readCatalog } from "../publishing/service-catalog";
import { formatVersion, type Release } from "../schema";
import { publicKeysOf } from "../signatures";
import { admitExisting, isAdmitted, isNewAdmin, keepAdmitted, lockAllTerms, lockTerms } from "./admissions";
import type { Approval, ApprovedReleases, ChangedPolicy, Policies, Policy } from "./schema";
import {
  buildOf,
  divideChange,
  isInForce,
  isSameTerms,
  keysOf,
  LOOSENING_DELAY_MS,
  NEEDS_PUBLISHER,
  NO_TERMS,
  nextTerms,
  type Terms,
  termsAt,
} from "./terms";

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "policies" | "rollouts">;

/** The policies of the products that have one, now or from a later time on. @throws AppError those of `readCatalog` */
export async function listPolicies(deps: Deps, reader: ReleaseReader): Promise<Policies> {
  const { releaseAccess } = reader;
  const where = releaseAccess ? { product: { in: [...releaseAccess.products] } } : {};
  const rows = await deps.db.releasePolicy.findMany({ where, orderBy: { product: "asc" } });
  if (rows.length === 0) return { policies: [] };
  const releases = filterReleases(await readCatalog(deps), withAccess(reader, {}));
  const policies: Policy[] = [];
  for (const row of rows) policies.push(await describe(deps, row, releases));
  return { policies: policies.filter((policy) => isInForce(policy) || policy.loosened !== null) };
}

/** The terms of a policy as operators see them, and those that follow. */
type ShownTerms = Pick<Policy, "requirements" | "approvals" | "publicKeys" | "loosened">;

/** Identifies what operators see of a product's policy, for a precondition. undefined: it has none. */
export function policyState(policy: ShownTerms | undefined): string {
  const { requirements, approvals, publicKeys } = policy ?? NO_TERMS;
  return stateOf([requirements, approvals, publicKeys, policy?.loosened ?? null]);
}

/**
 * Changes the policy of a product. What tightens it applies at once, what loosens it a day later, after an email to every admin.
 * A product's first policy admits what is in the catalog.
 * @throws AppError validation_failed without a public key that could count; precondition_failed; those of `changeCatalog`
 */
export async function setPolicy(
  deps: Deps & Pick<Context, "emails">,
  operator: Operator,
  product: string,
  changed: ChangedPolicy,
  precondition?: Precondition,
): Promise<Policy> {
  const asItIs = ({ entries, releases, publicKeys }: EditableManifest) => ({
    entries,
    result: { releases, publicKeys: keysOf(publicKeysOf(publicKeys, product)) },
  });
  const { releases } = await changeCatalog(deps, asItIs, async (tx, at, catalog) => {
    await lockTerms(tx, at, product);
    const row = await tx.releasePolicy.findUnique({ where: { product } });
    precondition?.check(policyState(row ? describeTerms(row, at) : undefined));
    const current = row ? termsAt(row, at) : NO_TERMS;
    const wanted = wantedTerms(current, changed, catalog.publicKeys);
    if (row && isSameTerms(wanted, nextTerms(row) ?? current)) return;
    const { now, later } = divideChange(current, wanted);
    const laterAt = later && new Date(at.getTime() + LOOSENING_DELAY_MS);
    const since = row && NEEDS_PUBLISHER.some((one) => current.requirements.includes(one)) ? row.since : at;
    await store(tx, product, { ...now, since }, later, laterAt);
    const own = catalog.releases.filter((release) => release.product === product);
    if (isInForce(current)) await keepAdmitted(tx, at, product, current);
    else await admitExisting(tx, at, product, own);
    const details = {
      from: detailsOf(current),
      to: detailsOf(now),
      loosened: later && { ...detailsOf(later), at: laterAt?.toISOString() ?? null },
    };
    await recordOperatorEvent(tx, at, operator, {
      type: "release_policy_changed",
      target: `product:${product}`,
      details,
    });
    if (later && laterAt) await announceLoosening(deps, tx, { product, now, later, at: laterAt });
  });
  deps.emails.wake();
  return describe(deps, await deps.db.releasePolicy.findUniqueOrThrow({ where: { product } }), releases);
}

/** @throws AppError validation_failed */
function wantedTerms(
  current: Terms,
  { requirements, approvals, publicKeys }: ChangedPolicy,
  ofCatalog: string[],
): Terms {
  const { minisign = [], ed = [], manifest = [] } = publicKeys ?? {};
  const named = { minisign, ed, manifest };
  const given = Object.entries(named).flatMap(([kind, keys]) => keys.map((key) => `${kind}:${key}`));
  const known = current.publicKeys.length > 0 ? current.publicKeys : ofCatalog;
  const wanted = {
    requirements: requirements ?? current.requirements,
    approvals: approvals ?? current.approvals,
    publicKeys: publicKeys === undefined ? known : given,
  };
  if (!wanted.requirements.includes("signature")) return { ...wanted, publicKeys: [] };
  if (wanted.publicKeys.length > 0) return wanted;
  const detail = "The catalog has no public key of this product: name the keys whose signatures count";
  throw new AppError("validation_failed", { errors: [{ pointer: "/publicKeys", code: "required", detail }] });
}

async function store(
  tx: Tx,
  product: string,
  { since, ...now }: Terms & { since: Date },
  later: Terms | null,
  laterAt: Date | null,
): Promise<void> {
  const data = {
    since,
    requirements: [...now.requirements],
    approvals: now.approvals,
    publicKeys: [...now.publicKeys],
    nextRequirements: [...(later?.requirements ?? [])],
    nextApprovals: later?.approvals ?? null,
    nextPublicKeys: [...(later?.publicKeys ?? [])],
    nextAt: laterAt,
  };
  await tx.releasePolicy.upsert({ where: { product }, create: { product, ...data }, update: data });
}

const detailsOf = ({ requirements, approvals, publicKeys }: Terms) => ({
  requirements: [...requirements],
  approvals,
  publicKeys: [...publicKeys],
});

/** Queues an email to every admin, and to OPERATOR_EMAIL, in the transaction of the change. */
async function announceLoosening(
  { config, emails }: Pick<Context, "config" | "emails">,
  tx: Tx,
  { product, now, later, at }: { product: string; now: Terms; later: Terms; at: Date },
): Promise<void> {
  const data = { product, before: sentenceOf(now), after: sentenceOf(later), at: at.toISOString() };
  for (const email of await allAdminEmails(config, tx)) {
    await emails.enqueue(tx, "policy_loosened", email, data);
  }
}

/** Terms as people read them: `signature, attestation, 1 approval`. */
function sentenceOf({ requirements, approvals, publicKeys }: Terms): string {
  const parts = [...requirements, `approvals: ${approvals}`, ...publicKeys];
  return parts.join(", ");
}

function describeTerms(row: ReleasePolicy, at: Date): ShownTerms {
  const { nextAt } = row;
  const next = nextAt !== null && nextAt > at ? nextTerms(row) : null;
  const loosened = next && nextAt && { ...detailsOf(next), at: nextAt.toISOString() };
  return { ...detailsOf(termsAt(row, at)), loosened };
}

async function describe(
  { db, dbNow, policies }: Deps,
  row: ReleasePolicy,
  releases: readonly Release[],
): Promise<Policy> {
  const { product } = row;
  const now = await readDatabaseTime({ db, dbNow });
  const terms = termsAt(row, now);
  const rows = await db.releaseAdmission.findMany({ where: { product, admittedAt: null }, orderBy: { id: "asc" } });
  const waiting = isInForce(terms) ? rows.filter((one) => !isAdmitted(one, terms)) : [];
  const own = releases.filter((release) => release.product === product);
  return {
    product,
    ...describeTerms(row, now),
    pending: own.flatMap((release) => {
      const found = waiting.filter(({ build }) => build === buildOf(release));
      if (found.length === 0) return [];
      const approvals = Math.min(...found.map(({ approvedBy }) => approvedBy.length));
      return [{ id: release.id, version: formatVersion(release.version), channel: release.channel, approvals }];
    }),
    refused: own.filter((release) => policies.admissionOf(release) === "refused").map(({ id }) => id),
  };
}

/**
 * Approves releases that wait for it, all of them or none. Repeating it changes nothing. No file is added to them meanwhile.
 * @throws AppError forbidden for their publisher, and for a new admin; release_yanked; policy_unmet if the policy requires more than when they were
 *   published; release_not_found; precondition_failed; those of `changeCatalog`
 */
export async function approveReleases(
  deps: Deps & Pick<Context, "webhooks">,
  operator: Operator,
  { filter }: Approval,
  precondition?: ReleasePrecondition,
): Promise<ApprovedReleases> {
  const asTheyAre = ({ entries, releases }: EditableManifest) => {
    const selected = selectReleases(releases, filter);
    const yanked = selected.find((release) => release.yanked);
    if (yanked) throw new AppError("release_yanked", `${yanked.id} is yanked, so it cannot be approved.`);
    return { entries, result: selected };
  };
  const approved: ApprovedReleases["releases"] = [];
  await changeCatalog(deps, asTheyAre, async (tx, at, selected, { releases }) => {
    const ids = selected.map(({ id }) => id);
    await assertSeen(tx, releases, ids, precondition);
    const terms = await lockAllTerms(tx, at, selected);
    for (const release of selected) {
      approved.push(await approve(deps, tx, at, operator, release, terms.get(release.product) ?? null));
    }
  });
  return { releases: approved };
}

async function approve(
  { webhooks }: Pick<Context, "webhooks">,
  tx: Tx,
  at: Date,
  operator: Operator,
  { id, ...release }: Release,
  terms: Terms | null,
): Promise<ApprovedReleases["releases"][number]> {
  const rows = await tx.releaseAdmission.findMany({ where: { product: release.product, build: buildOf(release) } });
  const pending = terms ? rows.filter((row) => !isAdmitted(row, terms)) : [];
  const unchanged = { id, outcome: "unchanged", missingApprovals: 0 } as const;
  if (!terms || pending.length === 0) return unchanged;
  const approver = personOf(operator);
  if (pending.some(({ publishedBy }) => publishedBy.includes(approver))) {
    throw new AppError("forbidden", `You published ${id}: another admin has to approve it.`);
  }
  if (await isNewAdmin(tx, at, operator)) {
    throw new AppError("forbidden", "You became an admin less than 24 hours ago: another one has to approve it.");
  }
  const missing = terms.requirements.find((one) => pending.some(({ proofs }) => !proofs.includes(one)));
  if (missing) throw new AppError("policy_unmet", `${id} was published before its policy required this: ${missing}.`);
  const isNew = pending.some(({ approvedBy }) => !approvedBy.includes(approver));
  const counts: number[] = [];
  for (const { id: rowId, approvedBy } of pending) {
    const approvals = [...new Set([...approvedBy, approver])];
    counts.push(approvals.length);
    const admittedAt = approvals.length >= terms.approvals ? at : null;
    await tx.releaseAdmission.update({ where: { id: rowId }, data: { approvedBy: approvals, admittedAt } });
  }
  const missingApprovals = Math.max(0, terms.approvals - Math.min(...counts));
  if (!isNew) return { ...unchanged, missingApprovals };
  const details = { missingApprovals };
  await recordOperatorEvent(tx, at, operator, { type: "release_approved", target: `release:${id}`, details });
  if (missingApprovals === 0 && rows.length === pending.length)
    await webhooks.record(tx, [releasePublished(id, release.publishedBy)]);
  return { id, outcome: "approved", missingApprovals };
}
