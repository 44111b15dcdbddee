import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { Upload } from "tus-js-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKeyOf } from "@/tests/support/process/api-key";
import { canMount, newDisk } from "@/tests/support/process/disk";
import { bearer, preparedDataDir, type Service, startForTest, startService } from "@/tests/support/process/service";

const TUS = { "tus-resumable": "1.0.0" };

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  key = await createKeyOf(service, "releases:write");
});
afterAll(() => service.end("SIGKILL"));

type Options = { key: string; bytes: Buffer; uploadUrl?: string; onProgress?: (sentBytes: number) => void };

/** Uploads with the protocol's own client, as a pipeline would. Returns the upload, which runs until `done`. */
function upload(service: Service, { key, bytes, uploadUrl, onProgress }: Options) {
  let client: Upload | undefined;
  const done = new Promise<string>((resolve, reject) => {
    client = new Upload(bytes, {
      endpoint: `${service.url}/api/admin/uploads`,
      ...(uploadUrl ? { uploadUrl } : {}),
      headers: { Authorization: `Bearer ${key}` },
      metadata: { filename: "setup.exe" },
      chunkSize: 1_000_000,
      retryDelays: null,
      onProgress: (sentBytes) => onProgress?.(sentBytes),
      onError: reject,
      onSuccess: () => resolve(client?.url ?? ""),
    });
    client.start();
  });
  return { done, url: () => client?.url ?? "" };
}

async function publish(service: Service, key: string, uploadUrl: string, version: string) {
  const release = { product: "core", platform: "windows", architecture: "x64", version };
  const files = [{ uploadId: path.basename(uploadUrl), kinds: ["installer"] }];
  return service.post("/api/admin/releases", { releases: [{ release, files }] }, bearer(key));
}

async function downloaded(service: Service, version: string): Promise<Buffer> {
  const response = await service.fetch(`/api/download/windows?product=core&version=${version}`);
  return Buffer.from(await response.arrayBuffer());
}

test("a tus client continues an upload after the service was killed, and its file is published", async () => {
  const bytes = randomBytes(8_000_000);
  let ended: Promise<unknown> | undefined;
  const broken = upload(service, {
    key,
    bytes,
    onProgress: (sentBytes) => {
      if (sentBytes > 4_000_000) ended ??= service.end("SIGKILL");
    },
  });
  await expect(broken.done).rejects.toThrow();
  await ended;
  const id = path.basename(broken.url());
  const { size } = await stat(path.join(service.dataDir, "releases", ".uploads", `${id}.part`));
  expect(size).toBeGreaterThan(3_000_000);

  service = await startService({ DATA_DIR: service.dataDir });
  const uploadUrl = `${service.url}/api/admin/uploads/${id}`;
  const head = await fetch(uploadUrl, { method: "HEAD", headers: { ...TUS, authorization: `Bearer ${key}` } });
  expect(head.headers.get("upload-offset")).toBe(String(size));
  const progress: number[] = [];
  await upload(service, { key, bytes, uploadUrl, onProgress: (sentBytes) => progress.push(sentBytes) }).done;
  expect(Math.min(...progress)).toBeGreaterThanOrEqual(size);
  expect((await publish(service, key, uploadUrl, "1.4.0")).status).toBe(201);
  expect((await downloaded(service, "1.4.0")).equals(bytes)).toBe(true);
});

test.runIf(canMount)("a full disk responds with 507, and the upload continues when there is space", async () => {
  const disk = await newDisk(400);
  const full = await startForTest({ DATA_DIR: await preparedDataDir(path.join(disk.folder, "data")) });
  const ownKey = await createKeyOf(full, "releases:write");
  const bytes = randomBytes(5_000_000);
  const headers = { ...TUS, authorization: `Bearer ${ownKey}`, "upload-length": String(bytes.byteLength) };
  const created = await full.fetch("/api/admin/uploads", { method: "POST", headers });
  const uploadUrl = created.headers.get("location") ?? "";
  await disk.leaveFree(100_000_000);
  await expect(upload(full, { key: ownKey, bytes, uploadUrl }).done).rejects.toMatchObject({
    originalResponse: expect.objectContaining({}),
    message: expect.stringContaining("507"),
  });
  const refused = await full.fetch("/api/admin/uploads", { method: "POST", headers });
  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([507, "disk_full"]);
  await disk.freeAll();
  await upload(full, { key: ownKey, bytes, uploadUrl }).done;
  expect((await publish(full, ownKey, uploadUrl, "1.4.0")).status).toBe(201);
  expect((await downloaded(full, "1.4.0")).equals(bytes)).toBe(true);
});

test("the guide's commands upload and publish a file", async () => {
  const guide = await readFile("docs/guides/publishing-over-http.md", "utf8");
  const [, commands = ""] = /^```sh\n([\s\S]*?)^```$/m.exec(guide) ?? [];
  const [file, bytes] = [path.join(service.dataDir, "Acme Setup.exe"), randomBytes(300_000)];
  await writeFile(file, bytes);
  const { stdout } = await promisify(execFile)("sh", ["-ec", commands], {
    env: { ...process.env, HOMEPORT_URL: service.url, HOMEPORT_API_KEY: key, FILE: file, VERSION: "2.3.0" },
  });
  expect(JSON.parse(stdout)).toMatchObject({ releases: [{ id: "core-windows-x64-2.3.0", outcome: "added" }] });
  const response = await service.fetch("/api/download/windows?product=core&version=2.3.0");
  expect(response.headers.get("content-disposition")).toContain("Acme Setup.exe");
  expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
});
