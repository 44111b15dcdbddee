import { randomUUID } from "node:crypto";
import { BLOCK_MAP_EXTENSION } from "../../../../../lib/releases/publishing/block-maps/block-map";
import type { ReleaseDocument } from "../../../../../lib/releases/publishing/list";
import { type HashedFile, hashDraft, type ReleaseDraft } from "../../../../../lib/releases/publishing/publish/draft";
import type { ReleasesFilter } from "../../../../../lib/releases/publishing/schemas/maintenance";
import { drawProgress } from "../../../output/progress";
import type { HttpClient } from "../../../transport/http-client";
import type { AddOutcome, ReleaseStore, UpdateOutcome } from "../release-store";
import { type UploadedFile, uploadFile } from "./upload";
import type { UploadIdStore } from "./upload-id-store";
import { verifyDownloads, verifyFiles } from "./verify";

const RELEASES = "/api/admin/releases";
const JSON_BODY = { "content-type": "application/json" };

/**
 * The catalog of a service, over its API. `isElsewhere`: the service is on another machine, so that its files are verified as
 * clients download them.
 */
export function apiStore(client: HttpClient, uploadIds: UploadIdStore, isElsewhere: boolean): ReleaseStore {
  const list = (filter: ReleasesFilter) => listAll(client, filter);
  const post = <T>(path: string, body: object) => client.json<T>(postRequest(`${RELEASES}${path}`, body));
  const change = async <T>(path: string, body: object, etag: string | undefined) => {
    const request = postRequest(`${RELEASES}${path}`, body);
    const headers = { ...request.headers, ...(etag && { "if-match": etag }) };
    return client.jsonWithTag<T>({ ...request, headers });
  };
  return {
    list,
    add: (drafts) => add(client, uploadIds, drafts),
    update: (filter, change) =>
      client.json<UpdateOutcome>({ ...postRequest(RELEASES, { filter, change }), method: "PATCH" }),
    promote: (filter, promotion) => post("/promotions", { filter, ...promotion }),
    remove: (filter, options, etag) => change("/removals", { filter, ...options }, etag),
    prune: (filter, { publishedBefore, ...options }, etag) =>
      change("/prune", { filter, ...options, publishedBefore: publishedBefore?.toISOString() }, etag),
    verify: (filter, options) =>
      isElsewhere ? verifyDownloads(client, () => list(filter)) : verifyFiles(client, () => list(filter), options),
  };
}

/** A repeated attempt gets the response of the first; a repeated command has another key. */
const newIdempotencyKey = () => ({ "idempotency-key": randomUUID() });

function postRequest(path: string, body: object) {
  return { method: "POST", path, headers: { ...JSON_BODY, ...newIdempotencyKey() }, body: JSON.stringify(body) };
}

async function listAll(client: HttpClient, { ids: _, ...fields }: ReleasesFilter): Promise<ReleaseDocument[]> {
  const releases: ReleaseDocument[] = [];
  const query = new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== undefined));
  for (let cursor: string | null = ""; cursor !== null; ) {
    if (cursor) query.set("cursor", cursor);
    type Page = { releases: ReleaseDocument[]; nextCursor: string | null };
    const page: Page = await client.json<Page>({ method: "GET", path: `${RELEASES}?${query}` });
    releases.push(...page.releases);
    cursor = page.nextCursor;
  }
  return releases;
}

async function add(client: HttpClient, uploadIds: UploadIdStore, drafts: readonly ReleaseDraft[]): Promise<AddOutcome> {
  const uploads = new Map<string, Awaited<ReturnType<typeof uploadFile>>>();
  const upload = async (source: UploadedFile) => {
    const uploaded = uploads.get(source.file) ?? (await uploadFile(client, uploadIds, source));
    uploads.set(source.file, uploaded);
    return uploaded.uploadId;
  };
  const releases = [];
  for (const draft of drafts) {
    const { release, files, publicKeys, confirmations } = await hashDraft(draft, drawProgress);
    const sent = [];
    for (const file of files) {
      const { fileName, sizeBytes, sha256 } = file.artifact;
      const uploadId = await upload({ file: file.file, fileName, sizeBytes, sha256 });
      const map = blockMapOf(file);
      sent.push({ ...toRequestFile(file, uploadId), blockMapUploadId: map && (await upload(map)) });
    }
    releases.push({ release, files: sent, publicKeys, confirmations });
  }
  const added = await client.json<AddOutcome>(postRequest(RELEASES, { releases }));
  for (const { forget } of uploads.values()) await forget();
  return added;
}

/** The block map that was found beside the file, or was named. The service makes the others itself. */
function blockMapOf({ blockMap, artifact: { fileName } }: HashedFile): UploadedFile | undefined {
  if (!blockMap?.file) return undefined;
  const { file, sizeBytes, sha256 } = blockMap;
  return { file, fileName: `${fileName}${BLOCK_MAP_EXTENSION}`, sizeBytes, sha256 };
}

function toRequestFile({ kinds, from, destination, artifact }: HashedFile, uploadId: string) {
  const { fileName, contentType, minisign, edSignature, sizeBytes, sha256 } = artifact;
  const expected = { by: "the client", sizeBytes, sha256 };
  return { uploadId, kinds, from, destination, expected, artifact: { fileName, contentType, minisign, edSignature } };
}
