import { randomBytes, randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { lockFile } from "@/lib/platform/files/lock";
import { appendToUpload, removeExpiredUploads } from "@/lib/releases/uploads/uploads";
import { call } from "@/tests/support/api";
import { newKey } from "@/tests/support/auth/api-keys";
import { clock, ctx, withContext } from "@/tests/support/context";
import { draftOf, publishDrafts } from "@/tests/support/releases/admin-api";
import { isolateDataFolder } from "@/tests/support/releases/catalogs";
import { createUpload, offsetOf, sendPart, tus, uploadFile } from "@/tests/support/releases/uploads";
import { callsHandlers } from "@/tests/support/server";

isolateDataFolder();

const folder = () => path.join(ctx().config.DATA_DIR, "releases", ".uploads");
const fileOf = ({ id }: { id: string }) => path.join(folder(), `${id}.part`);
const codeOf = async (response: Response) => [response.status, ((await response.json()) as { code: string }).code];

/** A body that sends its chunks, and then ends, breaks off, or continues on demand. */
function openBody() {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
  });
  return {
    stream,
    send: (bytes: Uint8Array) => controller?.enqueue(new Uint8Array(bytes)),
    end: () => controller?.close(),
    breakOff: () => controller?.error(new Error("The connection was reset")),
  };
}

describe("an upload", () => {
  test("of several parts has the bytes in their order, and says how many have arrived", async () => {
    const [key, bytes] = [await newKey(), randomBytes(300_000)];
    const upload = await createUpload(key, bytes.byteLength, "Setup ä.exe");
    expect(await offsetOf(upload)).toBe(0);
    for (const [from, to] of [
      [0, 1],
      [1, 100_000],
      [100_000, 300_000],
    ] as const) {
      const response = await sendPart(upload, from, new Uint8Array(bytes.subarray(from, to)));
      expect([response.status, response.headers.get("upload-offset")]).toEqual([204, String(to)]);
      expect(response.headers.get("tus-resumable")).toBe("1.0.0");
    }
    expect((await readFile(fileOf(upload))).equals(bytes)).toBe(true);
    const described = await tus("GET", upload);
    expect(await described.json()).toMatchObject({ id: upload.id, fileName: "Setup ä.exe", offsetBytes: 300_000 });
    expect(described.headers.get("cache-control")).toContain("no-store");
    expect(described.headers.get("upload-metadata")).toBe(`filename ${Buffer.from("Setup ä.exe").toString("base64")}`);
  });

  test("that is broken off at 99% keeps what has arrived, and continues from there", async () => {
    const bytes = randomBytes(100_000);
    const upload = await createUpload(await newKey(), bytes.byteLength);
    const body = openBody();
    const sending = sendPart(upload, 0, body.stream);
    body.send(bytes.subarray(0, 99_000));
    await expect.poll(() => offsetOf(upload)).toBe(99_000);
    body.breakOff();
    if (callsHandlers) expect(await codeOf(await sending)).toEqual([400, "malformed_request"]);
    else await expect(sending).rejects.toThrow(); // a connection that is broken off carries no response
    expect(await offsetOf(upload)).toBe(99_000);
    const rest = () => sendPart(upload, 99_000, new Uint8Array(bytes.subarray(99_000)));
    await expect.poll(async () => (await rest()).status).toBe(204); // 423 until the first part has ended
    expect((await readFile(fileOf(upload))).equals(bytes)).toBe(true);
  });

  test("has the size of its file as its offset, whatever a killed process left", async () => {
    const bytes = randomBytes(1_000);
    const upload = await createUpload(await newKey(), bytes.byteLength);
    await writeFile(fileOf(upload), bytes.subarray(0, 777));
    await writeFile(path.join(folder(), `${upload.id}.lock`), "999999\n");
    expect(await offsetOf(upload)).toBe(777);
    expect((await sendPart(upload, 777, new Uint8Array(bytes.subarray(777)))).status).toBe(204);
    expect((await readFile(fileOf(upload))).equals(bytes)).toBe(true);
  });

  test("refuses bytes at another offset", async () => {
    const upload = await createUpload(await newKey(), 100);
    await sendPart(upload, 0, randomBytes(50));
    for (const offset of [0, 49, 51, 100, 1000]) {
      const response = await sendPart(upload, offset, randomBytes(10));
      expect([response.status, await response.json()]).toMatchObject([
        409,
        { code: "upload_offset_mismatch", offsetBytes: 50 },
      ]);
    }
    expect(await offsetOf(upload)).toBe(50);
  });

  test("is written by one request at a time", async () => {
    const upload = await createUpload(await newKey(), 2_000);
    const body = openBody();
    const first = sendPart(upload, 0, body.stream);
    body.send(randomBytes(1_000));
    await expect.poll(() => offsetOf(upload)).toBe(1_000);
    expect(await codeOf(await sendPart(upload, 1_000, randomBytes(10)))).toEqual([423, "upload_locked"]);
    expect(await codeOf(await tus("DELETE", upload))).toEqual([423, "upload_locked"]);
    body.send(randomBytes(1_000));
    body.end();
    expect((await first).status).toBe(204);
    expect(await offsetOf(upload)).toBe(2_000);
  });

  test("never gets more bytes than it was announced with", async () => {
    const upload = await createUpload(await newKey(), 1_000);
    const body = openBody();
    const sending = sendPart(upload, 0, body.stream);
    body.send(randomBytes(600));
    body.send(randomBytes(600));
    expect(await codeOf(await sending)).toEqual([413, "payload_too_large"]);
    expect(await offsetOf(upload)).toBe(1_000);
    expect(await codeOf(await sendPart(upload, 1_000, randomBytes(1)))).toEqual([413, "payload_too_large"]);
    const announced = await sendPart(await createUpload(await newKey(), 10), 0, randomBytes(11), {
      "content-length": "11",
    });
    expect(announced.status).toBe(413);
  });

  test("whose client sends nothing any more ends, and keeps what has arrived", async () => {
    const key = await newKey();
    const upload = await createUpload(key, 1_000);
    const body = openBody();
    body.send(randomBytes(10));
    const input = {
      offsetBytes: 0,
      lengthBytes: null,
      bytes: body.stream as unknown as AsyncIterable<Uint8Array>,
      stallTimeoutMs: 10,
    };
    await expect(appendToUpload(ctx(), `key:${key.id}`, upload.id, input)).rejects.toMatchObject({
      code: "request_timeout",
    });
    expect(await offsetOf(upload)).toBe(10);
    expect((await sendPart(upload, 10, randomBytes(990))).status).toBe(204);
  });

  test("takes POST for the method in X-HTTP-Method-Override", async () => {
    const { POST } = await import("@/app/api/admin/uploads/[uploadId]/route");
    const upload = await createUpload(await newKey(), 3);
    const post = (method: string, headers: Record<string, string> = {}, body?: string) => {
      const own = { authorization: `Bearer ${upload.key}`, "tus-resumable": "1.0.0", "x-http-method-override": method };
      const request = new Request(`${ctx().config.baseUrl}${upload.path}`, {
        method: "POST",
        headers: { ...own, ...headers },
        ...(body ? { body } : {}),
      });
      return POST(request, { params: { uploadId: upload.id } });
    };
    const part = { "content-type": "application/offset+octet-stream", "upload-offset": "0" };
    expect((await post("PATCH", part, "abc")).status).toBe(204);
    expect((await post("head")).headers.get("upload-offset")).toBe("3");
    expect((await post("PUT")).status).toBe(405);
    expect((await post("DELETE")).status).toBe(204);
    expect(await offsetOf(upload)).toBe(404);
  });

  test("is deleted by its owner, with its bytes", async () => {
    const upload = await uploadFile(await newKey());
    expect((await tus("DELETE", upload)).status).toBe(204);
    expect((await readdir(folder())).filter((name) => name.startsWith(upload.id))).toEqual([]);
    expect((await tus("DELETE", upload)).status).toBe(404);
    expect(await codeOf(await sendPart(upload, 0, randomBytes(1)))).toEqual([404, "upload_not_found"]);
  });

  test("expires a day after its last byte, unless it is being written", async () => {
    const [old, recent, stray] = [await uploadFile(await newKey()), await uploadFile(await newKey()), randomUUID()];
    const yesterday = new Date(clock.now().getTime() - 25 * 3_600_000);
    await utimes(fileOf(old), yesterday, yesterday);
    await writeFile(path.join(folder(), `${stray}.part`), "x");
    await writeFile(path.join(folder(), `${stray}.json.tmp`), "{");
    for (const name of ["part", "json.tmp"])
      await utimes(path.join(folder(), `${stray}.${name}`), yesterday, yesterday);
    expect(await removeExpiredUploads(ctx())).toBe(2);
    expect([await offsetOf(old), await offsetOf(recent)]).toEqual([404, 1_000]);
    expect((await readdir(folder())).filter((name) => [old.id, stray].some((id) => name.startsWith(id)))).toEqual([]);
  });

  test("that was being published when the process was killed leaves its second name for a day", async () => {
    await uploadFile(await newKey());
    const [old, recent] = [path.join(folder(), "..", ".old.part"), path.join(folder(), "..", ".recent.part")];
    const yesterday = new Date(clock.now().getTime() - 25 * 3_600_000);
    for (const file of [old, recent]) await writeFile(file, "");
    await utimes(old, yesterday, yesterday);
    await removeExpiredUploads(ctx());
    const names = await readdir(path.dirname(old));
    expect(names.filter((name) => name.endsWith(".part"))).toEqual([".recent.part"]);
    await rm(recent);
  });

  test("is published a day after its last byte, also while expired uploads are deleted", async () => {
    const key = await newKey();
    const upload = await uploadFile(key);
    const yesterday = new Date(clock.now().getTime() - 25 * 3_600_000);
    await utimes(fileOf(upload), yesterday, yesterday);
    const catalogFile = path.join(folder(), "..", "catalog.json");
    const unlock = await lockFile(`${catalogFile}.lock`);
    const publishing = publishDrafts(key.key, [draftOf("1.4.0", upload)]);
    const parts = async () => (await readdir(path.dirname(catalogFile))).filter((name) => name.endsWith(".part"));
    await expect.poll(parts).toHaveLength(1);
    await removeExpiredUploads(ctx());
    await unlock();
    const published = await publishing;
    expect(published).toMatchObject({ status: 201, releases: [{ outcome: "added" }] });
  });

  test("does not expire if its next bytes arrive just before it is locked", async () => {
    const upload = await createUpload(await newKey(), 10);
    const yesterday = new Date(clock.now().getTime() - 25 * 3_600_000);
    await utimes(fileOf(upload), yesterday, yesterday);
    let hasArrived = false;
    const now = () => {
      if (!hasArrived) appendFileSync(fileOf(upload), "bytes"); // as another process does
      hasArrived = true;
      return clock.now();
    };
    expect(await removeExpiredUploads({ ...ctx(), now })).toBe(0);
    expect(await offsetOf(upload)).toBe(5);
  });
});

describe("an upload is refused", () => {
  const create = (token: string | undefined, headers: Record<string, string>) =>
    call("POST", "/api/admin/uploads", { ...(token ? { token } : {}), headers });
  const TUS = { "tus-resumable": "1.0.0", "upload-length": "10" };

  test("to another key than its own: it is not found", async () => {
    const upload = await createUpload(await newKey(), 100);
    const foreign = { ...upload, key: (await newKey()).key };
    expect(await offsetOf(foreign)).toBe(404);
    expect((await sendPart(foreign, 0, randomBytes(1))).status).toBe(404);
    expect((await tus("DELETE", foreign)).status).toBe(404);
    for (const id of ["1", "..%2f..%2fcatalog", "%2e%2e", randomUUID(), `${upload.id}.json`]) {
      expect((await tus("HEAD", { ...upload, path: `/api/admin/uploads/${id}` })).status).toBe(404);
    }
  });

  test.each([
    [{ "tus-resumable": "0.2.2" }, 412, "tus_version_unsupported"],
    [{ "upload-length": "-1" }, 400, "malformed_request"],
    [{ "upload-length": "99999999999999999999" }, 400, "malformed_request"],
    [{ "upload-length": "999999999999" }, 413, "payload_too_large"],
    [{ "upload-defer-length": "1" }, 400, "malformed_request"],
    [{ "upload-metadata": "filename ÄÖ".replace(/[^ -~]/g, "*") }, 400, "malformed_request"],
  ])("with %j: %i %s", async (headers, status, code) => {
    const response = await create((await newKey()).key, { ...TUS, ...headers } as Record<string, string>);
    expect(response.headers.get("tus-resumable")).toBe("1.0.0");
    expect(await codeOf(response)).toEqual([status, code]);
  });

  test("as a body of another type", async () => {
    const upload = await createUpload(await newKey(), 10);
    const response = await sendPart(upload, 0, randomBytes(10), { "content-type": "application/octet-stream" });
    expect([response.status, response.headers.get("accept")]).toEqual([415, "application/offset+octet-stream"]);
  });

  test("where the catalog is at a URL", async () => {
    const { key } = await newKey();
    await withContext({ config: { RELEASE_CATALOG: "https://cdn.example.com/catalog.json" } }, async () => {
      expect(await codeOf(await create(key, TUS))).toEqual([409, "catalog_not_editable"]);
    });
  });

  test("beyond 1,000 unfinished ones", async () => {
    await rm(folder(), { recursive: true, force: true });
    const key = await newKey();
    await createUpload(key, 10);
    for (let i = 0; i < 999; i++) await writeFile(path.join(folder(), `${randomUUID()}.json`), "{}");
    expect(await codeOf(await create(key.key, TUS))).toEqual([409, "upload_limit_reached"]);
    await rm(folder(), { recursive: true, force: true });
  });
});

test("the protocol's features are described without a key", async () => {
  const response = await call("OPTIONS", "/api/admin/uploads");
  expect([response.status, Object.fromEntries(response.headers)]).toMatchObject([
    204,
    {
      "tus-resumable": "1.0.0",
      "tus-version": "1.0.0",
      "tus-extension": "creation,expiration,termination",
      "tus-max-size": "5368709120",
    },
  ]);
});
