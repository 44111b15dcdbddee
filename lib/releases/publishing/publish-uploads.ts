import type { Context, Tx } from "../../context";
import { AppError, isAppError } from "../../errors";
import { ownerOf, recordOperatorEvent } from "../../platform/audit/operator-events";
import type { AnyPrincipal, Operator } from "../../principal";
import { releasePublished } from "../../webhooks/events";
import { requireReleaseAccess } from "../access";
import { admitPublications } from "../policy/admissions";
import { leaveRollouts } from "../rollouts/change-rollouts";
import type { PublishedBy } from "../schema";
import type { Upload } from "../uploads/uploads";
import { consumeUploads } from "../uploads/uploads";
import { addReleases, type PublishDeps } from "./add";
import { findBuildDifference } from "./attestations/build-publisher";
import type { ReleaseDraft } from "./draft";
import { toPublishedBy } from "./published-by";
import type { NewReleases, PublishedReleases } from "./schema";
import { refreshCatalog, withCatalogFile } from "./service-catalog";

type Deps = Pick<Context, "catalog" | "config" | "db" | "dbNow" | "now" | "rollouts" | "storage" | "webhooks">;
type Uploads = ReadonlyMap<string, Upload>;
type NewFile = NewReleases["releases"][number]["files"][number];

/**
 * Publishes uploads as releases, all of them visible at once, and deletes them unless it fails.
 * @throws AppError forbidden for another product than the operator's; upload_incomplete, upload_locked, validation_failed for
 *   an unknown upload; policy_unmet; those of `withCatalogFile`
 */
export async function publishUploads(
  deps: Deps,
  operator: Operator,
  principal: AnyPrincipal,
  { releases }: NewReleases,
): Promise<PublishedReleases> {
  const { config, now, storage } = deps;
  const publishedBy = toPublishedBy(principal);
  for (const { release } of releases) {
    const { product, channel = "stable" } = release; // as they are written: other spellings of a name are refused later
    requireReleaseAccess(operator.releaseAccess, { product: String(product), channel: String(channel) });
  }
  const ids = releases.flatMap(({ files }) =>
    files.flatMap((file) =>
      [file.uploadId, file.blockMapUploadId, file.attestationUploadId].filter((id) => id !== undefined),
    ),
  );
  const publish = async (uploads: Uploads, manifestFile: string) => {
    const drafts = releases.map(
      (draft): ReleaseDraft => ({ ...draft, files: draft.files.map((file) => toDraftFile(file, uploads)) }),
    );
    let pending: string[] = [];
    const record: NonNullable<PublishDeps["record"]> = {
      deps,
      record: async (tx, at, published, before) => {
        pending = await admitPublications(tx, at, operator, published.publications);
        await recordPublication(deps, tx, at, operator, published.releases, () => publishedBy, pending);
        const withNewRollout = published.releases.flatMap(({ id, outcome }, i) => {
          const rollout = releases[i]?.release.rollout ?? null;
          const isKept = rollout === null || before.releases.some((one) => one.id === id && one.rollout === rollout);
          return outcome !== "changed" || isKept ? [] : [id];
        });
        const samples = published.removedSamples.map(({ id }) => id);
        await leaveRollouts(tx, [...samples, ...withNewRollout], before.releases);
      },
    };
    const source = operator.publisher?.source ?? null;
    const attestations: NonNullable<PublishDeps["attestations"]> = {
      trustedRoots: config.SIGSTORE_TRUSTED_ROOT,
      findDifference: (target, identity) => findBuildDifference(deps, { ...target, source }, identity),
    };
    const added = await addReleases(
      { reader: operator, manifestFile, storage, now, publishedBy, record, attestations },
      drafts,
    );
    const notes = [...added.notes, ...pending.map(waitsForApproval)];
    return { ...added, notes, removedSamples: added.removedSamples.map(({ id }) => id) };
  };
  const published = await withCatalogFile(config, (file) =>
    consumeUploads(deps, ownerOf(principal), ids, (uploads) => publish(uploads, file)),
  ).catch((error: unknown) => {
    throw isAppError(error) && error.code === "upload_not_found" ? unknownUpload(error) : error;
  });
  await refreshCatalog(deps);
  return published;
}

const waitsForApproval = (id: string) =>
  `${id} is offered to nobody until another admin approves it: homeport release approve ${id}`;

function toDraftFile(
  { uploadId, blockMapUploadId = "", attestationUploadId = "", artifact, ...file }: NewFile,
  uploads: Uploads,
) {
  const upload = uploads.get(uploadId);
  if (!upload) throw new Error(`The upload ${uploadId} is not locked`);
  const fileName = artifact?.fileName ?? upload.fileName ?? undefined;
  return {
    ...file,
    file: upload.file,
    isTemporary: true as const,
    artifact: { ...artifact, fileName },
    blockMapFile: uploads.get(blockMapUploadId)?.file,
    attestationFile: uploads.get(attestationUploadId)?.file,
  };
}

function unknownUpload(cause: AppError): AppError {
  const detail = "An upload does not exist, or it belongs to another caller";
  return new AppError("validation_failed", {
    errors: [{ pointer: "/releases", code: "unknown_upload", detail }],
    cause,
  });
}

/** A release that a write of the catalog publishes; `from` is the one that it was promoted from. */
type PublishedRelease = { id: string; outcome: "added" | "changed" | "unchanged"; from?: string };

/**
 * Records the events of releases in the transaction that publishes them. `publisherOf` a release says who published its files. Those
 * that wait for approvals are announced later.
 */
export async function recordPublication(
  { webhooks }: Pick<Context, "webhooks">,
  tx: Tx,
  at: Date,
  operator: Operator,
  releases: readonly PublishedRelease[],
  publisherOf: (release: PublishedRelease) => PublishedBy | null,
  pending: readonly string[] = [],
): Promise<void> {
  for (const release of releases) {
    const { id, ...outcome } = release;
    const source = publisherOf(release)?.source;
    const details = { ...outcome, ...(source && { source }) };
    const event = { type: "release_published", target: `release:${id}`, details } as const;
    await recordOperatorEvent(tx, at, operator, event);
  }
  const added = releases.filter(({ id, outcome }) => outcome === "added" && !pending.includes(id));
  await webhooks.record(
    tx,
    added.map((release) => releasePublished(release.id, publisherOf(release))),
  );
}
