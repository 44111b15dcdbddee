import { randomBytes } from "node:crypto";
import type { CreatedKey } from "@/lib/auth/api-keys/schema";
import { call } from "@/tests/support/api";

const TUS = { "tus-resumable": "1.0.0" };
const PART = { ...TUS, "content-type": "application/offset+octet-stream" };

/** An upload of the tests: its path, and the key that owns it. */
export type TestUpload = { id: string; path: string; key: string };

export async function createUpload(
  { key }: Pick<CreatedKey, "key">,
  sizeBytes: number,
  fileName = "setup.exe",
): Promise<TestUpload> {
  const metadata = `filename ${Buffer.from(fileName).toString("base64")}`;
  const headers = { ...TUS, "upload-length": String(sizeBytes), "upload-metadata": metadata };
  const response = await call("POST", "/api/admin/uploads", { token: key, headers });
  if (response.status !== 201) throw new Error(`The upload was not created: ${await response.text()}`);
  const { id } = (await response.json()) as { id: string };
  return { id, key, path: new URL(response.headers.get("location") ?? "").pathname };
}

export function sendPart(
  { path, key }: TestUpload,
  offset: number,
  body: BodyInit,
  headers: Record<string, string> = {},
) {
  return call("PATCH", path, { token: key, body, headers: { ...PART, "upload-offset": String(offset), ...headers } });
}

/** How much has arrived; the status if the response does not say. */
export async function offsetOf({ path, key }: TestUpload): Promise<number> {
  const response = await call("HEAD", path, { token: key, headers: TUS });
  return Number(response.headers.get("upload-offset") ?? response.status);
}

export const tus = (method: string, { path, key }: TestUpload, headers: Record<string, string> = TUS) =>
  call(method, path, { token: key, headers });

export async function uploadFile(
  key: Pick<CreatedKey, "key">,
  bytes: Buffer = randomBytes(1000),
  fileName = "setup.exe",
) {
  const upload = await createUpload(key, bytes.byteLength, fileName);
  const { status } = await sendPart(upload, 0, new Uint8Array(bytes));
  if (status !== 204) throw new Error(`The part was refused with ${status}`);
  return upload;
}
