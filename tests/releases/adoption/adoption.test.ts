import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { setRole } from "@/lib/accounts/admin/change-account";
import { type Adoption, createAdoption } from "@/lib/releases/adoption/adoption";
import type { UpdateCheck } from "@/lib/releases/adoption/day-counts";
import {
  addToSketch,
  createSketch,
  estimateCount,
  hashItem,
  mergeSketch,
  packSketch,
  unpackSketch,
} from "@/lib/releases/adoption/hyperloglog";
import { readAdoption } from "@/lib/releases/adoption/report";
import { removeOldCounts } from "@/lib/releases/adoption/stored-counts";
import { newAccount } from "@/tests/support/accounts";
import { call, get } from "@/tests/support/api";
import { OPERATOR } from "@/tests/support/auth/api-keys";
import { ctx, withContext } from "@/tests/support/context";
import { type EntryFields, manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { type TestCatalog, withCatalog } from "@/tests/support/releases/releases";
import { STABLE } from "@/tests/support/releases/updates";

const DAY_MS = 24 * 60 * 60 * 1000;

const NOON = new Date("2030-06-15T12:00:00Z");

type Service = TestCatalog & {
  product: string;
  adoption: Adoption;
  now: Date;
  check: (query?: Record<string, string>, ip?: string) => Promise<number>;
};

const countWith = (now: () => Date, change: Partial<Parameters<typeof createAdoption>[0]> = {}) =>
  createAdoption({
    db: ctx().db,
    isOn: true,
    log: pino({ level: "silent" }),
    now,
    secrets: ctx().config.secrets,
    ...change,
  });

/** Runs `run` with a product of its own, whose release 2.0.0 is for everybody, and with counts of its own. */
function withProduct(run: (service: Service) => Promise<void>, change: EntryFields = {}) {
  return withCatalog(async (testCatalog) => {
    const product = `app-${randomUUID().slice(0, 8)}`;
    const adoption = countWith(() => service.now);
    const check: Service["check"] = async (query = {}, ip) => {
      const search = new URLSearchParams({ platform: "windows", product, architecture: "x64", ...query });
      return (await get(`/api/version?${search}`, ip ? { ip } : {})).status;
    };
    const service: Service = { ...testCatalog, product, adoption, now: NOON, check };
    await testCatalog.publish(manifestEntry({ product, version: "2.0.0", ...change }));
    await withContext({ adoption }, () => run(service));
  });
}

async function report({ product, adoption, now }: Service, days = 1) {
  await adoption.flush();
  return readAdoption({ db: ctx().db, now: () => now }, {}, { product, days });
}

describe("update checks", () => {
  test("are counted by product, platform, architecture, channel, version and day, with their distinct clients", () =>
    withProduct(async (service) => {
      for (const clientId of ["a", "b", "a"]) await service.check({ current: "1.0.0", clientId });
      await service.check({ current: "2.0.0", clientId: "a" }); // which has updated since
      await service.check({ clientId: "d" });
      const { versions, products } = await report(service);
      const target = { day: "2030-06-15", platform: "windows", architecture: "x64", channel: "stable" };
      expect(versions).toMatchObject([
        { ...target, version: "1.0.0", checks: 3, clients: 2, offers: 0 },
        { ...target, version: "2.0.0", checks: 1, clients: 1, offers: 3, offeredClients: 2 },
        { ...target, version: "unknown", checks: 1, clients: 1, offers: 0 },
      ]);
      expect(products).toMatchObject([{ day: "2030-06-15", product: service.product, checks: 5, clients: 3 }]);
    }));

  test("without an id count a client by its network", () =>
    withProduct(async (service) => {
      await service.check({ current: "1.0.0" }, "192.0.2.1");
      await service.check({ current: "1.0.0" }, "192.0.2.1");
      await service.check({ current: "1.0.0" }, "192.0.2.2");
      expect((await report(service)).versions[0]).toMatchObject({ checks: 3, clients: 2 });
    }));

  test("of two processes add up, and a client of both counts once", () =>
    withProduct(async (service) => {
      await service.check({ current: "1.0.0", clientId: "a" });
      const other = countWith(() => NOON);
      await withContext({ adoption: other }, () => service.check({ current: "1.0.0", clientId: "a" }));
      await withContext({ adoption: other }, () => service.check({ current: "1.0.0", clientId: "b" }));
      await Promise.all([other.flush(), service.adoption.flush()]);
      expect((await report(service)).versions[0]).toMatchObject({ checks: 3, clients: 2 });
    }));

  test("after midnight in UTC count for the new day, in which every client is new", () =>
    withProduct(async (service) => {
      await service.check({ current: "2.0.0", clientId: "a" });
      service.now = new Date(NOON.getTime() + DAY_MS);
      await service.check({ current: "2.0.0", clientId: "a" });
      const { versions } = await report(service, 2);
      expect(versions).toMatchObject([
        { day: "2030-06-16", checks: 1, clients: 1 },
        { day: "2030-06-15", checks: 1, clients: 1 },
      ]);
      const [rowA, rowB] = await ctx().db.adoptionCount.findMany({ where: { product: service.product } });
      expect(rowA?.clients).not.toEqual(rowB?.clients);
    }));

  test("that lead to no release are not counted", () =>
    withProduct(async (service) => {
      expect(await service.check({ current: "2.0.0", architecture: "arm64", platform: "macos" })).toBe(404);
      expect(await service.check({ current: "x" })).toBe(400);
      expect((await report(service)).versions).toEqual([]);
    }));
});

test("invented versions of update checks are counted as other beyond a thousand a day, and offered ones still by themselves", () =>
  withProduct(async (service) => {
    const target = { product: service.product, platform: "windows", architecture: "x64", channel: "stable" };
    const run = (version: string) => ({ ...target, version });
    const invent = (from: number, to: number) => {
      for (let i = from; i < to; i++) {
        service.adoption.recordUpdateCheck({ installed: run(`0.0.${i}`), offered: run("2.0.0") }, "a");
      }
    };
    invent(0, 900);
    await service.adoption.flush();
    invent(900, 1_500);
    service.adoption.recordUpdateCheck({ installed: run(`1.0.0-${"x".repeat(200)}`), offered: null }, "b");
    service.adoption.recordUpdateCheck({ installed: run("2.0.0"), offered: null }, "b");
    const { versions } = await report(service);
    expect(versions).toHaveLength(1_002);
    expect(versions.find(({ version }) => version === "other")).toMatchObject({ checks: 501 });
    expect(versions.find(({ version }) => version === "2.0.0")).toMatchObject({ checks: 1, offers: 1_500 });
  }));

describe("while the database is down", () => {
  type Db = Parameters<typeof createAdoption>[0]["db"];
  const down = new Proxy({} as Db, { get: () => () => Promise.reject(new Error("connection terminated")) });
  /** Counts without a database until `restore` is called. */
  const countDown = (service: Service) => {
    let db = down;
    const adoption = countWith(() => service.now, { db: new Proxy(down, { get: (_, name) => Reflect.get(db, name) }) });
    const check = (clientId: string) => withContext({ adoption }, () => service.check({ current: "2.0.0", clientId }));
    const restore = () => {
      db = ctx().db;
      return adoption.flush();
    };
    return { adoption, check, restore };
  };

  test("counts stay in memory, and are stored once it is back", () =>
    withProduct(async (service) => {
      const { adoption, check, restore } = countDown(service);
      await check("a");
      await expect(adoption.flush()).rejects.toThrow("connection terminated");
      await check("b");
      await restore();
      expect((await report(service)).versions).toMatchObject([{ version: "2.0.0", checks: 2, clients: 2 }]);
    }));

  test("for days, the counts of the last three days are kept", () =>
    withProduct(async (service) => {
      const { check, restore } = countDown(service);
      for (let day = 0; day < 5; day++) {
        service.now = new Date(NOON.getTime() + day * DAY_MS);
        await check("a");
      }
      await restore();
      const { versions } = await report(service, 7);
      expect(versions.map(({ day }) => day)).toEqual(["2030-06-19", "2030-06-18", "2030-06-17"]);
    }));

  test("closing the service does not fail", async () => {
    const adoption = countWith(() => NOON, { db: down });
    const installed = {
      product: "core",
      platform: "windows",
      architecture: "x64",
      channel: "stable",
      version: "1.0.0",
    };
    adoption.recordUpdateCheck({ installed, offered: null }, "a");
    await expect(adoption.close()).resolves.toBeUndefined();
  });
});

describe("downloads", () => {
  const bytes = Buffer.from("0123456789".repeat(10));

  async function downloadsOf(service: Service) {
    const { versions } = await report(service);
    return versions.map(({ version, downloadsStarted, downloadsFinished }) => [
      version,
      downloadsStarted,
      downloadsFinished,
    ]);
  }

  function withFile(run: (service: Service, url: string) => Promise<void>) {
    return withProduct(async (service) => {
      const installer = await service.addFile("setup.exe", bytes);
      await service.publish(manifestEntry({ product: service.product, version: "2.0.0", artifacts: { installer } }));
      await run(service, `/api/download/windows?product=${service.product}&architecture=x64`);
    });
  }

  test("are counted as started with the first byte, and as finished with the last", () =>
    withFile(async (service, url) => {
      expect((await (await get(url)).arrayBuffer()).byteLength).toBe(100);
      await expect.poll(() => downloadsOf(service)).toEqual([["2.0.0", 1, 1]]);
    }));

  test("in several ranges count once", () =>
    withFile(async (service, url) => {
      const load = async (range: string) => (await get(url, { headers: { range } })).arrayBuffer();
      await load("bytes=0-49");
      expect(await downloadsOf(service)).toEqual([["2.0.0", 1, 0]]);
      for (const range of ["bytes=50-79", "bytes=80-99"]) await load(range);
      await expect.poll(() => downloadsOf(service)).toEqual([["2.0.0", 1, 1]]);
    }));

  test("served from a client's cache, or requested by HEAD, do not count", () =>
    withFile(async (service, url) => {
      const whole = await get(url);
      await whole.arrayBuffer();
      await expect.poll(() => downloadsOf(service)).toEqual([["2.0.0", 1, 1]]);
      const headers = { "if-none-match": whole.headers.get("etag") ?? "" };
      expect((await get(url, { headers })).status).toBe(304);
      expect((await call("HEAD", url)).status).toBe(200);
      expect(await downloadsOf(service)).toEqual([["2.0.0", 1, 1]]);
    }));

  test("that are redirected count as started alone", () =>
    withProduct(async (service) => {
      expect((await get(`/api/download/windows?product=${service.product}&architecture=x64`)).status).toBe(302);
      expect(await downloadsOf(service)).toEqual([["2.0.0", 1, 0]]);
    }));
});

test("the API reports what was counted until the last flush", () =>
  withProduct(async (service) => {
    service.now = new Date();
    await service.check({ current: "2.0.0", clientId: "a" });
    await service.adoption.flush();
    const { id, token } = await newAccount();
    await setRole(ctx(), OPERATOR, id, { role: "support" });
    const response = await get(`/api/admin/releases/adoption?product=${service.product}&days=2`, { token });
    expect(await response.json()).toMatchObject({
      products: [{ product: service.product, checks: 1, clients: 1, downloadsStarted: 0, downloadsFinished: 0 }],
      versions: [{ version: "2.0.0", checks: 1, clients: 1 }],
    });
    expect((await get("/api/admin/releases/adoption?days=93", { token })).status).toBe(400);
  }));

const SALT = "a salt";

function sketchOf(from: number, to: number) {
  const sketch = createSketch();
  for (let i = from; i < to; i++) addToSketch(sketch, hashItem(SALT, `client ${i}`));
  return sketch;
}

test.each([0, 10, 1_000, 40_000, 300_000])("%i distinct clients are counted within 2 percent", (clients) => {
  expect(Math.abs(estimateCount(sketchOf(0, clients)) - clients)).toBeLessThanOrEqual(clients * 0.02);
});

test("a client that checks again does not count again", () => {
  const sketch = sketchOf(0, 500);
  for (let i = 0; i < 500; i++) addToSketch(sketch, hashItem(SALT, `client ${i}`));
  expect(sketch).toEqual(sketchOf(0, 500));
});

test("merged sketches are the sketch of both sets, whatever they share", () => {
  const merged = sketchOf(0, 6_000);
  expect(mergeSketch(merged, sketchOf(4_000, 10_000))).toBe(true);
  expect(merged).toEqual(sketchOf(0, 10_000));
  expect(mergeSketch(merged, sketchOf(5_000, 7_000))).toBe(false);
});

test("a sketch survives packing, and few clients need few bytes", async () => {
  for (const clients of [0, 20, 200_000]) {
    const sketch = sketchOf(0, clients);
    expect(new Uint8Array(await unpackSketch(await packSketch(sketch)))).toEqual(sketch);
  }
  expect((await packSketch(sketchOf(0, 20))).length).toBeLessThan(300);
  expect((await packSketch(sketchOf(0, 200_000))).length).toBeLessThan(9_000);
});

test.each([10, 1_000_000])("packed bytes of another size are refused: %i", async (bytes) => {
  await expect(unpackSketch(await packSketch(new Uint8Array(bytes)))).rejects.toThrow();
});

type Counted = UpdateCheck & { clientId: string };

/** What is counted for a path, with a catalog of version 2.0.0 for Windows. */
async function countedFor(path: string, headers: Record<string, string> = {}): Promise<Counted[]> {
  const counted: Counted[] = [];
  const adoption = {
    ...ctx().adoption,
    recordUpdateCheck: (check: UpdateCheck, clientId: string) => void counted.push({ ...check, clientId }),
  };
  const others = [
    remoteArtifact({ fileName: "Acme-2.0.0.exe" }),
    remoteArtifact({ fileName: "Acme-2.0.0-full.nupkg", sha1: "ab".repeat(20) }),
  ];
  await withCatalog(({ publish }) =>
    withContext({ adoption }, async () => {
      await publish(manifestEntry({ version: "2.0.0", artifacts: { others } }));
      await get(`${STABLE}/${path}`, { headers, ip: "10.9.8.7" });
    }),
  );
  return counted;
}

const CHECK = { product: "core", platform: "windows", architecture: "x64", channel: "stable" };

test("a check is counted with what the updater says: its id, its version, its architecture", async () => {
  expect(await countedFor("latest.yml", { "x-user-staging-id": "ann" })).toEqual([
    { installed: { ...CHECK, architecture: "unknown", version: "unknown" }, offered: null, clientId: "ann" },
  ]);
  expect(await countedFor("RELEASES?localVersion=1.0.0&arch=amd64")).toMatchObject([
    {
      installed: { ...CHECK, version: "1.0.0" },
      offered: { ...CHECK, version: "2.0.0" },
      clientId: expect.stringContaining("10.9.8.7"),
    },
  ]);
  expect(await countedFor("releases.win.json?localVersion=2.0.0&stagingId=bob")).toEqual([
    { installed: { ...CHECK, version: "2.0.0" }, offered: null, clientId: "bob" },
  ]);
});

test("downloads and checks without a release are not counted as checks", async () => {
  expect(await countedFor("Acme-2.0.0.exe")).toEqual([]);
  expect(await countedFor("latest-linux.yml")).toEqual([]);
});

test("counts of checks and reports are removed after 400 days", async () => {
  const { db } = ctx();
  const product = "retention";
  const target = { product, platform: "windows", architecture: "x64", version: "1.0.0" };
  for (const day of [new Date("1990-01-01"), new Date("1991-02-10")]) {
    await db.adoptionCount.create({ data: { ...target, day, channel: "stable", checks: 1 } });
    await db.updateReportCount.create({ data: { ...target, day, outcome: "installed", from: "", code: "" } });
  }
  const now = () => new Date("1991-02-11T12:00:00Z");
  expect(await removeOldCounts({ db, now })).toBeGreaterThanOrEqual(2);
  const kept = [{ day: new Date("1991-02-10") }];
  expect(await db.adoptionCount.findMany({ where: { product }, select: { day: true } })).toEqual(kept);
  expect(await db.updateReportCount.findMany({ where: { product }, select: { day: true } })).toEqual(kept);
});
