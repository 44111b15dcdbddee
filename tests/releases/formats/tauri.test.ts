import { describe, expect, test } from "vitest";
import { expectNoRelease, getFeed, MACOS, MINISIGN, updatable, WINDOWS } from "@/tests/support/releases/feeds";
import { withCatalog } from "@/tests/support/releases/releases";

describe("tauri", () => {
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
