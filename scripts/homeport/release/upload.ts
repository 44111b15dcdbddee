import { createHash } from "node:crypto";
import { mkdir, open, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CommandError } from "../../../lib/errors";
import { writeDurably } from "../../../lib/platform/files/durable";
import { drawProgress } from "../terminal";
import { type HttpClient, toError, unreachable } from "../transport/http-client";
import { requestOf } from "../transport/operations";

const TUS = { "tus-resumable": "1.0.0" };
/** A part is kept by the server as a whole. Proxies may limit the size of a request. */
const MAX_PART_BYTES = 8 * 1024 * 1024;
const MIN_PART_BYTES = 512 * 1024;
/** Without progress. */
const MAX_ATTEMPTS = 6;

/** Codes of errors after which another attempt may help. A response to HEAD has no code but its status. */
const TEMPORARY = /^(http_(408|423|429|5\d\d)|unreachable|unavailable|overloaded|rate_limited|upload_locked)$/;

/** A file to upload. `sha256` finds the upload of an interrupted run. */
export type UploadedFile = { file: string; fileName: string; sizeBytes: number; sha256: string };

/** A file that was uploaded. `forget` is for when the upload has been used. */
export type Uploaded = { uploadId: string; isGone: () => Promise<boolean>; forget: () => Promise<void> };

/** Uploads a file (tus 1.0), or the rest after an interrupted run. */
export async function uploadFile(
  client: HttpClient,
  uploadIds: UploadIdStore,
  upload: UploadedFile,
): Promise<Uploaded> {
  const name = createHash("sha256").update([client.url, upload.sha256, upload.fileName].join("\n")).digest("hex");
  const known = await uploadIds.get(name);
  const exists = async (id: string) => (await retry(client, () => offsetOf(client, id, upload))) !== null;
  const isKnown = known !== null && (await exists(known));
  const uploadId = isKnown ? known : await retry(client, () => createUpload(client, upload));
  if (!isKnown) await uploadIds.set(name, uploadId);
  await sendFile(client, uploadId, upload);
  return { uploadId, isGone: async () => !(await exists(uploadId)), forget: () => uploadIds.delete(name) };
}

async function createUpload(client: HttpClient, { fileName, sizeBytes }: UploadedFile): Promise<string> {
  const metadata = `filename ${Buffer.from(fileName).toString("base64")}`;
  const headers = { ...TUS, "upload-length": String(sizeBytes), "upload-metadata": metadata };
  const response = await client.send({ ...requestOf("createUpload"), headers }).catch((error: unknown) => {
    throw unreachable(client.url, error);
  });
  if (response.status !== 201) throw await toError(response);
  await response.body?.cancel();
  const id = response.headers.get("location")?.split("/").at(-1);
  if (!id) throw new CommandError("invalid_response", `${client.url} did not return the id of the upload.`);
  return id;
}

/** How much has arrived; null if the upload does not exist, or is of another size. */
async function offsetOf(client: HttpClient, id: string, { sizeBytes }: UploadedFile): Promise<number | null> {
  const response = await client.send({ ...requestOf("headReadUpload", { params: { uploadId: id } }), headers: TUS });
  if (response.status === 404 || response.status === 410) return null;
  if (!response.ok) throw await toError(response);
  if (response.headers.get("upload-length") !== String(sizeBytes)) return null;
  return Number(response.headers.get("upload-offset"));
}

type Part = { offset: number; bytes: Uint8Array<ArrayBuffer> };

async function sendFile(client: HttpClient, id: string, upload: UploadedFile): Promise<void> {
  const handle = await open(upload.file);
  const buffer = Buffer.allocUnsafe(Math.min(MAX_PART_BYTES, upload.sizeBytes));
  let partBytes = MAX_PART_BYTES;
  let offset = 0;
  let failures = 0;
  const readOffset = async () => {
    const known = await offsetOf(client, id, upload);
    if (known === null) throw new CommandError("upload_not_found", "The upload has expired. Run the command again.");
    return known;
  };
  try {
    offset = await retry(client, readOffset);
    while (offset < upload.sizeBytes) {
      drawProgress("Uploading", offset, upload.sizeBytes);
      const { bytesRead } = await handle.read(buffer, 0, Math.min(partBytes, buffer.byteLength), offset);
      if (bytesRead === 0) throw new CommandError("file_changed", `${upload.file} is shorter than before.`);
      const error = await sendPart(client, id, { offset, bytes: buffer.subarray(0, bytesRead) });
      const isTooLarge = error?.code === "payload_too_large";
      if (isTooLarge && partBytes > MIN_PART_BYTES) partBytes /= 2;
      else if (error !== null) {
        failures += 1;
        if (failures >= MAX_ATTEMPTS || isTooLarge) throw error;
        await delay(client.retryDelayMs * 2 ** (failures - 1));
      }
      const before = offset;
      offset = error === null ? offset + bytesRead : await retry(client, readOffset);
      if (offset > before) failures = 0;
    }
    drawProgress("Uploading", upload.sizeBytes, upload.sizeBytes);
  } finally {
    await handle.close();
  }
}

/** Sends a part. Returns null if it arrived, an error if another attempt may help. @throws CommandError otherwise */
async function sendPart(client: HttpClient, id: string, { offset, bytes }: Part): Promise<CommandError | null> {
  const headers = { ...TUS, "upload-offset": String(offset), "content-type": "application/offset+octet-stream" };
  const request = { ...requestOf("appendToUpload", { params: { uploadId: id } }), headers, body: bytes };
  const response = await client.send(request).catch((error: unknown) => unreachable(client.url, error));
  if (response instanceof CommandError) {
    if (response.code === "unreachable") return response;
    throw response;
  }
  if (response.status === 204) return null;
  if (response.status === 413) {
    await response.body?.cancel();
    return new CommandError("payload_too_large", "The server or a proxy refuses the size of the parts.");
  }
  const error = await toError(response);
  if (response.status >= 500 || [408, 409, 423, 429].includes(response.status)) return error;
  throw error;
}

/** Repeats a request until it succeeds or fails permanently. */
async function retry<T>(client: HttpClient, attempt: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof CommandError && !TEMPORARY.test(error.code)) throw error;
      if (attempts >= MAX_ATTEMPTS) throw error instanceof CommandError ? error : unreachable(client.url, error);
      await delay(client.retryDelayMs * 2 ** (attempts - 1));
    }
  }
}

/** Keeps the ids of unfinished uploads between runs. Without a folder that can be written, each upload begins again. */
export function createUploadIdStore(folder: string) {
  const fileOf = (name: string) => path.join(folder, name);
  return {
    /** The id of the upload that an interrupted run began; null if there is none. */
    get: async (name: string): Promise<string | null> => {
      const id = await readFile(fileOf(name), "utf8").catch(() => "");
      return /^[\w-]{1,64}$/.test(id) ? id : null;
    },
    set: async (name: string, id: string): Promise<void> => {
      await mkdir(folder, { recursive: true, mode: 0o700 })
        .then(() => writeDurably(fileOf(name), id, { mode: 0o600 }))
        .catch(() => {});
    },
    delete: (name: string): Promise<void> => rm(fileOf(name), { force: true }).catch(() => {}),
  };
}

export type UploadIdStore = ReturnType<typeof createUploadIdStore>;
