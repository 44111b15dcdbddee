import { formOperation, operation } from "../../operation";
import { ifMatch, withSeenState, withState } from "../../platform/http/content/conditional";
import { AdoptionQuery, AdoptionReport, readAdoption } from "../adoption/report";
import { FileUrl, FileUrlQuery, getFileUrl } from "./file-url";
import {
  changeRelease,
  changeReleases,
  listCatalog,
  promoteInCatalog,
  pruneCatalog,
  readRelease,
  removeFromCatalog,
  removeRelease,
  rollBackCatalog,
} from "./manage-releases";
import { previewChange } from "./preview-change";
import { PublishForm, toNewReleases } from "./publish-form";
import { publishUploads } from "./publish-uploads";
import { changeNotes, NotesForm, PreviewedAction, performAction, ReleaseAction, versionPath } from "./release-action";
import {
  CatalogPrune,
  ChangedRelease,
  ChangedReleases,
  ChangeResult,
  NewReleases,
  PromotedReleases,
  Promotion,
  ProposedChange,
  PrunedCatalog,
  PublishedReleases,
  Release,
  ReleaseParams,
  ReleasePreview,
  Releases,
  ReleasesQuery,
  Removal,
  RemovalQuery,
  RemovalResult,
  Rollback,
  RolledBack,
} from "./schema";
import { Verification, VerifiedRelease, verifyRelease, verifyVersion } from "./verify";

const BUILD = { product: "core", platform: "windows", architecture: "x64", channel: "stable" };

const RELEASE = {
  id: "core-windows-x64-2.3.0",
  ...BUILD,
  version: "2.3.0",
  releasedAt: "2026-11-20T09:00:00.000Z",
  rollout: 20,
  critical: false,
  rollback: false,
  yanked: false,
  sample: false,
  artifacts: { installer: { fileName: "Acme-2.3.0-x64.exe", sizeBytes: 104857600 }, others: [], deltas: [] },
  signedDocuments: {},
};

/** Who reads the catalog, and who changes it. */
export const READS = { role: "support", scope: "releases:read" } as const;
const WRITES = { role: "admin", stepUp: true, scope: "releases:write", idempotency: "replay" } as const;
export const CHANGES = { ...WRITES, headers: ["IfMatchState"] } as const;

export const CATALOG_ERRORS = ["catalog_not_editable", "catalog_invalid"] as const;
export const CHANGE_ERRORS = [...CATALOG_ERRORS, "catalog_locked", "disk_full", "release_invalid"] as const;
/** Of a release that its product's policy does not offer. */
export const ADMISSION_ERRORS = ["release_pending", "policy_unmet"] as const;
const RELEASE_ERRORS = [...CHANGE_ERRORS, "release_not_found", "precondition_failed"] as const;

/** A draft's notes may be long, and a release has many files. */
const MAX_BODY_BYTES = 1024 * 1024;
/** The documents that the publisher signed come on top. */
const MAX_PUBLICATION_BYTES = 4 * MAX_BODY_BYTES;

const CHANGED = { releases: [{ id: RELEASE.id, outcome: "changed" }], newerServed: [], notes: [] };
const REMOVED = { releases: [RELEASE.id], files: ["9f86d081884c7d65/Acme-2.3.0-x64.exe"], elsewhere: [] };
const TOTALS = { checks: 11_840, clients: 1_020, downloadsStarted: 310, downloadsFinished: 302 };

export const releaseOperations = {
  listReleases: operation({
    id: "listReleases",
    summary: "List the releases of the catalog",
    description: "Lists releases by product, platform and architecture, newest first, with all fields of the catalog.",
    ...READS,
    query: ReleasesQuery,
    errors: ["catalog_invalid", "catalog_unavailable"],
    response: {
      description: "A page of releases.",
      schema: Releases,
      examples: { "One release": { releases: [RELEASE], nextCursor: null } },
    },
    run: ({ ctx, operator, query }) => listCatalog(ctx, operator, query),
  }),

  publishReleases: operation({
    id: "publishReleases",
    summary: "Publish uploaded files as releases",
    description:
      "Publishes complete uploads as releases, all of them visible at once, and deletes the uploads. If anything is wrong, nothing is published and the uploads stay. Publishing the same files again changes nothing. It can take minutes, because the files are hashed: send an `Idempotency-Key`, and repeat the request if the connection breaks.",
    ...WRITES,
    body: NewReleases,
    maxBodyBytes: MAX_PUBLICATION_BYTES,
    errors: [
      ...CHANGE_ERRORS,
      "upload_incomplete",
      "upload_locked",
      "confirmation_required",
      "signature_invalid",
      "policy_unmet",
      "attestation_invalid",
      "release_conflict",
      "release_yanked",
      "file_changed",
      "artifact_unavailable",
    ],
    examples: {
      "One release with one file": {
        releases: [
          {
            release: { product: "core", platform: "windows", architecture: "x64", version: "2.3.0", notes: "Faster." },
            files: [{ uploadId: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11", kinds: ["installer", "update"] }],
          },
        ],
      },
    },
    response: {
      status: 201,
      description: "The releases are in the catalog, in the order of the request.",
      schema: PublishedReleases,
      examples: {
        Published: { releases: [{ id: "core-windows-x64-2.3.0", outcome: "added" }], removedSamples: [], notes: [] },
      },
    },
    run: ({ ctx, principal, operator, body }) => publishUploads(ctx, operator, principal, body),
    form: {
      fields: PublishForm,
      toInput: (form) => ({ body: toNewReleases(form) }),
      kept: ["product", "version", "channel", "rollout", "notes"],
      after: (_, { product, version, channel }) => ({
        done: "published",
        to: versionPath({ product, version, channel }),
      }),
    },
  }),

  getFileUrl: operation({
    id: "getFileUrl",
    summary: "Get the URL of a file before it is published",
    description:
      "Returns the permanent URL at which a file of a release is served once it is published, so that it can be written into a document that you sign, such as an appcast.",
    ...READS,
    query: FileUrlQuery,
    errors: ["release_invalid"],
    response: {
      description: "The URL.",
      schema: FileUrl,
      examples: {
        "A file": { url: "https://updates.example.com/api/updates/core/stable/2.3.0/macos-universal/Acme-2.3.0.zip" },
      },
    },
    run: ({ ctx, query }) => getFileUrl(ctx, query),
  }),

  changeReleases: operation({
    id: "changeReleases",
    summary: "Change several releases at once",
    description:
      "Changes fields of several releases in one write: all that the filter selects, or none. A percentage ends the schedules of their rollouts.",
    ...CHANGES,
    body: ChangedReleases,
    maxBodyBytes: MAX_BODY_BYTES,
    errors: RELEASE_ERRORS,
    examples: {
      "A larger rollout on all platforms": { filter: { product: "core", version: "2.3.0" }, change: { rollout: 50 } },
    },
    response: { description: "The releases have these fields.", schema: ChangeResult, examples: { Changed: CHANGED } },
    run: ({ ctx, operator, body, request }) => changeReleases(ctx, operator, body, ifMatch(request)),
  }),

  getRelease: operation({
    id: "getRelease",
    summary: "Get a release of the catalog",
    description:
      "Returns a release with all fields of the catalog. `ETag` identifies the state of its product, for `If-Match` of a change.",
    ...READS,
    params: ReleaseParams,
    errors: ["release_not_found", "catalog_invalid", "catalog_unavailable"],
    response: { description: "The release.", schema: Release, headers: ["ETag"], examples: { Release: RELEASE } },
    run: async ({ ctx, operator, params }) => withSeenState(await readRelease(ctx, operator, params.releaseId)),
  }),

  changeRelease: operation({
    id: "changeRelease",
    summary: "Change a release",
    description:
      "Changes fields of a release: its rollout, its notes, whether it is yanked. A percentage takes it out of its schedule. A yank halts the schedule, which resumes when the release is offered again. Files never change. `newerServed` names the releases that keep clients from rolling back to this one.",
    ...CHANGES,
    params: ReleaseParams,
    body: ChangedRelease.extend({ reason: ChangedReleases.shape.reason }),
    maxBodyBytes: MAX_BODY_BYTES,
    errors: RELEASE_ERRORS,
    examples: { "A larger rollout": { rollout: 50 }, Withdrawn: { yanked: true } },
    response: { description: "The release has these fields.", schema: ChangeResult, examples: { Changed: CHANGED } },
    run: ({ ctx, operator, params, body: { reason, ...change }, request }) =>
      changeRelease(ctx, operator, params.releaseId, { change, reason }, ifMatch(request)),
  }),

  removeRelease: operation({
    id: "removeRelease",
    summary: "Remove a release",
    description:
      "Removes a release from the catalog, and the files that no other release has. A release that is offered to clients is removed with `force=true` only.",
    ...CHANGES,
    params: ReleaseParams,
    query: RemovalQuery,
    errors: [...RELEASE_ERRORS, "release_in_use"],
    response: { description: "What was removed, or would be.", schema: RemovalResult, examples: { Removed: REMOVED } },
    run: ({ ctx, operator, params, query, request }) =>
      removeRelease(ctx, operator, params.releaseId, query, ifMatch(request)),
  }),

  getAdoption: operation({
    id: "getAdoption",
    summary: "Get the adoption of versions",
    description:
      "Counts update checks, distinct clients and downloads by UTC day, newest day first. Distinct clients are estimated within 2 percent; a client is known by its id for staged rollouts, or by its network if it sends none. The counts are at most a minute old.",
    ...READS,
    query: AdoptionQuery,
    response: {
      description: "The counts.",
      schema: AdoptionReport,
      examples: {
        "One version": {
          from: "2026-11-22",
          to: "2026-11-22",
          products: [{ day: "2026-11-22", product: "core", ...TOTALS }],
          versions: [{ day: "2026-11-22", ...BUILD, version: "1.2.0", ...TOTALS, offers: 96, offeredClients: 41 }],
        },
      },
    },
    run: ({ ctx, operator, query }) => readAdoption(ctx, operator, query),
  }),

  previewReleases: operation({
    id: "previewReleases",
    summary: "Preview a change of releases",
    description:
      "Shows which release each group of clients gets before and after a change, and how many of yesterday's clients are affected. Changes nothing. The selection is the one of `GET /api/version`, for clients that send an id and run on a system that every release supports. Send the `ETag` as `If-Match` with the change itself, so that it is refused if the product's releases or their schedules have changed since.",
    ...READS,
    body: ProposedChange,
    errors: [
      ...CATALOG_ERRORS,
      "catalog_unavailable",
      "release_not_found",
      "rollout_not_found",
      "release_invalid",
      "release_yanked",
      "release_conflict",
      "confirmation_required",
    ],
    examples: {
      "A smaller rollout": { kind: "change", filter: { product: "core", version: "1.2.0" }, change: { rollout: 10 } },
      "A rollback": { kind: "rollback", filter: { product: "core", version: "1.1.0" } },
      "A halt": { kind: "rollout", rolloutId: "0198d2f4-3c2b-7d40-8a55-2e9c1f7b6d32", state: "halted" },
    },
    response: {
      description: "The releases before and after.",
      schema: ReleasePreview,
      headers: ["ETag"],
      examples: {
        "A smaller rollout": {
          products: ["core"],
          countedOn: "2026-11-22",
          clients: 1_240,
          changedClients: 918,
          rows: [
            {
              ...BUILD,
              installed: "1.1.0",
              clients: 1_020,
              changedShare: 0.9,
              before: [{ version: "1.2.0", share: 1, isMandatory: false, isOlder: false }],
              after: [
                { version: null, share: 0.9, isMandatory: false, isOlder: false },
                { version: "1.2.0", share: 0.1, isMandatory: false, isOlder: false },
              ],
            },
          ],
          changes: [{ id: "core-windows-x64-1.2.0", version: "1.2.0", outcome: "changed" }],
          notes: [],
        },
      },
    },
    run: async ({ ctx, operator, body }) => {
      const { preview, state } = await previewChange(ctx, operator, body);
      return withState(preview, state);
    },
  }),

  promoteReleases: operation({
    id: "promoteReleases",
    summary: "Offer builds on another channel",
    description:
      "Offers the same builds on another channel, all at once: adds a release with the same version, files and notes for each release that the filter selects. A prerelease cannot become stable. Repeating the request changes nothing.",
    ...CHANGES,
    body: Promotion,
    errors: [...RELEASE_ERRORS, ...ADMISSION_ERRORS, "release_conflict", "release_yanked", "confirmation_required"],
    examples: {
      "A tested build for everyone": {
        filter: { ids: ["2.3.0"], product: "core" },
        from: "beta",
        to: "stable",
        rollout: 10,
      },
    },
    response: {
      description: "The releases are on the channel.",
      schema: PromotedReleases,
      examples: {
        Promoted: {
          releases: [{ id: "core-windows-x64-2.3.0-stable", from: "core-windows-x64-2.3.0", outcome: "added" }],
        },
      },
    },
    run: ({ ctx, operator, body, request }) => promoteInCatalog(ctx, operator, body, ifMatch(request)),
  }),

  pruneReleases: operation({
    id: "pruneReleases",
    summary: "Remove old releases and unused files",
    description:
      "Removes files that belong to no release and, if a limit is given, old releases. With both limits, only those that exceed both. Releases that a client may need stay. The `ETag` of a dry run can be sent as `If-Match` with the change itself, so that it is refused if the products' releases or their schedules have changed since.",
    ...CHANGES,
    body: CatalogPrune,
    errors: [...CATALOG_ERRORS, "catalog_locked", "disk_full", "precondition_failed"],
    examples: { "What would be removed": { keep: 5, publishedBefore: "2026-08-20T00:00:00Z", isDryRun: true } },
    response: {
      description: "What was removed, or would be. Only a dry run has an `ETag`.",
      schema: PrunedCatalog,
      headers: ["ETag"],
      examples: {
        Removed: {
          releases: ["core-windows-x64-1.0.0"],
          files: ["9f86d081884c7d65/Acme-1.0.0-x64.exe"],
          freedBytes: 104857600,
          elsewhere: [],
        },
      },
    },
    run: async ({ ctx, operator, body, request }) =>
      withSeenState(await pruneCatalog(ctx, operator, body, ifMatch(request))),
  }),

  removeReleases: operation({
    id: "removeReleases",
    summary: "Remove several releases at once",
    description:
      "Removes the releases that the filter selects from the catalog, all of them or none, and the files that no other release has. Releases that are offered to clients are removed with `isForced` only. The `ETag` of a dry run can be sent as `If-Match` with the change itself, so that it is refused if the products' releases or their schedules have changed since.",
    ...CHANGES,
    body: Removal,
    errors: [...RELEASE_ERRORS, "release_in_use"],
    examples: { "A withdrawn version": { filter: { product: "core", version: "2.3.0" }, isDryRun: true } },
    response: {
      description: "What was removed, or would be. Only a dry run has an `ETag`.",
      schema: RemovalResult,
      headers: ["ETag"],
      examples: { Removed: REMOVED },
    },
    run: async ({ ctx, operator, body, request }) =>
      withSeenState(await removeFromCatalog(ctx, operator, body, ifMatch(request))),
  }),

  rollBackReleases: operation({
    id: "rollBackReleases",
    summary: "Roll back to an older release",
    description:
      "Rolls back to an older version, all at once: marks its releases as rollbacks for everybody, and withdraws the newer releases of their channel that the same computers get. Clients with a withdrawn version are offered the older one, if their updater can install it. Halts the schedules of releases that it yanks, and ends those of the others.",
    ...CHANGES,
    body: Rollback,
    errors: [...RELEASE_ERRORS, ...ADMISSION_ERRORS, "release_yanked"],
    examples: { "Back to 1.1.0": { filter: { product: "core", version: "1.1.0", channel: "stable" } } },
    response: {
      description: "The older version is offered.",
      schema: RolledBack,
      examples: {
        "Rolled back": {
          releases: [{ id: "core-windows-x64-1.1.0", outcome: "changed" }],
          withdrawn: ["core-windows-x64-1.2.0"],
          notes: [],
        },
      },
    },
    run: ({ ctx, operator, body, request }) => rollBackCatalog(ctx, operator, body, ifMatch(request)),
  }),

  verifyRelease: operation({
    id: "verifyRelease",
    summary: "Verify the files of a release",
    description:
      "Hashes all files of a release again, those in the catalog's folder and in the object storage, and compares them with the catalog. It takes seconds per gigabyte. Files at other URLs are counted, not read: download them below `/api/updates/{product}/{channel}/` to verify them. A yanked release has no files to verify.",
    ...READS,
    body: Verification,
    errors: [...CATALOG_ERRORS, "release_not_found"],
    examples: { "One release": { releaseId: "core-windows-x64-1.2.0" } },
    response: {
      description: "What was verified.",
      schema: VerifiedRelease,
      examples: {
        Intact: {
          files: [{ kinds: ["installer"], location: "9f86d081884c7d65/Acme-1.2.0.exe 9f86d081884c", problem: null }],
          elsewhere: 0,
        },
      },
    },
    run: ({ ctx, operator, body }) => verifyRelease(ctx, operator, body),
  }),

  changeVersion: formOperation({
    id: "changeVersion",
    summary: "Change a release or its rollout",
    role: "admin",
    body: PreviewedAction,
    run: ({ ctx, operator, body }) => performAction(ctx, operator, body),
    form: {
      // If something has changed since the preview, it is made again.
      after: (isDone, action) => (isDone ? { done: action.action, to: versionPath(action) } : { done: "stale" }),
    },
  }),

  changeNotes: formOperation({
    id: "changeNotes",
    summary: "Change release notes",
    role: "admin",
    body: NotesForm,
    maxBodyBytes: MAX_BODY_BYTES,
    run: ({ ctx, operator, body }) => changeNotes(ctx, operator, body),
    form: { kept: ["notes", "notesUrl"], after: () => ({ done: "notes" }) },
  }),

  verifyVersion: formOperation({
    id: "verifyVersion",
    summary: "Verify the files of a version",
    role: "support",
    body: ReleaseAction.pick({ product: true, channel: true, version: true }),
    run: ({ ctx, operator, body }) => verifyVersion(ctx, operator, body),
    form: { after: () => ({ done: "verified" }) },
  }),
};
