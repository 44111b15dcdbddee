import { randomBytes, randomUUID } from "node:crypto";
import type { CreatedKey } from "@/lib/admin/keys/schema";
import { uploadFile } from "@/tests/support/admin/uploads";
import { call } from "@/tests/support/api";

type Answer = Record<string, unknown> & { status: number; code?: string; id: string };

/** Calls the API of releases below /api/admin/releases. Returns the body with the status. */
export async function callReleases(method: string, path: string, token?: string, json?: unknown): Promise<Answer> {
  const response = await call(method, `/api/admin/releases${path}`, { ...(token && { token }), json });
  return { ...((await response.json()) as Answer), status: response.status };
}

/** Publishes a version of the product core over the API, by default for 64-bit Windows. Returns the release's id. */
export async function publishVersion(
  key: Pick<CreatedKey, "key">,
  version: string,
  release: Record<string, unknown> = {},
): Promise<string> {
  const extension = release.platform === "macos" ? "zip" : "exe";
  const { id } = await uploadFile(key, randomBytes(200), `setup-${randomUUID().slice(0, 8)}.${extension}`);
  const fields = { product: "core", platform: "windows", architecture: "x64", version, ...release };
  const draft = { release: fields, files: [{ uploadId: id, kinds: ["installer", "update"] }] };
  const confirmations = { isNew: true, isPrerelease: true };
  const published = await callReleases("POST", "", key.key, { releases: [{ ...draft, confirmations }] });
  const [added] = (published.releases ?? []) as { id: string }[];
  if (!added) throw new Error(JSON.stringify(published));
  return added.id;
}
