import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createAdoption } from "@/lib/releases/adoption/adoption";
import { type ClientGroup, compareOffers } from "@/lib/releases/publishing/compare-offers";
import type { Offer, PreviewRow } from "@/lib/releases/publishing/schema";
import { clock, ctx, withContext } from "@/tests/support/context";
import { callReleases, publishVersion } from "@/tests/support/releases/admin-api";
import { type EntryFields, snapshotOf } from "@/tests/support/releases/entries";
import { FILTER, publishOldAndNew } from "@/tests/support/releases/rollouts";
import { getVersion, WINDOWS } from "@/tests/support/releases/versions";

const DAY_MS = 24 * 60 * 60 * 1000;
const group = (installed: string | null, channel = "stable"): ClientGroup => {
  return { platform: "windows", product: "core", architecture: "x64", channel, installed, clients: 100 };
};
const shares = (offers: readonly Offer[]): Record<string, number> =>
  Object.fromEntries(offers.map(({ version, share }) => [version, share]));

/** What clients get of releases before and after, by version and share; null if nothing changes. */
function compare(before: EntryFields[], after: EntryFields[], installed: string | null, channel?: string) {
  const change = { before: snapshotOf(...before), after: snapshotOf(...after) };
  const [row] = compareOffers(change, [group(installed, channel)]);
  return row ? { before: shares(row.before), after: shares(row.after), changed: row.changedShare } : null;
}

describe("what a change does", () => {
  const old = { id: "old", version: "1.0.0" };
  const next = { id: "new", version: "2.0.0" };

  test("to a rollout: a client that is in it stays in it when it grows", () => {
    expect(compare([old, { ...next, rollout: 20 }], [old, { ...next, rollout: 50 }], "1.0.0")).toEqual({
      before: { null: 0.8, "2.0.0": 0.2 },
      after: { "2.0.0": 0.5, null: 0.5 },
      changed: 0.3,
    });
  });

  test("to two rollouts that divide the clients independently", () => {
    const third = { id: "third", version: "3.0.0", rollout: 10 };
    const before = [old, { ...next, rollout: 20 }, third];
    expect(compare(before, [old, { ...next, rollout: 20, yanked: true }, third], "1.0.0")).toEqual({
      before: { null: 0.72, "2.0.0": 0.18, "3.0.0": 0.1 },
      after: { null: 0.9, "3.0.0": 0.1 },
      changed: 0.18,
    });
  });

  test("to releases of one series: they reach the same clients", () => {
    const series = { rolloutSeries: "s" };
    const before = [old, { ...next, ...series, rollout: 30 }];
    const third = { id: "third", version: "3.0.0", rollout: 10, ...series };
    expect(compare(before, [...before, third], "1.0.0")?.after).toEqual({ null: 0.7, "2.0.0": 0.2, "3.0.0": 0.1 });
  });

  test("to new installations and to other channels", () => {
    const beta = { id: "beta", version: "3.0.0-beta.1", channel: "beta" };
    expect(compare([old, next, beta], [old, { ...next, yanked: true }, beta], null)).toEqual({
      before: { "2.0.0": 1 },
      after: { "1.0.0": 1 },
      changed: 1,
    });
    expect(compare([old, next, beta], [old, { ...next, yanked: true }, beta], "1.0.0", "beta")).toBeNull();
  });

  test("that makes an update mandatory, although the version stays the same", () => {
    const [row] = compareOffers(
      { before: snapshotOf(old, next), after: snapshotOf(old, { ...next, critical: true }) },
      [group("1.0.0")],
    );
    expect([row?.before[0]?.isMandatory, row?.after[0]?.isMandatory, row?.changedShare]).toEqual([false, true, 1]);
  });

  test("is nothing without a change, for versions that cannot be compared, and for targets without releases", () => {
    expect(compare([old, next], [old, next], "1.0.0")).toBeNull();
    expect(compare([old], [old, next], "not a version")).toBeNull();
    const elsewhere = { ...group("1.0.0"), platform: "linux" } as const;
    expect(compareOffers({ before: snapshotOf(old), after: snapshotOf(old, next) }, [elsewhere])).toEqual([]);
  });

  test("with more rollouts than it can divide still has shares that add up", () => {
    const many = Array.from({ length: 9 }, (_, i) => ({ id: `r${i}`, version: `2.${i}.0`, rollout: 10 + i }));
    const total = Object.values(compare([old], [old, ...many], "1.0.0")?.after ?? {});
    expect(total.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 3);
  });
});

describe("a preview over the API", () => {
  const key = publishOldAndNew();
  const preview = async (body: object) => {
    const found = await callReleases("POST", "/previews", key.key, body);
    return found as typeof found & { rows: PreviewRow[]; changedClients: number; clients: number };
  };
  const NEW = FILTER;
  const OLD = { ...FILTER, version: "1.0.0" };

  /** What a client with a version is offered; null for no update. */
  async function offerOf(current: string): Promise<string | null> {
    const { version, updateAvailable } = await getVersion(`${WINDOWS}&current=${current}`);
    return updateAvailable === true ? String(version) : null;
  }

  test.each<[object, string, string]>([
    [{ kind: "change", filter: NEW, change: { yanked: true } }, "PATCH", ""],
    [{ kind: "rollback", filter: OLD }, "POST", "/rollbacks"],
    [{ kind: "rollback", filter: OLD, withdrawal: "pause" }, "POST", "/rollbacks"],
    [{ kind: "change", filter: NEW, change: { critical: true } }, "PATCH", ""],
  ])("of %j says what clients then get", async (proposed, method, path) => {
    const before = [await offerOf("1.0.0"), await offerOf("2.0.0")];
    const { rows, status } = await preview(proposed);
    expect(status).toBe(200);
    expect([await offerOf("1.0.0"), await offerOf("2.0.0")]).toEqual(before);
    expect((await callReleases(method, path, key.key, { ...proposed, kind: undefined })).status).toBe(200);
    for (const [i, installed] of ["1.0.0", "2.0.0"].entries()) {
      const row = rows.find((one) => one.installed === installed && one.platform === "windows");
      expect([installed, await offerOf(installed)]).toEqual([installed, row ? row.after[0]?.version : before[i]]);
    }
  });

  test("of a halt and of a promotion says what clients then get", async () => {
    const steps = { filter: NEW, steps: [50, 100], everySeconds: 3600 };
    const { id } = await callReleases("POST", "/rollouts", key.key, steps);
    const halted = await preview({ kind: "rollout", rolloutId: id, state: "halted" });
    const installed = halted.rows.find((row) => row.installed === "1.0.0");
    expect([shares(installed?.before ?? []), shares(installed?.after ?? [])]).toEqual([
      { null: 0.5, "2.0.0": 0.5 },
      { null: 1 },
    ]);
    await publishVersion(key, "3.0.0", { channel: "beta" });
    const promotion = { kind: "promotion", filter: { ids: ["3.0.0"] }, from: "beta", to: "stable", rollout: 10 };
    const { rows } = await preview(promotion);
    expect(rows.find((row) => row.channel === "stable" && row.installed === "2.0.0")?.after).toMatchObject([
      { version: null, share: 0.9 },
      { version: "3.0.0", share: 0.1 },
    ]);
    expect((await getVersion(WINDOWS)).version).toBe("1.0.0"); // no release is offered to everybody but this one
  });

  test("counts yesterday's clients whose offer changes", async () => {
    const product = `app-${randomUUID().slice(0, 8)}`;
    for (const version of ["1.0.0", "2.0.0"]) await publishVersion(key, version, { product });
    const { db, config } = ctx();
    const adoption = createAdoption({ db, isOn: true, log: ctx().log, now: clock.now, secrets: config.secrets });
    const check = (version: string, client: string) => {
      const installed = { product, platform: "windows", architecture: "x64", channel: "stable", version };
      adoption.recordUpdateCheck({ installed, offered: null }, client);
    };
    for (let i = 0; i < 60; i++) check("1.0.0", `a${i}`);
    for (let i = 0; i < 40; i++) check("2.0.0", `b${i}`);
    await adoption.flush();
    clock.advance(DAY_MS);
    const change = { kind: "change", filter: { product, version: "2.0.0" }, change: { rollout: 25 } };
    const found = await preview(change);
    expect(found).toMatchObject({ products: [product], changes: [{ outcome: "changed" }] });
    expect(found.countedOn).toBe(new Date(clock.now().getTime() - DAY_MS).toISOString().slice(0, 10));
    expect(Math.abs(found.clients - 100)).toBeLessThanOrEqual(3);
    expect(Math.abs(found.changedClients - 45)).toBeLessThanOrEqual(2); // three quarters of 60
  });

  test("has a code for what cannot be previewed", async () => {
    const change = { kind: "change", filter: NEW, change: { yanked: true } };
    const codeOf = async (body: object) => (await preview(body)).code;
    expect(await codeOf({ kind: "delete", filter: NEW })).toBe("validation_failed");
    expect(await codeOf({ ...change, filter: { product: "core", version: "9.9.9" } })).toBe("release_not_found");
    expect(await codeOf({ ...change, change: { minimumSupportedVersion: "x" } })).toBe("release_invalid");
    expect(await codeOf({ kind: "rollout", rolloutId: "x", state: "halted" })).toBe("rollout_not_found");
    await withContext({ config: { RELEASE_CATALOG: "https://cdn.example.com/c.json" } }, async () => {
      expect(await codeOf(change)).toBe("catalog_not_editable");
    });
  });
});
