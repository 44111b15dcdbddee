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
