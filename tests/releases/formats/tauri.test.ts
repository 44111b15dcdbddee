import { describe, expect, test } from "vitest";
import { BASE_URL } from "@/tests/support/context";
import { expectNoRelease, getFeed, HOSTILE, MACOS, MINISIGN, updatable, WINDOWS } from "@/tests/support/releases/feeds";
import { withCatalog } from "@/tests/support/releases/releases";

describe("tauri", () => {
  test("has the fields of Tauri's dynamic update server", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(
        updatable("app.app.tar.gz", { notes: HOSTILE, version: "2.0.0" }, { minisign: MINISIGN }),
      );
      expect(await (await getFeed("tauri", `${MACOS}&current=1.0.0`)).json()).toEqual({
        version: "2.0.0",
        notes: HOSTILE.toWellFormed(),
        pub_date: "2026-11-01T09:00:00.000Z",
        url: `${BASE_URL}/api/download/macos?product=core&architecture=universal&channel=stable&version=2.0.0&kind=update`,
        signature: MINISIGN,
      });
    }));

  test("is 204 for a client that is current or ahead, and 200 for a rollback", () =>
    withCatalog(async (testCatalog) => {
      const release = { version: "2.0.0" };
      await testCatalog.publish(updatable("setup.exe", release, { minisign: MINISIGN }));
      for (const current of ["2.0.0", "v2.0.0", "2.0.0%2Bbuild", "2.0.1"]) {
        const response = await getFeed("tauri", `${WINDOWS}&current=${current}`);
        expect([response.status, await response.text(), response.headers.get("etag")]).toEqual([204, "", null]);
        expect(response.headers.get("cache-control")).toBe("private, no-cache");
      }
      expect((await getFeed("tauri", `${WINDOWS}&current=2.0.0-rc.1`)).status).toBe(200);
      const back = updatable("setup.exe", { ...release, rollback: true }, { minisign: MINISIGN });
      await testCatalog.publish(back, updatable("setup.exe", { version: "2.0.1", yanked: true }));
      expect((await getFeed("tauri", `${WINDOWS}&current=2.0.1`)).status).toBe(200);
    }));

  test("skips releases that Tauri rejects: without a signature, or with a file that it cannot unpack", () =>
    withCatalog(async (testCatalog) => {
      const signed = updatable("app.tar.gz", { version: "1.0.0" }, { minisign: MINISIGN });
      const unsigned = updatable("app.tar.gz", { version: "1.1.0" });
      const zipped = updatable("app.zip", { version: "1.2.0" }, { minisign: MINISIGN });
      await testCatalog.publish(signed, unsigned, zipped);
      expect(await (await getFeed("tauri", `${MACOS}&current=0.9.0`)).json()).toMatchObject({ version: "1.0.0" });
      await testCatalog.publish(unsigned, zipped);
      await expectNoRelease(await getFeed("tauri", `${MACOS}&current=0.9.0`), "minisign");
    }));

  test("accepts a signature as minisign writes it", () =>
    withCatalog(async (testCatalog) => {
      const minisign = Buffer.from(MINISIGN, "base64").toString();
      await testCatalog.publish(updatable("setup.exe", {}, { minisign }));
      expect(await (await getFeed("tauri", WINDOWS)).json()).toMatchObject({ signature: MINISIGN });
    }));
});
