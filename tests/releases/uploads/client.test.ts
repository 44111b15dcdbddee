import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { createUploadIdStore, uploadFile } from "@/scripts/homeport/release/upload";
import { clientOf, createHttpClient } from "@/scripts/homeport/transport/http-client";
import { listenForTest } from "@/tests/support/network/listen";
import { build, filesIn, newFolder } from "@/tests/support/releases/publishing";

const UPLOAD_ID = "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11";
const PROBLEM = { "content-type": "application/problem+json" };

/** What a server does with a part instead of keeping it: an answer, or nothing where it drops the connection. */
type Fault = { status: number; code?: string } | "drop" | null;

async function startUploads(faultOf: (part: { offset: number; bytes: Buffer; attempt: number }) => Fault = () => null) {
  const uploads = new Map<string, { size: number; bytes: Buffer }>();
  const seen = { attempts: 0, partSizes: [] as number[], keys: new Set<string | undefined>() };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    seen.keys.add(request.headers.authorization);
    const id = request.url?.split("/").at(-1) ?? "";
    const upload = uploads.get(id);
    if (request.method === "POST") {
      uploads.set(UPLOAD_ID, { size: Number(request.headers["upload-length"]), bytes: Buffer.alloc(0) });
      return response.writeHead(201, { location: `/api/admin/uploads/${UPLOAD_ID}` }).end();
    }
    if (!upload) return response.writeHead(404, PROBLEM).end();
    if (request.method === "HEAD") {
      const headers = { "upload-offset": upload.bytes.length, "upload-length": upload.size };
      return response.writeHead(200, headers).end();
    }
    const bytes = await buffer(request);
    const offset = Number(request.headers["upload-offset"]);
    seen.attempts += 1;
    const fault = faultOf({ offset, bytes, attempt: seen.attempts });
    if (fault === "drop") return response.destroy();
    if (fault) return response.writeHead(fault.status, PROBLEM).end(JSON.stringify({ code: fault.code, title: "No" }));
    if (offset !== upload.bytes.length) return response.writeHead(409, PROBLEM).end("{}");
    seen.partSizes.push(bytes.length);
    upload.bytes = Buffer.concat([upload.bytes, bytes]);
    return response.writeHead(204, { "upload-offset": upload.bytes.length }).end();
  };
  const server = createServer((request, response) => void handle(request, response));
  const url = `http://${await listenForTest(server)}`;
  return { uploads, seen, client: createHttpClient(url, "hp_test", 1) };
}

async function newUpload(sizeBytes: number) {
  const testFolder = await newFolder();
  const bytes = randomBytes(sizeBytes);
  const file = await build(testFolder, "setup.exe", bytes);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const folder = path.join(testFolder.folder, "cache");
  return {
    bytes,
    folder,
    uploadIds: createUploadIdStore(folder),
    upload: { file, fileName: "setup.exe", sizeBytes, sha256 },
  };
}

describe("an upload", () => {
  test("arrives in parts, with the key in each request, and is forgotten when it was used", async () => {
    const { client, uploads, seen } = await startUploads();
    const { bytes, uploadIds, folder, upload } = await newUpload(20_000_000);
    const { uploadId, forget } = await uploadFile(client, uploadIds, upload);
    expect(uploads.get(uploadId)?.bytes.equals(bytes)).toBe(true);
    expect(seen).toMatchObject({ partSizes: [8_388_608, 8_388_608, 3_222_784], keys: new Set(["Bearer hp_test"]) });
    expect(await filesIn(folder)).toHaveLength(1);
    await forget();
    expect(await filesIn(folder)).toEqual([]);
  });

  test.each([
    ["the connection breaks", "drop"],
    ["another request still writes", { status: 423, code: "upload_locked" }],
  ] as const)("goes on when %s", async (_, fault) => {
    const { client, uploads } = await startUploads(({ attempt }) => (attempt === 2 || attempt === 3 ? fault : null));
    const { bytes, uploadIds, upload } = await newUpload(10_000_000);
    const { uploadId } = await uploadFile(client, uploadIds, upload);
    expect(uploads.get(uploadId)?.bytes.equals(bytes)).toBe(true);
  });

  test("uses smaller parts where a proxy limits the size of requests", async () => {
    const tooLarge = { status: 413 };
    const { client, uploads, seen } = await startUploads(({ bytes }) => (bytes.length > 1_048_576 ? tooLarge : null));
    const { bytes, uploadIds, upload } = await newUpload(3_000_000);
    const { uploadId } = await uploadFile(client, uploadIds, upload);
    expect(uploads.get(uploadId)?.bytes.equals(bytes)).toBe(true);
    expect(Math.max(...seen.partSizes)).toBe(1_048_576);
  });

  test("continues after the client was killed, and begins again if the server does not know it any more", async () => {
    let isRefused = true;
    const forbidden = { status: 403, code: "forbidden" };
    const { client, uploads, seen } = await startUploads(({ offset }) => (isRefused && offset > 0 ? forbidden : null));
    const { bytes, uploadIds, upload } = await newUpload(10_000_000);
    await expect(uploadFile(client, uploadIds, upload)).rejects.toMatchObject({ code: "forbidden" });
    isRefused = false;
    await uploadFile(client, uploadIds, upload);
    expect(seen.partSizes).toEqual([8_388_608, 1_611_392]);
    uploads.clear();
    const { uploadId } = await uploadFile(client, uploadIds, upload);
    expect(uploads.get(uploadId)?.bytes.equals(bytes)).toBe(true);
  });

  test("ends with the server's error where another attempt does not help", async () => {
    const { client } = await startUploads(() => ({ status: 503, code: "unavailable" }));
    const { uploadIds, upload } = await newUpload(1_000);
    await expect(uploadFile(client, uploadIds, upload)).rejects.toMatchObject({ code: "unavailable" });
    const none = createHttpClient("http://127.0.0.1:9", "hp_test", 1);
    await expect(uploadFile(none, uploadIds, upload)).rejects.toMatchObject({ code: "unreachable" });
  });
});

test("a request that may be repeated only much later is not, and the error says when", async () => {
  let sent = 0;
  const client = clientOf("the service", async () => {
    sent += 1;
    return Response.json({ code: "rate_limited", title: "No" }, { status: 429, headers: { "retry-after": "3541" } });
  });
  await expect(client.json({ method: "POST", path: "/" })).rejects.toThrow("No. Try again in 60 minutes.");
  expect(sent).toBe(1);
});

describe("the URL of a service", () => {
  test.each(["http://localhost.example.com", "ftp://localhost", "updates.example.com"])(
    "is refused where it would show the key: %s",
    (url) => {
      expect(() => createHttpClient(url, "hp_test")).toThrow("HOMEPORT_URL must be an https URL");
    },
  );

  test.each(["https://updates.example.com/", "http://localhost:3000", "http://[::1]:3000"])("may be %s", (url) => {
    expect(createHttpClient(url, "hp_test").url).toBe(url.replace(/\/$/, ""));
  });
});
