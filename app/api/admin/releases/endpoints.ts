import { ifMatch, withState } from "@/app/api/admin/if-match";
import { operatorOf, ownerOf } from "@/lib/admin/operator";
import { removeRelease } from "@/lib/admin/releases/api/maintain-catalog";
import { changeRelease, changeReleases, listCatalog, readRelease } from "@/lib/admin/releases/api/manage-releases";
import { publishUploads } from "@/lib/admin/releases/api/publish-uploads";
import { ChangedReleases } from "@/lib/admin/releases/schemas/maintenance";
import {
  ChangedRelease,
  ChangeResult,
  NewReleases,
  PublishedReleases,
  Release,
  ReleaseParams,
  Releases,
  ReleasesQuery,
  RemovalQuery,
  RemovalResult,
} from "@/lib/admin/releases/schemas/releases";
import { endpoint } from "@/lib/http/endpoint";

const TO_WRITE = { role: "admin", stepUp: true, scope: "releases:write" } as const;
const CATALOG_ERRORS = ["catalog_not_editable", "catalog_invalid"] as const;
const CHANGE_ERRORS = [...CATALOG_ERRORS, "catalog_locked", "disk_full", "release_invalid"] as const;
/** A draft's notes may be long, and a release has many files. */
const MAX_BODY_BYTES = 1024 * 1024;

export const listAll = endpoint({
  summary: "List the releases of the catalog",
  auth: { role: "support", scope: "releases:read" },
  query: ReleasesQuery,
  errors: ["catalog_invalid", "catalog_unavailable"],
  responses: { 200: Releases },
  handle: ({ ctx, query }) => listCatalog(ctx, query),
});

export const getOne = endpoint({
  summary: "Get a release of the catalog",
  auth: { role: "support", scope: "releases:read" },
  params: ReleaseParams,
  errors: ["release_not_found", "catalog_invalid", "catalog_unavailable"],
  responses: { 200: Release },
  handle: async ({ ctx, params }) => {
    const { release, state } = await readRelease(ctx, params.releaseId);
    return withState(release, state);
  },
});

export const publish = endpoint({
  summary: "Publish uploaded files as releases",
  auth: TO_WRITE,
  idempotency: "replay",
  body: NewReleases,
  maxBodyBytes: MAX_BODY_BYTES,
  errors: [
    ...CHANGE_ERRORS,
    ...(["upload_incomplete", "upload_locked", "confirmation_required", "signature_invalid"] as const),
    ...(["release_conflict", "release_yanked", "file_changed"] as const),
  ],
  responses: { 201: PublishedReleases },
  handle: ({ ctx, principal, body, caller }) =>
    publishUploads(ctx, operatorOf(principal, caller), ownerOf(principal), body),
});

export const changeOne = endpoint({
  summary: "Change a release",
  auth: TO_WRITE,
  idempotency: "replay",
  params: ReleaseParams,
  body: ChangedRelease.extend({ reason: ChangedReleases.shape.reason }),
  maxBodyBytes: MAX_BODY_BYTES,
  errors: [...CHANGE_ERRORS, "release_not_found", "precondition_failed"],
  responses: { 200: ChangeResult },
  handle: ({ ctx, principal, params, body: { reason, ...change }, caller, request }) =>
    changeRelease(ctx, operatorOf(principal, caller), params.releaseId, { change, reason }, ifMatch(request)),
});

export const changeSeveral = endpoint({
  summary: "Change several releases at once",
  auth: TO_WRITE,
  idempotency: "replay",
  body: ChangedReleases,
  maxBodyBytes: MAX_BODY_BYTES,
  errors: [...CHANGE_ERRORS, "release_not_found", "precondition_failed"],
  responses: { 200: ChangeResult },
  handle: ({ ctx, principal, body, caller, request }) =>
    changeReleases(ctx, operatorOf(principal, caller), body, ifMatch(request)),
});

export const deleteOne = endpoint({
  summary: "Remove a release",
  auth: TO_WRITE,
  idempotency: "replay",
  params: ReleaseParams,
  query: RemovalQuery,
  errors: [...CHANGE_ERRORS, "release_not_found", "release_in_use", "precondition_failed"],
  responses: { 200: RemovalResult },
  handle: ({ ctx, principal, params, query, caller, request }) =>
    removeRelease(ctx, operatorOf(principal, caller), params.releaseId, query, ifMatch(request)),
});
