import { createHash, randomBytes } from "node:crypto";
import { rename, truncate, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { call, get } from "@/tests/support/api";
import { BYTES, WINDOWS, withFile } from "@/tests/support/releases/downloads";
import { openDescriptors } from "@/tests/support/releases/releases";
import { callsHandlers, contentLength } from "@/tests/support/server";

/** More than all the buffers between a file and a client that does not read. */
const LARGE = randomBytes(32 * 1024 * 1024);

describe("an open file", () => {
  test("is closed when the download is aborted, before and after its first bytes", () =>
    withFile(LARGE, async ({ file }) => {
      await (await get(WINDOWS)).body?.cancel();
      await expect.poll(() => openDescriptors(file)).toBe(0);
      const reader = (await get(WINDOWS)).body?.getReader();
      await reader?.read();
      await expect.poll(() => openDescriptors(file)).toBe(1);
      await reader?.cancel();
      await expect.poll(() => openDescriptors(file)).toBe(0);
    }));

  test("is not left open by HEAD, which has GET's headers", () =>
    withFile(BYTES, async ({ file }) => {
      const [head, got] = [await call("HEAD", WINDOWS, { headers: { range: "bytes=0-1" } }), await get(WINDOWS)];
      expect([head.status, head.body, head.headers.get("content-length")]).toEqual([200, null, contentLength(10)]);
      await got.body?.cancel();
      const headers = (response: Response) => {
        const { "x-request-id": _, "transfer-encoding": __, ...rest } = Object.fromEntries(response.headers);
        return rest;
      };
      expect(headers(head)).toEqual(headers(got));
      await expect.poll(() => openDescriptors(file)).toBe(0);
    }));

  // A server sends the first bytes at once, whether anybody reads them or not.
  test.runIf(callsHandlers)("is not opened for a response that is never read", () =>
    withFile(BYTES, async ({ file }) => {
      const unread = await get(WINDOWS);
      expect([unread.status, await openDescriptors(file)]).toEqual([200, 0]);
    }),
  );

  test("that is replaced is sent to its end unchanged", () =>
    withFile(LARGE, async ({ file, errors }) => {
      const response = await get(WINDOWS);
      const reader = response.body?.getReader();
      const first = await reader?.read();
      await writeFile(`${file}.new`, Buffer.alloc(LARGE.byteLength, "x"));
      await rename(`${file}.new`, file);
      const hash = createHash("sha256").update(first?.value ?? "");
      for (let next = await reader?.read(); !next?.done; next = await reader?.read()) hash.update(next?.value ?? "");
      expect(hash.digest("hex")).toBe(createHash("sha256").update(LARGE).digest("hex"));
      expect(errors).toEqual([]);
    }));

  test("that is overwritten aborts the download before its last bytes, so that no client accepts a mixture", () =>
    withFile(LARGE, async ({ file, errors }) => {
      const reader = (await get(WINDOWS)).body?.getReader();
      let bytes = (await reader?.read())?.value?.byteLength ?? 0;
      await writeFile(file, Buffer.alloc(LARGE.byteLength, "x"));
      const rest = async () => {
        for (let next = await reader?.read(); !next?.done; next = await reader?.read()) {
          bytes += next?.value?.byteLength ?? 0;
        }
      };
      await expect(rest()).rejects.toThrow();
      expect(bytes).toBeLessThan(LARGE.byteLength);
      expect(errors).toMatchObject([{ err: { message: expect.stringMatching(/overwritten|truncated/) } }]);
      await expect.poll(() => openDescriptors(file)).toBe(0);
    }));

  test("that is truncated aborts the download with an error and is closed", () =>
    withFile(LARGE, async ({ file, errors }) => {
      const reader = (await get(WINDOWS)).body?.getReader();
      await reader?.read();
      await truncate(file, 70_000);
      const rest = async () => {
        while (!(await reader?.read())?.done);
      };
      await expect(rest()).rejects.toThrow();
      await expect.poll(() => openDescriptors(file)).toBe(0);
      expect(errors).toMatchObject([{ err: { message: expect.stringContaining("truncated") } }]);
    }));

  test.runIf(callsHandlers)("that is replaced before its first byte is not sent", () =>
    withFile(BYTES, async ({ file }) => {
      const response = await get(WINDOWS);
      await writeFile(file, "another");
      await expect(response.text()).rejects.toThrow();
      await expect.poll(() => openDescriptors(file)).toBe(0);
    }),
  );
});
