import { randomBytes, randomUUID } from "node:crypto";
import type { CreatedKey } from "@/lib/auth/api-keys/schema";
import { call, get, type Options } from "@/tests/support/api";
import { ctx } from "@/tests/support/context";
import { type TestUpload, uploadFile } from "@/tests/support/releases/uploads";

export const CORE = { product: "core", platform: "windows", architecture: "x64" };

type ReleaseResponse = Record<string, unknown> & { status: number; code?: string; id: string };

/** Calls the API of releases below /api/admin/releases. Returns the body with the status. */
export async function callReleases(
  method: string,
  path: string,
  token?: string,
  json?: unknown,
): Promise<ReleaseResponse> {
  const response = await call(method, `/api/admin/releases${path}`, { ...(token && { token }), json });
  return { ...((await response.json()) as ReleaseResponse), status: response.status };
}

/** Publishes a version of the product core over the API, by default for 64-bit Windows. Returns the release's id. */
export async function publishVersion(
  key: Pick<CreatedKey, "key">,
  version: string,
  release: Record<string, unknown> = {},
): Promise<string> {
  const extension = release.platform === "macos" ? "zip" : "exe";
  const { id } = await uploadFile(key, randomBytes(200), `setup-${randomUUID().slice(0, 8)}.${extension}`);
  const fields = { ...CORE, version, ...release };
  const draft = { release: fields, files: [{ uploadId: id, kinds: ["installer", "update"] }] };
  const confirmations = { isNew: true, isPrerelease: true };
  const published = await callReleases("POST", "", key.key, { releases: [{ ...draft, confirmations }] });
  const [added] = (published.releases ?? []) as { id: string }[];
  if (!added) throw new Error(JSON.stringify(published));
  return added.id;
}

export type ReleaseDraft = { release: object; files: object[]; confirmations?: object };
export type ReleasesBody = {
  code?: string;
  detail?: string;
  releases?: { id: string; outcome?: string }[];
  errors?: { pointer: string }[];
};

/** A draft of a release for 64-bit Windows, whose file is an upload. */
export const draftOf = (version: string, { id }: TestUpload, fields: object = {}): ReleaseDraft => ({
  release: { ...CORE, version },
  files: [{ uploadId: id, kinds: ["installer"], ...fields }],
});

/** Publishes drafts over the API. Returns the body with the status and the headers. */
export async function publishDrafts(token: string, releases: ReleaseDraft[], headers: Record<string, string> = {}) {
  const response = await call("POST", "/api/admin/releases", { token, json: { releases }, headers });
  return { ...((await response.json()) as ReleasesBody), status: response.status, headers: response.headers };
}

export async function changeRelease(method: "PATCH" | "DELETE", id: string, options: Options) {
  const response = await call(method, `/api/admin/releases/${id}`, options);
  return { ...((await response.json()) as ReleasesBody), status: response.status };
}

export async function listReleases(token: string, query = "") {
  const body = await (await get(`/api/admin/releases${query}`, { token })).json();
  return body as { releases: { id: string; version: string; rollout: number }[]; nextCursor: string | null };
}

export async function releaseEventsOf(key: { id: string }, id: string) {
  const where = { actor: `key:${key.id}`, target: `release:${id}` };
  const events = await ctx().db.auditEvent.findMany({ where, orderBy: { id: "asc" } });
  return events.map(({ type, details }) => [type, details]);
}
