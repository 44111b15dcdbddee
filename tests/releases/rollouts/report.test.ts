import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createUpdateReports, type UpdateReports } from "@/lib/releases/rollouts/update-report-counts";
import { post } from "@/tests/support/api";
import { clock, ctx, withContext } from "@/tests/support/context";
import { manifestEntry } from "@/tests/support/releases/entries";
import { withCatalog } from "@/tests/support/releases/releases";

const HOUR_MS = 60 * 60 * 1000;
const REPORT = { version: "2.0.0", from: "1.0.0", outcome: "installed", platform: "win32", architecture: "x86_64" };

type Service = { product: string; updateReports: UpdateReports };

/** Runs `run` with a product that has the versions 1.0.0 (yanked) and 2.0.0, and with counts of its own. */
function withProduct(run: (service: Service) => Promise<void>) {
  return withCatalog(async ({ publish }) => {
    const product = `app-${randomUUID().slice(0, 8)}`;
    const updateReports = createUpdateReports({ db: ctx().db, log: pino({ level: "silent" }), now: ctx().now });
    await publish(
      manifestEntry({ product, version: "1.0.0", yanked: true }),
      manifestEntry({ product, version: "2.0.0" }),
    );
    await withContext({ updateReports }, () => run({ product, updateReports }));
  });
}

const report = (product: string, change: Record<string, unknown> = {}, ip?: string) =>
  post(`/api/updates/${product}/report`, { ...REPORT, ...change }, ip ? { ip } : {});

async function rowsOf({ product, updateReports }: Service) {
  await updateReports.flush();
  const rows = await ctx().db.updateReportCount.findMany({ where: { product }, orderBy: { outcome: "asc" } });
  return rows.map(({ platform, architecture, version, outcome, from, code, reports }) => [
    platform,
    architecture,
    version,
    outcome,
    from,
    code,
    Number(reports),
  ]);
}

describe("reports of clients", () => {
  test("are counted by version, platform, outcome and code, without an account", () =>
    withProduct(async (service) => {
      expect((await report(service.product)).status).toBe(204);
      expect((await report(service.product)).status).toBe(204);
      await report(service.product, { outcome: "failed", code: "E_SIGNATURE", from: undefined });
      await report(service.product, { outcome: "rolled_back", from: "0.0.1" });
      expect(await rowsOf(service)).toEqual([
        ["windows", "x64", "2.0.0", "failed", "unknown", "E_SIGNATURE", 1],
        ["windows", "x64", "2.0.0", "installed", "1.0.0", "", 2],
        ["windows", "x64", "2.0.0", "rolled_back", "other", "", 1],
      ]);
    }));

  test("of two processes add up", () =>
    withProduct(async (service) => {
      const other = createUpdateReports({ db: ctx().db, log: pino({ level: "silent" }), now: ctx().now });
      await report(service.product);
      await withContext({ updateReports: other }, () => report(service.product));
      await Promise.all([other.flush(), service.updateReports.flush()]);
      expect((await rowsOf(service)).map((row) => row.at(-1))).toEqual([2]);
    }));

  test("about a withdrawn version count, and about an unknown one are refused", () =>
    withProduct(async ({ product }) => {
      const codeOf = async (response: Response) => [
        response.status,
        response.status === 204 ? null : ((await response.json()) as { code: string }).code,
      ];
      expect(await codeOf(await report(product, { version: "1.0.0" }))).toEqual([204, null]);
      expect(await codeOf(await report(product, { version: "9.9.9" }))).toEqual([404, "release_not_found"]);
      expect(await codeOf(await report("nobody"))).toEqual([404, "release_not_found"]);
      expect(await codeOf(await report(product, { platform: "macos" }))).toEqual([404, "release_not_found"]);
      expect(await codeOf(await report(product, { platform: "amiga" }))).toEqual([422, "validation_failed"]);
      expect(await codeOf(await report(product, { architecture: "z80" }))).toEqual([422, "validation_failed"]);
    }));

  test.each([{ outcome: "exploded" }, { version: "1".repeat(10_000) }, { from: "../.." }, { code: "x".repeat(65) }])(
    "with %j are refused",
    (change) =>
      withProduct(async (service) => {
        expect((await report(service.product, change)).status).toBe(422);
        expect(await rowsOf(service)).toEqual([]);
      }),
  );

  test("of one network are limited to ten an hour", () =>
    withProduct(async (service) => {
      const ip = "203.0.113.77";
      for (let i = 0; i < 10; i++) expect((await report(service.product, {}, ip)).status).toBe(204);
      expect((await report(service.product, {}, ip)).status).toBe(429);
      clock.advance(HOUR_MS);
      expect((await report(service.product, {}, ip)).status).toBe(204);
      clock.reset();
      expect((await rowsOf(service)).reduce((sum, row) => sum + Number(row.at(-1)), 0)).toBe(11);
    }));

  test("of a flood are counted in memory: beyond a thousand kinds, their code is other", () =>
    withProduct(async (service) => {
      const { product, updateReports } = service;
      const key = { product, platform: "windows", architecture: "x64", version: "2.0.0", from: "unknown" };
      for (let i = 0; i < 1_500; i++) updateReports.record({ ...key, outcome: "failed", code: `E${i}` });
      const rows = await rowsOf(service);
      expect(rows).toHaveLength(1_001);
      expect(rows.find((row) => row[5] === "other")?.at(-1)).toBe(500);
    }));

  test("stay in memory while the database is down", () =>
    withProduct(async (service) => {
      let isDown = true;
      const db = new Proxy(ctx().db, {
        get: (target, name) =>
          isDown ? () => Promise.reject(new Error("connection terminated")) : Reflect.get(target, name),
      });
      const updateReports = createUpdateReports({ db, log: pino({ level: "silent" }), now: ctx().now });
      await withContext({ updateReports }, () => report(service.product));
      await expect(updateReports.flush()).rejects.toThrow();
      isDown = false;
      await updateReports.flush();
      expect((await rowsOf(service)).map((row) => row.at(-1))).toEqual([1]);
    }));
});
