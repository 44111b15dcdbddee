const UPLOADS = "/api/admin/uploads";
const TUS = { "Tus-Resumable": "1.0.0" };
/** What is lost at most when a connection breaks is on its way, not on the server: parts only bound a request's time. */
const PART_BYTES = 4 * 1024 * 1024;
/** Without progress. */
const MAX_ATTEMPTS = 5;
const RETRY_MS = 1_000;

/** An upload of this operator that the server knows. */
export type KnownUpload = {
  id: string;
  fileName: string;
  sizeBytes: number;
  /** `File.lastModified`, by which the same file is recognized after a reload. */
  lastModified: string;
};

/** Why an upload stopped. It can be continued. */
export class UploadError extends Error {}

type Options = { signal: AbortSignal; onCreated: (id: string) => void; onProgress: (offsetBytes: number) => void };

/**
 * Uploads a file by the tus protocol (1.0, core and creation), or continues the upload `known`. After an error it asks how
 * much has arrived and continues there.
 * @throws UploadError; the signal's reason
 */
export async function uploadFile(file: File, known: string | undefined, options: Options): Promise<void> {
  const id = known ?? (await createUpload(file, options.signal));
  let offset = known ? await readOffset(id, options.signal) : 0;
  options.onCreated(id);
  let failures = 0;
  options.onProgress(offset);
  while (offset < file.size) {
    const isSent = await sendPart(id, file, offset, options.signal);
    const before = offset;
    offset = isSent ? Math.min(offset + PART_BYTES, file.size) : await readOffset(id, options.signal);
    options.onProgress(offset);
    failures = offset > before ? 0 : failures + 1;
    if (failures >= MAX_ATTEMPTS) throw new UploadError("The connection breaks again and again.");
    if (failures > 0) await wait(RETRY_MS * 2 ** (failures - 1), options.signal);
  }
}

async function createUpload(file: File, signal: AbortSignal): Promise<string> {
  const metadata = `filename ${base64(file.name)},lastModified ${base64(String(file.lastModified))}`;
  const headers = { ...TUS, "Upload-Length": String(file.size), "Upload-Metadata": metadata };
  const response = await send(UPLOADS, { method: "POST", headers, signal });
  if (!response?.ok) throw await describe(response);
  return ((await response.json()) as { id: string }).id;
}

/** How much has arrived. Tries again while the service cannot be reached. */
async function readOffset(id: string, signal: AbortSignal): Promise<number> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const response = await send(`${UPLOADS}/${id}`, { method: "HEAD", headers: TUS, signal });
    if (response?.ok) return Number(response.headers.get("Upload-Offset"));
    if (response && !isTemporary(response.status)) throw await describe(response);
    await wait(RETRY_MS * 2 ** attempt, signal);
  }
  throw await describe(null);
}

/** Whether a part has arrived as a whole. @throws UploadError for an error that another attempt does not change */
async function sendPart(id: string, file: File, offset: number, signal: AbortSignal): Promise<boolean> {
  const headers = { ...TUS, "Upload-Offset": String(offset), "Content-Type": "application/offset+octet-stream" };
  const body = file.slice(offset, offset + PART_BYTES);
  const response = await send(`${UPLOADS}/${id}`, { method: "PATCH", headers, body, signal });
  if (response?.ok) return true;
  if (response && !isTemporary(response.status)) throw await describe(response);
  return false;
}

/** 409: the offset is another one; 423: the request before is not over yet. */
function isTemporary(status: number): boolean {
  return [408, 409, 423, 429].includes(status) || (status >= 500 && status !== 507);
}

/** null: the service cannot be reached. @throws the signal's reason */
async function send(path: string, init: RequestInit): Promise<Response | null> {
  return fetch(path, init).catch(() => {
    init.signal?.throwIfAborted();
    return null;
  });
}

async function describe(response: Response | null): Promise<UploadError> {
  if (!response) return new UploadError("The service cannot be reached.");
  if (response.status === 401) return new UploadError("Your session has ended: sign in again in another tab.");
  if (response.status === 404) return new UploadError("The upload has expired: reload the page and start again.");
  const problem = (await response.json().catch(() => ({}))) as { title?: string; detail?: string };
  return new UploadError(problem.detail ?? problem.title ?? `The service responded with ${response.status}.`);
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** UTF-8, as `Upload-Metadata` takes it. */
function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}
