import { createHash, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { call, get } from "@/tests/support/api";
import { BYTES, statusAndCode, WINDOWS, withFile } from "@/tests/support/releases/downloads";
import { openDescriptors } from "@/tests/support/releases/releases";
import { callsHandlers, contentLength } from "@/tests/support/server";

const FILE = randomBytes(200_000);
const request = (range: string, headers = {}) => get(WINDOWS, { headers: { range, ...headers } });

/** The parts of a multipart/byteranges response by their Content-Range, in their order. */
async function partsOf(response: Response): Promise<[contentRange: string, bytes: Buffer][]> {
  const [, boundary] = /^multipart\/byteranges; boundary=(\S+)$/.exec(response.headers.get("content-type") ?? "") ?? [];
  const body = Buffer.from(await response.arrayBuffer());
  const parts: [string, Buffer][] = [];
  let at = 0;
  for (;;) {
    const delimiter = `${at === 0 ? "" : "\r\n"}--${boundary}`;
    expect(body.subarray(at, at + delimiter.length).toString()).toBe(delimiter);
    at += delimiter.length;
    if (body.subarray(at).toString() === "--\r\n") break;
    const end = body.indexOf("\r\n\r\n", at);
    const headers = body.subarray(at, end).toString();
    expect(headers).toContain("\r\nContent-Type: application/octet-stream");
    const [, contentRange = "", first, last] = /\r\nContent-Range: (bytes (\d+)-(\d+)\/\d+)/.exec(headers) ?? [];
    at = end + 4 + Number(last) - Number(first) + 1;
    parts.push([contentRange, body.subarray(end + 4, at)]);
  }
  if (callsHandlers) expect(response.headers.get("content-length")).toBe(String(body.byteLength));
  return parts;
}

const expected = (...ranges: [first: number, last: number][]) =>
  ranges.map(([first, last]) => [`bytes ${first}-${last}/${FILE.length}`, FILE.subarray(first, last + 1)]);

describe("several ranges", () => {
  test("are sent as multipart/byteranges in the order of the request", () =>
    withFile(FILE, async ({ file, etag, errors }) => {
      const response = await request("bytes=100000-170000, 0-0,-3");
      expect(response.status).toBe(206);
      expect(response.headers.get("content-range")).toBeNull();
      expect(Object.fromEntries(response.headers)).toMatchObject({
        etag,
        "accept-ranges": "bytes",
        "content-disposition": "attachment; filename=setup.exe",
        "repr-digest": `sha-512=:${createHash("sha512").update(FILE).digest("base64")}:`,
      });
      expect(await partsOf(response)).toEqual(expected([100_000, 170_000], [0, 0], [199_997, 199_999]));
      await expect.poll(() => openDescriptors(file)).toBe(0);
      expect(errors).toEqual([]);
    }));

  test("that overlap or adjoin are merged, at the place of the first of them", () =>
    withFile(FILE, async () => {
      const response = await request("bytes=500-599,0-99,590-700,100-100,50-60,102-102");
      expect(await partsOf(response)).toEqual(expected([500, 700], [0, 100], [102, 102]));
    }));

  test("of which one remains are sent as that range alone", () =>
    withFile(FILE, async () => {
      for (const range of ["bytes=0-9,10-19", "bytes=0-19,300000-", "bytes=5-19,0-5,7-9,3-3"]) {
        const response = await request(range);
        expect([response.status, response.headers.get("content-range")]).toEqual([206, "bytes 0-19/200000"]);
        expect(response.headers.get("content-length")).toBe(contentLength(20));
        expect(Buffer.from(await response.arrayBuffer()).equals(FILE.subarray(0, 20))).toBe(true);
      }
    }));

  test("outside the file are left out; 416 if none remains", () =>
    withFile(FILE, async () => {
      expect(await partsOf(await request("bytes=0-9,200000-,300000-400000,20-29"))).toEqual(expected([0, 9], [20, 29]));
      const response = await request("bytes=200000-,300000-");
      expect(response.headers.get("content-range")).toBe("bytes */200000");
      expect(await statusAndCode(response)).toEqual([416, "range_not_satisfiable"]);
    }));

  test("are ignored if If-Range names another file, or for HEAD", () =>
    withFile(FILE, async ({ etag }) => {
      const other = await request("bytes=0-9,20-29", { "if-range": '"other"' });
      expect([other.status, other.headers.get("content-length")]).toEqual([200, contentLength(FILE.length)]);
      await other.body?.cancel();
      const head = await call("HEAD", WINDOWS, { headers: { range: "bytes=0-9,20-29" } });
      expect([head.status, head.headers.get("content-length")]).toEqual([200, contentLength(FILE.length)]);
      expect(await partsOf(await request("bytes=0-9,20-29", { "if-range": etag }))).toHaveLength(2);
    }));

  test("whose parts would add up to more than the file get the whole file", () =>
    withFile(BYTES, async () => {
      const response = await request("bytes=0-1,4-5");
      expect([response.status, response.headers.get("content-range"), await response.text()]).toEqual([
        200,
        null,
        "0123456789",
      ]);
    }));

  // electron-updater requests the blocks that have changed: up to 500 in a request, none beside another.
  test("may be 512, and more are refused, however small or overlapping they are", () =>
    withFile(FILE, async ({ file }) => {
      const ranges = (count: number) => Array.from({ length: count }, (_, i) => `${i * 200}-${i * 200 + 9}`).join(", ");
      expect(await partsOf(await request(`bytes=${ranges(512)}`))).toEqual(
        expected(...Array.from({ length: 512 }, (_, i): [number, number] => [i * 200, i * 200 + 9])),
      );
      const bombs = [ranges(513), Array.from({ length: 2_000 }, () => "0-").join(",")];
      // A server refuses a larger header on its own (431).
      if (callsHandlers) bombs.push(Array.from({ length: 10_000 }, (_, i) => `${i}-${i}`).join(","));
      for (const bomb of bombs) {
        const response = await request(`bytes=${bomb}`);
        expect(response.headers.get("content-range")).toBe("bytes */200000");
        expect(await statusAndCode(response)).toEqual([416, "range_not_satisfiable"]);
      }
      await expect.poll(() => openDescriptors(file)).toBe(0);
    }));

  test("that the client stops reading close the file", () =>
    withFile(randomBytes(16 * 1024 * 1024), async ({ file, errors }) => {
      const reader = (await request("bytes=0-9000000,9000002-")).body?.getReader();
      await reader?.read();
      await reader?.read();
      await reader?.cancel();
      await expect.poll(() => openDescriptors(file)).toBe(0);
      expect(errors).toEqual([]);
    }));
});
