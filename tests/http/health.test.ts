import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { checkEmbeddedWrites } from "@/lib/platform/db/open";
import { call, get } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { withCatalog } from "@/tests/support/releases/releases";

const health = async (path = "/api/health") => {
  const response = await get(path);
  return { http: response.status, ...((await response.json()) as object) };
};

/** The context's database, whose check gets what `answer` returns. */
function withDatabase(answer: () => Promise<unknown>, run: () => Promise<void>, migrated = async () => true) {
  const database = { ...ctx().database, migrated, checkWrites: () => checkEmbeddedWrites(answer) };
  return withContext({ database }, run);
}

const unreachable = () =>
  Promise.reject(Object.assign(new Error("connect ECONNREFUSED db.internal"), { code: "ECONNREFUSED" }));

describe("readiness", () => {
  test("is ok while the database responds and the catalog is loaded", async () => {
    const response = await get("/api/health");
    expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(await response.json()).toEqual({ status: "ok", checks: { database: "ok", storage: "ok", catalog: "ok" } });
  });

  test("fails with the database, and does not disclose why", () =>
    withDatabase(unreachable, async () => {
      expect(await health()).toEqual({
        http: 503,
        status: "error",
        checks: { database: "error", storage: "ok", catalog: "ok" },
      });
      expect((await call("HEAD", "/api/health")).status).toBe(503);
    }));

  test("fails while a migration is missing or cannot be checked", async () => {
    for (const migrated of [async () => false, unreachable]) {
      await withDatabase(
        async () => [],
        async () => expect((await health()).http).toBe(503),
        migrated,
      );
    }
  });

  test("survives a stale catalog, but not a missing one", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publishText("garbage");
      expect(await health()).toEqual({
        http: 200,
        status: "ok",
        checks: { database: "ok", storage: "ok", catalog: "warn" },
      });
      await testCatalog.publish();
      expect(await health()).toMatchObject({ http: 200, checks: { catalog: "ok" } });
      await withContext({ catalog: { ...testCatalog.catalog, state: () => "error" } }, async () => {
        expect(await health()).toEqual({
          http: 503,
          status: "error",
          checks: { database: "ok", storage: "ok", catalog: "error" },
        });
      });
    }));

  test("fails when the process begins to stop", () =>
    withContext({ isDraining: true }, async () => expect(await health()).toEqual({ http: 503, status: "draining" })));

  test("needs no session, and rejects other methods and unknown probes", async () => {
    expect((await call("POST", "/api/health")).status).toBe(405);
    expect(await health("/api/health?probe=nope")).toMatchObject({ http: 400, code: "invalid_query" });
    expect(await health("/api/health?probe=ready&_=1")).toMatchObject({ http: 200 });
  });
});

test("liveness checks nothing, and is ok until the process begins to stop", () =>
  withDatabase(unreachable, async () => {
    expect(await health("/api/health?probe=live")).toEqual({ http: 200, status: "ok" });
    await withContext({ isDraining: true }, async () =>
      expect(await health("/api/health?probe=live")).toEqual({ http: 503, status: "draining" }),
    );
  }));

describe("the database check", () => {
  test("runs once a second, however many requests there are", async () => {
    let asked = 0;
    const count = async () => {
      asked += 1;
    };
    await withDatabase(count, async () => {
      await Promise.all(Array.from({ length: 50 }, () => health()));
      expect(asked).toBe(1);
      clock.advance(1_000);
      await health();
      expect(asked).toBe(2);
    });
  });

  test("does not run twice at the same time, and fails after its time-out", async () => {
    let asked = 0;
    let release = () => {};
    const hang = () => {
      asked += 1;
      return new Promise<void>((resolve) => {
        release = resolve;
      });
    };
    await withDatabase(hang, async () => {
      expect((await health()).http).toBe(503);
      clock.advance(5_000);
      expect((await health()).http).toBe(503);
      expect(asked).toBe(1);
      release();
    });
  });

  test("does not fail if the process was busy for longer than the time-out while the response arrived", async () => {
    const respond = async () => {
      const response = readFile("package.json");
      // As a page that is rendered. Vitest's fake intervals catch up after a pause, and real ones do not.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_100);
      await response;
    };
    await withDatabase(respond, async () => expect((await health()).http).toBe(200));
  });
});

test("version and downloads work while the database is down", () =>
  withDatabase(
    unreachable,
    async () => {
      const query = "?platform=windows&product=core&architecture=x64";
      for (const path of ["/api/version", `/api/version${query}`, "/api/download/windows"]) {
        const response = await get(path);
        expect([path, response.status]).toEqual([path, 200]);
        await response.body?.cancel();
      }
      expect((await health()).http).toBe(503);
    },
    unreachable,
  ));
