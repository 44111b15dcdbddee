import { describe, expect, test } from "vitest";
import { BASE_URL } from "@/tests/support/context";
import { getFeed, MACOS, problemOf, updatable, WINDOWS } from "@/tests/support/releases/feeds";
import { withCatalog } from "@/tests/support/releases/releases";

describe("squirrel", () => {
  test("has the fields that Squirrel.Mac parses, with a date without fractions", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(updatable("App.zip", { version: "2.0.0", notes: "New" }));
      expect(await (await getFeed("squirrel", `${MACOS}&current=1.0.0`)).json()).toEqual({
        url: `${BASE_URL}/api/download/macos?product=core&architecture=universal&channel=stable&version=2.0.0&kind=update`,
        name: "2.0.0",
        notes: "New",
        pub_date: "2026-11-01T09:00:00Z",
      });
    }));

  test("is 204 for a client that is current or ahead", async () => {
    for (const current of ["1.1.0", "9.0.0"]) {
      const response = await getFeed("squirrel", `${MACOS}&current=${current}`);
      expect([response.status, response.headers.get("cache-control")]).toEqual([204, "private, no-cache"]);
    }
  });

  test("requires the installed version, because Squirrel.Mac installs every version that it is offered", async () => {
    const answer = await problemOf(await getFeed("squirrel", MACOS));
    expect(answer).toMatchObject({ status: 400, missing: ["current"], errors: [{ pointer: "?current" }] });
  });

  test("is for macOS only", async () => {
    const answer = await problemOf(await getFeed("squirrel", `${WINDOWS}&current=1.0.0`));
    expect(answer).toMatchObject({ status: 400, errors: [{ pointer: "?platform" }], allowed: { platform: ["macos"] } });
  });
});
