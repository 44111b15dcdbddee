import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { BYTES, statusAndCode, WINDOWS, withFile } from "@/tests/support/releases/downloads";
import { manifestEntry } from "@/tests/support/releases/entries";
import { openDescriptors } from "@/tests/support/releases/releases";
import { contentLength } from "@/tests/support/server";

describe("a range", () => {
  test.each([
    ["bytes=0-0", "0", "0-0"],
    ["bytes=2-4", "234", "2-4"],
    ["bytes=7-", "789", "7-9"],
    ["bytes=-3", "789", "7-9"],
    ["bytes=5-99", "56789", "5-9"],
    [`bytes=9-${"9".repeat(400)}`, "9", "9-9"],
    ["Bytes= 1-2 ,", "12", "1-2"],
  ])("%s is sent alone", (range, text, sent) =>
    withFile(BYTES, async ({ file, etag }) => {
      const response = await get(WINDOWS, { headers: { range } });
      expect([response.status, await response.text()]).toEqual([206, text]);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "content-range": `bytes ${sent}/10`,
        etag,
        "repr-digest": `sha-512=:${createHash("sha512").update(BYTES).digest("base64")}:`,
      });
      expect(response.headers.get("content-length")).toBe(contentLength(text.length));
      await expect.poll(() => openDescriptors(file)).toBe(0);
    }),
  );

  test.each(["bytes=10-20", "bytes=-0", `bytes=${"9".repeat(400)}-`])(
    "%s is outside the file and gets its size",
    (range) =>
      withFile(BYTES, async () => {
        const response = await get(WINDOWS, { headers: { range } });
        expect(response.headers.get("content-range")).toBe("bytes */10");
        expect(await statusAndCode(response)).toEqual([416, "range_not_satisfiable"]);
      }),
  );

  test.each(["bytes=0-1,4-2", "bytes=0-1,x", "bytes=-", "bytes=a-b", "bytes=-1-2", "lines=0-1"])(
    "%s is malformed, so the whole file is sent",
    (range) =>
      withFile(BYTES, async () => {
        const response = await get(WINDOWS, { headers: { range } });
        expect([response.status, response.headers.get("content-range"), await response.text()]).toEqual([
          200,
          null,
          "0123456789",
        ]);
      }),
  );

  test("is sent only if If-Range matches the file", () =>
    withFile(BYTES, async ({ etag }) => {
      const status = async (ifRange: string) =>
        (await get(WINDOWS, { headers: { range: "bytes=0-1", "if-range": ifRange } })).status;
      expect(await status(etag)).toBe(206);
      expect(await status("Sun, 01 Nov 2026 10:00:00 GMT")).toBe(206);
      for (const other of [
        '"other"',
        `W/${etag}`,
        "Sun, 01 Nov 2026 10:00:01 GMT",
        "Sun, 01 Nov 2026 09:59:59 GMT",
        "nonsense",
        "",
      ]) {
        expect(await status(other)).toBe(200);
      }
    }));

  test("is ignored if If-Range names the previous file", () =>
    withFile(BYTES, async ({ etag, addFile: put, publish }) => {
      const headers = { range: "bytes=5-", "if-range": etag };
      expect(await (await get(WINDOWS, { headers })).text()).toBe("56789");
      await publish(manifestEntry({ artifacts: { installer: await put("setup.exe", Buffer.from("9876543210")) } }));
      const response = await get(WINDOWS, { headers });
      expect([response.status, await response.text()]).toEqual([200, "9876543210"]);
    }));

  test("outside the file is ignored if If-Range names another file", () =>
    withFile(BYTES, async () => {
      const headers = { range: "bytes=50-", "if-range": '"other"' };
      expect((await get(WINDOWS, { headers })).status).toBe(200);
    }));
});
