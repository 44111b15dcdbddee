import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { watchRollouts } from "@/lib/background";
import { COMMAND_LINE } from "@/lib/platform/audit/operator-events";
import { Prisma } from "@/lib/platform/db/generated/client";
import { createAdoption } from "@/lib/releases/adoption/adoption";
import { haltRollouts, resumeRollouts } from "@/lib/releases/rollouts/change-rollouts";
import { type RolloutPlan, scheduleRollout } from "@/lib/releases/rollouts/schedule-rollout";
import { createScheduledCatalog } from "@/lib/releases/rollouts/scheduled-catalog";
import { createUpdateReports } from "@/lib/releases/rollouts/update-report-counts";
import { get, post } from "@/tests/support/api";
import { ctx, withContext } from "@/tests/support/context";
import { mailbox } from "@/tests/support/mailbox";
import { manifestEntry } from "@/tests/support/releases/entries";
import { withCatalog } from "@/tests/support/releases/releases";

const HOUR_MS = 60 * 60 * 1000;
const MINUTE_MS = 60 * 1000;
const HOURLY: RolloutPlan = { steps: [5, 20, 100], everySeconds: 60 * 60 };
const OPERATOR = { actor: "operator:ann", accountId: null, source: COMMAND_LINE } as const;
const CLIENTS = Array.from({ length: 200 }, (_, i) => `client ${i}`);

type Service = {
  product: string;
  releaseIds: string[];
  /** Moves both clocks, looking at the rollouts every ten minutes, and at the end. */
  pass: (hours: number) => Promise<void>;
  schedule: (plan?: Partial<RolloutPlan>) => Promise<string>;
  /** How many of 200 clients are offered 2.0.0. */
  offered: () => Promise<number>;
  check: (current: string, clientId: string) => Promise<string>;
  report: (outcome: string, times: number, code?: string) => Promise<void>;
  store: () => Promise<void>;
  stateOf: (id: string) => Promise<[state: string, step: number, reason: string | null]>;
  setCatalogRollout: (rollout: number) => Promise<void>;
  operatorEmail: string;
};

/** Runs `run` with a product whose version 2.0.0 is at 5 percent in the catalog, on two platforms. */
function withRelease(run: (service: Service) => Promise<void>) {
  return withCatalog(async ({ catalog: base, manifest, publish }) => {
    let now = new Date("2030-03-10T00:30:00Z");
    const product = `app-${randomUUID().slice(0, 8)}`;
    const releaseIds = [randomUUID(), randomUUID()];
    const log = pino({ level: "silent" });
    const { db, config } = ctx();
    const deps = { db, log, now: () => now };
    const adoption = createAdoption({ ...deps, isOn: true, secrets: config.secrets });
    const updateReports = createUpdateReports(deps);
    const scheduled = createScheduledCatalog({ catalog: base, db, log, now: () => now });
    const dbNow = () => Prisma.sql`${now}::timestamptz(3)`;
    const operatorEmail = `operator-${randomUUID()}@example.com`;
    const setCatalogRollout = (rollout: number) =>
      publish(
        manifestEntry({ product, version: "1.0.0" }),
        manifestEntry({ product, version: "2.0.0", rollout, id: releaseIds[0] }),
        manifestEntry({ product, version: "1.0.0", platform: "macos", architecture: "arm64" }),
        manifestEntry({
          product,
          version: "2.0.0",
          rollout,
          id: releaseIds[1],
          platform: "macos",
          architecture: "arm64",
        }),
      );
    await setCatalogRollout(5);
    const watch = () => watchRollouts({ ...ctx(), dbNow });
    const check = async (current: string, clientId: string) => {
      const query = new URLSearchParams({ platform: "windows", product, architecture: "x64", current, clientId });
      return ((await (await get(`/api/version?${query}`)).json()) as { version: string }).version;
    };
    const service: Service = {
      product,
      releaseIds,
      setCatalogRollout,
      check,
      operatorEmail,
      pass: async (hours) => {
        const end = now.getTime() + hours * HOUR_MS;
        while (now.getTime() + 10 * MINUTE_MS < end) {
          now = new Date(now.getTime() + 10 * MINUTE_MS);
          await watch();
        }
        now = new Date(end);
        await watch();
      },
      schedule: async (plan = {}) => {
        const { steps } = { ...HOURLY, ...plan };
        if (steps[0] !== undefined && steps[0] <= 100) await setCatalogRollout(steps[0]);
        const releases = releaseIds.map((id, i) => ({
          id,
          product,
          version: "2.0.0",
          platform: ["windows", "macos"][i] ?? "",
        }));
        const id = await db.$transaction((tx) =>
          scheduleRollout({ dbNow }, tx, releases, { ...HOURLY, ...plan }, OPERATOR),
        );
        await scheduled.rollouts.refresh();
        return id;
      },
      offered: async () => {
        const versions = await Promise.all(CLIENTS.map((clientId) => check("1.0.0", clientId)));
        return versions.filter((version) => version === "2.0.0").length;
      },
      report: async (outcome, times, code) => {
        const body = { version: "2.0.0", from: "1.0.0", outcome, code, platform: "windows", architecture: "x64" };
        for (let i = 0; i < times; i++) await post(`/api/updates/${product}/report`, body);
      },
      store: async () => {
        await adoption.flush();
        await updateReports.flush();
      },
      stateOf: async (id) => {
        const { state, step, haltReason } = await db.rolloutSchedule.findUniqueOrThrow({ where: { id } });
        return [state, step, haltReason];
      },
    };
    const change = {
      ...scheduled,
      adoption,
      updateReports,
      config: { OPERATOR_EMAIL: [operatorEmail], RELEASE_CATALOG: manifest },
    };
    await withContext(change, () => run(service)).finally(() => db.rolloutSchedule.deleteMany({ where: { product } }));
  });
}

/** Keeps the clients of another test's rule out: nobody has to come back. */
const UNWATCHED = { minAdoptionShare: 0 };

describe("a scheduled rollout", () => {
  test("advances step by step until everybody is offered the release", () =>
    withRelease(async ({ offered, pass, schedule, stateOf }) => {
      const id = await schedule(UNWATCHED);
      expect(await offered()).toBeLessThan(30);
      await pass(0.9);
      expect(await stateOf(id)).toEqual(["running", 0, null]);
      await pass(0.1);
      expect(await stateOf(id)).toEqual(["running", 1, null]);
      const second = await offered();
      expect(second).toBeGreaterThan(20);
      expect(second).toBeLessThan(80);
      await pass(1);
      expect(await offered()).toBe(200);
      await pass(1);
      expect(await stateOf(id)).toEqual(["completed", 2, null]);
      expect(await offered()).toBe(200);
    }));

  test("gives way to an operator who sets another percentage in the catalog, and does not advance meanwhile", () =>
    withRelease(async ({ offered, pass, schedule, setCatalogRollout, stateOf }) => {
      const id = await schedule(UNWATCHED);
      await pass(1.1);
      await setCatalogRollout(0);
      expect(await offered()).toBe(0);
      await pass(2);
      expect(await stateOf(id)).toEqual(["running", 1, null]);
      await setCatalogRollout(5);
      expect(await offered()).toBeGreaterThan(20);
    }));

  test("goes on with the last known schedule while the database is down", () =>
    withRelease(async ({ offered, schedule }) => {
      await schedule({ ...UNWATCHED, steps: [5] });
      const down = new Proxy({} as ReturnType<typeof ctx>["db"], {
        get: () => ({ findMany: () => Promise.reject(new Error("connection terminated")) }),
      });
      const before = await offered();
      await expect(watchRollouts({ ...ctx(), db: down })).rejects.toThrow("connection terminated");
      expect(await offered()).toBe(before);
    }));

  test("is advanced by one of several processes at a time", () =>
    withRelease(async ({ pass, schedule, stateOf }) => {
      const id = await schedule(UNWATCHED);
      await pass(1);
      await Promise.all([pass(0), pass(0), pass(0)]);
      expect(await stateOf(id)).toEqual(["running", 1, null]);
      const advanced = await ctx().db.auditEvent.findMany({
        where: { target: `rollout:${id}` },
        orderBy: { id: "asc" },
      });
      expect(advanced.map(({ type, actor }) => [type, actor])).toEqual([
        ["rollout_started", "operator:ann"],
        ["rollout_advanced", "service"],
      ]);
    }));
});

describe("the brake", () => {
  test("halts a rollout with too many reports of failures: nobody else is offered the release, and operators get an email", () =>
    withRelease(async ({ check, offered, operatorEmail, pass, product, report, schedule, stateOf, store }) => {
      const id = await schedule({ ...UNWATCHED, steps: [50, 100], minReports: 20 });
      await report("installed", 18);
      await report("failed", 2, "E_DISK");
      await store();
      await pass(0.2);
      const reason =
        "10% of 20 reports say that 2.0.0 failed or was rolled back, most often E_DISK. The maximum is 5%.";
      expect(await stateOf(id)).toEqual(["halted", 0, reason]);
      expect(await offered()).toBe(0);
      expect(await check("2.0.0", "has it")).toBe("2.0.0");
      expect(await mailbox.waitFor(operatorEmail)).toContain(`The rollout of ${product} 2.0.0 was halted`);
      await pass(3);
      expect(await stateOf(id)).toEqual(["halted", 0, reason]);
    }));

  test("does not halt a rollout for reports about another version or platform", () =>
    withRelease(async ({ pass, product, schedule, stateOf, store }) => {
      const id = await schedule({ ...UNWATCHED, minReports: 1 });
      const body = { outcome: "failed", platform: "windows", architecture: "x64" };
      await post(`/api/updates/${product}/report`, { ...body, version: "1.0.0" });
      await store();
      await pass(0.2);
      expect((await stateOf(id))[0]).toBe("running");
    }));

  const few = /^Only 5 clients .* with 2\.0\.0 since yesterday, after (19|20)\d clients were offered it/;
  test.each([
    [5, ["halted", 0, expect.stringMatching(few)]],
    [40, ["completed", 0, null]],
  ])("decides after the whole step, with %d of 200 clients that come back with the release", (back, after) =>
    withRelease(async ({ check, pass, schedule, stateOf, store }) => {
      const id = await schedule({ steps: [100] });
      for (const clientId of CLIENTS) await check("1.0.0", clientId);
      for (const clientId of CLIENTS.slice(0, back)) await check("2.0.0", clientId);
      await store();
      await pass(0.9);
      expect(await stateOf(id)).toEqual(["running", 0, null]);
      await pass(0.2);
      expect(await stateOf(id)).toEqual(after);
    }),
  );
});

describe("an operator", () => {
  test("halts a rollout and resumes it at its step, with what clients report from then on", () =>
    withRelease(async ({ offered, pass, releaseIds, report, schedule, stateOf, store }) => {
      const id = await schedule({ ...UNWATCHED, steps: [50, 100], minReports: 5 });
      const deps = { db: ctx().db, dbNow: () => Prisma.sql`'2030-03-10T00:30:00Z'::timestamptz(3)` };
      await report("failed", 5);
      await store();
      expect(await haltRollouts(deps, releaseIds.slice(1), "It looks odd.", OPERATOR)).toEqual([id]);
      expect(await haltRollouts(deps, releaseIds, "Twice", OPERATOR)).toEqual([]);
      await ctx().rollouts.refresh();
      expect(await stateOf(id)).toEqual(["halted", 0, "It looks odd."]);
      expect(await offered()).toBe(0);
      expect(await resumeRollouts(deps, releaseIds, OPERATOR)).toEqual([id]);
      await pass(0.2);
      expect(await stateOf(id)).toEqual(["running", 0, null]);
      expect(await offered()).toBeGreaterThan(50);
      await report("failed", 5);
      await store();
      await pass(0.2);
      expect((await stateOf(id))[0]).toBe("halted");
    }));

  test("cannot schedule steps or limits that make no sense", () =>
    withRelease(async ({ schedule }) => {
      const plans: Partial<RolloutPlan>[] = [
        { steps: [] },
        { steps: [20, 5] },
        { steps: [5, 101] },
        { steps: [0, 5] },
        { steps: [5, 10.01] },
        { everySeconds: 0 },
        { everySeconds: 365 * 24 * 60 * 60 },
      ];
      for (const plan of plans) await expect(schedule(plan)).rejects.toMatchObject({ code: "rollout_invalid" });
    }));

  test("replaces a schedule by a new one of the same releases", () =>
    withRelease(async ({ releaseIds, schedule }) => {
      await schedule();
      const id = await schedule({ steps: [5, 10] });
      const left = await ctx().db.rolloutSchedule.findMany({ where: { releaseIds: { hasSome: releaseIds } } });
      expect(left.map((one) => one.id)).toEqual([id]);
    }));
});
