import { describe, expect, test } from "vitest";
import { get } from "@/tests/support/api";
import { type EntryFields, manifestEntry } from "@/tests/support/releases/entries";
import { withCatalog } from "@/tests/support/releases/releases";
import { getVersion, WINDOWS } from "@/tests/support/releases/versions";

const offered = async (current: string, query = WINDOWS) => (await getVersion(`${query}&current=${current}`)).version;

describe("a release that requires a version first", () => {
  const releases = (change: EntryFields = {}) => [
    manifestEntry({ version: "1.9.0" }),
    manifestEntry({ version: "2.0.0", requiresFrom: "1.5.0" }),
    manifestEntry({ version: "3.0.0", requiresFrom: "2.0.0", ...change }),
  ];

  test("is offered from that version on; older clients get the newest release that they may install", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(...releases());
      const chain = await Promise.all(
        ["1.0.0", "1.4.9", "1.5.0", "1.9.0", "2.0.0", "2.5.0"].map((one) => offered(one)),
      );
      expect(chain).toEqual(["1.9.0", "1.9.0", "2.0.0", "2.0.0", "3.0.0", "3.0.0"]);
    }));

  test("is offered to a client that does not name its version, and to people", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(...releases());
      expect(await getVersion(WINDOWS)).toMatchObject({ version: "3.0.0", requiresFrom: "2.0.0" });
      expect((await get("/api/download/windows")).status).toBe(302);
    }));

  test("does not count as mandatory for a client that has to update to another one first", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(...releases({ critical: true }));
      expect(await getVersion(`${WINDOWS}&current=1.0.0`)).toMatchObject({ version: "1.9.0", mandatory: false });
      expect(await getVersion(`${WINDOWS}&current=2.0.0`)).toMatchObject({ version: "3.0.0", mandatory: true });
    }));
});
